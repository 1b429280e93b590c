/* test_threads.c - the covering table on ranks that are threads of one process.
 *
 * Usage      TUTTI_TEST_SEED=n repeats a run, TUTTI_TEST_CASE='...' one case.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "cover.h"
#include "short.h"
#include "seconds.h"

enum { MOST = 16 };

static uint64_t seed;
static cover_ops ops;

typedef struct rank {
  tutti_comm *comm, *side;
  pthread_t thread;
  const cover_case *only;
  int failed;
  size_t cases;
} rank;

static void *live(void *arg) {
  rank *me = arg;
  const int P = tutti_comm_size(me->comm);
  const size_t n = me->only ? 1 : cover_cases(P);
  bool over = false;
  cover_ops mine = ops;
  if (!cover_make_scaled(&mine, tutti_comm_rank(me->comm))) me->failed++;
  for (size_t i = 0; i < n && !over; i++, me->cases++) {
    cover_case c = me->only ? *me->only : cover_case_at(P, seed, i);
    char line[400], why[700];
    if (cover_run(me->comm, me->side, &mine, &c, &over, why, sizeof why)) continue;
    me->failed++;
    cover_print(&c, line, sizeof line);
    print_error("rank %d: %s\nrepeat it: TUTTI_TEST_CASE='%s' build/tests/test_threads\n",
                tutti_comm_rank(me->comm), why, line);
  }
  cover_drop_scaled(&mine);
  return NULL;
}

static void cover(int P, const cover_case *only) {
  tutti_comm *comms[MOST], *sides[MOST];
  rank ranks[MOST] = {{0}};
  int failed = 0;
  assert_int_equal(tutti_comm_from_threads(P, comms), TUTTI_OK);
  assert_int_equal(tutti_comm_from_threads(P, sides), TUTTI_OK);
  for (int r = 0; r < P; r++) {
    ranks[r] = (rank){.comm = comms[r], .side = sides[r], .only = only};
    assert_int_equal(pthread_create(&ranks[r].thread, NULL, live, &ranks[r]), 0);
  }
  for (int r = 0; r < P; r++) {
    pthread_join(ranks[r].thread, NULL);
    failed += ranks[r].failed;
  }
  for (int r = 0; r < P; r++) {
    assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
    assert_int_equal(tutti_comm_free(sides[r]), TUTTI_OK);
  }
  assert_int_equal(failed, 0);
}

static void covers(void **state) {
  if (*(int *)*state > shorter(16, 5)) skip();
  cover(*(int *)*state, NULL);
}

static void repeats(void **state) {
  cover_case c;
  (void)state;
  if (!getenv("TUTTI_TEST_CASE")) skip();
  assert_true(cover_parse(getenv("TUTTI_TEST_CASE"), &c));
  cover(c.ranks, &c);
}

int main(void) {
  static int P[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
  const struct CMUnitTest one[] = {cmocka_unit_test(repeats)};
  end_after(cover_all() ? 3600 : 230);
  tutti_op_create(cover_user_op, NULL, 1, &ops.user);
  tutti_op_create(cover_ordered_op, NULL, 0, &ops.ordered);
  seed = cover_seed();
  printf("# seed %llu\n", (unsigned long long)seed);
  if (getenv("TUTTI_TEST_CASE")) return cmocka_run_group_tests(one, NULL, NULL);
#define ON(i) cmocka_unit_test_prestate(covers, &P[i])
  const struct CMUnitTest all[] = {ON(0), ON(1), ON(2), ON(3), ON(4),
                                   ON(5), ON(6), ON(7), ON(8), ON(9)};
  return cmocka_run_group_tests(all, NULL, NULL);
}
