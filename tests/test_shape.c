/* Shapes: what has a straight loop of its own is recognised from its schedule, the
 * loop lifted back is that schedule on every rank, and it gives the same bits as
 * the generic engine, for every type and op.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <pthread.h>

#include "algo.h"
#include "engine.h"
#include "prove.h"

static bool has_loop(const char *name, tutti_coll coll) {
  return strcmp(name, "one-shot") == 0 && tt_coll_reduces(coll);
}

static void shapes_are_recognised_and_lift_back(void **state) {
  (void)state;
  for (int P = 2; P <= 64; P += P < 12 ? 1 : 13)
    for (int a = 0; tt_algo_at(a); a++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int in_place = 0; in_place < 2; in_place++) {
          const char *name = tt_algo_at(a)->name;
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
          tt_sched **all;
          if (tt_algo_build_all(name, &ask, &all)) continue;
          for (int r = 0; r < P; r++) {
            tt_shape shape = tt_shape_of(all[r]);
            assert_int_equal(shape != TT_SHAPE_NONE, has_loop(name, ask.coll));
            if (shape == TT_SHAPE_NONE) continue;
            tt_sched *lifted = tt_shape_lift(shape, all[r]);
            assert_non_null(lifted);
            assert_true(tt_sched_equal(lifted, all[r]));
            tt_sched_free(all[r]);
            all[r] = lifted;
          }
          tutti_report report = {.size = sizeof report};
          assert_int_equal(tt_prove(all, P, &report), TUTTI_OK);
          assert_true(report.proven);
          tt_sched_free_all(all, P);
        }
}

/* A schedule that differs in anything has no loop. */
static void what_differs_is_not_recognised(void **state) {
  (void)state;
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 5, .rank = 2};
  tt_sched *s;
  assert_int_equal(tt_algo_build("one-shot", &ask, &s), TUTTI_OK);
  assert_int_equal(tt_shape_of(s), TT_SHAPE_ONE_SHOT);
  for (uint32_t i = 0; i < s->nsteps; i++) {
    tt_step kept = s->steps[i];
    s->steps[i].peers.count--;
    assert_int_equal(tt_shape_of(s), TT_SHAPE_NONE);
    s->steps[i] = kept;
    s->steps[i].last ^= 1;
    assert_int_equal(tt_shape_of(s), TT_SHAPE_NONE);
    s->steps[i] = kept;
    s->steps[i].side ^= 1;
    assert_int_equal(tt_shape_of(s), TT_SHAPE_NONE);
    s->steps[i] = kept;
  }
  tt_sched_free(s);
}

enum { RANKS = 5, COUNT = 37 };

typedef struct rank_run {
  tutti_comm *comm;
  tutti_type type;
  tutti_op op;
  bool in_place;
  _Alignas(16) char out[COUNT * 16];
  tutti_status status;
} rank_run;

static void *one_rank(void *arg) {
  rank_run *r = arg;
  size_t bytes = COUNT * tutti_type_size(r->type);
  _Alignas(16) unsigned char in[COUNT * 16];
  uint64_t random = 5 + (uint64_t)tutti_comm_rank(r->comm);
  for (size_t i = 0; i < bytes; i++) in[i] = (unsigned char)((random = tt_mix(random + 1)) >> 11);
  if (r->in_place) memcpy(r->out, in, bytes);
  r->status =
      tutti_allreduce(r->comm, r->in_place ? (void *)r->out : in, r->out, COUNT, r->type, r->op);
  return NULL;
}

static void run_all(tutti_comm **comms, rank_run *runs, tutti_type type, tutti_op op,
                    bool in_place) {
  pthread_t threads[RANKS];
  for (int r = 0; r < RANKS; r++) {
    runs[r] = (rank_run){.comm = comms[r], .type = type, .op = op, .in_place = in_place};
    assert_int_equal(pthread_create(&threads[r], NULL, one_rank, &runs[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < RANKS; r++) assert_int_equal(runs[r].status, TUTTI_OK);
}

/* The same random bits through both engines: NaNs, denormals and all. */
static void both_engines_give_the_same_bits(void **state) {
  (void)state;
  static rank_run straight[RANKS], generic[RANKS];
  tutti_comm *fast[RANKS], *plain[RANKS];
  assert_int_equal(tutti_comm_from_threads(RANKS, fast), TUTTI_OK);
  assert_int_equal(tutti_comm_from_threads(RANKS, plain), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    tutti_comm_set_algo(fast[r], "one-shot");
    tutti_comm_set_algo(plain[r], "one-shot");
  }
  for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (int op = 0; op < TUTTI_OP_COUNT; op++)
      for (int in_place = 0; in_place < 2; in_place++) {
        if (!tutti_type_has_op((tutti_type)type, (tutti_op)op)) continue;
        unsetenv("TUTTI_ENGINE");
        run_all(fast, straight, (tutti_type)type, (tutti_op)op, in_place);
        setenv("TUTTI_ENGINE", "generic", 1);
        run_all(plain, generic, (tutti_type)type, (tutti_op)op, in_place);
        size_t bytes = COUNT * tutti_type_size((tutti_type)type);
        for (int r = 0; r < RANKS; r++) {
          assert_memory_equal(straight[r].out, generic[r].out, bytes);
          assert_memory_equal(straight[r].out, straight[0].out, bytes);
        }
      }
  unsetenv("TUTTI_ENGINE");
  for (int r = 0; r < RANKS; r++) {
    tutti_comm_free(fast[r]);
    tutti_comm_free(plain[r]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_recognised_and_lift_back),
      cmocka_unit_test(what_differs_is_not_recognised),
      cmocka_unit_test(both_engines_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
