/* test_measure.c - one rank cannot make a plan that is to be measured. All ranks return an error, and their
 * next call succeeds.
 *
 * Idea       measure.c's calls that make plans are redirected here (ld's --wrap), and fail on one rank.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "build_comm.h"
#include "tutti_plan.h"

enum { RANKS = 3, N = 2048 };

tutti_status __real_tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                                 const tt_choice *choice, tt_plan *plan);
tutti_status __wrap_tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                                 const tt_choice *choice, tt_plan *plan);

static _Thread_local int left = -1; /* successes before the failure; -1: no failure */

tutti_status __wrap_tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                                 const tt_choice *choice, tt_plan *plan) {
  if (left >= 0 && left-- == 0) return tt_fail(TUTTI_ERR_MEMORY, "no memory is left");
  return __real_tt_plan_make(comm, call, in_place, choice, plan);
}

typedef struct rank {
  tutti_comm *comm;
  int made;
  tutti_status status, after;
  char words[200];
  float sum;
} rank;

static void *live(void *arg) {
  static const float in[N] = {1};
  float out[N] = {0};
  rank *me = arg;
  tutti_measured m = {.size = sizeof m};
  left = me->made;
  me->status = tutti_comm_measure(me->comm, TUTTI_ALLREDUCE, N, TUTTI_FLOAT, TUTTI_SUM, &m);
  snprintf(me->words, sizeof me->words, "%s", me->status ? tutti_error() : "");
  left = -1;
  me->after = tutti_allreduce(me->comm, in, out, N, TUTTI_FLOAT, TUTTI_SUM);
  me->sum = out[0];
  return NULL;
}

static void all_fail_alike(void **state) {
  (void)state;
  for (int made = -1; made < 3; made++) {
    tutti_comm *comms[RANKS];
    rank ranks[RANKS];
    pthread_t threads[RANKS];
    alarm(20); /* ends a hang */
    assert_int_equal(tutti_comm_from_threads(RANKS, comms), TUTTI_OK);
    for (int r = 0; r < RANKS; r++) {
      ranks[r] = (rank){.comm = comms[r], .made = r == 1 ? made : -1};
      assert_int_equal(pthread_create(&threads[r], NULL, live, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < RANKS; r++) {
      const char *words = r == 1 ? "no memory is left" : "another rank could not make the plans";
      assert_int_equal(ranks[r].status, made < 0 ? TUTTI_OK : TUTTI_ERR_MEMORY);
      if (made >= 0) assert_non_null(strstr(ranks[r].words, words));
      assert_int_equal(ranks[r].after, TUTTI_OK);
      assert_true(ranks[r].sum == RANKS);
      assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_fail_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
