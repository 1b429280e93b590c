/* lossy.c - encodes blocks of floats as 8-bit numbers with a scale (code.h).
 *
 * Idea       The scale is the largest magnitude divided by the code's largest number, rounded up to 16 significant
 *            bits, so that its product with any 8-bit number is exact. If the largest product would overflow, the scale
 *            is rounded down instead. Loops are plain C that a compiler vectorises. A block's largest magnitude is
 *            found by comparing the bits, in which NaN is largest.
 * Invariant  The same block yields the same codes on every machine with IEEE 754 floats.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "code.h"
#include "fp_state.h"
#include "kernel_bits.h"

static const uint32_t infinity = 0x7f800000u;

/* Returns the largest number of a code. */
static float top_of(tt_code code) {
  return code == TT_CODE_INT8 ? 127.0f : code == TT_CODE_E4M3 ? 448.0f : 57344.0f;
}

/* Returns the largest magnitude, as bits. */
static uint32_t largest(const float *x, size_t n) {
  uint32_t most = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t bits = tt_float_bits(x[i]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  return most;
}

/* Returns the scale of a block. It is at least 2^-100, because products with smaller scales might lose bits. */
static float scale_of(tt_code code, uint32_t most) {
  const float top = top_of(code), exact = tt_bits_float(most) / top, least = 0x1p-100f;
  const float up = tt_bits_float((tt_float_bits(exact) + 0xffu) & ~0xffu);
  const float scale = up * top <= FLT_MAX ? up : tt_bits_float(tt_float_bits(exact) & ~0xffu);
  return scale > least ? scale : least;
}

void tt_code_block(tt_code code, const float *x, size_t n, float *scale, uint8_t *codes) {
  const uint32_t most = largest(x, n);
  if (most >= infinity) {
    *scale = tt_bits_float(0x7fc00000u);
    memset(codes, 0, n);
    return;
  }
  *scale = scale_of(code, most);
  const float by = 1 / *scale;
  if (code == TT_CODE_INT8) {
    const float middle = 12582912.0f; /* 1.5 * 2^23: the low bits of the sum are the integer */
    for (size_t i = 0; i < n; i++) codes[i] = (uint8_t)(tt_float_bits(x[i] * by + middle) & 0xff);
  } else if (code == TT_CODE_E4M3) {
    for (size_t i = 0; i < n; i++) codes[i] = tt_float_e4m3(x[i] * by);
  } else {
    for (size_t i = 0; i < n; i++) codes[i] = tt_float_e5m2(x[i] * by);
  }
}

void tt_code_unblock(tt_code code, float scale, const uint8_t *codes, size_t n, float *x) {
  if (code == TT_CODE_INT8)
    for (size_t i = 0; i < n; i++) x[i] = (float)(int8_t)codes[i] * scale;
  else if (code == TT_CODE_E4M3)
    for (size_t i = 0; i < n; i++) x[i] = tt_e4m3_float(codes[i]) * scale;
  else
    for (size_t i = 0; i < n; i++) x[i] = tt_e5m2_float(codes[i]) * scale;
}

void tt_code_round(tt_code code, float *x, size_t n) {
  uint8_t codes[TT_CODE_BLOCK];
  float scale;
  const tt_fp_state state = tt_fp_pin();
  for (size_t at = 0; at < n; at += TT_CODE_BLOCK) {
    const size_t m = tt_min(n - at, (size_t)TT_CODE_BLOCK);
    tt_code_block(code, x + at, m, &scale, codes);
    tt_code_unblock(code, scale, codes, m, x + at);
  }
  tt_fp_restore(state);
}

/* ---- bounds ---- */

/* The largest error is half the distance between the two largest numbers of the code, relative to the largest number. The
 * factor 1 + 2^-14 accounts for the scale, which is rounded up by at most 2^-15, and for the rounding of its inverse. */
double tt_code_error(tt_code code) {
  const double half = code == TT_CODE_INT8 ? 0.5 : code == TT_CODE_E4M3 ? 16 : 4096;
  return tt_code_lossy(code) ? half / top_of(code) * (1 + 0x1p-14) : 0;
}

double tt_code_bound(tt_code code, int roundings) {
  double all = 1;
  for (int i = 0; i < roundings; i++) all *= 1 + tt_code_error(code);
  return all - 1;
}

int tt_code_roundings(tt_code code, double error) {
  int n = 0;
  if (!tt_code_lossy(code)) return 0;
  while (n < 1 << 20 && tt_code_bound(code, n + 1) <= error) n++;
  return n;
}
