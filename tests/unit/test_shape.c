/* Shapes: schedules that have a straight-line loop are recognised, the schedule
 * derived from the loop is the same on every rank, and the loop gives the same bits as
 * the generic engine, for every type and op.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <pthread.h>

#include "algo.h"
#include "comm.h"
#include "engine.h"
#include "prove.h"
#include "short.h"

static tt_shape shape_of(tt_sched *const *scheds, int n) {
  tt_shape shape;
  assert_int_equal(tt_shape_of(scheds, n, &shape), TUTTI_OK);
  return shape;
}

/* Other plans may have the same schedule by chance: recursive multiplying in one step is the
 * one-shot. */
static bool has_loop(const char *name, tutti_coll coll, int ranks) {
  const bool rounds = strncmp(name, "multiplying", 11) == 0 && (ranks == 8 || ranks == 12);
  if (strcmp(name, "one-shot") == 0 || rounds)
    return coll == TUTTI_ALLREDUCE || coll == TUTTI_BARRIER;
  return (strcmp(name, "two-shot") == 0 || strcmp(name, "naive") == 0) && coll == TUTTI_ALLREDUCE;
}

static void shapes_are_recognised_and_lift_back(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(64, 8); P += P < 12 ? 1 : 13)
    for (int a = 0; tutti_algo_name(a, NULL); a++)
      for (int coll = 0, apart = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int in_place = 0; in_place < 2; in_place++) {
          const char *name = tutti_algo_name(a, NULL);
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
          tt_sched **all;
          if (tt_algo_build_all_named(name, &ask, &all)) continue;
          const tt_shape shape = shape_of(all, P);
          assert_true(shape != TT_SHAPE_NONE || !has_loop(name, ask.coll, P));
          if (in_place) assert_int_equal(shape, apart); /* ranks may differ in that */
          apart = shape;
          for (int r = 0; r < P && shape; r++) {
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

/* A set of schedules in which one rank's belongs to another plan is not recognised. */
static void what_one_rank_does_otherwise_is_not_recognised(void **state) {
  static const char *const names[] = {"one-shot", "two-shot", "naive"};
  (void)state;
  for (int a = 0; a < 3; a++)
    for (int other = 0; other < 4; other++) {
      tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 4};
      tt_sched **all, *one;
      assert_int_equal(tt_algo_build_all_named(names[a], &ask, &all), TUTTI_OK);
      assert_int_not_equal(shape_of(all, 4), TT_SHAPE_NONE);
      ask.rank = other;
      assert_int_equal(tt_algo_build_named("fold(ring)", &ask, &one), TUTTI_OK);
      tt_sched_free(all[other]);
      all[other] = one;
      assert_int_equal(shape_of(all, 4), TT_SHAPE_NONE);
      tt_sched_free_all(all, 4);
    }
}

/* A schedule with any difference has no loop. */
static void what_differs_is_not_recognised(void **state) {
  (void)state;
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 5, .rank = 2};
  tt_sched *s;
  assert_int_equal(tt_algo_build_named("one-shot", &ask, &s), TUTTI_OK);
  assert_int_equal(shape_of(&s, 1), TT_SHAPE_ONE_SHOT);
  for (uint32_t i = 0; i < s->nsteps; i++) {
    tt_step kept = s->steps[i];
    s->steps[i].peers.count--;
    assert_int_equal(shape_of(&s, 1), TT_SHAPE_NONE);
    s->steps[i] = kept;
    s->steps[i].completes ^= 1;
    assert_int_equal(shape_of(&s, 1), TT_SHAPE_NONE);
    s->steps[i] = kept;
    s->steps[i].side ^= 1;
    assert_int_equal(shape_of(&s, 1), TT_SHAPE_NONE);
    s->steps[i] = kept;
  }
  tt_sched_free(s);
}

enum { RANKS = 6, MOST = 40011 };

typedef struct rank_run {
  tutti_comm *comm;
  tutti_type type;
  tutti_op op;
  bool in_place;
  size_t count;
  unsigned char *in, *out;
  tutti_status status;
} rank_run;

