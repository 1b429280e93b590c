/* cover_data.c - inputs whose sums are the same in any order, and the reference loop.
 *
 * Idea       small integers for sums of floats, powers of two for products, random
 *            bits for integers. The user-defined ops are exact: x + y + 2xy, which
 *            commutes, and the composition of maps ax + b, which does not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cover.h"

#include "kernel_reference.h"
#include "rounding.h"

uint64_t cover_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static bool is_pair(tutti_type t) {
  return is_pair_type(t);
}
static bool is_complex(tutti_type t) {
  return t == TUTTI_COMPLEX_FLOAT || t == TUTTI_COMPLEX_DOUBLE;
}
static bool is_users(int op) {
  return op == COVER_USER || op == COVER_ORDERED;
}
static bool is_logical(int op) {
  return op == TUTTI_LAND || op == TUTTI_LOR || op == TUTTI_LXOR;
}
static bool sums(int op) {
  return op == TUTTI_SUM || op == TUTTI_AVG || op == COVER_SCALED;
}

size_t cover_align(tutti_type t) {
  if (is_pair(t)) return index_at(t);
  return is_complex(t) ? tutti_type_size(t) / 2 : tutti_type_size(t);
}

static void put_real(tutti_type t, void *to, double x) {
  const format *f = format_of(t);
  if (f)
    put_short(f, to, encode(*f, x));
  else if (t == TUTTI_FLOAT)
    put_float(to, (float)x);
  else
    put_double(to, x);
}

static double get_real(tutti_type t, const void *p) {
  const format *f = format_of(t);
  if (f) return decode(*f, get_short(f, p));
  return t == TUTTI_FLOAT ? (double)get_float(p) : get_double(p);
}

static bool is_fp8(tutti_type t) {
  return t == TUTTI_FP8_E4M3 || t == TUTTI_FP8_E5M2;
}

/* A real number for which the op is exact over up to 16 ranks in any order. 8-bit floats add up to 8
 * without rounding. */
static double exact(tutti_type type, int op, int rank, uint64_t u) {
  static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 0x1p-14};
  if (op == TUTTI_PROD) {
    double x = rank < 8 ? ldexp(1, (int)(u % 3) - 1) : 1;
    return u >> 8 & 1 ? x : -x;
  }
  if (!sums(op) && u % 32 == 0) return special[u >> 8 & 7];
  if (!sums(op)) return (double)(int64_t)(u >> 40 & 0xff) * 0.25 - 32;
  if (is_fp8(type)) return rank < 4 ? (double)((u >> 16) % 3) - 1 : 0;
  return (double)(u >> 16 & 15) - 8;
}

static void fill_real(const cover_case *c, int rank, uint64_t u, void *to) {
  double x = c->rough ? ldexp((double)(u >> 11), -52) - 1 : exact(c->type, c->op, rank, u);
  put_real(c->type, to, x);
}

static void fill_complex(const cover_case *c, int rank, uint64_t u, void *to) {
  const tutti_type part = c->type == TUTTI_COMPLEX_FLOAT ? TUTTI_FLOAT : TUTTI_DOUBLE;
  const size_t half = tutti_type_size(part);
  double re = exact(c->type, c->op, rank, u), im = exact(c->type, c->op, rank, cover_mix(u));
  if (c->op == TUTTI_PROD) *(u >> 20 & 1 ? &re : &im) = 0; /* a power of two, rotated */
  if (c->rough)
    re = ldexp((double)(u >> 11), -52) - 1, im = ldexp((double)(u << 20 >> 11), -52) - 1;
  put_real(part, to, re);
  put_real(part, (char *)to + half, im);
}

static void fill_pair(tutti_type t, uint64_t u, char *to) {
  double v = (double)(int)(u & 7) - 3;
  long l = (long)v;
  int value = (int)v, index = (int)(u >> 8 & 15);
  short s = (short)v;
  memset(to, 0, tutti_type_size(t));
  switch (t) {
    case TUTTI_FLOAT_INT: put_float(to, (float)v); break;
    case TUTTI_DOUBLE_INT: put_double(to, v); break;
    case TUTTI_LONG_INT: memcpy(to, &l, sizeof l); break;
    case TUTTI_INT_INT: memcpy(to, &value, sizeof value); break;
    default: memcpy(to, &s, sizeof s); break;
  }
  memcpy(to + index_at(t), &index, sizeof index);
}

