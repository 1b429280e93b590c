/* test_stores.c - the kind of stores, and the route of short vectors, follow the measured cost; the slower
 * alternative is used rarely.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "arena_state.h"
#include "comm.h"

enum { PIECE = 64 << 10 };

/* The cost of a byte in ticks, to write and to read, with either kind of store. */
typedef struct costs {
  const char *name;
  double write[TT_STORES], read[TT_STORES];
  tt_store best;
} costs;

static const costs machines[] = {
    {"cores that share a cache", {0.03, 0.06}, {0.05, 0.13}, TT_PLAIN},
    {"cores that share none, with slow stores", {1.50, 0.10}, {0.10, 0.10}, TT_STREAMING},
    {"a writer that gains less than the reader loses", {0.08, 0.07}, {0.20, 0.40}, TT_PLAIN},
    {"a writer that gains more than the reader loses", {0.40, 0.07}, {0.10, 0.20}, TT_STREAMING},
};
enum { MACHINES = sizeof machines / sizeof *machines };

typedef struct tally {
  double best, other; /* ticks in pieces of the better kind, and of the other */
} tally;

/* A call that writes and reads this number of pieces. */
static void call(tt_stores *s, const costs *m, uint32_t pieces, tally *t) {
  tt_spent wrote[TT_STORES] = {{0}}, read[TT_STORES] = {{0}};
  for (uint32_t k = 0; k < pieces; k++) {
    const tt_store kind = tt_store_kind(s->rule, s->pieces + k);
    const bool warm = tt_store_counts(s->rule, s->pieces + k);
    const double w = m->write[kind] * PIECE, r = m->read[kind] * PIECE;
    if (warm) tt_spend_more(&wrote[kind], (uint64_t)w, PIECE);
    if (warm) tt_spend_more(&read[kind], (uint64_t)r, PIECE);
    *(kind == m->best ? &t->best : &t->other) += w + r;
  }
  s->pieces += pieces;
  tt_stores_learn(s, wrote, read);
}

static bool streams(void) {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

static void test_the_cheaper_kind(void **unused) {
  (void)unused;
  for (int m = 0; m < MACHINES && streams(); m++)
    for (uint32_t pieces = 1; pieces <= 64; pieces *= 4) {
      tt_stores s;
      tally first = {0}, later = {0};
      tt_stores_begin(&s, 1, tt_stores_wanted());
      for (int k = 0; k < 8; k++) call(&s, &machines[m], pieces, &first);
      if (s.rule.kind != machines[m].best)
        fail_msg("%s, %u pieces: kind %d after eight calls", machines[m].name, pieces, s.rule.kind);
      for (uint32_t k = 0; k < 20000 / pieces; k++) call(&s, &machines[m], pieces, &later);
      if (later.other == 0 || later.other > 0.0101 * later.best)
        fail_msg("%s, %u pieces: %.4f of the time by the other kind", machines[m].name, pieces,
                 later.other / later.best);
    }
}

/* The first pieces after a change of kind cost more, and are not counted. The learnt value is the cost of a
 * byte if all pieces are of that kind. */
static void test_a_change_of_kind(void **unused) {
  (void)unused;
  const costs *m = &machines[0];
  tt_stores s;
  tt_store before = TT_STORES;
  uint32_t since = 0;
  if (!streams()) return;
  tt_stores_begin(&s, 1, tt_stores_wanted());
  for (uint32_t k = 0; k < 5000; k++) {
    tt_spent wrote[TT_STORES] = {{0}}, read[TT_STORES] = {{0}};
    const tt_store kind = tt_store_kind(s.rule, s.pieces);
    since = kind == before ? since + 1 : 0;
    before = kind;
    if (tt_store_counts(s.rule, s.pieces)) {
      const double times = since < TT_STORE_WARM ? 10 : 1;
      tt_spend_more(&wrote[kind], (uint64_t)(times * m->write[kind] * PIECE), PIECE);
      tt_spend_more(&read[kind], (uint64_t)(times * m->read[kind] * PIECE), PIECE);
    }
    s.pieces++;
    tt_stores_learn(&s, wrote, read);
  }
  for (int kind = 0; kind < TT_STORES; kind++)
    if (s.write[kind] > 1.01 * m->write[kind] || s.read[kind] > 1.01 * m->read[kind])
      fail_msg("kind %d: %.3f and %.3f ticks per byte", kind, s.write[kind], s.read[kind]);
}

/* The cost changes from each machine to each other one. Measures the time until the better kind is used, at 0.4
 * ns per tick. */
static void test_it_follows(void **unused) {
  (void)unused;
  for (int from = 0; from < MACHINES && streams(); from++)
    for (int to = 0; to < MACHINES; to++)
      for (uint32_t pieces = 1; pieces <= 64; pieces *= 4) {
        tt_stores s;
        tally t = {0}, after = {0};
        tt_stores_begin(&s, 1, tt_stores_wanted());
        for (uint32_t k = 0; k < 5000 / pieces; k++) call(&s, &machines[from], pieces, &t);
        while (s.rule.kind != machines[to].best && after.best + after.other < 1e9)
          call(&s, &machines[to], pieces, &after);
        const double ms = 0.4e-6 * (after.best + after.other);
        if (ms > 100)
          fail_msg("%s, then %s, %u pieces: %.0f ms", machines[from].name, machines[to].name,
                   pieces, ms);
      }
}

/* If the results of sums overwrite the inputs, slots are written with plain stores. */
static void test_returned_places(void **unused) {
  (void)unused;
  tt_stores s;
  tally t = {0};
  if (!streams()) return;
  tt_stores_begin(&s, 1, tt_stores_wanted());
  for (int k = 0; k < 100; k++) call(&s, &machines[1], 1, &t);
  assert_int_equal(tt_stores_rule(&s).kind, TT_STREAMING);
  s.returned = true;
  for (uint32_t k = 0; k < 5000; k++)
    assert_int_equal(tt_store_kind(tt_stores_rule(&s), k), TT_PLAIN);
  s.returned = false;
  assert_int_equal(tt_stores_rule(&s).kind, TT_STREAMING);
}

/* A piece during which a rank loses its core changes nothing. */
static void test_an_outlier(void **unused) {
  (void)unused;
  tt_stores s;
  tally t = {0};
  tt_spent wrote[TT_STORES] = {{0}}, read[TT_STORES] = {{0}};
  if (!streams()) return;
  tt_stores_begin(&s, 1, tt_stores_wanted());
  for (int k = 0; k < 1000; k++) call(&s, &machines[0], 1, &t);
  tt_spend_more(&wrote[TT_PLAIN], 1000 * PIECE, PIECE);
  tt_stores_learn(&s, wrote, read);
  assert_int_equal(s.rule.kind, TT_PLAIN);
}

/* For every length and offset, the copy has the same bytes, and nothing outside it is written. */
static void test_copies(void **unused) {
  (void)unused;
  static _Alignas(64) unsigned char from[1024], to[1024];
  for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 7 + i / 256);
  for (int kind = 0; kind < TT_STORES; kind++)
    for (size_t at = 0; at < 70; at++)
      for (size_t n = 0; n < 400; n += n < 130 ? 1 : 37) {
        memset(to, 0xa5, sizeof to);
        tt_store_copy((tt_store)kind, to + at, from + 3, n);
        tt_store_fence((tt_store)kind);
        assert_memory_equal(to + at, from + 3, n);
        for (size_t i = 0; i < sizeof to; i++)
          if ((i < at || i >= at + n) && to[i] != 0xa5) fail_msg("wrote outside, at %zu", i);
      }
}

