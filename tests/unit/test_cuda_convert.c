/* The PTX interpreter: cvt between all types, with all roundings, compared with C.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the three headers above */
#include <cmocka.h>

#include "cuda_kernel_play.h"
#include "kernel_reference.h"

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
  return cut_to(clamped < 0 ? 0 - (uint64_t)-clamped : (uint64_t)clamped, to->bits);
}

/* The result's register has 64 bits for integers: a signed one fills it with its sign. */
static void convert(const type *from, const type *to, const char *rounding, unsigned n) {
  char line[80];
  const int in = from->bits < 16 ? 16 : from->bits, out = to->real ? to->bits : 64;
  snprintf(line, sizeof line, "cvt%s.%s.%s %%d, %%a;", rounding, to->name, from->name);
  run_kernel(line, in, out, n);
  for (unsigned i = 0; i < n; i++) {
    uint64_t want = convert_want(from, to, rounding, left[i]);
    if (!to->real && to->has_sign && to->bits < 64 && want >> (to->bits - 1))
      want |= ~0ull << to->bits;
    if (result[i] != want)
      fprintf(stderr, "%s: %#llx gave %#llx, not %#llx\n", line, (unsigned long long)left[i],
              (unsigned long long)result[i], (unsigned long long)want);
    CHECK(result[i] == want);
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
      for (unsigned i = 0; i < n && from->bits == 16; i++) left[i] = i; /* all values */
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(conversions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
