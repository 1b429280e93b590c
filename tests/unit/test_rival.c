/* test_rival.c - two plans with the same bits, between which rank 0 may switch in each call. All ranks follow,
 * and the sums stay the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm.h"
#include "flight.h"
#include "plan_cache.h"

/* ---- ranks that are threads ---- */

enum { MOST = 4, COUNT = 1024, CALLS = 600, PENDING = 5 };

typedef struct worker {
  tutti_comm *comm;
  int ran[2]; /* number of calls that ran the usual plan, and its rival */
  char wrong[200];
} worker;

/* Rank 0's choice of a plan for call k: in some stretches a new one in each call, in others constant. Timing
 * does not influence it. */
static unsigned wanted(unsigned k) {
  return (k % 64 < 32 ? k / 64 : k) * 2654435761u >> 31;
}

static void want(tutti_comm *c, unsigned k) {
  for (int i = 0; c->rank == 0 && i < TT_PLAN_SIZES; i++) {
    tt_learner *x = &c->plans->size[i].learner;
    x->period = UINT32_MAX;
    x->usual = (uint8_t)wanted(k);
  }
}

/* Which plan ran last? -1: not the expected one. */
static int ran(const tutti_comm *c, unsigned k) {
  const tt_place *p = &c->flight->places[(c->flight->seq - 1) % TT_WINDOW];
  const tt_rival *x = c->plans->rivals;
  const bool rival = p->operation.program == x->program, constant = k > 64 && k % 64 == 31;
  if (x->next || rival != p->rival) return -1;
  if (constant && wanted(k) != (unsigned)(rival == x->second)) return -1;
  return rival;
}

static bool is(worker *w, tutti_status status, const char *what, unsigned k) {
  if (status) snprintf(w->wrong, sizeof w->wrong, "%s, call %u: %s", what, k, tutti_error());
  return !status;
}

static bool check(worker *w, const float *sum, const float *first, unsigned k) {
  if (memcmp(sum, first, COUNT * sizeof *sum) == 0) return true;
  snprintf(w->wrong, sizeof w->wrong, "call %u has other bits", k);
  return false;
}

static bool block(worker *w, const float *in, float *first, float *sum, unsigned k) {
  want(w->comm, k);
  if (!is(w, tutti_allreduce(w->comm, in, sum, COUNT, TUTTI_FLOAT, TUTTI_SUM), "allreduce", k))
    return false;
  const int by = ran(w->comm, k);
  if (by < 0) {
    snprintf(w->wrong, sizeof w->wrong, "call %u ran the wrong plan", k);
    return false;
  }
  w->ran[by]++;
  if (k == 0) memcpy(first, sum, COUNT * sizeof *sum);
  return check(w, sum, first, k);
}

/* In each round rank 0 starts its calls when all other ranks have started theirs, so that they cannot see what it decides
 * in these. */
static atomic_int started;
static void start_last(const tutti_comm *c, unsigned k) {
  if (c->rank) {
    atomic_fetch_add(&started, 1);
    return;
  }
  while (atomic_load(&started) < (int)(k + 1) * (c->ranks - 1) && !tt_comm_is_over(c))
    sched_yield();
}

/* Blocking calls, calls in flight, and broadcasts that carry no message from rank 0, in the same order on all
 * ranks. */
static bool round_of_calls(worker *w, const float *in, float *first, float *sums, unsigned k) {
  tutti_comm *c = w->comm;
  tutti_request *r[PENDING];
  const int n = (int)(k % (PENDING + 1)), last = tutti_comm_size(c) - 1;
  for (int i = 0; i < (k % 8 == 7 ? 3 * TT_WINDOW : 1); i++)
    if (!block(w, in, first, sums, k)) return false;
  if (c->rank == 0) start_last(c, k);
  for (int i = 0; i < n; i++) {
    want(c, k % 64 < 32 ? k : k + (unsigned)i + 1);
    if (!is(w, tutti_allreduce_start(c, in, sums + i * COUNT, COUNT, TUTTI_FLOAT, TUTTI_SUM, &r[i]),
            "allreduce_start", k))
      return false;
  }
  if (c->rank) start_last(c, k);
  for (int i = n; i-- > 0;)
    if (!is(w, tutti_request_wait(&r[i]), "wait", k) || !check(w, sums + i * COUNT, first, k)) return false;
  for (unsigned i = 0; i < k % 3 * TT_WINDOW; i++)
    if (!is(w, tutti_broadcast(c, sums, sums, 1, TUTTI_FLOAT, last), "broadcast", k)) return false;
  return true;
}

static void *work(void *worker_of) {
  worker *w = worker_of;
  const int me = tutti_comm_rank(w->comm);
  float *in = malloc(COUNT * sizeof *in), *first = malloc(COUNT * sizeof *first),
        *sums = malloc(PENDING * COUNT * sizeof *sums);
  for (int i = 0; in && i < COUNT; i++) in[i] = 1.0f / (float)(3 * i + me + 1);
  for (unsigned k = 0; in && first && sums && k < CALLS; k++)
    if (!round_of_calls(w, in, first, sums, k)) {
      tutti_comm_abort(w->comm, "the test has failed");
      break;
    }
  free(in);
  free(first);
  free(sums);
  return NULL;
}

static void test_all_agree(void **unused) {
  (void)unused;
  for (int ranks = 2; ranks <= MOST; ranks++) {
    tutti_comm *comms[MOST];
    pthread_t threads[MOST];
    atomic_store(&started, 0);
    worker workers[MOST] = {0};
    assert_int_equal(tutti_comm_from_threads(ranks, comms), TUTTI_OK);
    for (int r = 0; r < ranks; r++) {
      workers[r].comm = comms[r];
      assert_int_equal(pthread_create(&threads[r], NULL, work, &workers[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < ranks; r++) {
      if (*workers[r].wrong) fail_msg("rank %d of %d: %s", r, ranks, workers[r].wrong);
      assert_int_equal(workers[r].ran[1], workers[0].ran[1]);
    }
    if (workers[0].ran[0] < CALLS / 8 || workers[0].ran[1] < CALLS / 8)
      fail_msg("%d ranks: %d calls by the usual plan, %d by its rival", ranks, workers[0].ran[0],
               workers[0].ran[1]);
    for (int r = 0; r < ranks; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
