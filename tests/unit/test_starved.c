/* test_starved.c - memory runs out on one rank only, at each allocation of a call. All ranks get an error, no
 * rank hangs, and no rank gets a wrong result.
 *
 * Idea       the library's malloc, calloc and realloc are redirected here (ld's --wrap). One rank's n-th allocation in
 *            a call returns NULL, for n = 0, 1, 2, ... until the call makes fewer allocations.
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

#include "../../cli/configure.h"
#include "algo.h"
#include "by_name.h"
#include "call_of.h"
#include "cover.h"
#include "lists.h"
#include "tutti.h"

enum { RANKS = 3, STARVED = 1, MOST = 1 << 16, FIRST = 60, SECONDS = 300 };

/* ---- allocations that fail ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t n);

static _Thread_local long left = -1; /* successes before the failure; -1: no failure */
static _Thread_local bool fell;

static bool none(void) {
  if (left < 0 || left-- > 0) return false;
  return fell = true;
}
void *__wrap_malloc(size_t n) {
  return none() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
  return none() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *at, size_t n) {
  return none() ? NULL : __real_realloc(at, n);
}

/* ---- the calls ---- */

typedef struct vectors {
  double in[MOST], out[MOST];
} vectors;

typedef tutti_status call(tutti_comm *c, vectors *v, size_t n);

static tutti_status allreduce(tutti_comm *c, vectors *v, size_t n) {
  return tutti_allreduce(c, v->in, v->out, n, TUTTI_DOUBLE, TUTTI_SUM);
}
static tutti_status reduce_all(tutti_comm *c, vectors *v, size_t n) { /* to each root in turn */
  tutti_status status = TUTTI_OK;
  for (int root = 0; root < RANKS && !status; root++)
    status = tutti_reduce(c, v->in, v->out, n, TUTTI_DOUBLE, TUTTI_SUM, root);
  return status;
}
static tutti_status lists(tutti_comm *c, vectors *v, size_t n) {
  const size_t counts[] = {n / 4, n / 4, n - 2 * (n / 4)};
  const void *srcs[] = {v->in, v->in + n / 4, v->in + n / 2};
  void *dsts[] = {v->out, v->out + n / 4, v->out + n / 2};
  return allreduce_many(c, 3, srcs, dsts, counts, TUTTI_DOUBLE, TUTTI_SUM);
}
static tutti_status started(tutti_comm *c, vectors *v, size_t n) {
  tutti_request *r;
  const tutti_status status =
      tutti_allreduce_start(c, v->in, v->out, n, TUTTI_DOUBLE, TUTTI_SUM, &r);
  return status ? status : tutti_request_wait(&r);
}
static tutti_status persistent(tutti_comm *c, vectors *v, size_t n) {
  tutti_request *r = NULL;
  tutti_status status = tutti_call_init(c,
                                        CALL(ALLREDUCE, .src = v->in, .dst = v->out, .count = n,
                                             .type = TUTTI_DOUBLE, .op = TUTTI_SUM),
                                        &r);
  for (int i = 0; i < 2 && !status; i++) {
    status = tutti_request_start(r);
    if (!status) status = tutti_request_wait(&r);
  }
  left = -1;
  return r && tutti_request_free(&r) ? TUTTI_ERR_STATE : status;
}
static tutti_status gathered(tutti_comm *c, vectors *v, size_t n) {
  return tutti_allgather(c, v->in, v->out, n / RANKS, TUTTI_DOUBLE);
}
static tutti_status listed(tutti_comm *c, vectors *v, size_t n) {
  const size_t counts[RANKS] = {n / 2, 0, n - n / 2};
  return tutti_allgatherv(c, v->in, v->out, counts, TUTTI_DOUBLE);
}
static tutti_status ring(tutti_comm *c, vectors *v, size_t n) {
  const int me = tutti_comm_rank(c);
  tutti_request *r[2] = {NULL, NULL};
  tutti_status status = tutti_recv_start(c, v->out, n, TUTTI_DOUBLE, (me + RANKS - 1) % RANKS, 0,
                                         NULL, &r[0]),
               next;
  if (!status) status = tutti_send_start(c, v->in, n, TUTTI_DOUBLE, (me + 1) % RANKS, 0, &r[1]);
  for (int i = 0; i < 2; i++)
    if (r[i] && (next = tutti_request_wait(&r[i])) && !status) status = next;
  return status;
}
static tutti_status measured(tutti_comm *c, vectors *v, size_t n) {
  tutti_status status =
      tutti_comm_configure(c, &(tutti_config){.size = sizeof(tutti_config), .measure = 1});
  return status ? status : allreduce(c, v, n);
}

