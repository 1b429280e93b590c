/* test_kernel.c - every kernel of every instruction set against its definition.
 *
 * Idea       a product: types x ops x numbers of inputs x counts x data, over
 *            buffers with guards, misaligned, aliased, cut in pieces. All sets
 *            of kernels, including plain C, agree because each matches kernel_reference.h.
 * Usage      TUTTI_TEST_SEED=n repeats a run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_bits.h"
#include "kernel_reference.h"
#include "kernel_set.h"
#include "tutti_plan.h"

enum { MOST_INPUTS = 33, MOST_COUNT = 4097, WIDEST = 16, GUARD = 64 };

static uint64_t state;
static uint64_t any(void) {
  return tt_mix(state += 0x9e3779b97f4a7c15u);
}
static size_t below(size_t n) {
  return (size_t)(any() % n);
}

/* ---- data ---- */

static const uint16_t fp16_special[] = {0x7e01, 0x7c01, 0xfe00, 0xfc55, 0x7c00, 0xfc00, 0x8000,
                                        0,      1,      0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3c00};
static const uint16_t bf16_special[] = {0x7fc1, 0x7f81, 0xffc0, 0xff81, 0x7f80, 0xff80, 0x8000,
                                        0,      1,      0x807f, 0x0080, 0x7f7f, 0xff7f, 0x3f80};
static const uint8_t e4m3_special[] = {0x7f, 0xff, 0x7f, 0xff, 0x7e, 0xfe, 0x80,
                                       0,    1,    0x87, 0x08, 0x7d, 0xfd, 0x38};
static const uint8_t e5m2_special[] = {0x7d, 0x7f, 0xfe, 0xff, 0x7c, 0xfc, 0x80,
                                       0,    1,    0x83, 0x04, 0x7b, 0xfb, 0x3c};
static const uint32_t float_special[] = {0x7fc00001, 0x7f800001, 0xffc00000, 0xffa12345, 0x7f800000,
                                         0xff800000, 0x80000000, 0,          1,          0x807fffff,
                                         0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f800000};
static const uint64_t double_special[] = {0x7ff8000000000001,
                                          0x7ff0000000000001,
                                          0xfff8000000000000,
                                          0xfff4123456789abc,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x8000000000000000,
                                          0,
                                          1,
                                          0x800fffffffffffff,
                                          0x0010000000000000,
                                          0x7fefffffffffffff,
                                          0xffefffffffffffff,
                                          0x3ff0000000000000};
enum { SPECIALS = 14 };

/* A float of a moderate size, so that sums round and products stay finite. */
static double moderate(void) {
  double x = ldexp((double)(any() >> 11), -53) + 0.5;
  if (below(4) == 0) x = ldexp(x, (int)below(24) - 12);
  return any() & 1 ? x : -x;
}

/* mode 0: random bits; 1: moderate numbers; 2: mostly special ones. */
static void fill_real(void *p, size_t size, const format *short_one, int mode) {
  uint64_t u = any();
  size_t pick = below(SPECIALS);
  float f = (float)moderate();
  double d = moderate();
  bool special = mode == 2 ? below(4) != 0 : below(200) == 0;
  if (short_one) {
    uint16_t h = encode(*short_one, f);
    if (special)
      h = short_one == &E4M3   ? e4m3_special[pick]
          : short_one == &E5M2 ? e5m2_special[pick]
          : short_one == &BF16 ? bf16_special[pick]
                               : fp16_special[pick];
    put_short(short_one, p, mode == 0 ? (uint16_t)u : h);
  } else if (size == 4) {
    if (special) memcpy(&f, &float_special[pick], 4);
    memcpy(p, mode == 0 ? (void *)&u : (void *)&f, 4);
  } else {
    if (special) memcpy(&d, &double_special[pick], 8);
    memcpy(p, mode == 0 ? (void *)&u : (void *)&d, 8);
  }
}

static void fill_int(void *p, size_t size, int mode) {
  static const uint64_t high = (uint64_t)1 << 63;
  uint64_t u = any(), top = high >> (64 - 8 * size);
  const uint64_t special[] = {0, 1, top, top - 1, top + 1, ~(uint64_t)0};
  if (mode == 1) u = (uint64_t)((int64_t)below(7) - 3);
  if (mode == 2) u = special[below(6)];
  memcpy(p, &u, size);
}

