/* The interpreter of PTX: each instruction and type over edge values, beside C.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "cuda_play.h"
#include "kernel_reference.h"

/* ---- a kernel of one instruction: d[i] = a[i] op b[i], in slots of 8 bytes ---- */

enum { MOST = 1 << 16 };
static uint64_t a[MOST], b[MOST], d[MOST];
static CUdeviceptr there[3];

static CUresult load_kernel(const char *lines, int in, int out, CUfunction *kernel,
                            CUmodule *module) {
  char text[2048];
  snprintf(text, sizeof text,
           ".version 6.5\n.target sm_70\n.address_size 64\n"
           ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d, .param .u32 n)\n{\n"
           ".reg .b64 %%x<8>;\n.reg .b32 %%i<8>, %%s;\n.reg .pred %%p<4>;\n.reg .b%d %%a, "
           "%%b;\n.reg .b%d %%d;\n"
           "mov.u32 %%i0, %%tid.x;\nmov.u32 %%i1, %%ctaid.x;\nmov.u32 %%i2, %%ntid.x;\n"
           "mad.lo.u32 %%i3, %%i1, %%i2, %%i0;\nld.param.u32 %%i4, [n];\n"
           "setp.ge.u32 %%p0, %%i3, %%i4;\n@%%p0 bra end;\nmul.wide.u32 %%x3, %%i3, 8;\n"
           "ld.param.u64 %%x0, [a];\nadd.u64 %%x0, %%x0, %%x3;\nld.global.b%d %%a, [%%x0];\n"
           "ld.param.u64 %%x1, [b];\nadd.u64 %%x1, %%x1, %%x3;\nld.global.b%d %%b, [%%x1];\n"
           "ld.global.b32 %%s, [%%x1];\n%s\n"
           "ld.param.u64 %%x2, [d];\nadd.u64 %%x2, %%x2, %%x3;\nst.global.b%d [%%x2], "
           "%%d;\nend:\nret;\n}\n",
           in, out, in, in, lines, out);
  const CUresult result = cu.cuModuleLoadData(module, text);
  return result ? result : cu.cuModuleGetFunction(kernel, *module, "k");
}

