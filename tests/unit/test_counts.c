/* Every family has the counts of its paper: the steps, messages, sent blocks and reductions that the prover
 * counts match the formulas, for many P.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "algo_group.h"
#include "by_name.h"
#include "names.h"
#include "tutti_plan.h"

static tutti_report proven(const char *name, int P) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = P % 2};
  tutti_report r;
  if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
  return r;
}

static int next_of(int P) {
  return P < 40 ? P + 1 : P + 31 + P % 3;
}

/* With N members left after i folds, H the largest power of two <= N: 2(P-N) blocks for the folds,
 * 2(N-H) for the pairs, N log2 H in the cube, where the members of an unfinished period request
 * data by separate messages. */
static void consistent_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 3; P <= 260; P = next_of(P))
    for (int i = (P & (P - 1)) == 0, N = (P + i) >> i; i <= tt_ceil_log2((uint64_t)P);
         i++, N = (N + 1) / 2) {
      int H = 1, log = 0, pairs, messages = 2 * i;
      while (2 * H <= N) H *= 2, log++;
      pairs = N - H;
      if (pairs) messages += 2;
      for (int bit = 1; bit < H; bit *= 2)
        messages += 2 + (N % (2 * bit) > 0) + (N % (2 * bit) > bit);
      char name[40];
      snprintf(name, sizeof name, "consistent(i=%d)", i);
      tutti_report r = proven(name, P);
      assert_true(r.steps <= i + tt_ceil_log2((uint64_t)P));
      assert_int_equal(r.messages, messages);
      assert_int_equal(r.sent_blocks, 2 * (P - N) + 2 * pairs + N * log);
      assert_int_equal(r.reduced, P - N + 2 * pairs + N * log);
      assert_true(r.same_grouping);
    }
}

/* The total that the hosted hypercube sends for all blocks if all missing members up to the next power of two
 * take part. Ours sends the same if N is a power of two, and less otherwise. The numbers, indexed by i, come
 * from a simulation of that algorithm. */
static void consistent_sends_no_more_than_a_hosted_hypercube(void **state) {
  static const struct {
    int P, blocks[9];
  } hosted[] = {
      {5, {13, 9, 8, 8}},
      {7, {21, 14, 12, 12}},
      {13, {53, 33, 26, 24, 24}},
      {48, {272, 160, 116, 100, 95, 94, 94}},
      {65, {449, 257, 177, 145, 133, 129, 128, 128}},
      {100, {716, 408, 279, 227, 207, 200, 198, 198}},
      {127, {893, 510, 350, 286, 262, 254, 252, 252}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof hosted / sizeof *hosted; k++)
    for (int i = 0; hosted[k].blocks[i]; i++) {
      char name[40];
      snprintf(name, sizeof name, "consistent(i=%d)", i);
      assert_true(proven(name, hosted[k].P).sent_blocks <= hosted[k].blocks[i]);
    }
}

static void rank_order_takes_the_fewest_steps(void **state) {
  (void)state;
  for (int P = 2; P <= 300; P = next_of(P)) {
    const int log = tt_ceil_log2((uint64_t)P);
    tutti_report r = proven("consistent(rank-order)", P);
    assert_int_equal(r.blocks, 1);
    assert_int_equal(r.steps, log);
    assert_true(r.messages <= 2 * log && r.sent_blocks == r.messages);
    assert_true(r.rank_order && r.same_grouping);
    if (P == 127) assert_int_equal(r.messages, 11);
  }
}

/* Kolmakov and Zhang: 2L - r steps. A step from n to m = ceil(n/2) vectors sends n - m + rho - 1
 * blocks, at most P, and reduces m + rho - 2 primes (none at the end) and, if n is even, rho stars.
 * As long as all n were even, primes and stars overlap, and common ones are made once. Equations
 * 25, 36 and 44 are bounds. */
static void generalized_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 2; P <= 160; P = next_of(P)) {
    const int L = tt_ceil_log2((uint64_t)P);
    for (int r = 0; r <= L; r++) {
      int rho = P, sent = 0, reduced = 0;
      for (int k = 0; k < L - r; k++) rho = (rho + 1) / 2;
      bool even = true;
      for (int n = P; n > 1; n = (n + 1) / 2) {
        const int m = (n + 1) / 2, star = n % 2 ? 0 : rho;
        const int prime = m > 1 ? (int)tt_min((size_t)(m + rho - 2), (size_t)P) : 0;
        even = even && n % 2 == 0;
        sent += (int)tt_min((size_t)(n - m + rho - 1), (size_t)P);
        reduced += even ? (int)tt_min((size_t)(m + rho - 1), (size_t)P) : prime + star;
      }
      sent += P - rho;
      char name[40];
      snprintf(name, sizeof name, "generalized(r=%d)", r);
      tutti_report report = proven(name, P);
      const int parts = P / report.blocks; /* r = L: the vector is one block */
      assert_int_equal(report.steps, 2 * L - r);
      assert_int_equal(report.messages, 2 * L - r);
      assert_int_equal(report.blocks, r == L ? 1 : P);
      assert_int_equal(report.sent_blocks * parts, sent);
      assert_int_equal(report.reduced * parts, reduced);
      assert_true(report.transitive);
      assert_true(r == L || sent <= 2 * (P - 1) + ((1 << r) - 1) * (L - 1)); /* 36 */
      assert_true(r == L || reduced <= P - 1 + ((1 << r) - 1) * (2 * L - 2));
      assert_true(r < L || (sent == P * L && reduced <= P * (P > 2 ? 2 * L - 2 : 1))); /* 44 */
      if (r == 0) assert_true(sent == 2 * (P - 1) && reduced == P - 1);                /* 25 */
      if (r > 0 && P > 2) assert_false(report.same_grouping);
    }
  }
}

