/* frame.c - the frames that a compressed message consists of; each can be decoded on its own (code.h).
 *
 * Lossy      A frame consists of blocks, each with a scale and its codes.
 * Lossless   A frame consists of byte planes. Each number is rotated by one bit, so that the exponent fills the highest
 *            byte and the sign is the last bit. The plane of the highest bytes is encoded (huffman.h), as are other
 *            planes with many zeros. The remaining planes, which hold bits of fractions, are copied. Numbers that are 0
 *            are omitted if a bitmap with one bit per number takes fewer bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "code.h"
#include "fp_state.h"
#include "huffman.h"

enum {
  BLOCK_RAW = TT_CODE_BLOCK * sizeof(float),
  BLOCK_CODED = sizeof(float) + TT_CODE_BLOCK,
  BLOCKS = (int)TT_FRAME_RAW / BLOCK_RAW,
  WIDEST = 8, /* size of the largest element, in bytes, and number of its planes */
  /* The maximum size of the numbers in a lossless frame, in bytes. One byte for the kind of frame and one for each plane
   * precede the numbers. The Huffman code may add TT_HUFFMAN_SPARE bytes. */
  PLAIN = (TT_FRAME - TT_FRAME_HEAD - 1 - WIDEST - TT_HUFFMAN_SPARE) / WIDEST * WIDEST
};
_Static_assert(BLOCKS *BLOCK_CODED + TT_FRAME_HEAD <= (int)TT_FRAME, "a lossy frame");
_Static_assert(PLAIN <= (int)TT_FRAME_RAW, "a lossless frame");

/* ---- the header with two sizes ---- */

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

/* Returns the size of an encoded block of n numbers, in bytes. */
static size_t block_bytes(size_t n) {
  return sizeof(float) + n;
}

static void store_block(tt_code code, const float *x, size_t n, uint8_t *to) {
  float scale;
  tt_code_block(code, x, n, &scale, to + sizeof scale);
  memcpy(to, &scale, sizeof scale);
}

static void load_block(tt_code code, const uint8_t *from, float *x, size_t n) {
  float scale;
  memcpy(&scale, from, sizeof scale);
  tt_code_unblock(code, scale, from + sizeof scale, n, x);
}

static size_t make_blocks(tt_code code, const float *from, size_t n, uint8_t *to) {
  uint8_t *at = to;
  for (size_t i = 0; i < n; i += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - i, (size_t)TT_CODE_BLOCK);
    store_block(code, from + i, m, at);
    at += block_bytes(m);
  }
  return (size_t)(at - to);
}

static bool open_blocks(tt_code code, const uint8_t *at, size_t size, float *to, size_t bytes) {
  const size_t n = bytes / sizeof *to, rest = n % TT_CODE_BLOCK;
  const size_t whole = n / TT_CODE_BLOCK * block_bytes(TT_CODE_BLOCK);
  if (bytes % sizeof *to || size != whole + (rest ? block_bytes(rest) : 0)) return false;
  for (size_t i = 0; i < n; i += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - i, (size_t)TT_CODE_BLOCK);
    load_block(code, at, to + i, m);
    at += block_bytes(m);
  }
  return true;
}

/* ---- lossless ---- */

enum { ALL, NOT_ZERO }; /* numbers in the planes; for NOT_ZERO, a bitmap marks them */
enum { COPIED, CODED }; /* representations of a plane */

/* Loops over numbers of one width, simple enough for the compiler to vectorise. They count zeros, remove zeros, restore them,
 * and convert numbers to planes and back. */