static void run_kernel(const char *lines, int in, int out, unsigned n) {
  CUfunction kernel;
  CUmodule module;
  void *parameters[] = {&there[0], &there[1], &there[2], &n};
  memset(d, 0, n * sizeof *d);
  GOOD(load_kernel(lines, in, out, &kernel, &module));
  GOOD(cu.cuMemcpyHtoD(there[0], a, n * sizeof *a));
  GOOD(cu.cuMemcpyHtoD(there[1], b, n * sizeof *b));
  GOOD(cu.cuMemcpyHtoD(there[2], d, n * sizeof *d));
  GOOD(cu.cuLaunchKernel(kernel, n / 64 + 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
  GOOD(cu.cuMemcpyDtoH(d, there[2], n * sizeof *d));
  GOOD(cu.cuModuleUnload(module));
}

static void start(void) {
  cuda_start(0);
  for (int i = 0; i < 3; i++) GOOD(cu.cuMemAlloc(&there[i], sizeof a));
}

/* ---- edge values ---- */

static const uint64_t EDGES[] = {
    0,
    1,
    2,
    3,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xffffffffffffffff,
    0xfffffffffffffff8,
    0x123456789abcdef0,
    /* 32-bit floats: ones, halves, largest, least, infinities, NaNs, limits of integers and halves */
    0x3f800000,
    0xbf800000,
    0x3f000000,
    0x3fc00000,
    0xc0200000,
    0x7f7fffff,
    0x00800000,
    0x007fffff,
    0x7f800000,
    0xff800000,
    0x7fc00000,
    0xffc00001,
    0x7f800001,
    0x4f000000,
    0x4effffff,
    0xcf000000,
    0x4f800000,
    0x5f000000,
    0x5f800000,
    0x477fe000,
    0x477fefff,
    0x477ff000,
    0x33000000,
    0x33000001,
    0x33800000,
    0x3f801000,
    0x3f803000,
    0x437f8000,
    0x3effffff,
    /* 64-bit ones */
    0x3ff0000000000000,
    0xbff8000000000000,
    0x4004000000000000,
    0x7fefffffffffffff,
    0x000fffffffffffff,
    0x7ff0000000000000,
    0xfff0000000000000,
    0x7ff8000000000000,
    0xfff0000000000001,
    0x41dfffffffc00000,
    0x41e0000000000000,
    0x43e0000000000000,
    0x43dfffffffffffff,
    0x43f0000000000000,
    0xc3e0000000000000,
    0x47efffffe0000000,
    0x47effffff0000000,
    0x36a0000000000000,
    0x3690000000000001,
    0x3ff0000010000000,
    0x3ff0000030000000,
    0x40effc0000000000,
    0x40effe0000000000,
};
enum { NEDGES = sizeof EDGES / sizeof *EDGES };

/* All pairs of edges, and as many others. */
static unsigned fill_pairs(void) {
  uint64_t random = 1;
  unsigned n = 0;
  for (int i = 0; i < NEDGES; i++)
    for (int j = 0; j < NEDGES; j++) a[n] = EDGES[i], b[n++] = EDGES[j];
  for (const unsigned all = 2 * n; n < all; n++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    a[n] = random ^ random >> 29;
    random = random * 6364136223846793005u + 1442695040888963407u;
    b[n] = random ^ random >> 31;
  }
  return n;
}

static uint64_t cut_to(uint64_t x, int bits) {
  return bits == 64 ? x : x & ((1ull << bits) - 1);
}

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
#define WHOLE_FUNCTIONS(T, bits)                                                                  \
  F(add, T, WIDE(x) + WIDE(y))                                                                    \
  F(sub, T, WIDE(x) - WIDE(y))                                                                    \
  F(mul, T, WIDE(x) * WIDE(y)) F(mad, T, WIDE(x) * WIDE(y) + WIDE(x))                             \
      F(high, T, (unsigned __int128)((__int128)x * (__int128)y) >> bits) F(                       \
          div, T,                                                                                 \
          y == 0                               ? 0                                                \
          : (T)(0 - WIDE(y)) == 1 && (T)-1 < 0 ? 0 - WIDE(x)                                      \
                                               : WIDE(x / y))                                     \
          F(rem, T, y == 0 || ((T)(0 - WIDE(y)) == 1 && (T)-1 < 0) ? 0 : WIDE(x % y))             \
              F(min, T, x < y ? x : y) F(max, T, x > y ? x : y) F(eq, T, x == y) F(ne, T, x != y) \
                  F(lt, T, x < y) F(le, T, x <= y) F(gt, T, x > y) F(ge, T, x >= y)               \
                      F(and, T, x &y) F(or, T, x | y) F(xor, T, x ^ y) F(not, T, ~x)              \
                          F(neg, T, 0 - WIDE(x)) F(abs, T, x < 0 ? 0 - WIDE(x) : WIDE(x))         \
                              F(shl, T, (uint32_t)y_ >= bits ? 0 : WIDE(x) << (uint32_t)y_)       \
                                  F(shr, T,                                                       \
                                    (uint32_t)y_ >= bits ? (x < 0 ? -1 : 0) : x >> (uint32_t)y_)
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
WHOLE_FUNCTIONS(u64, 64) WHOLE_FUNCTIONS(s16, 16) WHOLE_FUNCTIONS(s32, 32) WHOLE_FUNCTIONS(s64, 64)
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
    if (cut_to(b[i], o->in) == 0 &&
        (strncmp(o->lines, "div", 3) == 0 || strncmp(o->lines, "rem", 3) == 0))
      continue;
    const uint64_t want = cut_to(
        o->want(cut_to(a[i], o->in), strstr(o->lines, "%s;") ? b[i] : cut_to(b[i], o->in)), o->out);
    if (d[i] != want)
      fprintf(stderr, "%s: %#llx, %#llx gave %#llx, not %#llx\n", o->lines,
              (unsigned long long)a[i], (unsigned long long)b[i], (unsigned long long)d[i],
              (unsigned long long)want);
    CHECK(d[i] == want);
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

#define REAL(T, U, nan_bits)           \
  static T T##_of(uint64_t bits) {     \
    const U u = (U)bits;               \
    T x;                               \
    memcpy(&x, &u, sizeof x);          \
    return x;                          \
  }                                    \
  static uint64_t bits_of_##T(T x) {   \
    U u;                               \
    memcpy(&u, &x, sizeof u);          \
    return isnan(x) ? (U)nan_bits : u; \
  }
REAL(float, uint32_t, 0x7fffffff)
REAL(double, uint64_t, 0x7fffffffffffffff)
#define R(name, T, expression)                                  \
  static inline uint64_t name##_##T(uint64_t x_, uint64_t y_) { \
    const T x = T##_of(x_), y = T##_of(y_);                     \
    (void)y;                                                    \
    return expression;                                          \
  }
