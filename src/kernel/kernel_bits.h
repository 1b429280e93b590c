/* kernel_bits.h - bit-exact floating point: min and max with signed zeros, and conversions between float and fp16, bf16
 * and the 8-bit floats.
 *
 * Idea       No branches and no tables, only integer operations and selects, so that a compiler can vectorise a loop
 *            over these functions.
 * Invariant  Equal input bits give equal output bits on every machine whose float and double are IEEE 754 and round to
 *            nearest even.
 * Source     The fp16 conversions follow F. Giesen, "Half to float done quick", 2012, but also make NaNs canonical. The
 *            8-bit formats: Open Compute Project, "OCP 8-bit Floating Point Specification (OFP8)", 2023.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_BITS_H
#define TT_KERNEL_BITS_H

#include <float.h>
#include <stdint.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "float sums must round as float");

/* Conversions between a real and its bits, and for two reals:
 *   sub       a - b as a sum, for complex products. If differences and sums of products
 *             alternate, gcc 12 generates fused instructions despite -ffp-contract=off.
 *   min, max  Each uses two selects of one instruction. They differ if a and b are zeros; min then
 *             keeps a minus sign of either, and max drops it. They also differ if one operand is
 *             NaN: one select returns a, the other b, and combining them yields some NaN. */
#define TT_REAL(T, U, sign)                                                          \
  static inline U tt_##T##_bits(T x) {                                               \
    U u;                                                                             \
    memcpy(&u, &x, sizeof u);                                                        \
    return u;                                                                        \
  }                                                                                  \
  static inline T tt_bits_##T(U u) {                                                 \
    T x;                                                                             \
    memcpy(&x, &u, sizeof x);                                                        \
    return x;                                                                        \
  }                                                                                  \
  static inline T tt_sub_##T(T a, T b) {                                             \
    return a + tt_bits_##T(tt_##T##_bits(b) ^ (sign));                               \
  }                                                                                  \
  static inline T tt_min_##T(T a, T b) {                                             \
    return tt_bits_##T(tt_##T##_bits(a < b ? a : b) | tt_##T##_bits(b < a ? b : a)); \
  }                                                                                  \
  static inline T tt_max_##T(T a, T b) {                                             \
    const U x = tt_##T##_bits(a > b ? a : b), y = tt_##T##_bits(b > a ? b : a);      \
    return tt_bits_##T((x & y) | ((x | y) & ~(sign)));                               \
  }
TT_REAL(float, uint32_t, UINT32_C(1) << 31)
TT_REAL(double, uint64_t, UINT64_C(1) << 63)
#undef TT_REAL

/* bf16 is the upper half of a float. */
static inline float tt_bf16_float(uint16_t h) {
  return tt_bits_float((uint32_t)h << 16);
}

static inline uint16_t tt_float_bf16(float x) {
  uint32_t u = tt_float_bits(x);
  uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
  return (uint16_t)(x == x ? rounded : 0x7fc0u);
}

/* fp16 has 5 bits of exponent (bias 15) and 10 of fraction. A denormal gets the exponent of the smallest normal, whose
 * value is then subtracted. The hardware thus renormalises it without ever seeing a denormal. Zero is subtracted from other
 * numbers. The choices are masks, because a branch around an addition would prevent vectorisation. */
static inline float tt_fp16_float(uint16_t h) {
  const int32_t one = 1 << 23; /* one unit of the exponent */
  int32_t u = (h & 0x7fff) << 13;
  int32_t tiny = (u - one) >> 31; /* all ones or all zeros */
  int32_t lift = u >= 0x7c00 << 13 ? (255 - 31) * one : (127 - 15) * one; /* infinity, NaN */
  int32_t lifted = u + lift + (tiny & one), below = tiny & (127 - 14) * one;
  float x = tt_bits_float((uint32_t)lifted) - tt_bits_float((uint32_t)below);
  return tt_bits_float(tt_float_bits(x) | (uint32_t)(h & 0x8000) << 16);
}

/* Converts a float to fp16 by reversing tt_fp16_float. For a denormal result, adding 0.5 leaves its 10 bits, already
 * rounded, in the lowest bits. Other numbers are rounded as integers. This may exceed infinity, so the minimum is taken. */
static inline uint16_t tt_float_fp16(float x) {
  const int32_t one = 1 << 23, half = 126 * one;
  int32_t sign = (int32_t)(tt_float_bits(x) >> 16 & 0x8000);
  int32_t u = (int32_t)(tt_float_bits(x) & 0x7fffffff);
  int32_t tiny = (u - (127 - 14) * one) >> 31;
  float above = tt_bits_float((uint32_t)(tiny & half));
  int32_t v = (int32_t)tt_float_bits(tt_bits_float((uint32_t)u) + above);
  int32_t normal = (v - (127 - 15) * one + 0xfff + (v >> 13 & 1)) >> 13;
  int32_t h = (tiny & (v - half)) | (~tiny & normal);
  h = h < 0x7c00 ? h : 0x7c00;
  int32_t nan = (255 * one - u) >> 31;
  return (uint16_t)((~nan & (h | sign)) | (nan & 0x7e00));
}

/* Computes the key by which min and max compare 16-bit floats without converting them. Apart from the sign, their bits
 * sort like integers. All NaNs get the extreme key that wins, which no other value has. */
static inline int16_t tt_half_key(uint16_t h, uint16_t infinity, int16_t nan) {
  const int16_t magnitude = (int16_t)(h & 0x7fff), flip = (int16_t)((int16_t)h >> 15 & 0x7fff);
  const int16_t key = (int16_t)((int16_t)h ^ flip);
  return magnitude > (int16_t)infinity ? nan : key;
}