static void fill(tutti_type t, unsigned char *p, size_t count, int mode) {
  const size_t size = tutti_type_size(t);
  for (size_t k = 0; k < count; k++, p += size) {
    for (size_t b = 0; b < size && is_pair_type(t); b++) p[b] = (unsigned char)any();
    if (t <= TUTTI_UINT64) fill_int(p, size, mode);
    if (format_of(t)) fill_real(p, size, format_of(t), mode);
    if (t == TUTTI_FLOAT || t == TUTTI_FLOAT_INT) fill_real(p, 4, NULL, mode);
    if (t == TUTTI_DOUBLE || t == TUTTI_DOUBLE_INT) fill_real(p, 8, NULL, mode);
    if (t == TUTTI_LONG_INT) fill_int(p, 8, mode);
    if (t == TUTTI_INT_INT) fill_int(p, 4, mode);
    if (t == TUTTI_SHORT_INT) fill_int(p, 2, mode);
    if (t == TUTTI_COMPLEX_FLOAT) fill_real(p, 4, NULL, mode), fill_real(p + 4, 4, NULL, mode);
    if (t == TUTTI_COMPLEX_DOUBLE) fill_real(p, 8, NULL, mode), fill_real(p + 8, 8, NULL, mode);
    if (is_pair_type(t)) {
      int index = (int)below(4) - 1; /* often equal */
      memcpy(p + index_at(t), &index, sizeof index);
    }
  }
}

/* ---- the full product ---- */

enum { NOWHERE = -2 };
enum { CAPACITY = 2 * GUARD + WIDEST * MOST_COUNT + GUARD };
static _Alignas(64) unsigned char inputs[MOST_INPUTS][CAPACITY], before[MOST_INPUTS][CAPACITY];
static _Alignas(64) unsigned char target[CAPACITY], target2[CAPACITY],
    expected[WIDEST * MOST_COUNT];

typedef struct problem {
  const tt_kernel_set *set; /* NULL: through tt_reduce */
  tt_reducer reducer;
  tutti_op op;
  int n, mode;
  const void *in[MOST_INPUTS];
} problem;

/* A buffer after a guard, with exactly the alignment of the type. */
static unsigned char *place(unsigned char *room, tutti_type t) {
  size_t size = tutti_type_size(t), align = size == 16 || t == TUTTI_LONG_INT ? 8 : size;
  if (size == 8 && is_pair_type(t)) align = 4;
  return room + GUARD + align * below(64 / align);
}

static void reduce(const problem *p, void *dst, void *also, const void *const *in, size_t count) {
  if (p->set)
    p->set->reduce[p->reducer.type][p->op](dst, also, in, p->n, count);
  else if (also)
    tt_reduce_to_both(&p->reducer, dst, also, in, p->n, count);
  else
    tt_reduce(&p->reducer, dst, in, p->n, count);
}

/* Reduces in at most `pieces` calls. */
static void reduce_pieces(const problem *p, unsigned char *dst, unsigned char *also,
                          const void *const *in, size_t count, int pieces) {
  const void *part[MOST_INPUTS];
  for (size_t at = 0, len; at < count || pieces == 1; at += len) {
    len = pieces > 1 ? below(count - at + 1) : count - at;
    for (int j = 0; j < p->n; j++) part[j] = (const char *)in[j] + at * p->reducer.element;
    const size_t from = at * p->reducer.element;
    reduce(p, dst + from, also ? also + from : NULL, part, len);
    if (--pieces == 0) break;
  }
}

/* Is it the expected result, with its guards? */
static void check_result(const problem *p, const unsigned char *dst, size_t count, int alias,
                         int pieces, const char *which) {
  const size_t size = p->reducer.element, bytes = count * size;
  const bool equal = memcmp(dst, expected, bytes) == 0;
  size_t k = 0;
  while (!equal && dst[k] == expected[k]) k++;
  if (!equal)
    fail_msg("%s %s %s: n %d, count %zu, mode %d, %s is input %d, %d pieces: element %zu",
             p->set ? p->set->name : "tt_reduce", tutti_type_name(p->reducer.type),
             tutti_op_name(p->op), p->n, count, p->mode, which, alias, pieces, k / size);
  for (k = 0; k < GUARD; k++)
    if (dst[bytes + k] != 0xa5 || dst[-(ptrdiff_t)k - 1] != 0xa5)
      fail_msg("%s %s: wrote outside %s", tutti_type_name(p->reducer.type), tutti_op_name(p->op),
               which);
}

