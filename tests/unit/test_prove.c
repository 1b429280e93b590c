/* Every algorithm is proven for every P up to 64 and samples beyond, for every collective that it supports, in
 * place and out of place, with one to three slices in flight. It has the counts of its paper.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "names.h"
#include "prove.h"
#include "short.h"
#include "tutti_plan.h"

static bool thorough(void) {
  return getenv("TUTTI_TEST_ALL") != NULL;
}

/* Proves, or fails with a command line that repeats the case. */
static tutti_report proven(const char *name, const tt_ask *ask, int slices, int flight) {
  tt_sched **all;
  tutti_report report = {.size = sizeof report};
  if (tt_algo_build_all_named(name, ask, &all)) fail_msg("%s: %s", name, tutti_error());
  for (int r = 0; slices > 1 && r < ask->ranks; r++) {
    tt_sched *sliced = tt_sched_sliced(all[r], slices, flight);
    assert_non_null(sliced);
    tt_sched_free(all[r]);
    all[r] = sliced;
  }
  assert_int_equal(tt_prove(all, ask->ranks, &report), TUTTI_OK);
  if (!report.proven)
    fail_msg("%s\n  tutti plan check '%s' --coll %s -n %d --root %d%s (%d slices, %d in flight)",
             report.witness, name, tutti_coll_name(ask->coll), ask->ranks, ask->root,
             ask->in_place ? " --in-place" : "", slices, flight);
  tt_sched_free_all(all, ask->ranks);
  return report;
}

/* The number of ranks with data; 0: not supported. */
static int serves(const char *name, const tt_ask *ask) {
  tt_sched *s;
  tutti_status status = tt_algo_build_named(name, ask, &s);
  assert_true(status == TUTTI_OK || status == TUTTI_ERR_UNSUPPORTED);
  const int data = status ? 0 : s->data;
  if (!status) tt_sched_free(s);
  return data;
}

/* The sum of a block that the contract `element` names: all inputs in one step; of a prefix, one after the other. */
static tt_value element_sum(tt_values *v, const tt_sched *s, uint32_t block) {
  const tt_wanted want = tt_coll_wanted(s, block);
  const uint32_t n = (uint32_t)(want.end - want.first);
  tt_value in[64], sum;
  assert_true(n <= 64);
  for (uint32_t r = 0; r < n; r++) in[r] = tt_value_input(v, want.first + (int)r, want.block);
  if (n < 2) return n ? in[0] : 0;
  if (!tt_coll_prefix(s->coll)) return tt_value_sum(v, in, n, true);
  sum = in[0];
  for (uint32_t r = 1; r < n; r++) sum = tt_value_sum(v, (tt_value[]){sum, in[r]}, 2, false);
  return sum;
}

/* Is every result that sum? By the symbolic values, as the prover finds them. */
static bool all_element_sums(tt_sched *const *all, int ranks) {
  char witness[200];
  tutti_report report = {.size = sizeof report};
  tt_graph g;
  tt_memory m = {0};
  tt_values *v = tt_values_new();
  assert_true(tt_graph_build(&g, all, ranks, witness, sizeof witness));
  assert_true(tt_symbolic_run(&g, v, &m, NULL, &report));
  bool are = true;
  for (int r = 0; r < ranks && are; r++) {
    uint32_t lo, hi;
    tt_coll_dst(all[r], &lo, &hi);
    for (uint32_t block = lo; block < hi && are; block++)
      are = m.at[r * TT_BUF_COUNT + TT_DST][block] == element_sum(v, all[r], block);
  }
  tt_graph_free(&g);
  tt_memory_free(&m);
  tt_values_free(v);
  return are;
}

/* How many schedules were of either kind. */
static int of_element[2];

