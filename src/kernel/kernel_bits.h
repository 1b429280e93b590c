/* kernel_bits.h - floating point to the bit: canonical NaN, min and max with
 * signed zeros, fp16 and bf16 to float and back.
 *
 * Idea       no branches and no tables, only integer work and selects, so that
 *            a compiler turns a loop over these into vectors.
 * Invariant  equal bits in, equal bits out, on every machine whose float and
 *            double are IEEE 754, rounded to nearest even.
 * Source     the fp16 conversions follow F. Giesen, "Half to float done quick",
 *            2012; the lead over them is that a NaN comes out canonical.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_BITS_H
#define TT_KERNEL_BITS_H

#include <float.h>
#include <stdint.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "float sums must round as float");

static inline uint32_t tt_float_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float tt_bits_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint64_t tt_double_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline double tt_bits_double(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* Any NaN becomes the one quiet NaN; all else is handed on. */
static inline float tt_canon_float(float x) {
  return x == x ? x : tt_bits_float(0x7fc00000u);
}

static inline double tt_canon_double(double x) {
  return x == x ? x : tt_bits_double(0x7ff8000000000000u);
}

/* a - b as a sum, for complex products: where differences and sums of products
 * alternate, gcc 12 makes fused instructions of them, -ffp-contract=off or not. */
static inline float tt_sub_float(float a, float b) {
  return a + tt_bits_float(tt_float_bits(b) ^ 0x80000000u);
}

static inline double tt_sub_double(double a, double b) {
  return a + tt_bits_double(tt_double_bits(b) ^ 0x8000000000000000u);
}

/* Where a and b compare equal, their bits are equal too, or they are zeros: then
 * "or" keeps a minus and "and" drops it. Both selects are one instruction. */
static inline float tt_min_float(float a, float b) {
  float low = tt_bits_float(tt_float_bits(a < b ? a : b) | tt_float_bits(b < a ? b : a));
  return __builtin_isunordered(a, b) ? tt_bits_float(0x7fc00000u) : low;
}

static inline float tt_max_float(float a, float b) {
  float high = tt_bits_float(tt_float_bits(a > b ? a : b) & tt_float_bits(b > a ? b : a));
  return __builtin_isunordered(a, b) ? tt_bits_float(0x7fc00000u) : high;
}

static inline double tt_min_double(double a, double b) {
  double low = tt_bits_double(tt_double_bits(a < b ? a : b) | tt_double_bits(b < a ? b : a));
  return __builtin_isunordered(a, b) ? tt_bits_double(0x7ff8000000000000u) : low;
}

static inline double tt_max_double(double a, double b) {
  double high = tt_bits_double(tt_double_bits(a > b ? a : b) & tt_double_bits(b > a ? b : a));
  return __builtin_isunordered(a, b) ? tt_bits_double(0x7ff8000000000000u) : high;
}

/* bf16 is the upper half of a float. */
static inline float tt_bf16_float(uint16_t h) {
  return tt_bits_float((uint32_t)h << 16);
}

static inline uint16_t tt_float_bf16(float x) {
  uint32_t u = tt_float_bits(x);
  uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
  return (uint16_t)(x == x ? rounded : 0x7fc0u);
}

/* fp16: 5 bits of exponent (bias 15), 10 of fraction. A denormal h is h * 2^-24,
 * which the float subtraction below renormalises without meeting a denormal. */
static inline float tt_fp16_float(uint16_t h) {
  const uint32_t bias = (127 - 15) << 23, smallest = (127 - 14) << 23;
  uint32_t shifted = (uint32_t)(h & 0x7fff) << 13;
  uint32_t normal = shifted + bias;
  uint32_t special = normal + ((128 - 16) << 23); /* infinity and NaN */
  uint32_t tiny = tt_float_bits(tt_bits_float(shifted + smallest) - tt_bits_float(smallest));
  uint32_t u = shifted >= 0x7c00u << 13 ? special : normal;
  u = shifted < 1u << 23 ? tiny : u;
  return tt_bits_float(u | (uint32_t)(h & 0x8000) << 16);
}

static inline uint16_t tt_float_fp16(float x) {
  const uint32_t overflow = (127 + 16) << 23, smallest = (127 - 14) << 23;
  const uint32_t half = 126u << 23; /* 0.5: its last bit is the last of a denormal fp16 */
  uint32_t u = tt_float_bits(x) & 0x7fffffffu;
  uint32_t sign = tt_float_bits(x) >> 16 & 0x8000;
  uint32_t normal = (u + (u >> 13 & 1) + 0xfffu - ((127u - 15) << 23)) >> 13;
  uint32_t tiny = tt_float_bits(tt_bits_float(u) + 0.5f) - half;
  uint32_t h = u < smallest ? tiny : normal;
  h = u >= overflow ? 0x7c00u : h;
  return (uint16_t)(x == x ? h | sign : 0x7e00u);
}

#endif
