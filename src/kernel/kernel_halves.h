/* kernel_halves.h - vectorised sums and products of 16-bit floats.
 *
 * Idea       A block is as many 16-bit floats as fit in a vector, and is converted to two vectors of floats. The order
 *            of the elements in their lanes does not matter, so bf16 is never unpacked: one vector is made from the
 *            lower halves of a block's 32-bit words, the other from the upper halves. The CPU converts fp16 if a set
 *            defines how (TT_FP16).
 * Invariant  Conversions give the same bits as those in kernel_bits.h. The accumulator holds whole blocks; the end of
 *            an array is processed in a padded block.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_HALVES_H
#define TT_KERNEL_HALVES_H

#include <stddef.h>

#include "kernel_bits.h"

#define VECTOR __attribute__((vector_size(TT_VECTOR))) /* bytes */
#define INLINE static inline __attribute__((always_inline))
typedef float vec_float VECTOR;
typedef int32_t vec_i32 VECTOR;
typedef uint32_t vec_u32 VECTOR;

typedef struct block {
  vec_float x, y;
} block;
enum { LANES = TT_VECTOR / 2 }; /* elements of a block */
_Static_assert(CHUNK / sizeof(float) % LANES == 0, "an accumulator is whole blocks");

/* Selects bits from a where the bits of `mask` are ones, and from b where they are zeros. */
#define SELECT(mask, a, b) (((vec_u32)(mask) & (a)) | (~(vec_u32)(mask) & (b)))

/* ---- bf16 ---- */

INLINE block get_bf16(const void *p) {
  vec_u32 w;
  memcpy(&w, p, sizeof w);
  return (block){(vec_float)(w << 16), (vec_float)(w & 0xffff0000u)};
}

INLINE vec_u32 round_bf16(vec_float x) {
  const vec_u32 u = (vec_u32)x, nan = u - u + 0x7fc00000u;
  return SELECT(x == x, u + 0x7fffu + (u >> 16 & 1u), nan);
}

INLINE void put_bf16(void *p, block z) {
  vec_u32 w = round_bf16(z.x) >> 16 | (round_bf16(z.y) & 0xffff0000u);
  memcpy(p, &w, sizeof w);
}

/* ---- fp16: by the CPU, or by loops that the compiler vectorises ---- */

#if defined(TT_FP16)
INLINE block get_fp16(const void *p) {
  return (block){widen_fp16(p), widen_fp16((const char *)p + TT_VECTOR / 2)};
}

INLINE vec_float canonical(vec_float x) {
  const vec_u32 u = (vec_u32)x;
  return (vec_float)SELECT(x == x, u, u - u + 0x7fc00000u);
}

INLINE void put_fp16(void *p, block z) {
  narrow_fp16(p, canonical(z.x));
  narrow_fp16((char *)p + TT_VECTOR / 2, canonical(z.y));
}
#else
INLINE block get_fp16(const void *p) {
  uint16_t h[LANES];
  float x[LANES];
  memcpy(h, p, sizeof h);
  for (size_t i = 0; i < LANES; i++) x[i] = tt_fp16_float(h[i]);
  block z;
  memcpy(&z, x, sizeof z);
  return z;
}

INLINE void put_fp16(void *p, block z) {
  uint16_t h[LANES];
  float x[LANES];
  memcpy(x, &z, sizeof x);
  for (size_t i = 0; i < LANES; i++) h[i] = tt_float_fp16(x[i]);
  memcpy(p, h, sizeof h);
}
#endif

/* ---- a block, or the first n elements of one ---- */

typedef block get_block(const void *p);
typedef void put_block(void *p, block z);

INLINE block take(get_block *get, const void *p, size_t n) {
  if (n == LANES) return get(p);
  uint16_t padded[LANES] = {0};
  memcpy(padded, p, n * sizeof *padded);
  return get(padded);
}

INLINE void leave(put_block *put, void *p, block z, size_t n) {
  uint16_t padded[LANES];
  put(n == LANES ? p : padded, z);
  if (n != LANES) memcpy(p, padded, n * sizeof *padded);
}

INLINE block held(const float *p) {
  block z;
  memcpy(&z, p, sizeof z);
  return z;
}

INLINE void hold(float *p, block z) {
  memcpy(p, &z, sizeof z);
}

/* `step` is a statement that may use i and n. The current block has n elements and starts at index i. */
#define BLOCK_LOOP(name, D, inputs, step)                      \
  static void name(D *d, inputs, size_t count) {               \
    size_t i = 0;                                              \
    for (const size_t n = LANES; i + n <= count; i += n) step; \
    for (const size_t n = count - i; i < count; i += n) step;  \
  }

#define TWO          const u16 *a, const u16 *b
#define TWO_TO_TWO   u16 *e, const u16 *a, const u16 *b
#define THREE        const u16 *a, const u16 *b, const u16 *c
#define HELD_AND_TWO const float *a, const u16 *b, const u16 *c

#define HALF_KERNEL(name, op, T, kind)                                                           \
  INLINE block name##_and(block z, const u16 *p, size_t n) {                                     \
    const block w = take(get_##kind, p, n);                                                      \
    return (block){z.x op w.x, z.y op w.y};                                                      \
  }                                                                                              \
  INLINE block name##_of(const u16 *a, const u16 *b, size_t n) {                                 \
    return name##_and(take(get_##kind, a, n), b, n);                                             \
  }                                                                                              \
  INLINE block name##_of3(const u16 *a, const u16 *b, const u16 *c, size_t n) {                  \
    return name##_and(name##_of(a, b, n), c, n);                                                 \
  }                                                                                              \
  INLINE block name##_and2(const float *a, const u16 *b, const u16 *c, size_t n) {               \
    return name##_and(name##_and(held(a), b, n), c, n);                                          \
  }                                                                                              \
  INLINE void name##_leave(u16 *d, u16 *e, block z, size_t n) {                                  \
    leave(put_##kind, d, z, n);                                                                  \
    leave(put_##kind, e, z, n);                                                                  \
  }                                                                                              \
  BLOCK_LOOP(name##_2, u16, TWO, leave(put_##kind, d + i, name##_of(a + i, b + i, n), n))        \
  BLOCK_LOOP(name##_both, u16, TWO_TO_TWO,                                                       \
             name##_leave(d + i, e + i, name##_of(a + i, b + i, n), n))                          \
  BLOCK_LOOP(name##_3, u16, THREE,                                                               \
             leave(put_##kind, d + i, name##_of3(a + i, b + i, c + i, n), n))                    \
  BLOCK_LOOP(name##_first2, float, TWO, hold(d + i, name##_of(a + i, b + i, n)))                 \
  BLOCK_LOOP(name##_first3, float, THREE, hold(d + i, name##_of3(a + i, b + i, c + i, n)))       \
  BLOCK_LOOP(name##_more, float, HELD_AND_TWO, hold(d + i, name##_and2(a + i, b + i, c + i, n))) \
  BLOCK_LOOP(name##_last, u16, HELD_AND_TWO,                                                     \
             leave(put_##kind, d + i, name##_and2(a + i, b + i, c + i, n), n))                   \
  DRIVER(name, u16, float, name##_first2, name##_first3, name##_more, name##_last)
#endif
