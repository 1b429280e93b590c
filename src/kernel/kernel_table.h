/* kernel_table.h - all kernels of one instruction set, and their table; included by one file per
 * set, which defines TT_KERNEL_SET (the symbol) and TT_KERNEL_NAME, selects the instructions the
 * compiler may use, and the width of its vectors (TT_VECTOR, bytes; none for plain C).
 *
 * Invariant  Nothing here depends on the instruction set: the compiler vectorises element-wise
 *            loops, which cannot change a bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_loops.h"

#if !defined(TT_KERNEL_SET) || !defined(TT_KERNEL_NAME)
#error "define TT_KERNEL_SET and TT_KERNEL_NAME before including kernel_table.h"
#endif

/* Elements in a caller's buffer, which may have another C type there. */
#define ALIAS __attribute__((may_alias))
typedef ALIAS uint8_t u8;
typedef ALIAS uint16_t u16;
typedef ALIAS uint32_t u32;
typedef ALIAS uint64_t u64;
typedef ALIAS int8_t i8;
typedef ALIAS int16_t i16;
typedef ALIAS int32_t i32;
typedef ALIAS int64_t i64;
typedef ALIAS float f32;
typedef ALIAS double f64;

/* ---- integers: one kernel serves both signs where the bits are the same ---- */