/* alias: the input that is also dst, or -1. alias2: the input that is also the second destination; -1 if it is
 * not an input, NOWHERE without a second destination. */
static void check(const problem *p, size_t count, int alias, int alias2, int pieces) {
  const void *in[MOST_INPUTS];
  const size_t bytes = count * p->reducer.element;
  unsigned char *dst = place(target, p->reducer.type);
  unsigned char *also = alias2 == NOWHERE ? NULL : place(target2, p->reducer.type);
  memset(dst - GUARD, 0xa5, bytes + 2 * GUARD);
  if (also) memset(also - GUARD, 0xa5, bytes + 2 * GUARD);
  memcpy(in, p->in, sizeof in);
  if (alias >= 0) in[alias] = memcpy(dst, in[alias], bytes);
  if (alias2 >= 0 && alias2 != alias) in[alias2] = memcpy(also, in[alias2], bytes);
  reduce_pieces(p, dst, also, in, count, pieces);
  check_result(p, dst, count, alias, pieces, "dst");
  if (also) check_result(p, also, count, alias2, pieces, "the second place");
}

static void check_counts(const problem *p, size_t most) {
  static const size_t counts[] = {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 1000, MOST_COUNT};
  const int last = p->n - 1;
  for (size_t c = 0; c < sizeof counts / sizeof *counts && counts[c] <= most; c++) {
    const int any = (int)below((size_t)p->n);
    check(p, counts[c], -1, NOWHERE, 1);
    check(p, counts[c], any, NOWHERE, 1);
    check(p, counts[c], any, any ? 0 : last, 1);
    for (int j = 0; j < p->n && counts[c] == 65; j++) check(p, 65, j, -1, 1);
  }
  check(p, most, -1, NOWHERE, 6);
  check(p, most, (int)below((size_t)p->n), NOWHERE, 4);
  check(p, most, last, 0, 3);
}

typedef void reference_fn(tutti_type t, tutti_op op, void *out, const void *const *in, int n);

/* One (type, op, n): new data in each mode, the reference once, all sets. */
static void check_problem(tutti_type t, tutti_op op, int n, reference_fn *reference) {
  problem p = {.op = op, .n = n};
  assert_int_equal(tt_reducer_init(&p.reducer, t, op), TUTTI_OK);
  for (p.mode = 0; p.mode < 3; p.mode++) {
    const size_t most = p.mode == 1 ? MOST_COUNT : 1000, size = tutti_type_size(t);
    for (int j = 0; j < n; j++) {
      unsigned char *start = place(inputs[j], t);
      fill(t, start, most, p.mode);
      p.in[j] = start;
    }
    for (size_t k = 0; k < most; k++) {
      const void *in[MOST_INPUTS];
      for (int j = 0; j < n; j++) in[j] = (const char *)p.in[j] + k * size;
      reference(t, op, expected + k * size, in, n);
    }
    memcpy(before, inputs, (size_t)n * CAPACITY);
    for (int s = 0; op < TUTTI_OP_COUNT && (p.set = tt_kernel_set_at(s)); s++)
      check_counts(&p, most);
    p.set = NULL;
    check_counts(&p, most);
    assert_memory_equal(before, inputs, (size_t)n * CAPACITY);
  }
}

static const int numbers[] = {2, 3, 4, 5, 9, MOST_INPUTS};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void test_every_kernel(void **unused) {
  (void)unused;
  for (tutti_type t = 0; t < TUTTI_TYPE_COUNT; t++)
    for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++)
      for (int i = 0; i < NUMBERS && tutti_type_has_op(t, op); i++)
        check_problem(t, op, numbers[i], one);
}

