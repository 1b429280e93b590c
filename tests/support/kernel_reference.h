/* kernel_reference.h - the definition of a reduction, one element at a time.
 *
 * Idea       implements the specification in tutti.h in the simplest C: 128-bit integers, one
 *            stored operation per step, 16-bit floats by ldexp and rint. It shares no code with
 *            src/kernel.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNEL_REFERENCE_H
#define KERNEL_REFERENCE_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tutti.h"

/* ---- 16-bit and 8-bit floats: simple and slow ---- */

typedef struct format {
  int fraction, bias; /* fraction: number of bits */
  uint16_t nan;
  int bits;       /* total bits of fraction and exponent */
  bool only_nans; /* no infinities: the largest exponent is ordinary, all ones are a NaN */
} format;
static const format FP16 = {10, 15, 0x7e00, 15, false}, BF16 = {7, 127, 0x7fc0, 15, false},
                    E4M3 = {3, 7, 0x7f, 7, true}, E5M2 = {2, 15, 0x7e, 7, false};

/* Returns the format of a type of 8 or 16 bits, or NULL for other types. */
static inline const format *format_of(tutti_type t) {
  switch (t) {
    case TUTTI_FLOAT16: return &FP16;
    case TUTTI_BFLOAT16: return &BF16;
    case TUTTI_FP8_E4M3: return &E4M3;
    case TUTTI_FP8_E5M2: return &E5M2;
    default: return NULL;
  }
}

static inline bool is_pair_type(tutti_type t) {
  return t >= TUTTI_FLOAT_INT && t <= TUTTI_SHORT_INT;
}

/* Read and write the bits of an element of 1 or 2 bytes. */
static inline uint16_t get_short(const format *f, const void *p) {
  uint16_t h = *(const unsigned char *)p;
  if (f->bits == 15) memcpy(&h, p, 2);
  return h;
}

static inline void put_short(const format *f, void *p, uint16_t h) {
  if (f->bits == 15)
    memcpy(p, &h, 2);
  else
    *(unsigned char *)p = (unsigned char)h;
}

static double decode(format f, uint16_t h) {
  const int all = (1 << f.bits) - 1, top = all >> f.fraction, exponent = (h & all) >> f.fraction;
  double m = h & ((1 << f.fraction) - 1), sign = h >> f.bits & 1 ? -1 : 1;
  if (f.only_nans && (h & all) == all) return NAN;
  if (exponent == top && !f.only_nans) return m != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexp(m, 1 - f.bias - f.fraction);
  return sign * ldexp(m + (1 << f.fraction), exponent - f.bias - f.fraction);
}

static uint16_t encode(format f, double x) {
  if (isnan(x) || (isinf(x) && f.only_nans)) return f.nan;
  uint16_t sign = signbit(x) ? (uint16_t)(1 << f.bits) : 0;
  uint16_t infinity = (uint16_t)(((1 << (f.bits - f.fraction)) - 1) << f.fraction);
  if (isinf(x)) return sign | infinity;
  x = fabs(x);
  int e = x == 0 ? 1 - f.bias : ilogb(x);
  if (e < 1 - f.bias) e = 1 - f.bias;
  double units = rint(ldexp(x, f.fraction - e)); /* rounds to nearest even, exactly */
  long u = (long)units + ((long)(e + f.bias - 1) << f.fraction);
  if (f.only_nans) return u >= f.nan ? f.nan : sign | (uint16_t)u;
  return sign | (uint16_t)(u > infinity ? infinity : u);
}

/* ---- the reference: one element ---- */

typedef struct pair {
  double v;
  long l;
  int i;
} pair;

static bool is_signed(tutti_type t) {
  return t <= TUTTI_UINT64 && t % 2 == 0;
}

static __int128 get_int(tutti_type t, const void *p) {
  uint64_t u = 0;
  size_t size = tutti_type_size(t);
  memcpy(&u, p, size); /* assumes a little-endian host */
  if (is_signed(t) && u >> (8 * size - 1)) return (__int128)u - ((__int128)1 << (8 * size));
  return (__int128)u;
}

static uint64_t int_op(tutti_op op, __int128 a, __int128 b) {
  switch (op) {
    case TUTTI_SUM:
    case TUTTI_AVG: return (uint64_t)(a + b);
    case TUTTI_PROD: return (uint64_t)a * (uint64_t)b;
    case TUTTI_MIN: return (uint64_t)(a < b ? a : b);
    case TUTTI_MAX: return (uint64_t)(a > b ? a : b);
    case TUTTI_BAND: return (uint64_t)(a & b);
    case TUTTI_BOR: return (uint64_t)(a | b);
    case TUTTI_BXOR: return (uint64_t)(a ^ b);
    case TUTTI_LAND: return a && b;
    case TUTTI_LOR: return a || b;
    case TUTTI_LXOR: return !a != !b;
    default: return a == b ? 0x5555 : 0xaaaa; /* not an op: differs from any result */
  }
}