static void *one_rank(void *arg) {
  rank_run *r = arg;
  const size_t bytes = r->count * tutti_type_size(r->type);
  uint64_t random = 5 + (uint64_t)tutti_comm_rank(r->comm);
  for (size_t i = 0; i < bytes; i++)
    r->in[i] = (unsigned char)((random = tt_mix(random + 1)) >> 11);
  if (r->in_place) memcpy(r->out, r->in, bytes);
  r->status =
      tutti_allreduce(r->comm, r->in_place ? r->out : r->in, r->out, r->count, r->type, r->op);
  return NULL;
}

static void run_all(tutti_comm **comms, rank_run *runs, const rank_run *what) {
  pthread_t threads[RANKS];
  for (int r = 0; r < RANKS; r++) {
    unsigned char *in = runs[r].in, *out = runs[r].out;
    runs[r] = *what;
    runs[r].comm = comms[r];
    runs[r].in = in;
    runs[r].out = out;
    assert_int_equal(pthread_create(&threads[r], NULL, one_rank, &runs[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < RANKS; r++) assert_int_equal(runs[r].status, TUTTI_OK);
}

static void compare(tutti_comm **fast, tutti_comm **plain, rank_run *loop, rank_run *generic,
                    const rank_run *what) {
  const size_t bytes = what->count * tutti_type_size(what->type);
  for (int r = 0; r < RANKS; r++) plain[r]->settings.generic = true;
  run_all(fast, loop, what);
  run_all(plain, generic, what);
  for (int r = 0; r < RANKS; r++) {
    assert_memory_equal(loop[r].out, generic[r].out, bytes);
    assert_memory_equal(loop[r].out, loop[0].out, bytes);
  }
}

static void all_types_and_ops(const char *algo) {
  static rank_run loop[RANKS], generic[RANKS];
  tutti_comm *fast[RANKS], *plain[RANKS];
  assert_int_equal(tutti_comm_from_threads(RANKS, fast), TUTTI_OK);
  assert_int_equal(tutti_comm_from_threads(RANKS, plain), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    tutti_comm_set_algo(fast[r], algo);
    tutti_comm_set_algo(plain[r], algo);
    for (int k = 0; k < 2; k++) {
      rank_run *run = k ? &loop[r] : &generic[r];
      run->in = malloc((size_t)MOST * 16);
      run->out = malloc((size_t)MOST * 16);
      assert_true(run->in && run->out);
    }
  }
  for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (int op = 0, ops = 0; op < TUTTI_OP_COUNT; op++)
      for (int in_place = 0; in_place < 2; in_place++) {
        if (!tutti_type_has_op((tutti_type)type, (tutti_op)op)) continue;
        rank_run what = {.type = (tutti_type)type, .op = (tutti_op)op, .in_place = in_place};
        what.count = 37;
        compare(fast, plain, loop, generic, &what);
        what.count = MOST; /* many pieces: one op of each type is enough */
        if (ops++ < 2) compare(fast, plain, loop, generic, &what);
      }
  for (int r = 0; r < RANKS; r++) {
    tutti_comm_free(fast[r]);
    tutti_comm_free(plain[r]);
    for (int k = 0; k < 2; k++) {
      free((k ? loop : generic)[r].in);
      free((k ? loop : generic)[r].out);
    }
  }
}

/* The same random bits through both engines, with NaNs and denormals; in memory that peers read
 * directly, and in memory that goes through the arena. */
static void both_engines_give_the_same_bits(void **state) {
  static const char *const names[TT_SHAPE_COUNT] = {[TT_SHAPE_ONE_SHOT] = "one-shot",
                                                    [TT_SHAPE_ROUNDS] = "multiplying(radix=3)",
                                                    [TT_SHAPE_TWO_SHOT] = "two-shot",
                                                    [TT_SHAPE_NAIVE] = "naive"};
  (void)state;
  for (int shape = TT_SHAPE_NONE + 1; shape < TT_SHAPE_COUNT; shape++)
    for (int copies = 0; copies < 2; copies++) {
      setenv("TUTTI_COPIES", copies ? "all" : "cheapest", 1);
      all_types_and_ops(names[shape]);
    }
  unsetenv("TUTTI_COPIES");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_are_recognised_and_lift_back),
      cmocka_unit_test(what_differs_is_not_recognised),
      cmocka_unit_test(what_one_rank_does_otherwise_is_not_recognised),
      cmocka_unit_test(both_engines_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
