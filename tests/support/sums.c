/* sums.c - numbers that are hard to sum, and their exact sums (sums.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sums.h"

#include <math.h>
#include <string.h>

#include "cover.h"

enum { BELOW = 96, BITS = BELOW + 2200 }; /* bits below the lowest denormal; all bits */

typedef struct shape {
  int size, precision, lowest; /* lowest: the exponent of the lowest denormal */
  uint64_t infinity; /* the smallest magnitude that is not a finite number; for e4m3, a NaN */
} shape;

static shape shape_of(tutti_type real) {
  switch (real) {
    case TUTTI_FP8_E4M3: return (shape){1, 4, -9, 0x7f};
    case TUTTI_FP8_E5M2: return (shape){1, 3, -16, 0x7c};
    case TUTTI_FLOAT16: return (shape){2, 11, -24, 0x7c00};
    case TUTTI_BFLOAT16: return (shape){2, 8, -133, 0x7f80};
    case TUTTI_FLOAT: return (shape){4, 24, -149, 0x7f800000};
    default: return (shape){8, 53, -1074, 0x7ff0000000000000};
  }
}

uint64_t sums_get(tutti_type real, const void *x, size_t i) {
  const int size = shape_of(real).size;
  uint64_t bits = 0;
  memcpy(&bits, (const char *)x + i * (size_t)size, (size_t)size); /* assumes little endian */
  return bits;
}

void sums_put(tutti_type real, void *x, size_t i, uint64_t bits) {
  const int size = shape_of(real).size;
  memcpy((char *)x + i * (size_t)size, &bits, (size_t)size);
}

/* ---- the exact sum, bit by bit ---- */

/* Adds a finite number to the bit counts. */
static void count_bits(const shape *s, uint64_t u, int *bit) {
  const int sign = u >> (8 * s->size - 1) ? -1 : 1;
  const uint64_t a = u & ~((uint64_t)1 << (8 * s->size - 1));
  const uint64_t fraction = a & (((uint64_t)1 << (s->precision - 1)) - 1);
  const int exponent = (int)(a >> (s->precision - 1));
  const int at = BELOW + (exponent ? exponent - 1 : 0);
  for (int j = 0; j < s->precision - 1; j++) bit[at + j] += sign * (int)(fraction >> j & 1);
  if (exponent) bit[at + s->precision - 1] += sign;
}

/* Reduces every count to 0 or 1. Returns true if the number is negative. */
static bool carry_bits(int *bit) {
  int carry = 0;
  bool negative = false;
  for (int i = 0; i < BITS; i++) {
    const int v = bit[i] + carry, odd = v & 1;
    bit[i] = odd;
    carry = (v - odd) / 2;
  }
  negative = carry < 0;
  for (int i = 0, one = 1; negative && i < BITS; i++) {
    const int v = 1 - bit[i] + one;
    bit[i] = v & 1;
    one = v >> 1;
  }
  return negative;
}

/* Rounds the number, given its bits and whether there is a remainder below them. */
static double as_number(const shape *s, const int *bit, bool rest) {
  int top = BITS - 1;
  while (top >= 0 && !bit[top]) top--;
  const int unit = top - s->precision + 1 > BELOW ? top - s->precision + 1 : BELOW;
  double m = 0;
  for (int i = top; i >= unit; i--) m = 2 * m + bit[i];
  for (int i = 0; i < unit - 1; i++) rest |= bit[i];
  if (bit[unit - 1] && (rest || bit[unit])) m += 1;
  return ldexp(m, unit - BELOW + s->lowest);
}

static uint64_t as_bits(tutti_type real, double x) {
  const float narrow = (float)x;
  uint64_t u = 0;
  uint32_t v;
  memcpy(&u, &x, sizeof u);
  memcpy(&v, &narrow, sizeof v);
  if (real == TUTTI_DOUBLE) return u;
  if (real == TUTTI_FLOAT) return v;
  if (real == TUTTI_BFLOAT16) return v >> 16;
  const shape s = shape_of(real);
  const int bias = real == TUTTI_FP8_E4M3 ? 7 : 15, below = s.precision - 1;
  x = fabs(x);
  if (x > (real == TUTTI_FP8_E4M3 ? 448 : 65535)) return s.infinity;
  if (x < ldexp(1, 1 - bias)) return (uint64_t)ldexp(x, -s.lowest);
  int e;
  const double f = frexp(x, &e); /* in [1/2, 1) */
  return ((uint64_t)(e + bias - 1) << below) + ((uint64_t)ldexp(f, s.precision) - (1u << below));
}