static void prove_one(const char *name, tt_ask ask, bool all_roots) {
  const int data = serves(name, &ask);
  int roots = tt_coll_rooted(ask.coll) ? all_roots ? data : 2 : 1;
  if (!data) return;
  for (int k = 0; k < roots; k++) {
    ask.root = all_roots ? k : k * (data - 1);
    tutti_report r = proven(name, &ask, 1, 1);
    tt_sched **all;
    assert_int_equal(tt_algo_build_all_named(name, &ask, &all), TUTTI_OK);
    if (tt_coll_reduces(ask.coll) && tt_summed_once(all, ask.ranks)) assert_true(r.same_grouping);
    if (tt_coll_reduces(ask.coll) && ask.coll != TUTTI_BARRIER && ask.ranks <= 17) {
      const bool are = all_element_sums(all, ask.ranks);
      of_element[are]++;
      /* a prefix may also need more additions than it has sums, and is not found then */
      const bool unseen = are && tt_coll_prefix(ask.coll);
      if (are != r.element && !unseen)
        fail_msg("%s of %s on %d ranks: element is %d", name, tutti_coll_name(ask.coll), ask.ranks,
                 r.element);
    }
    tt_sched_free_all(all, ask.ranks);
  }
}

/* Proves the table, and up to `most` names of each family. */
static void prove_at(int P, int most, bool all_roots) {
  names list = names_for(P, most, P);
  for (int a = 0; a < list.n; a++)
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (int in_place = 0; in_place < 2; in_place++)
        prove_one(list.at[a], (tt_ask){.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place},
                  all_roots);
  names_free(&list);
}

static void every_algorithm_up_to_64_ranks(void **state) {
  (void)state;
  of_element[0] = of_element[1] = 0;
  for (int P = 1; P <= shorter(64, 9); P++) prove_at(P, thorough() ? -1 : P <= 8 ? 12 : 2, P <= 9);
  assert_true(of_element[0] > 100 && of_element[1] > 20);
}

static void samples_beyond(void **state) {
  (void)state;
  const int samples[] = {65, 96, 100, 127, 128, 129, 255, 256, 300};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
    if (thorough() || samples[i] <= shorter(128, 65))
      prove_at(samples[i], thorough() ? 2 : 0, false);
}

static void slices_one_to_three_in_flight(void **state) {
  (void)state;
  for (int P = 1; P <= (thorough() ? 24 : shorter(9, 5)); P++) {
    names list = names_for(P, thorough() ? -1 : 3, P);
    for (int a = 0; a < list.n; a++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int in_place = 0; in_place < 2; in_place++)
          for (int flight = 1; flight <= 3; flight++) {
            tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
            if (tt_coll_owned(ask.coll) || !serves(list.at[a], &ask)) continue;
            proven(list.at[a], &ask, 5, flight);
          }
    names_free(&list);
  }
}

/* Kolmakov and Zhang, equation 25: 2 ceil(log2 P) steps and 2(P-1) blocks
 * for halving, 2(P-1) of each for the ring, P-1 reductions for both. */
static void folds_keep_the_papers_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(300, 17); P += P < 64 ? 1 : 59) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = P % 2};
    tutti_report ring = proven("fold(ring)", &ask, 1, 1);
    tutti_report half = proven("fold(halving)", &ask, 1, 1);
    assert_int_equal(ring.steps, 2 * (P - 1));
    assert_int_equal(half.steps, 2 * tt_ceil_log2((uint64_t)P));
    assert_int_equal(half.messages, half.steps);
    assert_int_equal(ring.messages, ring.steps);
    assert_int_equal(ring.sent_blocks, 2 * (P - 1));
    assert_int_equal(half.sent_blocks, 2 * (P - 1));
    assert_int_equal(ring.reduced, P - 1);
    assert_int_equal(half.reduced, P - 1);
    assert_true(ring.transitive && half.transitive);
    assert_true(half.copied <= 1 && ring.copied == 0);
    assert_int_equal(ring.scratch_blocks + half.scratch_blocks, 0);
    ask.coll = TUTTI_REDUCE_SCATTER;
    tutti_report down = proven("fold(halving)", &ask, 1, 1);
    assert_int_equal(down.steps, tt_ceil_log2((uint64_t)P));
    assert_int_equal(down.sent_blocks, P - 1);
  }
}

