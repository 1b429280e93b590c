/* The PTX interpreter: each instruction except cvt, with each type, on edge values, compared with C.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_kernel_play.h"

/* ---- integers and bits, in C ---- */

typedef uint64_t (*binary)(uint64_t x, uint64_t y);
typedef struct operation {
  const char *lines;
  int in, out;
  binary want;
} operation;

#define F(name, T, expression)                                  \
  static inline uint64_t name##_##T(uint64_t x_, uint64_t y_) { \
    const T x = (T)x_, y = (T)y_;                               \
    (void)x, (void)y;                                           \
    return (uint64_t)(expression);                              \
  }
#define WIDE(v) ((uint64_t)(v))
#define HIGH(T, x, y, bits)                                                 \
  ((T)-1 < 0 ? (unsigned __int128)((__int128)(x) * (__int128)(y)) >> (bits) \
             : ((unsigned __int128)(x) * (unsigned __int128)(y)) >> (bits))
#define WHOLE_FUNCTIONS(T, bits)                                                         \
  F(add, T, WIDE(x) + WIDE(y))                                                           \
  F(sub, T, WIDE(x) - WIDE(y))                                                           \
  F(mul, T, WIDE(x) * WIDE(y))                                                           \
  F(mad, T, WIDE(x) * WIDE(y) + WIDE(x))                                                 \
  F(high, T, HIGH(T, x, y, bits))                                                        \
  F(div, T, y == 0 ? 0 : (T)(0 - WIDE(y)) == 1 && (T)-1 < 0 ? 0 - WIDE(x) : WIDE(x / y)) \
  F(rem, T, y == 0 || ((T)(0 - WIDE(y)) == 1 && (T)-1 < 0) ? 0 : WIDE(x % y))            \
  F(min, T, x < y ? x : y)                                                               \
  F(max, T, x > y ? x : y)                                                               \
  F(eq, T, x == y) F(ne, T, x != y) F(lt, T, x < y) F(le, T, x <= y) F(gt, T, x > y)     \
      F(ge, T, x >= y) F(and, T, x &y) F(or, T, x | y) F(xor, T, x ^ y) F(not, T, ~x)    \
          F(neg, T, 0 - WIDE(x)) F(abs, T, x < 0 ? 0 - WIDE(x) : WIDE(x))                \
              F(shl, T, (uint32_t)y_ >= bits ? 0 : WIDE(x) << (uint32_t)y_)              \
                  F(shr, T, (uint32_t)y_ >= bits ? (x < 0 ? -1 : 0) : x >> (uint32_t)y_)
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
WHOLE_FUNCTIONS(u16, 16)
WHOLE_FUNCTIONS(u32, 32)
WHOLE_FUNCTIONS(u64, 64)
WHOLE_FUNCTIONS(s16, 16)
WHOLE_FUNCTIONS(s32, 32)
WHOLE_FUNCTIONS(s64, 64)
#pragma GCC diagnostic pop