/* ---- routes ---- */

/* The cost of a cycle by either route, in ticks, and the caller's own work in it, which varies. */
typedef struct cycles {
  const char *name;
  uint64_t cycle[TT_ROUTES], work;
  int best;      /* -1: the difference is too small to detect */
  double change; /* factor for the first two calls after a change of route */
} cycles;

static const cycles callers[] = {
    {"directly is shorter", {2000, 3000}, 0, TT_DIRECT, 2},
    {"directly is shorter, but for the first calls", {2000, 3000}, 0, TT_DIRECT, 0.5},
    {"staged is shorter", {7400, 6200}, 0, TT_STAGED, 2},
    {"staged is shorter, behind some work", {7400, 6200}, 4000, TT_STAGED, 2},
    {"much work", {7400, 6200}, 400000, -1, 2},
    {"no difference", {5000, 5000}, 100, -1, 0.5},
};
enum { CALLERS = sizeof callers / sizeof *callers };

typedef struct caller {
  tt_learner x;
  uint64_t since, now, spent[TT_ROUTES]; /* total ticks, without the caller's work */
  tt_route before;
  unsigned turn;
} caller;

/* One call. */
static void cycle(caller *c, const cycles *m) {
  if (c->since) tt_learn(&c->x, c->before, c->now - c->since);
  c->since = c->now;
  const tt_route route = (tt_route)c->x.next;
  c->turn = route == c->before ? c->turn + 1 : 0;
  c->before = route;
  const uint64_t took = (uint64_t)((double)m->cycle[route] * (c->turn < 2 ? m->change : 1));
  c->spent[route] += took;
  c->now += took + m->work + (uint64_t)rand() % (m->work / 10 + 1);
}