static double min_max(tutti_op op, double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return (op == TUTTI_MIN) == (signbit(a) != 0) ? a : b;
  return (op == TUTTI_MIN) == (a < b) ? a : b;
}

static float float_op(tutti_op op, float a, float b) {
  volatile float x = a, y = b, z = 0;
  if (op == TUTTI_SUM || op == TUTTI_AVG)
    z = x + y;
  else if (op == TUTTI_PROD)
    z = x * y;
  else
    z = (float)min_max(op, x, y);
  return z;
}

static double double_op(tutti_op op, double a, double b) {
  volatile double x = a, y = b, z = 0;
  if (op == TUTTI_SUM || op == TUTTI_AVG)
    z = x + y;
  else if (op == TUTTI_PROD)
    z = x * y;
  else
    z = min_max(op, x, y);
  return z;
}

static void put_float(void *p, float x) {
  uint32_t nan = 0x7fc00000u;
  memcpy(p, isnan(x) ? (void *)&nan : (void *)&x, sizeof x);
}

static void put_double(void *p, double x) {
  uint64_t nan = 0x7ff8000000000000u;
  memcpy(p, isnan(x) ? (void *)&nan : (void *)&x, sizeof x);
}

static float get_float(const void *p) {
  float x;
  memcpy(&x, p, sizeof x);
  return x;
}

static double get_double(const void *p) {
  double x;
  memcpy(&x, p, sizeof x);
  return x;
}

static void one_int(tutti_type t, tutti_op op, void *out, const void *const *in, int n) {
  memcpy(out, in[0], tutti_type_size(t));
  for (int j = 1; j < n; j++) {
    uint64_t u = int_op(op, get_int(t, out), get_int(t, in[j]));
    memcpy(out, &u, tutti_type_size(t));
  }
}

static void one_half(format f, tutti_op op, void *out, const void *const *in, int n) {
  float acc = (float)decode(f, get_short(&f, in[0]));
  for (int j = 1; j < n; j++) acc = float_op(op, acc, (float)decode(f, get_short(&f, in[j])));
  put_short(&f, out, encode(f, acc));
}

static void one_real(tutti_type t, tutti_op op, void *out, const void *const *in, int n) {
  if (t == TUTTI_FLOAT) {
    float acc = get_float(in[0]);
    for (int j = 1; j < n; j++) acc = float_op(op, acc, get_float(in[j]));
    put_float(out, acc);
  } else {
    double acc = get_double(in[0]);
    for (int j = 1; j < n; j++) acc = double_op(op, acc, get_double(in[j]));
    put_double(out, acc);
  }
}

static void one_complex_float(tutti_op op, void *out, const void *const *in, int n) {
  float re = get_float(in[0]), im = get_float((const char *)in[0] + 4);
  for (int j = 1; j < n; j++) {
    volatile float c = get_float(in[j]), d = get_float((const char *)in[j] + 4);
    volatile float ac = re * c, bd = im * d, ad = re * d, bc = im * c;
    re = op == TUTTI_PROD ? ac - bd : re + c;
    im = op == TUTTI_PROD ? ad + bc : im + d;
  }
  put_float(out, re);
  put_float((char *)out + 4, im);
}

static void one_complex_double(tutti_op op, void *out, const void *const *in, int n) {
  double re = get_double(in[0]), im = get_double((const char *)in[0] + 8);
  for (int j = 1; j < n; j++) {
    volatile double c = get_double(in[j]), d = get_double((const char *)in[j] + 8);
    volatile double ac = re * c, bd = im * d, ad = re * d, bc = im * c;
    re = op == TUTTI_PROD ? ac - bd : re + c;
    im = op == TUTTI_PROD ? ad + bc : im + d;
  }
  put_double(out, re);
  put_double((char *)out + 8, im);
}

/* index_at returns the offset of a pair's index; get_pair reads a pair. */
static size_t index_at(tutti_type t) {
  return t == TUTTI_DOUBLE_INT || t == TUTTI_LONG_INT ? 8 : 4;
}

