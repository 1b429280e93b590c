/* ptx_convert.c - PTX's cvt between integers of 8 to 64 bits and floats of 16, 32 and 64.
 *
 * Idea       Integers are converted through 128 bits, floats through double, which can represent every float of 16 and 32 bits.
 *            Each result is therefore rounded once.
 * Invariant  A NaN that an instruction makes has all bits set except its sign, as on the device. This detects code that relies
 *            on the CPU's NaN. Float to integer clamps; a NaN becomes 0.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "ptx_machine.h"

unsigned ptx_bytes(ptx_type t) {
  static const unsigned char bytes[] = {
      [PTX_B8] = 1,  [PTX_B16] = 2, [PTX_B32] = 4, [PTX_B64] = 8, [PTX_U8] = 1,  [PTX_U16] = 2,
      [PTX_U32] = 4, [PTX_U64] = 8, [PTX_S8] = 1,  [PTX_S16] = 2, [PTX_S32] = 4, [PTX_S64] = 8,
      [PTX_F16] = 2, [PTX_F32] = 4, [PTX_F64] = 8, [PTX_PRED] = 1};
  return bytes[t];
}

bool ptx_is_float(ptx_type t) {
  return t == PTX_F16 || t == PTX_F32 || t == PTX_F64;
}
bool ptx_is_signed(ptx_type t) {
  return t >= PTX_S8 && t <= PTX_S64;
}

float ptx_float(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float f;
  memcpy(&f, &low, 4);
  return f;
}

double ptx_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, 8);
  return d;
}

uint64_t ptx_bits_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return value != value ? 0x7fffffff : bits;
}

static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return value != value ? 0x7fffffffffffffff : bits;
}

/* 2 to the power e, which must be a normal number. */
static double power(int e) {
  return ptx_double((uint64_t)(e + 1023) << 52);
}

static double from_half(uint64_t h) {
  const int e = (int)(h >> 10 & 31);
  const double m = (double)(h & 1023), sign = h >> 15 & 1 ? -1 : 1;
  if (e == 31)
    return m != 0 ? ptx_double(0x7fffffffffffffff) : sign * ptx_double(0x7ff0000000000000);
  return sign * (e ? (1024 + m) * power(e - 25) : m * power(-24));
}

/* Whole numbers below 2^52: to nearest even, or toward 0. */
static uint64_t whole(double x, ptx_word rounding) {
  const double magic = power(52);
  if (rounding == PTX_RZ) return (uint64_t)x;
  const volatile double up = x + magic;
  return (uint64_t)(up - magic);
}

static uint64_t to_half(double x, ptx_word rounding) {
  const uint64_t bits = bits_of_double(x), sign = bits >> 63 << 15;
  if (x != x) return 0x7fff;
  const double a = x < 0 ? -x : x;
  if (a >= 65536)
    return rounding == PTX_RZ && a <= power(1023) * 1.9999 ? sign | 0x7bff : sign | 0x7c00;
  const int e = (int)(bits >> 52 & 2047) - 1023;
  if (e < -14) return sign | whole(a * power(24), rounding);
  return sign | (((uint64_t)(e + 14) << 10) +
                 whole(a * power(10 - e), rounding)); /* a carry goes to the exponent */
}

/* To nearest even; rounding toward 0 steps back if that went too far. */
static uint64_t to_float(double x, ptx_word rounding) {
  const float f = (float)x;
  uint64_t bits = ptx_bits_float(f);
  const double back = f;
  if (rounding == PTX_RZ && (x < 0 ? back < x : back > x)) bits--;
  return bits;
}

static uint64_t from_whole(__int128 w, ptx_type to, ptx_word rounding) {
  const bool fits = w >= INT64_MIN && w <= INT64_MAX;
  if (to == PTX_F16) return to_half(fits ? (double)(int64_t)w : (double)(uint64_t)w, rounding);
  uint64_t bits;
  __int128 back;
  if (to == PTX_F32) {
    const float f = fits ? (float)(int64_t)w : (float)(uint64_t)w;
    bits = ptx_bits_float(f), back = (__int128)f;
  } else {
    const double d = fits ? (double)(int64_t)w : (double)(uint64_t)w;
    bits = bits_of_double(d), back = (__int128)d;
  }
  return rounding == PTX_RZ && (w < 0 ? back < w : back > w) ? bits - 1 : bits;
}

/* The range of an integer type. */
static void range_of(ptx_type t, __int128 *least, __int128 *most) {
  const unsigned bits = 8 * ptx_bytes(t);
  *least = ptx_is_signed(t) ? -((__int128)1 << (bits - 1)) : 0;
  *most = ((__int128)1 << (ptx_is_signed(t) ? bits - 1 : bits)) - 1;
}

static uint64_t round_to_whole(double x, ptx_type to, ptx_word rounding) {
  __int128 least, most;
  if (x != x) return 0;
  range_of(to, &least, &most);
  if (x <= -power(65)) return (uint64_t)least;
  if (x >= power(65)) return (uint64_t)most;
  __int128 w = (__int128)x;
  const double rest = x - (double)w;
  switch (rounding) {
    case PTX_RNI:
      if (rest > 0.5 || (rest == 0.5 && w & 1)) w++;
      if (rest < -0.5 || (rest == -0.5 && w & 1)) w--;
      break;
    case PTX_RMI: w -= rest < 0; break;
    case PTX_RPI: w += rest > 0; break;
    default: break;
  }
  return (uint64_t)(w < least ? least : w > most ? most : w);
}

/* An integer of this type in the lowest bits. */
static __int128 whole_of(uint64_t bits, ptx_type t) {
  const unsigned unused = 64 - 8 * ptx_bytes(t);
  return ptx_is_signed(t) ? (__int128)((int64_t)(bits << unused) >> unused)
                          : (__int128)(bits << unused >> unused);
}

uint64_t ptx_convert(uint64_t bits, ptx_type from, ptx_type to, ptx_word rounding) {
  if (!ptx_is_float(from)) {
    const __int128 w = whole_of(bits, from);
    return ptx_is_float(to) ? from_whole(w, to, rounding) : (uint64_t)whole_of((uint64_t)w, to);
  }
  const double x = from == PTX_F16   ? from_half(bits)
                   : from == PTX_F32 ? (double)ptx_float(bits)
                                     : ptx_double(bits);
  switch (to) {
    case PTX_F16: return to_half(x, rounding);
    case PTX_F32: return to_float(x, rounding);
    case PTX_F64: return bits_of_double(x);
    default: return round_to_whole(x, to, rounding);
  }
}

uint64_t ptx_bits(ptx_type t, double value) {
  return t == PTX_F32 ? ptx_bits_float((float)value) : bits_of_double(value);
}