#define LESS(x, y) ((x) < (y) || ((x) == (y) && !!signbit(x) > !!signbit(y)))
#define ANY        (isnan(x) || isnan(y))
#define REAL_FUNCTIONS(T)                                                                          \
  R(add, T, bits_of_##T(x + y))                                                                    \
  R(sub, T, bits_of_##T(x - y))                                                                    \
  R(mul, T, bits_of_##T(x *y)) R(div, T, bits_of_##T(x / y)) R(neg, T, bits_of_##T(-x))            \
      R(abs, T, bits_of_##T(signbit(x) ? -x : x)) R(min, T,                                        \
                                                    bits_of_##T(isnan(x)                 ? y       \
                                                                : isnan(y) || LESS(x, y) ? x       \
                                                                                         : y))     \
          R(max, T,                                                                                \
            bits_of_##T(isnan(x)                 ? y                                               \
                        : isnan(y) || LESS(y, x) ? x                                               \
                                                 : y)) R(eq, T, x == y) R(ne, T, x<y || x> y)      \
              R(lt, T, x < y) R(le, T, x <= y) R(gt, T, x > y) R(ge, T, x >= y)                    \
                  R(equ, T, ANY || x == y) R(neu, T, !(x == y)) R(ltu, T, !(x >= y))               \
                      R(leu, T, !(x > y)) R(gtu, T, !(x <= y)) R(geu, T, !(x < y)) R(num, T, !ANY) \
                          R(nan, T, ANY)
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

/* ---- conversions ---- */

typedef struct type {
  const char *name;
  int bits;
  bool real, has_sign;
} type;
static const type TYPES[] = {
    {"u8", 8, false, false},   {"s8", 8, false, true},    {"u16", 16, false, false},
    {"s16", 16, false, true},  {"u32", 32, false, false}, {"s32", 32, false, true},
    {"u64", 64, false, false}, {"s64", 64, false, true},  {"f16", 16, true, true},
    {"f32", 32, true, true},   {"f64", 64, true, true}};
enum { NTYPES = sizeof TYPES / sizeof *TYPES };

/* Exact: a long double has 64 bits of fraction, or more. */
static long double value_of(const type *t, uint64_t bits) {
  if (t->real)
    return t->bits == 16   ? decode(FP16, (uint16_t)bits)
           : t->bits == 32 ? float_of(bits)
                           : double_of(bits);
  const uint64_t cut = cut_to(bits, t->bits);
  if (t->has_sign && cut >> (t->bits - 1)) return (long double)cut - ldexpl(1, t->bits);
  return cut;
}

static uint64_t convert_want(const type *from, const type *to, const char *rounding,
                             uint64_t bits) {
  const long double x = value_of(from, bits);
  const bool down = strcmp(rounding, ".rz") == 0;
  uint64_t result;
  if (to->real && to->bits == 16) return isnan(x) ? 0x7fff : encode(FP16, (double)x);
  if (to->real) {
    fesetround(down ? FE_TOWARDZERO : FE_TONEAREST);
    volatile long double exact = x;
    volatile float f = (float)exact;
    volatile double g = (double)exact;
    fesetround(FE_TONEAREST);
    return to->bits == 32 ? bits_of_float(f) : bits_of_double(g);
  }
  if (!from->real)
    return cut_to(from->has_sign && cut_to(bits, from->bits) >> (from->bits - 1)
                      ? bits | (~0ull << (from->bits - 1))
                      : cut_to(bits, from->bits),
                  to->bits);
  if (isnan(x)) return 0;
  const long double whole = strcmp(rounding, ".rni") == 0   ? rintl(x)
                            : strcmp(rounding, ".rmi") == 0 ? floorl(x)
                            : strcmp(rounding, ".rpi") == 0 ? ceill(x)
                                                            : truncl(x);
  const long double most = ldexpl(1, to->has_sign ? to->bits - 1 : to->bits) - 1,
                    least = to->has_sign ? -most - 1 : 0;
  const long double clamped = whole < least ? least : whole > most ? most : whole;
  result = clamped < 0 ? 0 - (uint64_t)-clamped : (uint64_t)clamped;
  return cut_to(result, to->bits);
}

/* The result's register has 64 bits for integers: a signed one fills it with its sign. */
static void convert(const type *from, const type *to, const char *rounding, unsigned n) {
  char line[80];
  const int in = from->bits < 16 ? 16 : from->bits, out = to->real ? to->bits : 64;
  snprintf(line, sizeof line, "cvt%s.%s.%s %%d, %%a;", rounding, to->name, from->name);
  run_kernel(line, in, out, n);
  for (unsigned i = 0; i < n; i++) {
    uint64_t want = convert_want(from, to, rounding, a[i]);
    if (!to->real && to->has_sign && to->bits < 64 && want >> (to->bits - 1))
      want |= ~0ull << to->bits;
    if (d[i] != want)
      fprintf(stderr, "%s: %#llx gave %#llx, not %#llx\n", line, (unsigned long long)a[i],
              (unsigned long long)d[i], (unsigned long long)want);
    CHECK(d[i] == want);
  }
}

static void try_conversions(const void *about) {
  static const char *const wholes[] = {".rni", ".rzi", ".rmi", ".rpi"};
  (void)about;
  start();
  for (int f = 0; f < NTYPES; f++)
    for (int t = 0; t < NTYPES; t++) {
      const type *from = &TYPES[f], *to = &TYPES[t];
      unsigned n = from->bits == 16 ? MOST : fill_pairs();
      for (unsigned i = 0; i < n && from->bits == 16; i++) a[i] = i; /* all that there are */
      if (from->real && to->real && from->bits == to->bits) continue;
      if (from->real && !to->real) {
        for (int r = 0; r < 4; r++) convert(from, to, wholes[r], n);
      } else if (to->real && (!from->real || to->bits < from->bits)) {
        convert(from, to, ".rn", n);
        if (to->bits > 16) convert(from, to, ".rz", n);
      } else {
        convert(from, to, "", n);
      }
    }
}

static void conversions(void **state) {
  (void)state;
  assert_true(cuda_satisfied(try_conversions, NULL, "CUDA_SIM_DELAY=0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_numbers), cmocka_unit_test(floats),
                                     cmocka_unit_test(conversions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
