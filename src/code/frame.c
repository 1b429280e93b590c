/* frame.c - what a coded message consists of: frames, each of which can be decoded by itself (code.h).
 *
 * Lossy      a frame is blocks, each a scale and its codes.
 * Lossless   a frame is byte planes. Each number is turned by one bit, so that the exponent fills the
 *            highest byte and the sign is the last bit. The plane of the highest bytes, and others
 *            that hold many zeros, are coded (huffman.h); the rest, bits of fractions, are copied.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "code.h"
#include "huffman.h"

enum {
  BLOCK_RAW = TT_CODE_BLOCK * sizeof(float),
  BLOCK_CODED = sizeof(float) + TT_CODE_BLOCK,
  BLOCKS = (TT_FRAME - TT_FRAME_HEAD) / BLOCK_CODED,
  WIDEST = 8,                                                   /* bytes of an element */
  PLAIN = (TT_FRAME - TT_FRAME_HEAD - WIDEST) / WIDEST * WIDEST /* bytes of a lossless frame */
};
_Static_assert(BLOCKS *BLOCK_RAW <= (int)TT_FRAME_RAW && PLAIN <= (int)TT_FRAME_RAW, "less");

/* ---- the numbers of bytes in front ---- */

static void put_sizes(uint8_t *frame, size_t size, size_t raw) {
  const uint32_t both[2] = {(uint32_t)size, (uint32_t)raw};
  memcpy(frame, both, sizeof both);
}

bool tt_frame_sizes(const void *head, size_t *frame, size_t *raw) {
  uint32_t both[2];
  memcpy(both, head, sizeof both);
  *frame = both[0];
  *raw = both[1];
  return *frame > TT_FRAME_HEAD && *frame <= TT_FRAME && *raw > 0 && *raw <= TT_FRAME_RAW;
}

/* ---- lossy ---- */

static size_t make_blocks(tt_code code, const float *from, size_t n, uint8_t *to) {
  uint8_t *at = to;
  for (size_t i = 0; i < n; i += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - i, (size_t)TT_CODE_BLOCK);
    float scale;
    tt_code_block(code, from + i, m, &scale, at + sizeof scale);
    memcpy(at, &scale, sizeof scale);
    at += sizeof scale + m;
  }
  return (size_t)(at - to);
}

static bool open_blocks(tt_code code, const uint8_t *at, size_t size, float *to, size_t n) {
  const size_t blocks = (n + TT_CODE_BLOCK - 1) / TT_CODE_BLOCK;
  if (size != n + blocks * sizeof(float)) return false;
  for (size_t i = 0; i < n; i += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - i, (size_t)TT_CODE_BLOCK);
    float scale;
    memcpy(&scale, at, sizeof scale);
    tt_code_unblock(code, scale, at + sizeof scale, m, to + i);
    at += sizeof scale + m;
  }
  return true;
}

/* ---- lossless ---- */

enum { COPIED, CODED }; /* a plane */

#define TURN(bits)                                                                \
  static void turn##bits(const void *from, size_t n, uint8_t(*plane)[PLAIN]) {    \
    for (size_t i = 0; i < n; i++) {                                              \
      uint##bits##_t u;                                                           \
      memcpy(&u, (const char *)from + i * sizeof u, sizeof u);                    \
      u = (uint##bits##_t)(u << 1 | u >> ((bits)-1));                             \
      for (size_t b = 0; b < sizeof u; b++) plane[b][i] = (uint8_t)(u >> 8 * b);  \
    }                                                                             \
  }                                                                               \
  static void turn_back##bits(const uint8_t(*plane)[PLAIN], size_t n, void *to) { \
    for (size_t i = 0; i < n; i++) {                                              \
      uint##bits##_t u = 0;                                                       \
      for (size_t b = 0; b < sizeof u; b++)                                       \
        u |= (uint##bits##_t)((uint##bits##_t)plane[b][i] << 8 * b);              \
      u = (uint##bits##_t)(u >> 1 | u << ((bits)-1));                             \
      memcpy((char *)to + i * sizeof u, &u, sizeof u);                            \
    }                                                                             \
  }
TURN(16)
TURN(32)
TURN(64)
#undef TURN

/* Does a sample have enough zero bytes to make coding the plane pay? */
static bool has_zeros(const uint8_t *plane, size_t n) {
  size_t zeros = 0, looked = 0;
  for (size_t i = 0; i < n; i += 1 + n / 128, looked++) zeros += plane[i] == 0;
  return 8 * zeros > looked;
}

static size_t make_planes(size_t width, const void *from, size_t bytes, uint8_t *to) {
  uint8_t plane[WIDEST][PLAIN], *at = to;
  const size_t n = bytes / width;
  (width == 2 ? turn16 : width == 4 ? turn32 : turn64)(from, n, plane);
  for (size_t b = width; b-- > 0;) {
    const bool tries = n && (b == width - 1 || has_zeros(plane[b], n));
    const size_t coded = tries ? tt_huffman_pack(plane[b], n, at + 1, n) : 0;
    *at++ = coded ? CODED : COPIED;
    if (!coded) memcpy(at, plane[b], n);
    at += coded ? coded : n;
  }
  return (size_t)(at - to);
}

static bool open_planes(size_t width, const uint8_t *at, size_t size, void *to, size_t bytes) {
  uint8_t plane[WIDEST][PLAIN];
  const size_t n = bytes / width;
  const uint8_t *end = at + size;
  if (bytes > PLAIN || bytes % width) return false;
  for (size_t b = width; b-- > 0;) {
    if (at == end) return false;
    const bool coded = *at++ == CODED;
    const size_t left = (size_t)(end - at);
    const size_t took = coded ? tt_huffman_unpack(at, left, plane[b], n) : n;
    if (!took || took > left) return false;
    if (!coded) memcpy(plane[b], at, n);
    at += took;
  }
  (width == 2   ? turn_back16
   : width == 4 ? turn_back32
                : turn_back64)((const uint8_t(*)[PLAIN])plane, n, to);
  return at == end;
}

/* ---- both ---- */

size_t tt_frame_make(tt_code code, tutti_type type, const void *from, size_t bytes, void *frame,
                     size_t *taken) {
  uint8_t *to = frame;
  const bool lossy = tt_code_lossy(code);
  *taken = tt_min(bytes, (size_t)(lossy ? BLOCKS * BLOCK_RAW : PLAIN));
  const size_t size =
      TT_FRAME_HEAD + (lossy
                           ? make_blocks(code, from, *taken / sizeof(float), to + TT_FRAME_HEAD)
                           : make_planes(tutti_type_size(type), from, *taken, to + TT_FRAME_HEAD));
  put_sizes(to, size, *taken);
  return size;
}

bool tt_frame_open(tt_code code, tutti_type type, const void *frame, void *to) {
  const uint8_t *at = (const uint8_t *)frame + TT_FRAME_HEAD;
  size_t size, raw;
  if (!tt_frame_sizes(frame, &size, &raw)) return false;
  size -= TT_FRAME_HEAD;
  return tt_code_lossy(code) ? open_blocks(code, at, size, to, raw / sizeof(float))
                             : open_planes(tutti_type_size(type), at, size, to, raw);
}