/* Equation 37: the number of steps to skip that takes the least time for a given size. */
static void the_best_number_of_steps_is_the_papers(void **state) {
  const double alpha = 3e-5, beta = 1e-8, gamma = 2e-10;
  const int P = 128, L = 7;
  tutti_report report[8];
  (void)state;
  for (int r = 0; r <= L; r++) {
    char name[40];
    snprintf(name, sizeof name, "generalized(r=%d)", r);
    report[r] = proven(name, P);
  }
  for (double bytes = 1000; bytes < 1e8; bytes *= 1.5) {
    double formula = log2(alpha / (bytes * (beta + 2 * gamma))) + log2(P / ((L - 1) * log(2.0)));
    double least = INFINITY;
    int best = 0;
    for (int r = 0; r < L; r++) {
      double u = bytes / report[r].blocks, time = alpha * report[r].steps +
                                                  u * beta * (double)report[r].sent_blocks +
                                                  u * gamma * (double)report[r].reduced;
      if (time < least) least = time, best = r;
    }
    if (formula < 0) formula = 0;
    if (formula > L - 1) formula = L - 1;
    assert_true(fabs(best - formula) <= 1);
  }
}

static tt_sched *built(const char *name, int P, int rank) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .rank = rank};
  tt_sched *s;
  if (tt_algo_build_named(name, &ask, &s)) fail_msg("%s", tutti_error());
  return s;
}

static const char *twos(int P, const char *format, char *name, size_t size) {
  char group[64] = "2";
  for (int n = P / 2; n > 1; n /= 2) strcat(group, "x2");
  snprintf(name, size, format, group);
  return name;
}

/* Recursive halving as published: send half of the remaining data to the partner at half the distance, then the
 * same in reverse. */
static void circles_of_two_are_recursive_halving(void **state) {
  char name[100];
  (void)state;
  for (int P = 4; P <= 64; P *= 2)
    for (int rank = 0; rank < P; rank++) {
      tt_sched *s = built(twos(P, "fold(group=%s)", name, sizeof name), P, rank);
      uint32_t at = 0;
      for (int way = 0; way < 2; way++)
        for (int i = P / 2; i >= 1; i /= 2) {
          const int half = way == 0 ? i : P / 2 / i, partner = rank ^ half;
          const int mine = rank & ~(half - 1), theirs = partner & ~(half - 1);
          const tt_step *send = &s->steps[at++], *recv = &s->steps[at++];
          const int out = way == 0 ? theirs : mine, in = way == 0 ? mine : theirs;
          assert_true(send->kind == TT_SEND && send->peers.first == partner);
          assert_true(recv->kind == (way == 0 ? TT_RECV_REDUCE : TT_RECV));
          assert_true(recv->peers.first == partner);
          assert_int_equal(tt_span_size(&send->own), half);
          assert_int_equal(tt_span_size(&recv->dst), half);
          for (int k = 0; k < half; k++) {
            assert_int_equal(tt_span_block(&send->own, (uint32_t)k), out + k);
            assert_int_equal(tt_span_block(&recv->dst, (uint32_t)k), in + k);
          }
        }
      assert_int_equal(at, s->nsteps);
      tt_sched_free(s);
    }
}

/* With no steps back it equals recursive doubling, step by step, on the whole vector. */
static void circles_of_two_are_recursive_doubling(void **state) {
  char name[100];
  (void)state;
  for (int P = 4; P <= 64; P *= 2) {
    for (int rank = 0; rank < P; rank++) {
      tt_sched *s =
          built(twos(P, "generalized(latency,group=%s,inner)", name, sizeof name), P, rank);
      tt_sched *doubling = built("doubling", P, rank);
      free(s->name);
      s->name = strdup("doubling"); /* and no other difference */
      assert_true(tt_sched_equal(s, doubling));
      tt_sched_free(s);
      tt_sched_free(doubling);
    }
    tutti_report r = proven(name, P);
    assert_true(r.rank_order && r.same_grouping);
  }
}

/* Every split of P sends as many bytes as the circle, and supports every r up to its number of steps. */
static void any_group_is_as_good(void **state) {
  char name[NAME];
  int sizes[TT_LEVELS];
  (void)state;
  for (int P = 4; P <= 64; P++)
    for (int i = 0, n; (n = tt_group_split(P, i, sizes)); i += 1 + P / 24) {
      tt_text group = {0};
      int L = 0;
      tt_group_print(&group, sizes, n);
      for (int k = 0; k < n; k++) L += tt_ceil_log2((uint64_t)sizes[k]);
      for (int inner = 0; inner < 2; inner++) {
        const char *way = inner ? ",inner" : "";
        snprintf(name, sizeof name, "fold(%s%s)", group.at, way);
        tutti_report r = proven(name, P);
        assert_true(r.steps == 2 * L && r.sent_blocks == 2 * (P - 1) && r.reduced == P - 1);
        assert_true(r.same_grouping);
        snprintf(name, sizeof name, "generalized(latency,%s%s)", group.at, way);
        r = proven(name, P);
        assert_true(r.steps == L && r.messages == L && r.sent_blocks == L * r.blocks);
      }
      free(group.at);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generalized_keeps_its_counts),
      cmocka_unit_test(the_best_number_of_steps_is_the_papers),
      cmocka_unit_test(circles_of_two_are_recursive_halving),
      cmocka_unit_test(circles_of_two_are_recursive_doubling),
      cmocka_unit_test(any_group_is_as_good),
      cmocka_unit_test(consistent_keeps_its_counts),
      cmocka_unit_test(consistent_sends_no_more_than_a_hosted_hypercube),
      cmocka_unit_test(rank_order_takes_the_fewest_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