static void fill_bits(const cover_case *c, uint64_t u, void *to) {
  const uint64_t two[] = {u, cover_mix(u ^ 0x51)};
  memcpy(to, two, tutti_type_size(c->type));
  if (is_logical(c->op) && u >> 60 < (c->op == TUTTI_LAND ? 1 : 10))
    memset(to, 0, tutti_type_size(c->type));
}

void cover_fill(const cover_case *c, int rank, void *to, size_t n) {
  const size_t size = tutti_type_size(c->type);
  const bool bits = c->type <= TUTTI_UINT64 || is_users(c->op) || !cover_reduces(c->coll);
  char *at = to;
  for (size_t i = 0; i < n; i++, at += size) {
    uint64_t u = cover_mix(cover_mix(c->seed + (uint64_t)rank * 0x9e3779b97f4a7c15u) ^
                           (i % COVER_PERIOD) * 0xd1342543de82ef95u);
    if (bits)
      fill_bits(c, u, at);
    else if (is_pair(c->type))
      fill_pair(c->type, u, at);
    else if (is_complex(c->type))
      fill_complex(c, rank, u, at);
    else
      fill_real(c, rank, u, at);
  }
}

/* ---- user-defined ops: on each half of an element as an unsigned number ---- */

typedef struct halving {
  uint64_t x, y;
} halving;

static halving get_halves(size_t size, const void *p) {
  halving h = {0, 0};
  memcpy(&h.x, p, size / 2);
  memcpy(&h.y, (const char *)p + size / 2, size / 2);
  if (size == 1) memcpy(&h.x, p, 1), h.y = h.x & 15, h.x >>= 4;
  return h;
}

static void put_halves(size_t size, void *p, halving h) {
  unsigned char one_byte = (unsigned char)((h.x & 15) << 4 | (h.y & 15));
  memcpy(p, &h.x, size / 2);
  memcpy((char *)p + size / 2, &h.y, size / 2);
  if (size == 1) memcpy(p, &one_byte, 1);
}

void cover_user_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  const size_t size = tutti_type_size(t);
  (void)ctx;
  for (size_t i = 0; i < n; i++) {
    halving l = get_halves(size, (const char *)a + i * size);
    halving r = get_halves(size, (const char *)b + i * size);
    put_halves(size, (char *)dst + i * size,
               (halving){l.x + r.x + 2 * l.x * r.x, l.y + r.y + 2 * l.y * r.y});
  }
}

void cover_ordered_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  const size_t size = tutti_type_size(t);
  (void)ctx;
  for (size_t i = 0; i < n; i++) {
    halving l = get_halves(size, (const char *)a + i * size);
    halving r = get_halves(size, (const char *)b + i * size);
    put_halves(size, (char *)dst + i * size, (halving){l.x * r.x, l.x * r.y + l.y});
  }
}

/* ---- the premultiplier ---- */

double cover_factor(int rough, int rank) {
  static const double exact_ones[] = {2, -1, 1}, rough_ones[] = {0.3, 1.7, -1, 1};
  return rough ? rough_ones[rank % 4] : exact_ones[rank % 3];
}

bool cover_make_scaled(cover_ops *ops, int rank) {
  for (int rough = 0; rough < 2; rough++)
    if (tutti_op_create_scaled(cover_factor(rough, rank), &ops->scaled[rough])) return false;
  return true;
}

void cover_drop_scaled(const cover_ops *ops) {
  for (int rough = 0; rough < 2; rough++) tutti_op_free(ops->scaled[rough]);
}