/* The table has the kernels that tutti_type_has_op promises; others are refused with a sentence. */
static void test_table(void **unused) {
  (void)unused;
  const tt_kernel_set *set;
  tt_reducer r;
  for (int s = 0; (set = tt_kernel_set_at(s)); s++)
    for (tutti_type t = 0; t < TUTTI_TYPE_COUNT; t++) {
      assert_int_equal(set->scale[t] != NULL, tutti_type_has_op(t, TUTTI_AVG));
      assert_int_equal(set->times[t] != NULL, t > TUTTI_UINT64 && tutti_type_has_op(t, TUTTI_AVG));
      for (tutti_op op = 0; op < TUTTI_OP_COUNT; op++) {
        int has = tutti_type_has_op(t, op);
        assert_int_equal(set->reduce[t][op] != NULL, has);
        assert_int_equal(tt_reducer_init(&r, t, op), has ? TUTTI_OK : TUTTI_ERR_OP);
      }
    }
  assert_int_equal(tt_reducer_init(&r, TUTTI_TYPE_COUNT, TUTTI_SUM), TUTTI_ERR_TYPE);
  assert_int_equal(tt_reducer_init(&r, TUTTI_INT8, TUTTI_OP_COUNT), TUTTI_ERR_OP);
  assert_int_equal(tt_reducer_init(&r, TUTTI_INT8, TUTTI_OP_USER), TUTTI_ERR_OP);
}

/* ---- user-defined ops: must not be regrouped or reordered ---- */

static void hash_bytes(const void *a, const void *b, void *dst, size_t count, tutti_type type,
                       void *ctx) {
  const unsigned char *x = a, *y = b;
  unsigned char *z = dst;
  const size_t bytes = count * tutti_type_size(type);
  assert_true(count > 0 && *(tutti_type *)ctx == type);
  assert_true(z == x || z + bytes <= x || x + bytes <= z);
  assert_true(z == y || z + bytes <= y || y + bytes <= z);
  for (size_t k = 0; k < bytes; k++) z[k] = (unsigned char)(31 * x[k] + y[k]);
}

static void one_hash(tutti_type t, tutti_op op, void *out, const void *const *in, int n) {
  (void)op;
  for (size_t k = 0; k < tutti_type_size(t); k++) {
    unsigned z = ((const unsigned char *)in[0])[k];
    for (int j = 1; j < n; j++) z = 31 * z + ((const unsigned char *)in[j])[k];
    ((unsigned char *)out)[k] = (unsigned char)z;
  }
}

static void test_user_ops(void **unused) {
  (void)unused;
  for (tutti_type t = 0; t < TUTTI_TYPE_COUNT; t++)
    for (int commutative = 0; commutative < 2; commutative++) {
      tutti_op op;
      assert_int_equal(tutti_op_create(hash_bytes, &t, commutative, &op), TUTTI_OK);
      for (int i = 0; i < NUMBERS; i++) check_problem(t, op, numbers[i], one_hash);
      assert_int_equal(tutti_op_free(op), TUTTI_OK);
    }
}

/* ---- conversions, one by one ---- */

static float widen(tutti_type t, uint16_t h) {
  switch (t) {
    case TUTTI_FLOAT16: return tt_fp16_float(h);
    case TUTTI_BFLOAT16: return tt_bf16_float(h);
    case TUTTI_FP8_E4M3: return tt_e4m3_float((uint8_t)h);
    default: return tt_e5m2_float((uint8_t)h);
  }
}

static uint16_t narrow(tutti_type t, float x) {
  switch (t) {
    case TUTTI_FLOAT16: return tt_float_fp16(x);
    case TUTTI_BFLOAT16: return tt_float_bf16(x);
    case TUTTI_FP8_E4M3: return tt_float_e4m3(x);
    default: return tt_float_e5m2(x);
  }
}

static void check_conversion(tutti_type t, float x) {
  const uint16_t h = narrow(t, x), want = encode(*format_of(t), x);
  if (h != want) fail_msg("%s: %a becomes %04x, not %04x", tutti_type_name(t), x, h, want);
}

/* Each of the 65536 or 256 values is converted back and forth, as are the midpoint to the next value and its
 * neighbours. */