static inline uint16_t tt_key_half(int16_t key, int16_t nan, uint16_t canonical) {
  const uint16_t h = (uint16_t)(key ^ (int16_t)(key >> 15 & 0x7fff));
  return key == nan ? canonical : h;
}

#define TT_HALF_ORDER(kind, infinity, canonical)                 \
  static inline uint16_t tt_min_##kind(uint16_t a, uint16_t b) { \
    const int16_t x = tt_half_key(a, infinity, INT16_MIN);       \
    const int16_t y = tt_half_key(b, infinity, INT16_MIN);       \
    return tt_key_half(x < y ? x : y, INT16_MIN, canonical);     \
  }                                                              \
  static inline uint16_t tt_max_##kind(uint16_t a, uint16_t b) { \
    const int16_t x = tt_half_key(a, infinity, INT16_MAX);       \
    const int16_t y = tt_half_key(b, infinity, INT16_MAX);       \
    return tt_key_half(x > y ? x : y, INT16_MAX, canonical);     \
  }
TT_HALF_ORDER(fp16, 0x7c00, 0x7e00)
TT_HALF_ORDER(bf16, 0x7f80, 0x7fc0)
#undef TT_HALF_ORDER

/* The 8-bit floats, by the same methods. e4m3 has 3 bits of fraction (`bits`) and a bias of 7. Its largest exponent is that
 * of ordinary numbers, and only the magnitude 0x7f is a NaN. e5m2 has 2 and 15, and has infinities. `top` is the smallest
 * magnitude that is not a finite number, and `wide` is its exponent in a float. A number that is rounded to `top` is too
 * large: e5m2 makes it infinite, e4m3 a NaN. */
#define TT_FP8(kind, bits, bias, top, canonical, wide)                                    \
  static inline float tt_##kind##_float(uint8_t h) {                                      \
    const int32_t one = 1 << 23, u = (h & 0x7f) << (23 - (bits));                         \
    const int32_t tiny = (u - one) >> 31;                                                 \
    const int32_t lift = u >= (top) << (23 - (bits)) ? (wide)*one : (127 - (bias)) * one; \
    const int32_t lifted = u + lift + (tiny & one), below = tiny & (128 - (bias)) * one;  \
    const float x = tt_bits_float((uint32_t)lifted) - tt_bits_float((uint32_t)below);     \
    return tt_bits_float(tt_float_bits(x) | (uint32_t)(h & 0x80) << 24);                  \
  }                                                                                       \
  static inline uint8_t tt_float_##kind(float x) {                                        \
    const int32_t one = 1 << 23, shift = 127 + 24 - (bias) - (bits);                      \
    const int32_t sign = (int32_t)(tt_float_bits(x) >> 24 & 0x80);                        \
    const int32_t u = (int32_t)(tt_float_bits(x) & 0x7fffffff);                           \
    const int32_t tiny = (u - (128 - (bias)) * one) >> 31;                                \
    const float above = tt_bits_float((uint32_t)(tiny & shift * one));                    \
    const int32_t v = (int32_t)tt_float_bits(tt_bits_float((uint32_t)u) + above);         \
    const int32_t half = (1 << (22 - (bits))) - 1 + (v >> (23 - (bits)) & 1);             \
    const int32_t normal = (v - (127 - (bias)) * one + half) >> (23 - (bits));            \
    const int32_t rounded = (tiny & (v - shift * one)) | (~tiny & normal);                \
    const int32_t h = rounded < (top) ? rounded : (top);                                  \
    const int32_t over = (canonical) == (top) ? ((top)-1 - h) >> 31 : 0;                  \
    const int32_t nan = (255 * one - u) >> 31 | over;                                     \
    return (uint8_t)((~nan & (h | sign)) | (nan & (canonical)));                          \
  }                                                                                       \
  static inline uint8_t tt_min_##kind(uint8_t a, uint8_t b) {                             \
    const int8_t x = tt_fp8_key(a, (canonical) == (top) ? (top)-1 : (top), INT8_MIN);     \
    const int8_t y = tt_fp8_key(b, (canonical) == (top) ? (top)-1 : (top), INT8_MIN);     \
    return tt_key_fp8(x < y ? x : y, INT8_MIN, canonical);                                \
  }                                                                                       \
  static inline uint8_t tt_max_##kind(uint8_t a, uint8_t b) {                             \
    const int8_t x = tt_fp8_key(a, (canonical) == (top) ? (top)-1 : (top), INT8_MAX);     \
    const int8_t y = tt_fp8_key(b, (canonical) == (top) ? (top)-1 : (top), INT8_MAX);     \
    return tt_key_fp8(x > y ? x : y, INT8_MAX, canonical);                                \
  }

/* Computes the key by which min and max compare 8-bit floats. `most` is the largest magnitude that is not a NaN. */
static inline int8_t tt_fp8_key(uint8_t h, int most, int8_t nan) {
  const int8_t key = (int8_t)((int8_t)h ^ ((int8_t)h >> 7 & 0x7f));
  return (h & 0x7f) > most ? nan : key;
}

static inline uint8_t tt_key_fp8(int8_t key, int8_t nan, uint8_t canonical) {
  const uint8_t h = (uint8_t)(key ^ (key >> 7 & 0x7f));
  return key == nan ? canonical : h;
}

TT_FP8(e4m3, 3, 7, 0x7f, 0x7f, 240)
TT_FP8(e5m2, 2, 15, 0x7c, 0x7e, 224)
#undef TT_FP8

#endif
