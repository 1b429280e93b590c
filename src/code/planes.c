/* planes.c - a plane of bytes: coded, or as it is (planes.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "planes.h"

#include <string.h>

#include "huffman.h"

enum { COPIED, CODED };

bool tt_plane_has_zeros(const uint8_t *plane, size_t n) {
  size_t zeros = 0, looked = 0;
  for (size_t i = 0; i < n; i += (1 + n / 128) | 1, looked++) zeros += plane[i] == 0;
  return 8 * zeros > looked;
}

uint8_t *tt_plane_put(const uint8_t *plane, size_t n, bool tries, uint8_t *at) {
  const size_t coded = tries && n ? tt_huffman_pack(plane, n, at + 1, n) : 0;
  *at++ = coded ? CODED : COPIED;
  if (!coded) memcpy(at, plane, n);
  return at + (coded ? coded : n);
}

const uint8_t *tt_plane_take(const uint8_t *at, const uint8_t *end, uint8_t *plane, size_t n) {
  if (at == end) return NULL;
  const bool coded = *at++ == CODED;
  const size_t left = (size_t)(end - at);
  const size_t took = coded ? tt_huffman_unpack(at, left, plane, n) : n;
  if ((coded && !took) || took > left) return NULL;
  if (!coded) memcpy(plane, at, n);
  return at + took;
}