static void any_fold_sequence_and_generator(void **state) {
  (void)state;
  uint64_t random = 2020;
  for (int P = 2; P <= shorter(40, 9); P++)
    for (int trial = 0; trial < 12; trial++) {
      char name[96], seq[64];
      int n = P, steps = 0, length = snprintf(seq, sizeof seq, "%d", P), stride = 1;
      while (n > 1) {
        random = tt_mix(random + 1);
        n -= 1 + (int)(random % (uint64_t)(n / 2));
        length += snprintf(seq + length, sizeof seq - (size_t)length, ".%d", n);
        steps++;
      }
      if (length > 40) continue;                              /* longer than the limit for names */
      for (int s = 2; s < P && stride == 1 && trial % 2; s++) /* a generator of the group */
        if (tt_mod(P, s) == 1) stride = s;
      snprintf(name, sizeof name, "fold(seq=%s,stride=%d)", seq, stride);
      tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = trial % 3 == 0};
      tutti_report r = proven(name, &ask, 1, 1);
      assert_int_equal(r.steps, 2 * steps);
      assert_int_equal(r.sent_blocks, 2 * (P - 1));
      assert_int_equal(r.reduced, P - 1);
      assert_true(r.same_grouping);
    }
}

static void others_keep_theirs(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(40, 9); P++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
    int log = tt_ceil_log2((uint64_t)P), power = (P & (P - 1)) == 0;
    tutti_report r = proven("doubling", &ask, 1, 1);
    assert_true(power ? r.steps == log : r.steps >= log && r.steps <= log + 1);
    assert_true(r.rank_order);
    r = proven("one-shot", &ask, 1, 1);
    assert_true(r.steps == 1 && r.messages == P - 1 && r.reduced == P - 1 && r.rank_order);
    r = proven("two-shot", &ask, 1, 1);
    assert_true(r.steps == 2 && r.sent_blocks == 2 * (P - 1) && r.reduced == P - 1 && r.rank_order);
    r = proven("naive", &ask, 1, 1);
    assert_true(r.steps == 2 && r.reduced == P - 1 && r.rank_order);
    r = proven("fold(ring)", &ask, 1, 1);
    assert_false(r.rank_order);
  }
}

static void scans_keep_theirs(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(70, 17); P += P < 20 ? 1 : 9)
    for (int coll = TUTTI_SCAN; coll <= TUTTI_EXSCAN; coll++)
      for (int in_place = 0; in_place < 2; in_place++) {
        tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
        const int log = tt_ceil_log2((uint64_t)P), without = coll == TUTTI_EXSCAN;
        tutti_report r = proven("scan", &ask, 1, 1);
        assert_true(r.rank_order && r.same_grouping);
        assert_true(r.steps <= log && r.messages == log && r.sent_blocks == log);
        assert_true(without ? r.reduced < 2 * log : r.reduced == log);
        assert_true(r.scratch_blocks <= 1 + without + in_place);
        r = proven("scan(chain)", &ask, 1, 1);
        assert_true(r.rank_order && r.steps == P - 1 && r.messages == 1 && r.reduced <= 1);
        r = proven("scan(chain,segments=6)", &ask, 1, 1);
        assert_true(r.rank_order && r.steps == P - 1 && r.sent_blocks == r.blocks);
        assert_true(r.scratch_blocks <= 6 * (without + (without && in_place)));
      }
}

static void direct_keeps_its_own(void **state) {
  (void)state;
  for (int P = 2; P <= 20; P++)
    for (int coll = TUTTI_GATHER; coll <= TUTTI_ALLTOALL; coll++)
      for (int in_place = 0; in_place < 2; in_place++) {
        tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .root = P / 3, .in_place = in_place};
        tutti_report r = proven("direct", &ask, 1, 1);
        assert_true(r.steps == 1 && r.sent_blocks == (coll == TUTTI_GATHER ? 1 : P - 1));
        assert_true(r.scratch_blocks == (coll == TUTTI_ALLTOALL && in_place ? P - 1 : 0));
        assert_true(r.copied == (!in_place ? 1 : coll == TUTTI_ALLTOALL ? P - 1 : 0));
      }
}