#define WIDTH(bits)                                                                              \
  static uint##bits##_t at##bits(const void *from, size_t i) {                                   \
    uint##bits##_t u;                                                                            \
    memcpy(&u, (const char *)from + i * sizeof u, sizeof u);                                     \
    return u;                                                                                    \
  }                                                                                              \
  static size_t zeros##bits(const void *from, size_t n) {                                        \
    size_t zeros = 0;                                                                            \
    for (size_t i = 0; i < n; i++) zeros += at##bits(from, i) == 0;                              \
    return zeros;                                                                                \
  }                                                                                              \
  static void leave_out##bits(const void *from, size_t n, uint8_t *map, void *to) {              \
    char *end = to;                                                                              \
    memset(map, 0, map_bytes(n));                                                                \
    for (size_t i = 0; i < n; i++) {                                                             \
      const uint##bits##_t u = at##bits(from, i);                                                \
      memcpy(end, &u, sizeof u);                                                                 \
      end += u ? sizeof u : 0;                                                                   \
      map[i / 8] |= (uint8_t)((u != 0) << i % 8);                                                \
    }                                                                                            \
  }                                                                                              \
  static void put_back##bits(const void *from, size_t n, const uint8_t *map, void *to) {         \
    size_t k = 0;                                                                                \
    for (size_t i = 0; i < n; i++) {                                                             \
      const unsigned is = map[i / 8] >> i % 8 & 1;                                               \
      const uint##bits##_t u = (uint##bits##_t)(at##bits(from, k) & (uint##bits##_t) - (int)is); \
      memcpy((char *)to + i * sizeof u, &u, sizeof u);                                           \
      k += is;                                                                                   \
    }                                                                                            \
  }                                                                                              \
  static void turn##bits(const void *from, size_t n, uint8_t *planes) {                          \
    for (size_t b = 0; b < bits / 8; b++, planes += n)                                           \
      for (size_t i = 0; i < n; i++) {                                                           \
        const uint##bits##_t u = at##bits(from, i);                                              \
        planes[i] = (uint8_t)((uint##bits##_t)(u << 1 | u >> (bits - 1)) >> 8 * b);              \
      }                                                                                          \
  }                                                                                              \
  static void turn_back##bits(const uint8_t *planes, size_t n, void *to) {                       \
    for (size_t i = 0; i < n; i++) {                                                             \
      uint##bits##_t u = 0;                                                                      \
      for (size_t b = 0; b < sizeof u; b++)                                                      \
        u |= (uint##bits##_t)((uint##bits##_t)planes[b * n + i] << 8 * b);                       \
      u = (uint##bits##_t)(u >> 1 | u << (bits - 1));                                            \
      memcpy((char *)to + i * sizeof u, &u, sizeof u);                                           \
    }                                                                                            \
  }

static size_t map_bytes(size_t n) {
  return (n + 7) / 8;
}

WIDTH(16)
WIDTH(32)
WIDTH(64)
#undef WIDTH
#define OF_WIDTH(width, name) ((width) == 2 ? name##16 : (width) == 4 ? name##32 : name##64)

/* Returns true if a sample of the plane has enough zero bytes to make encoding worthwhile. */
static bool has_zeros(const uint8_t *plane, size_t n) {
  size_t zeros = 0, looked = 0;
  for (size_t i = 0; i < n; i += (1 + n / 128) | 1, looked++) zeros += plane[i] == 0;
  return 8 * zeros > looked;
}

static uint8_t *make_planes(size_t width, const void *from, size_t n, uint8_t *at) {
  uint8_t planes[PLAIN];
  OF_WIDTH(width, turn)(from, n, planes);
  for (size_t b = width; b-- > 0;) {
    const uint8_t *plane = planes + b * n;
    const bool tries = n && (b == width - 1 || has_zeros(plane, n));
    const size_t coded = tries ? tt_huffman_pack(plane, n, at + 1, n) : 0;
    *at++ = coded ? CODED : COPIED;
    if (!coded) memcpy(at, plane, n);
    at += coded ? coded : n;
  }
  return at;
}

static size_t make_lossless(size_t width, const void *from, size_t bytes, uint8_t *to) {
  char rest[PLAIN + WIDEST];
  const size_t n = bytes / width, zeros = OF_WIDTH(width, zeros)(from, n);
  uint8_t *at = to;
  *at++ = zeros * width > map_bytes(n) ? NOT_ZERO : ALL;
  if (*to == ALL) return (size_t)(make_planes(width, from, n, at) - to);
  OF_WIDTH(width, leave_out)(from, n, at, rest);
  at += map_bytes(n);
  return (size_t)(make_planes(width, rest, n - zeros, at) - to);
}

/* Decodes n numbers from planes, which occupy the bytes from `at` to `end`. Returns false if the planes are damaged. */
static bool open_planes(size_t width, const uint8_t *at, const uint8_t *end, void *to, size_t n) {
  uint8_t planes[PLAIN];
  for (size_t b = width; b-- > 0;) {
    if (at == end) return false;
    const bool coded = *at++ == CODED;
    const size_t left = (size_t)(end - at);
    const size_t took = coded ? tt_huffman_unpack(at, left, planes + b * n, n) : n;
    if ((coded && !took) || took > left) return false;
    if (!coded) memcpy(planes + b * n, at, n);
    at += took;
  }
  OF_WIDTH(width, turn_back)(planes, n, to);
  return at == end;
}

static bool open_lossless(size_t width, const uint8_t *at, size_t size, void *to, size_t bytes) {
  char rest[PLAIN + WIDEST];
  const size_t n = bytes / width;
  const uint8_t *end = at + size, *map = at + 1;
  if (bytes > PLAIN || bytes % width || *at > NOT_ZERO) return false;
  if (*at == ALL) return open_planes(width, map, end, to, n);
  if (size < 1 + map_bytes(n)) return false;
  size_t numbers = 0;
  for (size_t i = 0; i < n; i++) numbers += map[i / 8] >> i % 8 & 1;
  if (!open_planes(width, map + map_bytes(n), end, rest, numbers)) return false;
  memset(rest + numbers * width, 0, width);
  OF_WIDTH(width, put_back)(rest, n, map, to);
  return true;
}

/* ---- both kinds ---- */

size_t tt_frame_make(tt_code code, tutti_type type, const void *from, size_t bytes, void *frame,
                     size_t *taken) {
  uint8_t *to = frame;
  const tt_fp_state state = tt_fp_pin();
  const bool lossy = tt_code_lossy(code);
  *taken = tt_min(bytes, (size_t)(lossy ? BLOCKS * BLOCK_RAW : PLAIN));
  const size_t size =
      TT_FRAME_HEAD +
      (lossy ? make_blocks(code, from, *taken / sizeof(float), to + TT_FRAME_HEAD)
             : make_lossless(tutti_type_size(type), from, *taken, to + TT_FRAME_HEAD));
  put_sizes(to, size, *taken);
  tt_fp_restore(state);
  return size;
}

bool tt_frame_open(tt_code code, tutti_type type, const void *frame, void *to) {
  const uint8_t *at = (const uint8_t *)frame + TT_FRAME_HEAD;
  size_t size, raw;
  if (!tt_frame_sizes(frame, &size, &raw)) return false;
  size -= TT_FRAME_HEAD;
  const tt_fp_state state = tt_fp_pin();
  const bool right = tt_code_lossy(code) ? open_blocks(code, at, size, to, raw)
                                         : open_lossless(tutti_type_size(type), at, size, to, raw);
  tt_fp_restore(state);
  return right;
}