static pair get_pair(tutti_type t, const void *p) {
  pair x = {0, 0, 0};
  int i;
  short s;
  memcpy(&x.i, (const char *)p + index_at(t), sizeof x.i);
  switch (t) {
    case TUTTI_FLOAT_INT: x.v = get_float(p); break;
    case TUTTI_DOUBLE_INT: x.v = get_double(p); break;
    case TUTTI_LONG_INT: memcpy(&x.l, p, sizeof x.l); break;
    case TUTTI_INT_INT: memcpy(&i, p, sizeof i), x.l = i; break;
    default: memcpy(&s, p, sizeof s), x.l = s; break;
  }
  return x;
}

/* Returns -1 if a precedes b, 1 otherwise. */
static int compare_pairs(tutti_op op, pair a, pair b) {
  int up = op == TUTTI_MINLOC ? 1 : -1;
  if (isnan(a.v) != isnan(b.v)) return isnan(a.v) ? -1 : 1;
  if (!isnan(a.v) && a.v != b.v) return a.v < b.v ? -up : up;
  if (a.l != b.l) return a.l < b.l ? -up : up;
  if (a.i != b.i) return a.i < b.i ? -1 : 1;
  if (!isnan(a.v) && !signbit(a.v) != !signbit(b.v)) return signbit(a.v) ? -up : up;
  return 0;
}

static void one_pair(tutti_type t, tutti_op op, void *out, const void *const *in, int n) {
  pair best = get_pair(t, in[0]);
  for (int j = 1; j < n; j++) {
    pair x = get_pair(t, in[j]);
    if (compare_pairs(op, x, best) < 0) best = x;
  }
  int i = (int)best.l;
  short s = (short)best.l;
  memset(out, 0, tutti_type_size(t));
  switch (t) {
    case TUTTI_FLOAT_INT: put_float(out, (float)best.v); break;
    case TUTTI_DOUBLE_INT: put_double(out, best.v); break;
    case TUTTI_LONG_INT: memcpy(out, &best.l, sizeof best.l); break;
    case TUTTI_INT_INT: memcpy(out, &i, sizeof i); break;
    default: memcpy(out, &s, sizeof s); break;
  }
  memcpy((char *)out + index_at(t), &best.i, sizeof best.i);
}

static inline void one(tutti_type t, tutti_op op, void *out, const void *const *in, int n) {
  if (t <= TUTTI_UINT64)
    one_int(t, op, out, in, n);
  else if (format_of(t))
    one_half(*format_of(t), op, out, in, n);
  else if (t == TUTTI_FLOAT || t == TUTTI_DOUBLE)
    one_real(t, op, out, in, n);
  else if (t == TUTTI_COMPLEX_FLOAT)
    one_complex_float(op, out, in, n);
  else if (t == TUTTI_COMPLEX_DOUBLE)
    one_complex_double(op, out, in, n);
  else
    one_pair(t, op, out, in, n);
}

/* ---- the premultiplier of a sum ---- */

static inline void one_times(tutti_type t, void *p, double factor) {
  volatile float by = (float)factor, x;
  volatile double d;
  const format *f = format_of(t);
  if (f) {
    x = (float)decode(*f, get_short(f, p)) * by;
    put_short(f, p, encode(*f, x));
  } else if (t == TUTTI_FLOAT || t == TUTTI_COMPLEX_FLOAT) {
    x = get_float(p) * by;
    put_float(p, x);
    if (t == TUTTI_COMPLEX_FLOAT) one_times(TUTTI_FLOAT, (char *)p + 4, factor);
  } else {
    d = get_double(p) * factor;
    put_double(p, d);
    if (t == TUTTI_COMPLEX_DOUBLE) one_times(TUTTI_DOUBLE, (char *)p + 8, factor);
  }
}

/* ---- the division of avg ---- */

static inline void one_scale(tutti_type t, void *p, int ranks) {
  volatile float by = (float)ranks, x;
  volatile double d;
  const format *f = format_of(t);
  if (t <= TUTTI_UINT64) {
    uint64_t u = (uint64_t)(get_int(t, p) / ranks);
    memcpy(p, &u, tutti_type_size(t));
  } else if (f) {
    x = (float)decode(*f, get_short(f, p)) / by;
    put_short(f, p, encode(*f, x));
  } else if (t == TUTTI_FLOAT || t == TUTTI_COMPLEX_FLOAT) {
    x = get_float(p) / by;
    put_float(p, x);
    if (t == TUTTI_COMPLEX_FLOAT) one_scale(TUTTI_FLOAT, (char *)p + 4, ranks);
  } else {
    d = get_double(p) / ranks;
    put_double(p, d);
    if (t == TUTTI_COMPLEX_DOUBLE) one_scale(TUTTI_DOUBLE, (char *)p + 8, ranks);
  }
}

#endif
