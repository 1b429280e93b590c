/* Shapes: schedules with a specialized fast path are recognised, the schedule derived from the fast path is the
 * same on every rank, and the fast path gives the same bits as the generic engine, for every type and op.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tutti_plan.h"
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <pthread.h>

#include "../../cli/configure.h"
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

/* Different plans may have the same schedule: recursive multiplying in one step is the one-shot. */
static bool has_loop(const char *name, tutti_coll coll, int ranks) {
  static const struct {
    const char *name;
    unsigned does;
  } loops[] = {{"one-shot", TT_DOES_ALLREDUCE | TT_DOES(ALLGATHER)},
               {"two-shot", TT_DOES(ALLREDUCE) | TT_DOES(REDUCE_SCATTER)},
               {"naive", TT_DOES(ALLREDUCE) | TT_DOES_ROOTED},
               {"direct", TT_DOES_ROOTED_BLOCKS | TT_DOES(ALLTOALL)}};
  const bool rounds = strncmp(name, "multiplying", 11) == 0 && (ranks == 8 || ranks == 12);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    if (strcmp(name, loops[i].name) == 0) return loops[i].does >> coll & 1;
  return rounds && (coll == TUTTI_ALLREDUCE || coll == TUTTI_BARRIER);
}

static void shapes_are_recognised_and_lift_back(void **state) {
  (void)state;
  for (int P = 2; P <= shortest(64, 8, 6); P += P < 12 ? 1 : 13)
    for (int a = 0; tutti_algo_name(a, NULL); a++)
      for (int coll = 0, apart = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int in_place = 0; in_place < 2; in_place++) {
          const char *name = tutti_algo_name(a, NULL);
          const int root = tt_coll_rooted((tutti_coll)coll) ? a % P : 0;
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .root = root, .in_place = in_place};
          tt_sched **all;
          if (tt_algo_build_all_named(name, &ask, &all)) continue;
          const tt_shape shape = shape_of(all, P);
          assert_true(shape != TT_SHAPE_NONE || !has_loop(name, ask.coll, P));
          if (in_place) assert_int_equal(shape, apart); /* ranks may differ in this */
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

/* A set of schedules is not recognised if one rank's schedule belongs to another plan. */
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

/* A schedule that differs in any detail has no fast path. */
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

enum { RANKS = 6, MOST = 40011, ROOT = 4 };

typedef struct rank_run {
  tutti_comm *comm;
  tutti_coll coll;
  tutti_type type;
  tutti_op op;
  bool in_place;
  size_t count;
  unsigned char *in, *out;
  tutti_status status;
} rank_run;

static tutti_status call(tutti_comm *m, tutti_coll coll, const void *src, void *dst, size_t n,
                         tutti_type type, tutti_op op) {
  switch (coll) {
    case TUTTI_BROADCAST: return tutti_broadcast(m, src, dst, n, type, ROOT);
    case TUTTI_REDUCE: return tutti_reduce(m, src, dst, n, type, op, ROOT);
    case TUTTI_ALLGATHER: return tutti_allgather(m, src, dst, n, type);
    case TUTTI_REDUCE_SCATTER: return tutti_reduce_scatter(m, src, dst, n, type, op);
    case TUTTI_GATHER: return tutti_gather(m, src, dst, n, type, ROOT);
    case TUTTI_SCATTER: return tutti_scatter(m, src, dst, n, type, ROOT);
    case TUTTI_ALLTOALL: return tutti_alltoall(m, src, dst, n, type);
    default: return tutti_allreduce(m, src, dst, n, type, op);
  }
}

/* In place, a rank's own block is at its position in the whole vector. */
static void *one_rank(void *arg) {
  rank_run *r = arg;
  const int me = tutti_comm_rank(r->comm);
  const size_t block = r->count * tutti_type_size(r->type);
  const size_t bytes = block * (tt_coll_owned(r->coll) ? RANKS : 1);
  const bool root = me == ROOT;
  uint64_t random = 5 + (uint64_t)me;
  for (size_t i = 0; i < bytes; i++)
    r->in[i] = (unsigned char)((random = tt_mix(random + 1)) >> 11);
  memcpy(r->out, r->in, bytes);
  unsigned char *src = r->in_place ? r->out : r->in, *dst = r->out,
                *own = r->out + (size_t)me * block;
  if (r->in_place && (r->coll == TUTTI_ALLGATHER || (r->coll == TUTTI_GATHER && root))) src = own;
  if (r->in_place && (r->coll == TUTTI_REDUCE_SCATTER || (r->coll == TUTTI_SCATTER && root)))
    dst = own;
  r->status = call(r->comm, r->coll, src, dst, r->count, r->type, r->op);
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
  const size_t bytes =
      what->count * tutti_type_size(what->type) * (tt_coll_owned(what->coll) ? RANKS : 1);
  for (int r = 0; r < RANKS; r++) plain[r]->settings.plain.generic = true;
  run_all(fast, loop, what);
  run_all(plain, generic, what);
  for (int r = 0; r < RANKS; r++) {
    assert_memory_equal(loop[r].out, generic[r].out, bytes);
    if (what->coll == TUTTI_ALLREDUCE) assert_memory_equal(loop[r].out, loop[0].out, bytes);
  }
}

static void all_types_and_ops(const char *algo, tutti_coll coll) {
  static rank_run loop[RANKS], generic[RANKS];
  tutti_comm *fast[RANKS], *plain[RANKS];
  assert_int_equal(tutti_comm_from_threads(RANKS, fast), TUTTI_OK);
  assert_int_equal(tutti_comm_from_threads(RANKS, plain), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    comm_set_algorithm(fast[r], algo);
    comm_set_algorithm(plain[r], algo);
    for (int k = 0; k < 2; k++) {
      rank_run *run = k ? &loop[r] : &generic[r];
      run->in = malloc((size_t)MOST * 16);
      run->out = malloc((size_t)MOST * 16);
      assert_true(run->in && run->out);
    }
  }
  const bool whole = !tt_coll_owned(coll), reduces = tt_coll_reduces(coll);
  for (int type = 0; type < TUTTI_TYPE_COUNT; type++)
    for (int op = 0, ops = 0; op < (reduces ? TUTTI_OP_COUNT : 1); op++)
      for (int in_place = 0; in_place < 2; in_place++) {
        if (reduces && !tutti_type_has_op((tutti_type)type, (tutti_op)op)) continue;
        rank_run what = {
            .coll = coll, .type = (tutti_type)type, .op = (tutti_op)op, .in_place = in_place};
        what.count = 37;
        compare(fast, plain, loop, generic, &what);
        what.count = MOST; /* many pieces: one op of each type is enough */
        if (!whole) what.count /= RANKS;
        if (ops++ < shortest(2, 1, type % 2)) compare(fast, plain, loop, generic, &what);
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

/* The same random bits through both engines, with NaNs and denormals; in memory that peers read directly, and
 * in memory that is copied through the arena. */
static void both_engines_give_the_same_bits(void **state) {
  static const struct {
    const char *plan;
    tutti_coll coll;
  } loops[] = {{"one-shot", TUTTI_ALLREDUCE}, {"multiplying(radix=3)", TUTTI_ALLREDUCE},
               {"two-shot", TUTTI_ALLREDUCE}, {"naive", TUTTI_ALLREDUCE},
               {"naive", TUTTI_BROADCAST},    {"naive", TUTTI_REDUCE},
               {"one-shot", TUTTI_ALLGATHER}, {"two-shot", TUTTI_REDUCE_SCATTER},
               {"direct", TUTTI_GATHER},      {"direct", TUTTI_SCATTER},
               {"direct", TUTTI_ALLTOALL}};
  (void)state;
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
    for (int copies = 0; copies < 2; copies++) {
      setenv("TUTTI_COPIES", copies ? "all" : "cheapest", 1);
      all_types_and_ops(loops[i].plan, loops[i].coll);
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
