/* kernel_table.h - all kernels of one instruction set, and their table. It is included by one file per set, which
 * defines TT_KERNEL_SET (the symbol) and TT_KERNEL_NAME, selects the instructions that the compiler may use, and
 * defines the width of its vectors (TT_VECTOR, in bytes; undefined for plain C).
 *
 * Invariant  Nothing here depends on the instruction set. The compiler only vectorises element-wise loops, which cannot
 *            change a bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_loops.h"

#if !defined(TT_KERNEL_SET) || !defined(TT_KERNEL_NAME)
#error "define TT_KERNEL_SET and TT_KERNEL_NAME before including kernel_table.h"
#endif

/* Types for the elements of a caller's buffer. They may alias whatever C type the caller uses. */
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

/* ---- integers: one kernel serves both signs if the bits are the same ----
 *
 * The division of avg is done in double for integers of up to 32 bits. The quotient is never rounded up to the
 * next integer, because its distance from that integer is at least 1/ranks, which is at least 2^-31 of the quotient. */

#define INTEGER(bits, u_wide, i_wide)                      \
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
  KERNEL(max_i##bits, i##bits, AS_IS, a > b ? a : b)       \
  SCALE(scale_u##bits, u##bits, u_wide, AS_IS, (u##bits))  \
  SCALE(scale_i##bits, i##bits, i_wide, AS_IS, (i##bits))

INTEGER(8, double, double)
INTEGER(16, double, double)
INTEGER(32, double, double)
INTEGER(64, uint64_t, int64_t)

/* ---- floating point: any NaN becomes the one quiet NaN ---- */

static inline float canon_float(float x) {
  return x == x ? x : tt_bits_float(0x7fc00000u);
}

static inline double canon_double(double x) {
  return x == x ? x : tt_bits_double(0x7ff8000000000000u);
}

#define FLOATING(F, T)                            \
  KERNEL(sum_##F, F, canon_##T, a + b)            \
  KERNEL(prod_##F, F, canon_##T, a *b)            \
  KERNEL(min_##F, F, canon_##T, tt_min_##T(a, b)) \
  KERNEL(max_##F, F, canon_##T, tt_max_##T(a, b)) \
  SCALE(scale_##F, F, T, AS_IS, canon_##T)        \
  TIMES(times_##F, F, T, AS_IS, canon_##T)

FLOATING(f32, float)
FLOATING(f64, double)

/* Floats of 16 and of 8 bits, stored as T. */
#define SHORT(H, T, SUMS)                                  \
  SUMS(sum_##H, +, T, H)                                   \
  SUMS(prod_##H, *, T, H)                                  \
  KERNEL(min_##H, T, AS_IS, tt_min_##H(a, b))              \
  KERNEL(max_##H, T, AS_IS, tt_max_##H(a, b))              \
  SCALE(scale_##H, T, float, tt_##H##_float, tt_float_##H) \
  TIMES(times_##H, T, float, tt_##H##_float, tt_float_##H)

SHORT(fp16, u16, HALF_KERNEL)
SHORT(bf16, u16, HALF_KERNEL)
SHORT(e4m3, u8, SHORT_KERNEL)
SHORT(e5m2, u8, SHORT_KERNEL)

/* ---- complex: sums, scaling and division treat each number as two reals ---- */

typedef struct {
  float re, im;
} ALIAS c32;
typedef struct {
  double re, im;
} ALIAS c64;

#define COMPLEX(C, real, canon, sub)                                                       \
  static void sum_##C(void *dst, void *also, const void *const *in, int n, size_t count) { \
    sum_##real(dst, also, in, n, 2 * count);                                               \
  }                                                                                        \
  static void scale_##C(void *dst, size_t count, int ranks) {                              \
    scale_##real(dst, 2 * count, ranks);                                                   \
  }                                                                                        \
  static void times_##C(void *dst, const void *src, size_t count, double by) {             \
    times_##real(dst, src, 2 * count, by);                                                 \
  }                                                                                        \
  static inline C put_##C(C x) {                                                           \
    return (C){canon(x.re), canon(x.im)};                                                  \
  }                                                                                        \
  KERNEL(prod_##C, C, put_##C, ((C){sub(a.re * b.re, a.im * b.im), a.re * b.im + a.im * b.re}))

COMPLEX(c32, f32, canon_float, tt_sub_float)
COMPLEX(c64, f64, canon_double, tt_sub_double)

/* ---- pairs: a value and its index; padding is written as zero ----
 *
 * The order: a NaN precedes any number; then by value, with <; then the lower
 * index; then, for zeros with equal indices, -0 for minloc and +0 for maxloc. It is
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
#define NO_PAD(P, V)                          \
  _Static_assert(sizeof(P) == sizeof(struct { \
                   V v;                       \
                   int i;                     \
                 }),                          \
                 "no pad there")
NO_PAD(double_int, double);
NO_PAD(long_int, long);
NO_PAD(short_int, short);

/* True if b precedes a. If `minus` is set, -0 precedes +0. */
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

PAIR(float_int, REAL_BEFORE, canon_float)
PAIR(double_int, REAL_BEFORE, canon_double)
PAIR(long_int, INTEGER_BEFORE, AS_IS)
PAIR(int_int, INTEGER_BEFORE, AS_IS)
PAIR(short_int, INTEGER_BEFORE, AS_IS)

/* ---- the table ---- */

#define ARITHMETIC(type) \
  [TUTTI_SUM] = sum_##type, [TUTTI_AVG] = sum_##type, [TUTTI_PROD] = prod_##type
#define ORDERED(type) [TUTTI_MIN] = min_##type, [TUTTI_MAX] = max_##type
#define BITWISE(type) \
  [TUTTI_BAND] = band_##type, [TUTTI_BOR] = bor_##type, [TUTTI_BXOR] = bxor_##type
#define LOGICAL(type) \
  [TUTTI_LAND] = land_##type, [TUTTI_LOR] = lor_##type, [TUTTI_LXOR] = lxor_##type
#define LOCATED(type) [TUTTI_MINLOC] = minloc_##type, [TUTTI_MAXLOC] = maxloc_##type

/* The kernels of a type: its row of the table, and its kernels for scaling. Its kind in types.def selects them. */
#define INTEGER_ROW(sign, bits) \
  { ARITHMETIC(bits), ORDERED(sign##bits), BITWISE(bits), LOGICAL(bits) }
#define REAL_ROW(type) \
  { ARITHMETIC(type), ORDERED(type) }
#define COMPLEX_ROW(type) \
  { ARITHMETIC(type) }
#define PAIR_ROW(type) \
  { LOCATED(type) }
#define INTEGER_SCALE(sign, bits) scale_##sign##bits
#define REAL_SCALE(type)          scale_##type
#define COMPLEX_SCALE(type)       scale_##type
#define PAIR_SCALE(type)          NULL
#define INTEGER_TIMES(sign, bits) NULL
#define REAL_TIMES(type)          times_##type
#define COMPLEX_TIMES(type)       times_##type
#define PAIR_TIMES(type)          NULL

const tt_kernel_set TT_KERNEL_SET = {
    .name = TT_KERNEL_NAME,
    .reduce =
        {
#define TT_TYPE(number, name, type, kind, kernels) [TUTTI_##number] = kind##_ROW kernels,
#include "types.def"
        },
    .scale =
        {
#define TT_TYPE(number, name, type, kind, kernels) [TUTTI_##number] = kind##_SCALE kernels,
#include "types.def"
        },
    .times =
        {
#define TT_TYPE(number, name, type, kind, kernels) [TUTTI_##number] = kind##_TIMES kernels,
#include "types.def"
        },
};