static void test_the_shorter_route(void **unused) {
  (void)unused;
  for (int m = 0; m < CALLERS; m++) {
    caller c = {.now = 1};
    tt_learner_begin(&c.x, TT_DIRECT);
    for (int k = 0; k < 400; k++) cycle(&c, &callers[m]);
    const int usual = c.x.usual;
    if (usual != (callers[m].best < 0 ? TT_DIRECT : callers[m].best))
      fail_msg("%s: route %d after 400 calls", callers[m].name, usual);
    memset(c.spent, 0, sizeof c.spent);
    for (int k = 0; k < 100 * TT_LEARN_PERIOD; k++) cycle(&c, &callers[m]);
    assert_int_equal(c.x.usual, usual);
    const double rest = (double)c.spent[!usual] / (double)c.spent[usual];
    if (rest <= 0 || rest > 0.0101)
      fail_msg("%s: %.4f of the time by the other route", callers[m].name, rest);
  }
}

/* The hypervisor migrates cores: a tick is taken as 0.4 ns. */
static void test_the_route_follows(void **unused) {
  (void)unused;
  for (int from = 0; from < CALLERS; from++)
    for (int to = 0; to < CALLERS; to++) {
      caller c = {.now = 1};
      tt_learner_begin(&c.x, TT_DIRECT);
      for (int k = 0; k < 3000; k++) cycle(&c, &callers[from]);
      const uint64_t since = c.now;
      while (callers[to].best >= 0 && c.x.usual != callers[to].best &&
             0.4e-6 * (double)(c.now - since) < 100)
        cycle(&c, &callers[to]);
      if (callers[to].best >= 0 && c.x.usual != callers[to].best)
        fail_msg("%s, then %s: not in 100 ms", callers[from].name, callers[to].name);
    }
}

/* Ranks that are threads repeatedly sum vectors in shared memory; in some calls each rank has its own vectors. */
enum { RANKS = 3, LONG = 16384, TIMES = 4 * TT_LEARN_TRIAL };

static void *sums(void *comm) {
  tutti_comm *c = comm;
  const int me = tutti_comm_rank(c);
  uintptr_t wrong = 0;
  int32_t *own = malloc(LONG);
  void *memory = NULL;
  wrong += tutti_mem_alloc(c, LONG, &memory) != TUTTI_OK;
  int32_t *shared = memory;
  for (int k = 0; shared && own && k < TIMES; k++) {
    const size_t n = (size_t)(k % 7 == 3 ? 3000 : LONG / 4);
    int32_t *x = k % 5 == me ? own : shared;
    for (size_t i = 0; i < n; i++) x[i] = (int32_t)(i + (size_t)k) * (me + 1);
    wrong += tutti_allreduce(c, x, x, n, TUTTI_INT32, TUTTI_SUM) != TUTTI_OK;
    for (size_t i = 0; i < n; i++) wrong += x[i] != (int32_t)(i + (size_t)k) * 6;
  }
  wrong += !shared || !own;
  free(own);
  if (shared) wrong += tutti_mem_free(c, shared) != TUTTI_OK;
  return (void *)wrong;
}

static void test_sums_by_either_route(void **unused) {
  tutti_comm *comms[RANKS];
  pthread_t threads[RANKS];
  (void)unused;
  assert_int_equal(tutti_comm_from_threads(RANKS, comms), TUTTI_OK);
  for (int r = 0; r < RANKS; r++)
    assert_int_equal(pthread_create(&threads[r], NULL, sums, comms[r]), 0);
  for (int r = 0; r < RANKS; r++) {
    void *wrong;
    pthread_join(threads[r], &wrong);
    assert_null(wrong);
  }
  const tt_learner *x = &comms[0]->wire->arena_state->cycles[tt_route_size(LONG, false)].learner;
  assert_true(x->settled && x->calls > TT_LEARN_TRIAL); /* some calls took the other route */
  for (int r = 0; r < RANKS; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
}

/* Copies of all lengths around its limits, at all distances between the pages of source and destination that matter. */
static void copies_are_whole(void **state) {
  enum { PAGE = 4096, MOST = 2 * PAGE + 200 };
  static const size_t lengths[] = {0, 1, 63, 64, 2047, 2048, 2049, 2112, PAGE, PAGE + 65, MOST};
  static unsigned char from[MOST + PAGE], to[MOST + 2 * PAGE];
  (void)state;
  for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 131 + (i >> 8));
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
    for (size_t behind = 0; behind < PAGE; behind += behind < 70 || behind > 4000 ? 1 : 61) {
      const size_t n = lengths[k], at = ((uintptr_t)from - (uintptr_t)to + behind) & (PAGE - 1);
      memset(to, 0xa5, sizeof to);
      tt_memcpy(to + at, from, n);
      assert_memory_equal(to + at, from, n);
      assert_true(to[at + n] == 0xa5 && (!at || to[at - 1] == 0xa5));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_are_whole),
      cmocka_unit_test(test_the_cheaper_kind),     cmocka_unit_test(test_a_change_of_kind),
      cmocka_unit_test(test_it_follows),           cmocka_unit_test(test_returned_places),
      cmocka_unit_test(test_an_outlier),           cmocka_unit_test(test_copies),
      cmocka_unit_test(test_the_shorter_route),    cmocka_unit_test(test_the_route_follows),
      cmocka_unit_test(test_sums_by_either_route),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