#define TWO(word, name, T, bits) \
  { word "." #T " %d, %a, %b;", bits, bits, name##_##T }
#define TEST(word, T, bits) \
  { "setp." #word "." #T " %p1, %a, %b;\nselp.u32 %d, 1, 0, %p1;", bits, 32, word##_##T }
#define WHOLE_ROWS(T, bits)                                                                     \
  TWO("add", add, T, bits), TWO("sub", sub, T, bits), TWO("mul.lo", mul, T, bits),              \
      TWO("mul.hi", high, T, bits), TWO("div", div, T, bits), TWO("rem", rem, T, bits),         \
      TWO("min", min, T, bits), TWO("max", max, T, bits), TEST(eq, T, bits), TEST(ne, T, bits), \
      TEST(lt, T, bits), TEST(le, T, bits), TEST(gt, T, bits), TEST(ge, T, bits),               \
      {"mad.lo." #T " %d, %a, %b, %a;", bits, bits, mad_##T}, {                                 \
    "shr." #T " %d, %a, %s;", bits, bits, shr_##T                                               \
  }
#define SIGNED_ROWS(T, bits)                     \
  {"neg." #T " %d, %a;", bits, bits, neg_##T}, { \
    "abs." #T " %d, %a;", bits, bits, abs_##T    \
  }
#define BIT_ROWS(T, U, bits)                                                                      \
  {"and." #T " %d, %a, %b;", bits, bits, and_##U}, {"or." #T " %d, %a, %b;", bits, bits, or_##U}, \
      {"xor." #T " %d, %a, %b;", bits, bits, xor_##U},                                            \
      {"not." #T " %d, %a;", bits, bits, not_##U},                                                \
      {"shl." #T " %d, %a, %s;", bits, bits, shl_##U},                                            \
      {"setp.eq." #T " %p1, %a, %b;\nselp.b32 %d, 1, 0, %p1;", bits, 32, eq_##U}, {               \
    "shr." #T " %d, %a, %s;", bits, bits, shr_##U                                                 \
  }
#define WIDE_ROW(T, bits) \
  { "mul.wide." #T " %d, %a, %b;", bits, 2 * bits, mul_##T }

static uint64_t keep(uint64_t x, uint64_t y) {
  (void)y;
  return x;
}
static uint64_t second_half(uint64_t x, uint64_t y) {
  (void)y;
  return x >> 32 | x << 32;
}
static uint64_t quarters(uint64_t x, uint64_t y) {
  (void)y;
  return (x >> 16 & 0xffff) | x << 16;
}
static uint64_t joined(uint64_t x, uint64_t y) {
  return ((uint32_t)x < 7) && !((uint32_t)y > 8) ? 1 : 2;
}
static uint64_t either(uint64_t x, uint64_t y) {
  return (((uint32_t)x < 7) ^ ((uint32_t)y > 8)) | 2 * (((uint32_t)x >= 7) ^ ((uint32_t)y > 8));
}
static uint64_t guarded(uint64_t x, uint64_t y) {
  return (int32_t)x < (int32_t)y ? x + 1 : y;
}

static const operation WHOLES[] = {
    WHOLE_ROWS(u16, 16),
    WHOLE_ROWS(u32, 32),
    WHOLE_ROWS(u64, 64),
    WHOLE_ROWS(s16, 16),
    WHOLE_ROWS(s32, 32),
    WHOLE_ROWS(s64, 64),
    SIGNED_ROWS(s16, 16),
    SIGNED_ROWS(s32, 32),
    SIGNED_ROWS(s64, 64),
    BIT_ROWS(b16, u16, 16),
    BIT_ROWS(b32, u32, 32),
    BIT_ROWS(b64, u64, 64),
    WIDE_ROW(u16, 16),
    WIDE_ROW(u32, 32),
    WIDE_ROW(s16, 16),
    WIDE_ROW(s32, 32),
    {"mad.wide.u16 %d, %a, %b, 0;", 16, 32, mul_u16},
    {"mov.b64 %d, %a;", 64, 64, keep},
    {"cvta.to.global.u64 %d, %a;", 64, 64, keep},
    {"mov.b64 {%i5, %i6}, %a;\nmov.b64 %d, {%i6, %i5};", 64, 64, second_half},
    {".reg .b16 %h<2>;\nmov.b32 {%h0, %h1}, %a;\nmov.b32 %d, {%h1, %h0};", 32, 32, quarters},
    {"setp.gt.u32 %p1, %b, 8;\nsetp.lt.and.u32 %p2, %a, 7, !%p1;\nselp.s32 %d, 1, 2, %p2;", 32, 32,
     joined},
    {"setp.gt.u32 %p1, %b, 8;\nsetp.lt.u32 %p2, %a, 7;\nnot.pred %p1, %p1;\nand.pred %p2, %p2, "
     "%p1;\n"
     "selp.s32 %d, 1, 2, %p2;",
     32, 32, joined},
    {"setp.gt.u32 %p1, %b, 8;\nsetp.lt.xor.u32 %p2|%p3, %a, 7, %p1;\nselp.b32 %d, 1, 0, "
     "%p2;\nselp.b32 %s, 2, 0, %p3;\n"
     "or.b32 %d, %d, %s;",
     32, 32, either},
    {"setp.lt.s32 %p1, %a, %b;\n@%p1 add.u32 %d, %a, 1;\n@!%p1 mov.b32 %d, %b;", 32, 32, guarded},
    {"setp.lt.s32 %p1, %a, %b;\n@!%p1 bra no;\nadd.s32 %d, %a, 1;\nbra.uni yes;\nno: mov.b32 %d, "
     "%b;\nyes:",
     32, 32, guarded},
};

static void compare_operation(const operation *o, unsigned n) {
  run_kernel(o->lines, o->in, o->out, n);
  for (unsigned i = 0; i < n; i++) {
    if (cut_to(right[i], o->in) == 0 &&
        (strncmp(o->lines, "div", 3) == 0 || strncmp(o->lines, "rem", 3) == 0))
      continue;
    const uint64_t want =
        cut_to(o->want(cut_to(left[i], o->in),
                       strstr(o->lines, "%s;") ? right[i] : cut_to(right[i], o->in)),
               o->out);
    if (result[i] != want)
      fprintf(stderr, "%s: %#llx, %#llx gave %#llx, not %#llx\n", o->lines,
              (unsigned long long)left[i], (unsigned long long)right[i],
              (unsigned long long)result[i], (unsigned long long)want);
    CHECK(result[i] == want);
  }
}

static void try_wholes(const void *about) {
  (void)about;
  start();
  const unsigned n = fill_pairs();
  for (size_t i = 0; i < sizeof WHOLES / sizeof *WHOLES; i++) compare_operation(&WHOLES[i], n);
}

static void whole_numbers(void **state) {
  (void)state;
  assert_true(cuda_satisfied(try_wholes, NULL, "CUDA_SIM_DELAY=0"));
}

/* ---- floats, in C ---- */

#define R(name, T, expression)                                  \
  static inline uint64_t name##_##T(uint64_t x_, uint64_t y_) { \
    const T x = T##_of(x_), y = T##_of(y_);                     \
    (void)y;                                                    \
    return expression;                                          \
  }
#define LESS(x, y) ((x) < (y) || ((x) == (y) && !!signbit(x) > !!signbit(y)))
#define ANY        (isnan(x) || isnan(y))
#define REAL_FUNCTIONS(T)                                                                        \
  R(add, T, bits_of_##T(x + y))                                                                  \
  R(sub, T, bits_of_##T(x - y))                                                                  \
  R(mul, T, bits_of_##T(x *y))                                                                   \
  R(div, T, bits_of_##T(x / y))                                                                  \
  R(neg, T, bits_of_##T(-x))                                                                     \
  R(abs, T, bits_of_##T(signbit(x) ? -x : x))                                                    \
  R(min, T,                                                                                      \
    bits_of_##T(isnan(x)                 ? y                                                     \
                : isnan(y) || LESS(x, y) ? x                                                     \
                                         : y))                                                   \
  R(max, T,                                                                                      \
    bits_of_##T(isnan(x)                 ? y                                                     \
                : isnan(y) || LESS(y, x) ? x                                                     \
                                         : y)) R(eq, T, x == y) R(ne, T, x<y || x> y)            \
      R(lt, T, x < y) R(le, T, x <= y) R(gt, T, x > y) R(ge, T, x >= y) R(equ, T, ANY || x == y) \
          R(neu, T, !(x == y)) R(ltu, T, !(x >= y)) R(leu, T, !(x > y)) R(gtu, T, !(x <= y))     \
              R(geu, T, !(x < y)) R(num, T, !ANY) R(nan, T, ANY)
REAL_FUNCTIONS(float)
REAL_FUNCTIONS(double)

#define RTEST(word, t, T, bits) \
  { "setp." #word "." t " %p1, %a, %b;\nselp.u32 %d, 1, 0, %p1;", bits, 32, word##_##T }
#define REAL_ROWS(t, T, bits)                                                                     \
  {"add.rn." t " %d, %a, %b;", bits, bits, add_##T},                                              \
      {"sub.rn." t " %d, %a, %b;", bits, bits, sub_##T},                                          \
      {"mul.rn." t " %d, %a, %b;", bits, bits, mul_##T},                                          \
      {"div.rn." t " %d, %a, %b;", bits, bits, div_##T},                                          \
      {"min." t " %d, %a, %b;", bits, bits, min_##T},                                             \
      {"max." t " %d, %a, %b;", bits, bits, max_##T}, {"neg." t " %d, %a;", bits, bits, neg_##T}, \
      {"abs." t " %d, %a;", bits, bits, abs_##T}, {"mov." t " %d, %a;", bits, bits, keep},        \
      RTEST(eq, t, T, bits), RTEST(ne, t, T, bits), RTEST(lt, t, T, bits), RTEST(le, t, T, bits), \
      RTEST(gt, t, T, bits), RTEST(ge, t, T, bits), RTEST(equ, t, T, bits),                       \
      RTEST(neu, t, T, bits), RTEST(ltu, t, T, bits), RTEST(leu, t, T, bits),                     \
      RTEST(gtu, t, T, bits), RTEST(geu, t, T, bits), RTEST(num, t, T, bits),                     \
      RTEST(nan, t, T, bits)
static uint64_t one_float(uint64_t x, uint64_t y) {
  (void)y;
  return add_float(x, 0x3f800000);
}
static uint64_t one_double(uint64_t x, uint64_t y) {
  (void)y;
  return add_double(x, 0x3ff0000000000000);
}
static const operation REALS[] = {
    REAL_ROWS("f32", float, 32),
    REAL_ROWS("f64", double, 64),
    {"add.rn.f32 %d, %a, 0f3F800000;", 32, 32, one_float},
    {"add.rn.f64 %d, %a, 0d3FF0000000000000;", 64, 64, one_double},
};

static void try_reals(const void *about) {
  (void)about;
  start();
  const unsigned n = fill_pairs();
  for (size_t i = 0; i < sizeof REALS / sizeof *REALS; i++) compare_operation(&REALS[i], n);
}

static void floats(void **state) {
  (void)state;
  assert_true(cuda_satisfied(try_reals, NULL, "CUDA_SIM_DELAY=0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_numbers), cmocka_unit_test(floats)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