static void check_conversions(tutti_type t) {
  const format f = *format_of(t);
  for (uint32_t u = 0; u < 2u << f.bits; u++) {
    const uint16_t h = (uint16_t)u;
    const float x = widen(t, h);
    if (isnan(decode(f, h)) ? !isnan(x) : memcmp(&x, &(float){(float)decode(f, h)}, sizeof x))
      fail_msg("%s: %04x becomes %a", tutti_type_name(t), h, x);
    check_conversion(t, x);
    if (isnan(x) || isinf(x)) continue;
    double next = decode(f, (uint16_t)(h + 1));
    if (isinf(next)) next = copysign(ldexp(1, f.bias + 1), x);
    if (isnan(next)) next = copysign(480, x); /* the value that e4m3's only NaN would have */
    const float tie = (float)(x / 2.0 + next / 2);
    check_conversion(t, tie);
    check_conversion(t, nextafterf(tie, INFINITY));
    check_conversion(t, nextafterf(tie, -INFINITY));
  }
  for (int k = 0; k < 300000; k++) check_conversion(t, tt_bits_float((uint32_t)any()));
}

static void test_conversions(void **unused) {
  (void)unused;
  for (tutti_type t = 0; t < TUTTI_TYPE_COUNT; t++)
    if (format_of(t)) check_conversions(t);
}

/* ---- the division of avg ---- */

static void test_scale(void **unused) {
  (void)unused;
  static const int ranks[] = {1, 2, 3, 7, 8, 49, 127, 128, 1000, 65537, 16777217, 2147483647};
  const tt_kernel_set *set;
  for (tutti_type t = 0; t < TUTTI_TYPE_COUNT; t++)
    for (int i = 0; i < 36 && tutti_type_has_op(t, TUTTI_AVG); i++) {
      unsigned char *x = place(inputs[0], t);
      const size_t size = tutti_type_size(t), bytes = 1000 * size;
      fill(t, x, 1000, i % 3);
      memcpy(expected, x, bytes);
      for (size_t k = 0; k < 1000; k++) one_scale(t, expected + k * size, ranks[i / 3]);
      for (int s = 0; (set = tt_kernel_set_at(s)); s++) {
        memcpy(target, x, bytes);
        set->scale[t](target, 1000, ranks[i / 3]);
        if (memcmp(target, expected, bytes) != 0)
          fail_msg("%s %s / %d", set->name, tutti_type_name(t), ranks[i / 3]);
      }
      tt_scale(t, x, 1000, ranks[i / 3]);
      assert_memory_equal(x, expected, bytes);
    }
}

/* ---- the premultiplier of a sum ---- */

static void test_times(void **unused) {
  (void)unused;
  static const double factors[] = {0, 1, -1, 0.5, 3, 1e-3, -1.0 / 3, 1e30, 0x1p-130};
  const tt_kernel_set *set;
  for (tutti_type t = TUTTI_FLOAT16; t < TUTTI_TYPE_COUNT; t++)
    for (size_t i = 0; tutti_type_has_op(t, TUTTI_AVG) && i < 3 * sizeof factors / sizeof *factors;
         i++) {
      unsigned char *x = place(inputs[0], t), *y = place(inputs[1], t);
      const size_t size = tutti_type_size(t), bytes = 1000 * size;
      const double factor = factors[i / 3];
      fill(t, x, 1000, (int)i % 3);
      memcpy(expected, x, bytes);
      for (size_t k = 0; k < 1000; k++) one_times(t, expected + k * size, factor);
      for (int s = 0; (set = tt_kernel_set_at(s)); s++) {
        set->times[t](y, x, 1000, factor);
        memcpy(target, x, bytes);
        set->times[t](target, target, 1000, factor);
        if (memcmp(target, expected, bytes) != 0 || memcmp(y, expected, bytes) != 0)
          fail_msg("%s %s * %g", set->name, tutti_type_name(t), factor);
      }
    }
}

int main(void) {
  const char *seed = getenv("TUTTI_TEST_SEED");
  state = seed ? strtoull(seed, NULL, 0) : 20240229;
  printf("TUTTI_TEST_SEED=%llu, kernels:", (unsigned long long)state);
  for (int s = 0; tt_kernel_set_at(s); s++) printf(" %s", tt_kernel_set_at(s)->name);
  printf("\n");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table), cmocka_unit_test(test_conversions),
      cmocka_unit_test(test_scale), cmocka_unit_test(test_user_ops),
      cmocka_unit_test(test_times), cmocka_unit_test(test_every_kernel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