static void fill_scaled(const cover_case *c, int rank, void *to, size_t n) {
  const size_t each = tutti_type_size(c->type);
  cover_fill(c, rank, to, n);
  for (size_t i = 0; c->op == COVER_SCALED && i < n; i++)
    one_times(c->type, (char *)to + i * each, cover_factor(c->rough, rank));
}

/* ---- the reference loop ---- */

static double magnitude(tutti_type t, const void *p) {
  if (!is_complex(t)) return fabs(get_real(t, p));
  tutti_type part = t == TUTTI_COMPLEX_FLOAT ? TUTTI_FLOAT : TUTTI_DOUBLE;
  return fabs(get_real(part, p)) + fabs(get_real(part, (const char *)p + tutti_type_size(part)));
}

void cover_reduce(const cover_case *c, int ranks, void *to, size_t n, double *size) {
  const size_t each = tutti_type_size(c->type);
  static _Thread_local unsigned char next[COVER_PERIOD * 16];
  char *sum = to;
  fill_scaled(c, 0, to, n);
  for (size_t i = 0; size && i < n; i++) size[i] = magnitude(c->type, sum + i * each);
  for (int r = 1; r < ranks; r++) {
    fill_scaled(c, r, next, n);
    for (size_t i = 0; size && i < n; i++) {
      const double more = magnitude(c->type, next + i * each);
      size[i] = c->op == TUTTI_PROD ? size[i] * more : size[i] + more;
    }
    if (c->op == COVER_USER)
      cover_user_op(to, next, to, n, c->type, NULL);
    else if (c->op == COVER_ORDERED)
      cover_ordered_op(to, next, to, n, c->type, NULL);
    for (size_t i = 0; !is_users(c->op) && i < n; i++) {
      unsigned char result[16];
      const void *in[] = {sum + i * each, next + i * each};
      one(c->type, c->op == COVER_SCALED ? TUTTI_SUM : (tutti_op)c->op, result, in, 2);
      memcpy(sum + i * each, result, each);
    }
  }
  for (size_t i = 0; c->op == TUTTI_AVG && i < n; i++) {
    one_scale(c->type, sum + i * each, ranks);
    if (size) size[i] /= ranks;
  }
  for (size_t i = 0; is_logical(c->op) && ranks == 1 && i < n; i++) {
    const void *in[] = {sum + i * each, sum + i * each};
    one(c->type, TUTTI_LOR, sum + i * each, in, 2);
  }
}

/* ---- comparing ---- */

/* Does the order of the operands show in the result of this op? */
static bool rounds(const cover_case *c) {
  return c->rough && (sums(c->op) || c->op == TUTTI_PROD);
}

/* The most roundings on the way to an element: one for each rank, because the mean and a scaled
 * operand take one more than a sum; two for each product of complex numbers. */
static int roundings(const cover_case *c) {
  return is_complex(c->type) && c->op == TUTTI_PROD ? 2 * c->ranks : c->ranks;
}

bool cover_same(const cover_case *c, const void *got, const void *want, double size) {
  if (memcmp(got, want, tutti_type_size(c->type)) == 0) return true;
  if (is_users(c->op) || c->type <= TUTTI_UINT64) return false;
  if (is_pair(c->type)) { /* padding between value and index does not count */
    pair a = get_pair(c->type, got), b = get_pair(c->type, want);
    return a.v == b.v && a.l == b.l && a.i == b.i;
  }
  tutti_type part = c->type == TUTTI_COMPLEX_FLOAT ? TUTTI_FLOAT : TUTTI_DOUBLE;
  if (!is_complex(c->type)) part = c->type;
  const size_t half = tutti_type_size(part);
  for (size_t at = 0; at < tutti_type_size(c->type); at += half) {
    const char *x = (const char *)got + at, *y = (const char *)want + at;
    bool signless = is_complex(c->type) && c->op == TUTTI_PROD; /* the order sets the sign of 0 */
    const double a = get_real(part, x), b = get_real(part, y);
    if (rounds(c) ? !(fabs(a - b) <= rounding_bound(part, roundings(c), size))
                  : memcmp(x, y, half) != 0 && !(signless && a == 0 && b == 0))
      return false;
  }
  return true;
}
