/* test_exact.c - the contract `exact`: words and sums of words against an independent reference; every plan,
 * slicing, type, op and collective on threads as ranks; and refused calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "seconds.h"
#include "short.h"
#include "sums.h"
#include "superacc.h"
#include "tutti_plan.h"

enum { MOST = 9, WORDS = TT_BLOCK * TT_EXACT_WORDS };

static const tutti_type reals[] = {TUTTI_FP8_E4M3, TUTTI_FP8_E5M2, TUTTI_FLOAT16,
                                   TUTTI_BFLOAT16, TUTTI_FLOAT,    TUTTI_DOUBLE};
enum { REALS = sizeof reals / sizeof *reals };

/* ---- the reference against the processor or the C library ---- */

static uint64_t bits_of(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static void the_reference_is_right(void **state) {
  (void)state;
  const double most = 0x1.fffffffffffffp1023;
  const struct {
    double x[3], sum;
  } known[] = {{{1e30, 1, -1e30}, 1},
               {{1e300, 1, -1e300}, 1},
               {{most, most, -most}, most},
               {{1, 0x1p-53, 0}, 1},
               {{1, 0x1p-53, 0x1p-1074}, 1 + 0x1p-52},
               {{0x1p-1074, 0x1p-1074, 0}, 0x1p-1073},
               {{0.0, -0.0, -0.0}, 0.0},
               {{-0.0, -0.0, -0.0}, -0.0}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint64_t x[3];
    for (int k = 0; k < 3; k++) x[k] = bits_of(known[i].x[k]);
    assert_int_equal(sums_exact(TUTTI_DOUBLE, x, 3, 1), bits_of(known[i].sum));
  }
  for (int i = 0; i < 100000; i++) { /* sums of two and quotients are right in hardware */
    const uint64_t a = cover_mix((uint64_t)i), b = cover_mix(a);
    const uint64_t x[2] = {a & ~(1ull << 62), b & ~(1ull << 62)};
    double y, z;
    float v, w;
    memcpy(&y, &x[0], sizeof y);
    memcpy(&z, &x[1], sizeof z);
    assert_int_equal(sums_exact(TUTTI_DOUBLE, x, 2, 1), bits_of(y + z));
    assert_int_equal(sums_exact(TUTTI_DOUBLE, x, 1, 3), bits_of(y / 3));
    const uint64_t n[2] = {a & 0xbfffffff, b & 0xbfffffff};
    memcpy(&v, &n[0], sizeof v);
    memcpy(&w, &n[1], sizeof w);
    const float sum = v + w;
    uint32_t u;
    memcpy(&u, &sum, sizeof u);
    assert_int_equal(sums_exact(TUTTI_FLOAT, n, 2, 1), u);
  }
}

/* ---- words ---- */

static tt_breadth wider(tt_breadth a, tt_breadth b) {
  return (tt_breadth){a.top > b.top ? a.top : b.top, a.low > b.low ? a.low : b.low,
                      a.special | b.special, a.minus | b.minus};
}

/* Checks sums of n numbers for each of `count` elements, starting at element `from`, with words of `width`
 * bits. */
static void check_words(tutti_type real, size_t from, size_t count, int n, int width, int by) {
  static double x[SUMS_MOST][TT_BLOCK], got[TT_BLOCK];
  static int64_t one[WORDS], sum[WORDS];
  tt_breadth b = tt_breadth_none();
  for (int k = 0; k < n; k++) {
    for (size_t i = 0; i < count; i++) sums_put(real, x[k], i, sums_number(real, from + i, k, n));
    b = wider(b, tt_exact_measure(real, x[k], count));
  }
  const size_t words = count * tt_exact_words(&b, width);
  assert_true(words <= WORDS);
  memset(sum, 0, sizeof sum);
  for (int k = 0; k < n; k++) {
    tt_exact_spread(real, &b, width, x[k], count, one);
    for (size_t i = 0; i < words; i++) sum[i] += one[i];
  }
  tt_exact_round(real, &b, width, sum, count, n, by, got);
  for (size_t i = 0; i < count; i++) {
    uint64_t all[SUMS_MOST];
    for (int k = 0; k < n; k++) all[k] = sums_number(real, from + i, k, n);
    const uint64_t want = sums_exact(real, all, n, by), have = sums_get(real, got, i);
    if (want != have)
      fail_msg("%s, place %zu of %zu, %d summands by %d, width %d: %llx, not %llx",
               tutti_type_name(real), from + i, count, n, by, width, (unsigned long long)have,
               (unsigned long long)want);
  }
}

static void words_add_up(void **state) {
  (void)state;
  for (size_t t = 0; t < REALS; t++)
    for (int n = 1; n <= SUMS_MOST; n += n < 9 ? 1 : 11) {
      /* widths for this number of ranks, and for more: a larger width needs more words but gives the same sums */
      for (int ranks = n; ranks < TT_EXACT_RANKS; ranks *= 64) {
        const int width = tt_exact_width(ranks);
        for (size_t i = 0; i < 3 * SUMS_KINDS; i++) check_words(reals[t], i, 1, n, width, 1);
        check_words(reals[t], 5, 150, n, width, 1);
        check_words(reals[t], 7, 50, n, width, n);
        check_words(reals[t], 99, 50, n, width, 3);
      }
    }
}

static void sizes_are_as_said(void **state) {
  (void)state;
  tt_breadth all = tt_breadth_none();
  const double ends[] = {0x1p-1074, 0x1.fffffffffffffp1023, -0.0, 1.0 / 0.0};
  for (int i = 0; i < 4; i++) all = wider(all, tt_exact_measure(TUTTI_DOUBLE, &ends[i], 1));
  assert_true(tt_exact_words(&all, tt_exact_width(TT_EXACT_RANKS - 1)) <= TT_EXACT_WORDS);
  assert_int_equal(all.top, 2098);
  assert_int_equal(all.low, 0);
  const double few[] = {2, 1024, 0, -0.25}; /* bit positions that no number uses take no space */
  const tt_breadth b = tt_exact_measure(TUTTI_DOUBLE, few, 4);
  assert_int_equal(b.top + b.low, 13);
  assert_int_equal(tt_exact_usual(TUTTI_FLOAT, 60), 1);
  assert_int_equal(tt_exact_usual(TUTTI_DOUBLE, 60), 2);
  for (int ranks = 1; ranks < TT_EXACT_RANKS; ranks = 2 * ranks + 1) {
    const int width = tt_exact_width(ranks);
    assert_true((uint64_t)ranks <= (uint64_t)INT64_MAX / (((uint64_t)1 << width) - 1));
  }
}

/* ---- ranks ---- */

typedef bool sum_scene(tutti_comm *comm);
typedef struct rank {
  tutti_comm *comm;
  sum_scene *play;
  pthread_t thread;
  bool well;
} rank;

static void *live(void *arg) {
  rank *me = arg;
  me->well = me->play(me->comm);
  return NULL;
}

static void play(int P, sum_scene *scene, tutti_contract contract) {
  tutti_comm *comms[MOST];
  rank ranks[MOST];
  bool well = true;
  assert_int_equal(tutti_comm_from_threads(P, comms), TUTTI_OK);
  for (int r = 0; r < P; r++) {
    assert_int_equal(comm_set_contract(comms[r], contract), TUTTI_OK);
    ranks[r] = (rank){.comm = comms[r], .play = scene};
    assert_int_equal(pthread_create(&ranks[r].thread, NULL, live, &ranks[r]), 0);
  }
  for (int r = 0; r < P; r++) {
    pthread_join(ranks[r].thread, NULL);
    well &= ranks[r].well;
  }
  for (int r = 0; r < P; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
  assert_true(well);
}

static void by_all_plans(void **state) {
  if (*(int *)*state > shorter(MOST, 5)) skip();
  play(*(int *)*state, sums_by_all_plans, TUTTI_CONTRACT_EXACT);
}

static void by_all_calls(void **state) {
  if (*(int *)*state > shorter(MOST, 5)) skip();
  play(*(int *)*state, sums_by_all_calls, TUTTI_CONTRACT_EXACT);
}

static void in_windows(void **state) {
  play(*(int *)*state, sums_in_windows, TUTTI_CONTRACT_EXACT);
}

/* Ranks in other calls get an error that names both calls as the user made them. */
static bool other_counts(tutti_comm *c) {
  float x[4] = {1, 2, 3, 4};
  const size_t count = 3 + (size_t)tutti_comm_rank(c);
  const tutti_status status = tutti_allreduce(c, x, x, count, TUTTI_FLOAT, TUTTI_SUM);
  return status == TUTTI_ERR_MISMATCH && strstr(tutti_error(), "allreduce of 3 float, sum") &&
         strstr(tutti_error(), "allreduce of 4 float, sum");
}

static bool other_ops(tutti_comm *c) {
  float x[4] = {1, 2, 3, 4};
  const tutti_op op = tutti_comm_rank(c) ? TUTTI_AVG : TUTTI_SUM;
  return tutti_allreduce(c, x, x, 4, TUTTI_FLOAT, op) == TUTTI_ERR_MISMATCH;
}

/* As many elements in all, in other blocks. */
static bool other_blocks(tutti_comm *c) {
  float x[4] = {1, 2, 3, 4}, y[4];
  const size_t counts[2][2] = {{1, 3}, {2, 2}};
  return tutti_reduce_scatterv(c, x, y, counts[tutti_comm_rank(c)], TUTTI_FLOAT, TUTTI_SUM) ==
         TUTTI_ERR_MISMATCH;
}

/* The same if the ranks' contracts differ. */
static bool other_contracts(tutti_comm *c) {
  float x[4] = {1, 2, 3, 4};
  if (tutti_comm_rank(c)) comm_set_contract(c, TUTTI_CONTRACT_SAME);
  return tutti_allreduce(c, x, x, 4, TUTTI_FLOAT, TUTTI_SUM) == TUTTI_ERR_MISMATCH;
}

static void mismatches(void **state) {
  (void)state;
  sum_scene *const scenes[] = {other_counts, other_ops, other_blocks, other_contracts};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    play(2, scenes[i], TUTTI_CONTRACT_EXACT);
}

/* ---- refused calls, and their errors ---- */

static void user_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  (void)a, (void)b, (void)dst, (void)n, (void)t, (void)ctx;
}

static void refusals(void **state) {
  (void)state;
  tutti_comm *c;
  tutti_op op;
  double x = 2;
  int32_t i = 3;
  char plan[200], *text;
  assert_int_equal(tutti_comm_from_threads(1, &c), TUTTI_OK);
  assert_int_equal(tutti_op_create(user_op, NULL, 1, &op), TUTTI_OK);
  assert_int_equal(comm_set_contract(c, (tutti_contract)9), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "unknown contract 9"));
  assert_int_equal(comm_set_contract(c, TUTTI_CONTRACT_EXACT), TUTTI_OK);
  assert_int_equal(tutti_allreduce(c, &x, &x, 1, TUTTI_DOUBLE, TUTTI_PROD), TUTTI_ERR_UNSUPPORTED);
  assert_non_null(strstr(tutti_error(), "no products"));
  assert_int_equal(tutti_allreduce(c, &x, &x, 1, TUTTI_DOUBLE, op), TUTTI_ERR_UNSUPPORTED);
  assert_non_null(strstr(tutti_error(), "a user-defined op"));
  assert_int_equal(
      tutti_comm_plan(c, TUTTI_ALLREDUCE, 1, TUTTI_FLOAT, TUTTI_PROD, plan, sizeof plan),
      TUTTI_ERR_UNSUPPORTED);
  assert_true(x == 2);
  assert_int_equal(tutti_allreduce(c, &i, &i, 1, TUTTI_INT32, TUTTI_PROD), TUTTI_OK);
  assert_int_equal(tutti_allreduce(c, &x, &x, 1, TUTTI_DOUBLE, TUTTI_MAX), TUTTI_OK);
  assert_int_equal(tutti_allreduce(c, &x, &x, 1, (tutti_type)99, TUTTI_SUM), TUTTI_ERR_TYPE);
  assert_int_equal(tutti_allreduce(c, NULL, &x, 1, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG);
  assert_int_equal(
      tutti_comm_plan(c, TUTTI_ALLREDUCE, 99, TUTTI_FLOAT, TUTTI_SUM, plan, sizeof plan), TUTTI_OK);
  assert_int_equal(strncmp(plan, "exact, ", 7), 0);
  assert_int_equal(tutti_comm_explain(c, TUTTI_ALLREDUCE, 100, TUTTI_DOUBLE, TUTTI_SUM, 0, &text),
                   TUTTI_OK);
  assert_non_null(strstr(text, "a double of 8 bytes becomes integers of 16"));
  assert_non_null(strstr(text, "allreduce of 1.56 KiB"));
  tutti_text_free(text);
  tutti_op_free(op);
  assert_int_equal(tutti_comm_free(c), TUTTI_OK);
}

static void the_environment_sets_it(void **state) {
  (void)state;
  static const char *const words[] = {"same", "any", "run", "element", "exact"};
  tutti_comm *c;
  char plan[100];
  for (int i = 0; i < 5; i++) {
    setenv("TUTTI_CONTRACT", words[i], 1);
    assert_int_equal(tutti_comm_from_threads(1, &c), TUTTI_OK);
    assert_int_equal(
        tutti_comm_plan(c, TUTTI_ALLREDUCE, 9, TUTTI_FLOAT, TUTTI_AVG, plan, sizeof plan),
        TUTTI_OK);
    assert_int_equal(strncmp(plan, "exact", 5) == 0, i == 4);
    assert_int_equal(tutti_comm_free(c), TUTTI_OK);
  }
  setenv("TUTTI_CONTRACT", "exactly", 1);
  assert_int_equal(tutti_comm_from_threads(1, &c), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "same, any, run, element or exact"));
  unsetenv("TUTTI_CONTRACT");
}

int main(void) {
  static int P[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  end_after(cover_all() ? 3600 : 230);
#define ON(test, i) cmocka_unit_test_prestate(test, &P[i])
#define ON_ALL(test)                                                                         \
  ON(test, 0), ON(test, 1), ON(test, 2), ON(test, 3), ON(test, 4), ON(test, 5), ON(test, 6), \
      ON(test, 7), ON(test, 8)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_is_right),
      cmocka_unit_test(words_add_up),
      cmocka_unit_test(sizes_are_as_said),
      ON_ALL(by_all_plans),
      ON_ALL(by_all_calls),
      ON(in_windows, 0),
      ON(in_windows, 2),
      ON(in_windows, 3),
      cmocka_unit_test(mismatches),
      cmocka_unit_test(refusals),
      cmocka_unit_test(the_environment_sets_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