uint64_t sums_exact(tutti_type real, const uint64_t *x, int n, int by) {
  const shape s = shape_of(real);
  const uint64_t sign = (uint64_t)1 << (8 * s.size - 1);
  bool plus = false, minus = false, all_minus = n > 0;
  int bit[BITS] = {0}, rest = 0;
  for (int k = 0; k < n; k++) {
    const uint64_t a = x[k] & (sign - 1);
    const bool nan = a > s.infinity || (a == s.infinity && real == TUTTI_FP8_E4M3);
    plus |= nan || x[k] == s.infinity;
    minus |= nan || x[k] == (s.infinity | sign);
    all_minus &= x[k] == sign;
    if (a < s.infinity) count_bits(&s, x[k], bit);
  }
  if (plus && minus) return s.infinity | (uint64_t)1 << (s.precision - 2);
  if (plus || minus) return s.infinity | (minus ? sign : 0);
  const bool negative = carry_bits(bit);
  bool zero = true;
  for (int i = 0; i < BITS; i++) zero &= !bit[i];
  if (zero) return all_minus ? sign : 0;
  for (int i = BITS - 1; i >= 0; i--) {
    rest = 2 * rest + bit[i];
    bit[i] = rest >= by;
    rest -= bit[i] * by;
  }
  const uint64_t bits = as_bits(real, as_number(&s, bit, rest != 0));
  if (real == TUTTI_FP8_E4M3 && bits == s.infinity) return bits;
  return bits | (negative ? sign : 0);
}

/* ---- inputs ---- */

/* Returns a finite number with this sign, exponent field and fraction. */
static uint64_t made(const shape *s, bool minus, uint64_t exponent, uint64_t fraction) {
  const uint64_t most = (s->infinity >> (s->precision - 1)) - 1;
  const uint64_t mask = ((uint64_t)1 << (s->precision - 1)) - 1;
  const uint64_t sign = minus ? (uint64_t)1 << (8 * s->size - 1) : 0;
  return sign | (exponent < most ? exponent : most) << (s->precision - 1) | (fraction & mask);
}

uint64_t sums_number(tutti_type real, size_t i, int k, int n) {
  const shape s = shape_of(real);
  const uint64_t h = cover_mix(i * 977 + (uint64_t)k * 31 + (uint64_t)real + 1), all = UINT64_MAX;
  const uint64_t bias = (s.infinity >> s.precision), odd = h >> 60 & 1;
  const uint64_t one = made(&s, false, bias, 0), huge = bias + bias / 2,
                 sign = made(&s, true, 0, 0);
  switch (i % SUMS_KINDS) {
    case 0: return made(&s, odd, bias - h % 4, h >> 8); /* similar magnitudes */
    case 1: return k == 0 ? made(&s, false, huge, 1) : k == n - 1 ? made(&s, true, huge, 1) : one;
    case 2: return made(&s, odd, 0, h >> 8); /* denormals */
    case 3: return k == n - 1 ? made(&s, true, all, all) : made(&s, false, all, all); /* overflow */
    case 4: return k == 0 ? made(&s, false, all, all) : made(&s, k % 2, all, all);    /* midway */
    case 5: return k == (int)(i / SUMS_KINDS) % n ? s.infinity : made(&s, odd, bias, h);
    case 6: return k == 0 ? s.infinity : k == n - 1 ? s.infinity | sign : one;
    case 7: return k == n / 2 ? s.infinity | 1 | (odd ? sign : 0) : one; /* a NaN */
    case 8: return sign;                                                 /* -0 only */
    case 9: return k == 0 ? 0 : sign;
    case 10: return made(&s, odd, h >> 8 & 2047, h >> 20); /* any finite number */
    case 11: return k == 0 ? one : made(&s, false, bias - (uint64_t)s.precision, k == 1); /* ties */
    case 12: return k % 2 ? made(&s, true, bias, 7 * i) : made(&s, false, bias, 7 * i);   /* to 0 */
    default: /* numbers with few bits */
      return made(&s, odd, bias + h % 8, s.precision > 4 ? (h >> 8) << (s.precision - 4) : h >> 8);
  }
}