static void blocks_in_few_messages(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(70, 17); P += P < 20 ? 1 : 9)
    for (int in_place = 0; in_place < 2; in_place++) {
      const int log = tt_ceil_log2((uint64_t)P), power = 1 << log == P;
      tt_ask ask = {.coll = TUTTI_ALLTOALL, .ranks = P, .in_place = in_place};
      tutti_report r = proven("bruck", &ask, 1, 1);
      assert_true(r.steps <= log && r.scratch_blocks == 2 * P);
      assert_true(power ? r.messages == log : r.messages < 2 * log);
      assert_true(power ? r.sent_blocks == log * P / 2 : r.sent_blocks <= log * (P + 1) / 2);
      ask.root = P / 2;
      for (int coll = TUTTI_GATHER; coll <= TUTTI_SCATTER; coll++) {
        ask.coll = (tutti_coll)coll;
        r = proven("binomial", &ask, 1, 1);
        assert_true(r.steps <= log && r.messages == (coll == TUTTI_GATHER ? 1 : log));
        assert_true(r.sent_blocks == (coll == TUTTI_GATHER ? 1 << (log - 1) : P - 1) ||
                    (!power && r.sent_blocks < P - 1));
      }
    }
}

/* Rabenseifner's reduce, van de Geijn's broadcast. */
static void halves_with_a_root(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(40, 9); P++)
    for (int root = 0; root < P; root += 1 + P / 5) {
      tt_ask ask = {.coll = TUTTI_REDUCE, .ranks = P, .root = root, .in_place = P % 2};
      int log = 0;
      while (P >> (log + 1)) log++;
      const int Q = 1 << log, extra = P - Q;
      tutti_report r = proven("rabenseifner", &ask, 1, 1);
      assert_true(r.same_grouping && r.rank_order && r.steps <= 2 * log + (extra > 0));
      assert_true(r.sent_blocks <= Q - 1 + Q / 2);
      ask.coll = TUTTI_BROADCAST;
      r = proven("rabenseifner", &ask, 1, 1);
      assert_true(r.steps <= 2 * log + (extra > 0));
      assert_true(r.sent_blocks <= 2 * (Q - 1) + (extra ? Q : 0));
    }
}

static void *prove_long_chain(void *is_proven) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 20000};
  const tt_span rings = {.buf = TT_TMP, .count = 1, .ring = 1, .stride = 1, .repeat = 1 << 20};
  tutti_report report;
  *(bool *)is_proven =
      names_prove("tree(chain)", &ask, &report) && tt_span_run(&rings, 0, 1 << 20) == 1 << 20;
  return NULL;
}

/* The recursion depth does not grow with the length of a sum or span, so a small stack suffices. */
static void long_sums_need_no_deep_stack(void **state) {
  pthread_attr_t small;
  pthread_t thread;
  bool is_proven = false;
  (void)state;
  assert_int_equal(pthread_attr_init(&small), 0);
  assert_int_equal(pthread_attr_setstacksize(&small, 256 << 10), 0);
  assert_int_equal(pthread_create(&thread, &small, prove_long_chain, &is_proven), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_attr_destroy(&small), 0);
  assert_true(is_proven);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_algorithm_up_to_64_ranks),
      cmocka_unit_test(samples_beyond),
      cmocka_unit_test(slices_one_to_three_in_flight),
      cmocka_unit_test(folds_keep_the_papers_counts),
      cmocka_unit_test(any_fold_sequence_and_generator),
      cmocka_unit_test(others_keep_theirs),
      cmocka_unit_test(scans_keep_theirs),
      cmocka_unit_test(direct_keeps_its_own),
      cmocka_unit_test(blocks_in_few_messages),
      cmocka_unit_test(halves_with_a_root),
      cmocka_unit_test(long_sums_need_no_deep_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