static const struct row {
  const char *name;
  call *call;
  size_t n;
  const char *algo;
  tutti_contract contract;
} rows[] = {
    {"a line", allreduce, 2, NULL, TUTTI_CONTRACT_SAME},
    {"an arena", allreduce, 5000, NULL, TUTTI_CONTRACT_SAME},
    {"a wish", allreduce, 5000, "fold(ring)", TUTTI_CONTRACT_SAME},
    {"a line that is wished", allreduce, 2, "one-shot", TUTTI_CONTRACT_SAME},
    {"any order", allreduce, 5000, NULL, TUTTI_CONTRACT_ANY},
    {"an exact sum", allreduce, 1000, NULL, TUTTI_CONTRACT_EXACT},
    {"to roots", reduce_all, 700, NULL, TUTTI_CONTRACT_SAME},
    {"a list", lists, 3000, NULL, TUTTI_CONTRACT_SAME},
    {"a long list", lists, MOST, NULL, TUTTI_CONTRACT_SAME},
    {"an exact list", lists, 3000, NULL, TUTTI_CONTRACT_EXACT},
    {"started", started, 5000, NULL, TUTTI_CONTRACT_SAME},
    {"persistent", persistent, 5000, "halving-doubling", TUTTI_CONTRACT_SAME},
    {"gathered", gathered, 3000, NULL, TUTTI_CONTRACT_SAME},
    {"counts of each", listed, 3000, NULL, TUTTI_CONTRACT_SAME},
    {"messages", ring, 300, NULL, TUTTI_CONTRACT_SAME},
    {"measured", measured, 300, NULL, TUTTI_CONTRACT_SAME},
};

/* ---- a rank ---- */

typedef struct rank {
  const struct row *row;
  tutti_comm *comm;
  long left;
  bool fell;
  tutti_status status, after;
  char words[400];
  vectors v;
} rank;

static void *live(void *arg) {
  rank *me = arg;
  const int r = tutti_comm_rank(me->comm);
  for (size_t i = 0; i < me->row->n; i++) me->v.in[i] = (double)(i % 100) * (r + 1);
  fell = false;
  left = r == STARVED ? me->left : -1;
  me->status = me->row->call(me->comm, &me->v, me->row->n);
  left = -1;
  me->fell = fell;
  snprintf(me->words, sizeof me->words, "%s", me->status ? tutti_error() : "");
  me->after = tutti_barrier(me->comm);
  return NULL;
}

static bool right(const rank *me, size_t n) {
  bool ok = true;
  for (size_t i = 0;
       i < n && me->row->call != ring && me->row->call != gathered && me->row->call != listed; i++)
    ok &= me->v.out[i] == (double)(i % 100) * (RANKS * (RANKS + 1) / 2);
  return ok;
}