#define INTEGER(bits)                                      \
  KERNEL(sum_##bits, u##bits, AS_IS, a + b)                \
  KERNEL(prod_##bits, u##bits, AS_IS, 1u * a * b)          \
  KERNEL(band_##bits, u##bits, AS_IS, a &b)                \
  KERNEL(bor_##bits, u##bits, AS_IS, a | b)                \
  KERNEL(bxor_##bits, u##bits, AS_IS, a ^ b)               \
  KERNEL(land_##bits, u##bits, AS_IS, (a != 0) & (b != 0)) \
  KERNEL(lor_##bits, u##bits, AS_IS, (a != 0) | (b != 0))  \
  KERNEL(lxor_##bits, u##bits, AS_IS, (a != 0) ^ (b != 0)) \
  KERNEL(min_u##bits, u##bits, AS_IS, a < b ? a : b)       \
  KERNEL(max_u##bits, u##bits, AS_IS, a > b ? a : b)       \
  KERNEL(min_i##bits, i##bits, AS_IS, a < b ? a : b)       \
  KERNEL(max_i##bits, i##bits, AS_IS, a > b ? a : b)

INTEGER(8)
INTEGER(16)
INTEGER(32)
INTEGER(64)

/* ---- floating point ---- */

KERNEL(sum_f32, f32, tt_canon_float, a + b)
KERNEL(prod_f32, f32, tt_canon_float, a *b)
KERNEL(min_f32, f32, tt_canon_float, tt_min_float(a, b))
KERNEL(max_f32, f32, tt_canon_float, tt_max_float(a, b))

KERNEL(sum_f64, f64, tt_canon_double, a + b)
KERNEL(prod_f64, f64, tt_canon_double, a *b)
KERNEL(min_f64, f64, tt_canon_double, tt_min_double(a, b))
KERNEL(max_f64, f64, tt_canon_double, tt_max_double(a, b))

HALF_KERNEL(sum_fp16, +, fp16)
HALF_KERNEL(prod_fp16, *, fp16)
KERNEL(min_fp16, u16, AS_IS, tt_min_fp16(a, b))
KERNEL(max_fp16, u16, AS_IS, tt_max_fp16(a, b))

HALF_KERNEL(sum_bf16, +, bf16)
HALF_KERNEL(prod_bf16, *, bf16)
KERNEL(min_bf16, u16, AS_IS, tt_min_bf16(a, b))
KERNEL(max_bf16, u16, AS_IS, tt_max_bf16(a, b))

/* ---- complex: a sum is a sum of twice as many reals ---- */

typedef struct {
  float re, im;
} ALIAS c32;
typedef struct {
  double re, im;
} ALIAS c64;

#define COMPLEX(C, real, canon, sub)                                           \
  static void sum_##C(void *dst, const void *const *in, int n, size_t count) { \
    sum_##real(dst, in, n, 2 * count);                                         \
  }                                                                            \
  static inline C put_##C(C x) {                                               \
    return (C){canon(x.re), canon(x.im)};                                      \
  }                                                                            \
  KERNEL(prod_##C, C, put_##C, ((C){sub(a.re * b.re, a.im * b.im), a.re * b.im + a.im * b.re}))

COMPLEX(c32, f32, tt_canon_float, tt_sub_float)
COMPLEX(c64, f64, tt_canon_double, tt_sub_double)

/* ---- pairs: a value and its index; padding is written as zero ----
 *
 * The order: a NaN before any number; then by value, with <; then the lower
 * index; then, of zeros with one index, -0 for minloc and +0 for maxloc. It is
 * total, so the result does not depend on the grouping of the operands. */

typedef struct {
  float v;
  int32_t i;
} ALIAS float_int;
typedef struct {
  double v;
  int32_t i, pad;
} ALIAS double_int;
typedef struct {
  long v;
  int32_t i;
#if __SIZEOF_LONG__ == 8
  int32_t pad;
#endif
} ALIAS long_int;
typedef struct {
  int32_t v, i;
} ALIAS int_int;
typedef struct {
  int16_t v, pad;
  int32_t i;
} ALIAS short_int;
_Static_assert(sizeof(double_int) == sizeof(struct {
                 double v;
                 int i;
               }),
               "no pad there");
_Static_assert(sizeof(long_int) == sizeof(struct {
                 long v;
                 int i;
               }),
               "no pad there");
_Static_assert(sizeof(short_int) == sizeof(struct {
                 short v;
                 int i;
               }),
               "no pad there");

/* Does b go before a? `minus`: the zero with a minus sign goes first. */
#define INTEGER_BEFORE(less, minus) ((b.v less a.v) | ((b.v == a.v) & (b.i < a.i)))
#define TIE_BEFORE(minus) \
  ((b.i < a.i) | ((b.i == a.i) & ((__builtin_signbit(b.v) != 0) == (minus))))
#define REAL_BEFORE(less, minus)                   \
  (((b.v != b.v) & ((a.v == a.v) | (b.i < a.i))) | \
   ((a.v == a.v) & ((b.v less a.v) | ((b.v == a.v) & TIE_BEFORE(minus)))))

#define PAIR(P, before, canon)                         \
  static inline P put_##P(P x) {                       \
    return (P){.v = canon(x.v), .i = x.i};             \
  }                                                    \
  KERNEL(minloc_##P, P, put_##P, before(<, 1) ? b : a) \
  KERNEL(maxloc_##P, P, put_##P, before(>, 0) ? b : a)

PAIR(float_int, REAL_BEFORE, tt_canon_float)
PAIR(double_int, REAL_BEFORE, tt_canon_double)
PAIR(long_int, INTEGER_BEFORE, AS_IS)
PAIR(int_int, INTEGER_BEFORE, AS_IS)
PAIR(short_int, INTEGER_BEFORE, AS_IS)

/* ---- the division of avg ----
 *
 * Up to 32 bits, the quotient of integers as a double is never rounded up to the
 * next integer: their distance is 1/ranks, at least 2^-31 of the quotient. */

SCALE(scale_i8, i8, double, AS_IS, (i8))
SCALE(scale_u8, u8, double, AS_IS, (u8))
SCALE(scale_i16, i16, double, AS_IS, (i16))
SCALE(scale_u16, u16, double, AS_IS, (u16))
SCALE(scale_i32, i32, double, AS_IS, (i32))
SCALE(scale_u32, u32, double, AS_IS, (u32))
SCALE(scale_i64, i64, int64_t, AS_IS, AS_IS)
SCALE(scale_u64, u64, uint64_t, AS_IS, AS_IS)
SCALE(scale_fp16, u16, float, tt_fp16_float, tt_float_fp16)
SCALE(scale_bf16, u16, float, tt_bf16_float, tt_float_bf16)
SCALE(scale_f32, f32, float, AS_IS, tt_canon_float)
SCALE(scale_f64, f64, double, AS_IS, tt_canon_double)

static void scale_c32(void *dst, size_t count, int ranks) {
  scale_f32(dst, 2 * count, ranks);
}
static void scale_c64(void *dst, size_t count, int ranks) {
  scale_f64(dst, 2 * count, ranks);
}

/* ---- scaling before a sum ---- */

TIMES(times_fp16, u16, float, tt_fp16_float, tt_float_fp16)
TIMES(times_bf16, u16, float, tt_bf16_float, tt_float_bf16)
TIMES(times_f32, f32, float, AS_IS, tt_canon_float)
TIMES(times_f64, f64, double, AS_IS, tt_canon_double)

static void times_c32(void *dst, const void *src, size_t count, double factor) {
  times_f32(dst, src, 2 * count, factor);
}
static void times_c64(void *dst, const void *src, size_t count, double factor) {
  times_f64(dst, src, 2 * count, factor);
}

/* ---- the table ---- */

#define ARITHMETIC(type) \
  [TUTTI_SUM] = sum_##type, [TUTTI_AVG] = sum_##type, [TUTTI_PROD] = prod_##type
#define ORDERED(type) [TUTTI_MIN] = min_##type, [TUTTI_MAX] = max_##type
#define BITWISE(type) \
  [TUTTI_BAND] = band_##type, [TUTTI_BOR] = bor_##type, [TUTTI_BXOR] = bxor_##type
#define LOGICAL(type) \
  [TUTTI_LAND] = land_##type, [TUTTI_LOR] = lor_##type, [TUTTI_LXOR] = lxor_##type
#define LOCATED(type) [TUTTI_MINLOC] = minloc_##type, [TUTTI_MAXLOC] = maxloc_##type

#define INTEGER_ROW(sign, bits) \
  { ARITHMETIC(bits), ORDERED(sign##bits), BITWISE(bits), LOGICAL(bits) }
#define REAL_ROW(type) \
  { ARITHMETIC(type), ORDERED(type) }

const tt_kernel_set TT_KERNEL_SET = {
    .name = TT_KERNEL_NAME,
    .reduce =
        {
            [TUTTI_INT8] = INTEGER_ROW(i, 8),
            [TUTTI_UINT8] = INTEGER_ROW(u, 8),
            [TUTTI_INT16] = INTEGER_ROW(i, 16),
            [TUTTI_UINT16] = INTEGER_ROW(u, 16),
            [TUTTI_INT32] = INTEGER_ROW(i, 32),
            [TUTTI_UINT32] = INTEGER_ROW(u, 32),
            [TUTTI_INT64] = INTEGER_ROW(i, 64),
            [TUTTI_UINT64] = INTEGER_ROW(u, 64),
            [TUTTI_FP16] = REAL_ROW(fp16),
            [TUTTI_BF16] = REAL_ROW(bf16),
            [TUTTI_FLOAT] = REAL_ROW(f32),
            [TUTTI_DOUBLE] = REAL_ROW(f64),
            [TUTTI_COMPLEX_FLOAT] = {ARITHMETIC(c32)},
            [TUTTI_COMPLEX_DOUBLE] = {ARITHMETIC(c64)},
            [TUTTI_FLOAT_INT] = {LOCATED(float_int)},
            [TUTTI_DOUBLE_INT] = {LOCATED(double_int)},
            [TUTTI_LONG_INT] = {LOCATED(long_int)},
            [TUTTI_INT_INT] = {LOCATED(int_int)},
            [TUTTI_SHORT_INT] = {LOCATED(short_int)},
        },
    .scale =
        {
            [TUTTI_INT8] = scale_i8,
            [TUTTI_UINT8] = scale_u8,
            [TUTTI_INT16] = scale_i16,
            [TUTTI_UINT16] = scale_u16,
            [TUTTI_INT32] = scale_i32,
            [TUTTI_UINT32] = scale_u32,
            [TUTTI_INT64] = scale_i64,
            [TUTTI_UINT64] = scale_u64,
            [TUTTI_FP16] = scale_fp16,
            [TUTTI_BF16] = scale_bf16,
            [TUTTI_FLOAT] = scale_f32,
            [TUTTI_DOUBLE] = scale_f64,
            [TUTTI_COMPLEX_FLOAT] = scale_c32,
            [TUTTI_COMPLEX_DOUBLE] = scale_c64,
        },
    .times =
        {
            [TUTTI_FP16] = times_fp16,
            [TUTTI_BF16] = times_bf16,
            [TUTTI_FLOAT] = times_f32,
            [TUTTI_DOUBLE] = times_f64,
            [TUTTI_COMPLEX_FLOAT] = times_c32,
            [TUTTI_COMPLEX_DOUBLE] = times_c64,
        },
};