/* Either all ranks succeed, or all get an error, at the latest in the next call. */
static bool alike(const rank *all, bool *failed) {
  bool well = true, told = true, refused = true; /* refused early, so the next call succeeds */
  for (int r = 0; r < RANKS; r++) {
    well &= !all[r].status && !all[r].after && right(&all[r], all[r].row->n);
    told &= all[r].after == TUTTI_ERR_MEMORY &&
            (all[r].status ? all[r].status == TUTTI_ERR_MEMORY && strstr(all[r].words, "memory")
                           : right(&all[r], all[r].row->n));
  }
  for (int r = 0; r < RANKS; r++)
    refused &= all[r].status == TUTTI_ERR_MEMORY && strstr(all[r].words, "memory") && !all[r].after;
  told |= refused;
  *failed = told;
  return well || (told && all[STARVED].status && all[STARVED].fell);
}

/* The n-th allocation fails; false: the call makes fewer. */
static bool play(const struct row *row, long n, bool *failed) {
  static rank all[RANKS];
  tutti_comm *comms[RANKS];
  pthread_t threads[RANKS];
  alarm(SECONDS); /* ends a hang */
  assert_int_equal(tutti_comm_from_threads(RANKS, comms), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    memset(&all[r], 0, sizeof all[r]);
    all[r].row = row;
    all[r].comm = comms[r];
    all[r].left = n;
    assert_int_equal(comm_set_algorithm(comms[r], row->algo), TUTTI_OK);
    assert_int_equal(comm_set_contract(comms[r], row->contract), TUTTI_OK);
    assert_int_equal(pthread_create(&threads[r], NULL, live, &all[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < RANKS; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
  if (!alike(all, failed)) {
    for (int r = 0; r < RANKS; r++)
      print_error("# %s, request %ld for memory: rank %d: %s (%s), then %s\n", row->name, n, r,
                  tutti_strerror(all[r].status), all[r].words, tutti_strerror(all[r].after));
    fail();
  }
  return all[STARVED].fell;
}

static void starved(void **state) {
  const struct row *row = *state;
  const uint64_t seed = cover_seed();
  long n = 0, failures = 0, plays = 0;
  for (bool failed = false; play(row, n, &failed); plays++) {
    failures += failed;
    n += n < FIRST || cover_all() ? 1
                                  : 1 + (long)(cover_mix(seed + (uint64_t)n) % (uint64_t)(n / 12));
  }
  print_message("# %s: at most %ld requests for memory; %ld were refused, and %ld calls failed\n",
                row->name, n, plays, failures);
  assert_true(failures > 0);
}

/* Without memory a schedule is not built. The error must not claim that the algorithm cannot do the collective,
 * because the rank would then choose a different one than its peers. */
static void no_algorithm_refuses_for_memory(void **state) {
  static const char levels[] = "node:3 core:4";
  const tt_ask ask = {.ranks = 12, .rank = 5};
  tt_plan_walk at = {0};
  char name[NAME];
  long failures = 0;
  (void)state;
  while (next_named(ask.ranks, levels, &at, name, sizeof name)) {
    tt_sched *s;
    if (tt_algo_build_named(name, &ask, &s)) continue;
    tt_sched_free(s);
    for (long n = 0;; n += cover_all() || n < 20 ? 1 : n / 10) {
      fell = false;
      left = n;
      const tutti_status status = tt_algo_build_named(name, &ask, &s);
      left = -1;
      if (!status) tt_sched_free(s);
      failures += status == TUTTI_ERR_MEMORY;
      if (status && status != TUTTI_ERR_MEMORY)
        fail_msg("%s, request %ld for memory: %s (%s)", name, n, tutti_strerror(status),
                 tutti_error());
      if (!fell) break;
    }
  }
  assert_true(failures > 1000);
}

int main(void) {
  enum { ROWS = sizeof rows / sizeof *rows };
  struct CMUnitTest tests[ROWS + 1] = {[ROWS] = cmocka_unit_test(no_algorithm_refuses_for_memory)};
  print_message("# seed %llu\n", (unsigned long long)cover_seed());
  for (size_t i = 0; i < ROWS; i++)
    tests[i] = (struct CMUnitTest){rows[i].name, starved, NULL, NULL, (void *)(uintptr_t)&rows[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
