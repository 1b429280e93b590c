/* The known algorithms have the counts that their papers publish: steps on the longest chain, and messages,
 * sent blocks and additions of the busiest rank, as the prover counts them, for a range of P. They keep rank
 * order where they claim to.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "names.h"
#include "short.h"
#include "tutti_plan.h"

static tutti_report proven_for(tutti_coll coll, const char *name, int P, int root) {
  tt_ask ask = {.coll = coll, .ranks = P, .root = root, .in_place = P % 2};
  tutti_report r;
  if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
  assert_true(!tt_coll_reduces(coll) || r.same_grouping);
  return r;
}

static tutti_report proven(const char *name, int P) {
  return proven_for(TUTTI_ALLREDUCE, name, P, 0);
}

static int next_of(int P) {
  return P < 70 ? P + 1 : P + 19; /* 127 and 203 are among them */
}

static int floor_log2(int n) {
  return tt_ceil_log2((uint64_t)n + 1) - 1;
}

static int ceil_log(int n, int radix) {
  int steps = 0;
  for (int64_t reach = 1; reach < n; reach *= radix) steps++;
  return steps;
}

static int power_below(int n, int radix) {
  int power = 1;
  while (power * radix <= n) power *= radix;
  return power;
}

/* ---- at P = 127, every number by hand ---- */

static const struct {
  const char *name;
  int blocks, steps, messages, sent, reduced;
} at_127[] = {
    {"tree(binomial)", 1, 2 * 6, 7, 7, 7},
    {"tree(radix=4)", 1, 2 * 4, 3 + 3 + 3 + 1, 10, 10},
    {"tree(chain,segments=8)", 8, 2 * 126, 2 * 8, 2 * 8, 8},
    {"tree(binary)", 1, 2 * 7, 3, 3, 2},
    {"tree(double,segments=4)", 8, 2 * 7, 16, 16, 8},
    {"tree(double,segments=4,node=4)", 8, 2 * (3 + 2 * 5), 24, 24, 16},
    {"fold(ring,stride=-1)", 127, 2 * 126, 2 * 126, 2 * 126, 126},
    {"fold(ring,rings=2)", 2 * 127, 2 * 126, 4 * 126, 4 * 126, 2 * 126},
    {"rabenseifner", 64, 2 * 6 + 2, 13, 2 * 63 + 64, 63 + 64},
    {"halving-doubling", 64, 2 * 6, 13, 2 * 64, 64},
    {"elimination", 64, 7 + 6, 18, 3 * 63, 95},
    {"elimination(short)", 1, 7 + 1, 7, 7, 7},
    {"doubling", 1, 6 + 2, 7, 7, 7},
    {"bruck", 127, 2 * 7, 2 * 7, 2 * 126, 126},
    {"bruck(radix=4)", 127, 2 * 4, 2 * (3 + 3 + 3 + 1), 2 * 126, 126},
    {"pat", 127, 2 * 7, 2 * 7, 2 * 126, 126},
    {"pat(buffer=8)", 127, 2 * (3 + 4), 2 * (3 + 15), 2 * 126, 126},
    {"multiplying(radix=4)", 1, 3 + 2, 9 + 1, 10, 10},
    {"two-level(node=4)", 32, 2 * 31 + 2, 62 + 3, 62 + 3 * 32, 31 + 3 * 32},
};

static void counts_at_127_ranks(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof at_127 / sizeof *at_127; i++) {
    const tutti_report r = proven(at_127[i].name, 127);
    if (r.blocks != at_127[i].blocks || r.steps != at_127[i].steps ||
        r.messages != at_127[i].messages || r.sent_blocks != at_127[i].sent ||
        r.reduced != at_127[i].reduced)
      fail_msg("%s: %d blocks, %d steps, %d messages, %d sent, %d added", at_127[i].name, r.blocks,
               r.steps, r.messages, (int)r.sent_blocks, (int)r.reduced);
  }
}

/* ---- for many P ---- */

/* The depth of a k-nomial tree: j levels hold the number whose j digits are all 1. */
static int nomial_depth(int P, int radix) {
  int depth = 0;
  for (int64_t ones = 1; ones < P; ones = ones * radix + 1) depth++;
  return depth;
}

static void trees_keep_their_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(220, 20); P = next_of(P)) {
    tutti_report r = proven("tree(binomial)", P);
    assert_int_equal(r.steps, 2 * floor_log2(P));
    assert_int_equal(r.messages, tt_ceil_log2((uint64_t)P));
    assert_true(r.rank_order && r.scratch_blocks == 0);
    for (int radix = 2; radix <= 5; radix++) {
      char name[40];
      int children = 0;
      for (int unit = 1; unit < P; unit *= radix)
        children += (int)tt_min((size_t)radix - 1, (size_t)((P - 1) / unit));
      snprintf(name, sizeof name, "tree(radix=%d)", radix);
      r = proven(name, P);
      assert_true(r.steps == 2 * nomial_depth(P, radix) && r.messages == children);
      r = proven_for(TUTTI_BROADCAST, name, P, P / 2);
      assert_true(r.steps == nomial_depth(P, radix) && r.messages == children);
    }
    r = proven("tree(chain,segments=4)", P);
    assert_true(r.steps == 2 * (P - 1) && r.sent_blocks == (P > 2 ? 8 : 4) && r.rank_order);
    r = proven("tree(double,segments=4)", P);
    assert_int_equal(r.steps, 2 * tt_ceil_log2((uint64_t)P));
    assert_true(r.sent_blocks <= 2 * r.blocks); /* two vectors */
    assert_int_equal(r.rank_order, P % 2 == 0);
    r = proven_for(TUTTI_BROADCAST, "tree(double,segments=4)", P, P / 3);
    assert_int_equal(r.steps, 1 + tt_ceil_log2((uint64_t)P - 1));
    assert_true(r.sent_blocks <= r.blocks + (P % 2 == 0) * r.blocks / 2);
  }
}

/* From the end of a leaf's chain to its first rank, and two hops per level of the tree. */
static void chains_in_nodes_keep_theirs(void **state) {
  (void)state;
  for (int N = 2; N <= 8; N += 3)
    for (int n = 2; n <= 24; n += 1 + n / 6) {
      char name[60];
      snprintf(name, sizeof name, "tree(double,segments=2,node=%d)", N);
      tutti_report r = proven(name, n * N);
      assert_int_equal(r.steps, 2 * (N - 1 + 2 * tt_ceil_log2((uint64_t)n)));
      assert_true(r.sent_blocks <= 3 * r.blocks);
    }
}

static void halving_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(300, 20); P = next_of(P)) {
    const int n = floor_log2(P), Q = 1 << n, groups = __builtin_popcount((unsigned)P);
    const bool power = groups == 1;
    tutti_report r = proven("rabenseifner", P);
    assert_int_equal(r.steps, 2 * n + (power ? 0 : 2));
    assert_int_equal(r.sent_blocks, 2 * (Q - 1) + (power ? 0 : Q));
    assert_int_equal(r.reduced, Q - 1 + (power ? 0 : Q));
    assert_true(r.rank_order && r.scratch_blocks == 0 && r.blocks == Q);
    r = proven("halving-doubling", P);
    assert_int_equal(r.steps, 2 * n);
    assert_int_equal(r.sent_blocks, 2 * Q - (groups > 2 ? 0 : 3 - groups));
    assert_true(r.rank_order && r.scratch_blocks == 0 && r.reduced == Q - power);
    r = proven("elimination", P);
    assert_int_equal(r.steps, n + tt_ceil_log2((uint64_t)P));
    assert_true(r.sent_blocks < 3 * Q && 2 * r.reduced < 3 * Q);
    if (power) assert_true(r.sent_blocks == 2 * (Q - 1) && r.reduced == Q - 1);
    assert_true(r.rank_order && r.scratch_blocks == 0 && r.blocks == Q);
    r = proven("elimination(short)", P);
    assert_true(r.steps >= tt_ceil_log2((uint64_t)P));
    assert_true(r.steps <= tt_ceil_log2((uint64_t)P) + !power);
    assert_true(r.messages == n + !power && r.sent_blocks == r.messages && r.rank_order);
  }
}

/* ceil(log_K P); one less if the last round forwards only data that arrived before the preceding round. */
static int bruck_depth(int P, int radix) {
  int h = 1;
  while (h * radix < P) h *= radix;
  const int before = ceil_log(h, radix), rest = P < 2 * h ? P - h : h;
  return (int)tt_max((size_t)before, (size_t)ceil_log(rest, radix) + 1);
}

static void bruck_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(220, 20); P = next_of(P))
    for (int radix = 2; radix <= 5; radix++) {
      char name[40];
      int messages = 0;
      for (int h = 1; h < P; h *= radix)
        messages += (int)tt_min((size_t)radix - 1, (size_t)((P + h - 1) / h - 1));
      snprintf(name, sizeof name, "bruck(radix=%d)", radix);
      const tutti_report whole = proven(name, P);
      const tutti_report down = proven_for(TUTTI_REDUCE_SCATTER, name, P, 0);
      const tutti_report up = proven_for(TUTTI_ALLGATHER, name, P, 0);
      assert_true(up.steps == bruck_depth(P, radix) && up.steps <= ceil_log(P, radix));
      assert_true(down.steps == up.steps);
      assert_true(up.messages == messages && down.messages == messages);
      assert_true(up.sent_blocks == P - 1 && down.sent_blocks == P - 1 && down.reduced == P - 1);
      assert_true(whole.steps == 2 * up.steps && whole.messages == 2 * messages);
      assert_true(whole.transitive && whole.scratch_blocks == 0);
    }
}

/* Blocks U apart are sent together. Within a tree of U they are sent one by one, but in branches, so the
 * longest chain stays logarithmic. */
static void pat_keeps_its_counts(void **state) {
  static const int buffer[] = {1, 3, 16};
  (void)state;
  for (int P = 2; P <= shorter(220, 20); P = next_of(P))
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++) {
      char name[40];
      int U = 1;
      while ((P - 1 + U - 1) / U > buffer[i] * (U == 1 ? 2 : 1)) U *= 2;
      const int tree = U < P ? U : P, far = tt_ceil_log2((uint64_t)((P + U - 1) / U));
      snprintf(name, sizeof name, "pat(buffer=%d)", buffer[i]);
      const tutti_report whole = proven(name, P);
      const tutti_report down = proven_for(TUTTI_REDUCE_SCATTER, name, P, 0);
      const tutti_report up = proven_for(TUTTI_ALLGATHER, name, P, 0);
      assert_true(up.steps <= tt_ceil_log2((uint64_t)P) && down.steps == up.steps);
      assert_true(up.steps == floor_log2(P) || (P & (P - 1)));
      assert_true(up.messages == far + tree - 1 && down.messages == up.messages);
      assert_true(up.sent_blocks == P - 1 && down.sent_blocks == P - 1 && down.reduced == P - 1);
      assert_true(whole.steps == 2 * up.steps && whole.messages == 2 * up.messages);
    }
}

static void multiplying_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(220, 20); P = next_of(P))
    for (int radix = 2; radix <= 5; radix++) {
      char name[40];
      int left = P, steps = 0, messages = 0;
      for (int f = radix; f >= 2; f--)
        for (; left % f == 0; left /= f) steps++, messages += f - 1;
      const int power = power_below(P, radix), guests = (P - 1) / power;
      if (left > 1) {
        steps = ceil_log(power, radix) + 2;
        messages = (steps - 2) * (radix - 1) + guests;
      }
      snprintf(name, sizeof name, "multiplying(radix=%d)", radix);
      tutti_report r = proven(name, P);
      assert_true(r.steps <= steps && r.steps >= (left > 1 ? steps - 1 : steps));
      assert_true(r.messages == messages && r.sent_blocks == messages);
      assert_int_equal(r.reduced, messages);
      assert_true(r.scratch_blocks <= 2);
    }
}

static void leaders_keep_their_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(64, 17); P++)
    for (int N = 2; N <= 8; N++) {
      char name[60];
      const int n = (P + N - 1) / N, size = (int)tt_min((size_t)N, (size_t)P);
      snprintf(name, sizeof name, "two-level(node=%d)", N);
      tutti_report r = proven(name, P);
      assert_int_equal(r.messages, size - 1 + 2 * (n - 1));
      assert_int_equal(r.sent_blocks, (size - 1) * n + 2 * (n - 1));
      assert_int_equal(r.reduced, (size - 1) * n + n - 1);
      assert_int_equal(r.steps, 2 * (n - 1) + 2);
      snprintf(name, sizeof name, "two-level(node=%d,doubling)", N);
      assert_true(proven(name, P).steps <= 2 + floor_log2(n) + 2);
    }
  /* two-shot among leaders sends the bytes of a ring, in two rounds */
  for (int P = 2; P <= shorter(64, 17); P++) {
    char name[60];
    const int n = (P + 3) / 4, size = P < 4 ? P : 4;
    snprintf(name, sizeof name, "two-level(node=4,two-shot)");
    const tutti_report r = proven(name, P);
    assert_int_equal(r.messages, size - 1 + 2 * (n - 1));
    assert_int_equal(r.sent_blocks, (size - 1) * n + 2 * (n - 1));
    assert_true(r.same_grouping);
  }
  assert_int_equal(proven("two-level(node:(4,3))", 7).steps, 4);
  assert_int_equal(proven("two-level(node:(3,4,2))", 9).sent_blocks, 4 + 3 * 3);
}

static void rings_at_once_keep_theirs(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(100, 20); P = next_of(P))
    for (int R = 1; R <= 5; R += 2) {
      char name[40];
      snprintf(name, sizeof name, "fold(ring,rings=%d)", R);
      tutti_report r = proven(name, P);
      assert_true(r.blocks == R * P && r.sent_blocks == 2 * R * (P - 1));
      assert_true(r.steps == 2 * (P - 1) && r.reduced == R * (P - 1) && r.scratch_blocks == 0);
    }
}

/* Every rank with data sends once and receives once, in every tree. */
static void aggregators_keep_theirs(void **state) {
  (void)state;
  for (int D = 1; D <= 127; D = next_of(D))
    for (int arity = 2; arity <= 6; arity += 2)
      for (int trees = 1; trees <= 3; trees++) {
        char name[60];
        int row = D, all = 0, P, levels = 0;
        do levels++, all += row = (row + arity - 1) / arity;
        while (row > 1);
        snprintf(name, sizeof name, "aggregate(data=%d,arity=%d,trees=%d)", D, arity, trees);
        P = D + trees * all;
        const tutti_report r = proven(name, P);
        assert_int_equal(r.steps, 2 * levels);
        assert_true(r.rank_order && r.blocks == trees && r.reduced < arity);
        assert_true(r.messages <= (int)tt_max((size_t)arity + 1, (size_t)trees));
        for (int rank = 0; rank < D; rank++) {
          tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .rank = rank};
          tt_sched *s;
          assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
          for (int t = 0; t < trees; t++)
            assert_true(s->steps[t].kind == TT_SEND && s->steps[trees + t].kind == TT_RECV);
          assert_true(s->nsteps == 2 * (uint32_t)trees && s->tmp_blocks == 0);
          tt_sched_free(s);
        }
      }
}

/* Of D M blocks a rank with data sends D N to the helpers, and 2 (D-1) times M-N around the ring. */
static void splits_keep_their_counts(void **state) {
  static const int shares[][2] = {{1, 4}, {1, 2}, {7, 32}};
  (void)state;
  for (int D = 2; D <= 64; D = next_of(D))
    for (int helpers = 1; helpers <= 4 && helpers <= D; helpers += 3)
      for (int k = 0; k < 3; k++) {
        const int N = shares[k][0], M = shares[k][1], P = D + helpers;
        char name[60];
        snprintf(name, sizeof name, "aggregate(data=%d,share=%d/%d,ring)", D, N, M);
        const tutti_report r = proven(name, P);
        assert_true(r.blocks == D * M && r.same_grouping &&
                    r.steps == (int)tt_max(2, 2 * (size_t)(D - 1)));
        for (int rank = 0; rank < D; rank++) {
          tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .rank = rank};
          tt_sched *s;
          int sent = 0;
          assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
          for (uint32_t i = 0; i < s->nsteps; i++)
            if (s->steps[i].kind == TT_SEND) sent += (int)tt_span_size(tt_step_cargo(&s->steps[i]));
          assert_int_equal(sent, D * N + 2 * (D - 1) * (M - N));
          tt_sched_free(s);
        }
      }
}

/* With as many parts as switches, each switch has every position once, and all send the same amount. */
static void stripes_share_their_switches(void **state) {
  (void)state;
  for (int D = 2; D <= 127; D = next_of(D))
    for (int arity = 2; arity <= 6; arity += 2) {
      char name[60];
      int row = D, all = 0, sent = 0;
      do all += row = (row + arity - 1) / arity;
      while (row > 1);
      snprintf(name, sizeof name, "aggregate(data=%d,arity=%d,striped)", D, arity);
      const tutti_report r = proven(name, D + all);
      assert_true(r.rank_order && r.same_grouping && r.blocks == all);
      for (int rank = D; rank < D + all; rank++) {
        tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = D + all, .rank = rank};
        tt_sched *s;
        int sends = 0;
        assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
        for (uint32_t i = 0; i < s->nsteps; i++)
          if (s->steps[i].kind == TT_SEND) sends += s->steps[i].peers.count;
        if (rank == D) sent = sends;
        assert_int_equal(sends, sent);
        tt_sched_free(s);
      }
      assert_int_equal(sent, D + 2 * (all - 1)); /* to the members below, and above */
    }
}

/* ---- meaningless parameters are refused ---- */

/* TUTTI_TEST_ALL=1: every P up to 256, and some up to 4096. */
static int next_far(int P) {
  static const int far[] = {509, 1000, 2047, 4096};
  const bool all = getenv("TUTTI_TEST_ALL") != NULL;
  if (P < 256) return all ? P + 1 : next_of(P);
  for (int i = 0; i < 4 && all; i++)
    if (far[i] > P) return far[i];
  return INT_MAX;
}

static void lanes_keep_their_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(4096, 64); P = next_far(P))
    for (int k = 0; k < 24; k++) {
      const int n = k % 2 ? 3 << k / 2 : 2 << k / 2, q = P / n;
      char name[NAME];
      if (n > P) break;
      snprintf(name, sizeof name, "lanes(n=%d)", n);
      const tutti_report r = proven(name, P);
      const int rounds = 2 * ceil_log((P + n - 1) / n, 2) + ceil_log(n, 2);
      if (r.blocks != q || r.steps > rounds || r.messages > rounds ||
          r.sent_blocks > 2 * q + ceil_log(n, 2))
        fail_msg("%s on %d ranks: %d steps, %d messages, %d of %d blocks sent", name, P, r.steps,
                 r.messages, (int)r.sent_blocks, r.blocks);
    }
}

/* Rank order, with one message per round. A message holds at most the largest nodes of two windows, which is
 * two for each level of the tree. */
static void windows_keep_their_counts(void **state) {
  (void)state;
  for (int P = 2; P <= shorter(4096, 64); P = next_far(P)) {
    const tutti_report r = proven("windows", P);
    const int L = ceil_log(P, 2);
    if (r.steps != L || r.messages != L || !r.rank_order || r.sent_blocks > L * L)
      fail_msg("windows on %d ranks: %d steps, %d messages, %d vectors sent", P, r.steps,
               r.messages, (int)r.sent_blocks);
  }
}

static void wrong_parameters_are_refused_in_words(void **state) {
  static const names_refusal wrong[] = {
      {"tree(radix=1)", "radix goes from 2 to 16", TUTTI_ALLREDUCE},
      {"tree(radix=3,chain)", "exclude each other", TUTTI_ALLREDUCE},
      {"tree(segments=0)", "segments go from 1 to 256", TUTTI_ALLREDUCE},
      {"tree(node=x)", "how many ranks a node has", TUTTI_ALLREDUCE},
      {"tree(node:(4,3))", "hold 7 ranks, not 6", TUTTI_ALLREDUCE},
      {"tree(node:(4,3)", "expected a list", TUTTI_ALLREDUCE},
      {"tree(binomial)", "fold, one-shot, blueconnect, ", TUTTI_ALLGATHER},
      {"two-level(ring,halving)", "exclude each other", TUTTI_ALLREDUCE},
      {"two-level(node=2,node:3)", "exclude each other", TUTTI_ALLREDUCE},
      {"two-level(node=4)", "naive, tree, ", TUTTI_REDUCE},
      {"aggregate", "it needs ranks that only help", TUTTI_ALLREDUCE},
      {"aggregate(data=7)", "it needs ranks that only help", TUTTI_ALLREDUCE},
      {"aggregate(data=6)", "it needs ranks that only help", TUTTI_ALLREDUCE},
      {"aggregate(data=5,tree)", "no trees of several rows over 5 ranks have 1 switches",
       TUTTI_ALLREDUCE},
      {"aggregate(data=4,striped,arity=2)", "need 3 switches, striped: P = 7", TUTTI_ALLREDUCE},
      {"aggregate(data=2,striped)", "no trees of several rows over 2 ranks have 4 switches",
       TUTTI_ALLREDUCE},
      {"aggregate(data=3,trees=2)", "3 ranks with data need 2 switches: P = 5", TUTTI_ALLREDUCE},
      {"aggregate(data=4,trees=0)", "trees go from 1", TUTTI_ALLREDUCE},
      {"aggregate(data=5,arity=3)", "5 ranks with data need 3 switches: P = 8", TUTTI_ALLREDUCE},
      {"aggregate(data=4,arity=1)", "arity goes from 2 to", TUTTI_ALLREDUCE},
      {"aggregate(data=5,arity=5)", "direct and binomial do that", TUTTI_GATHER},
      {"bruck(radix=17)", "radix goes from 2 to 16", TUTTI_ALLREDUCE},
      {"bruck", "naive, tree, ", TUTTI_BROADCAST},
      {"multiplying(radix=)", "radix goes from 2 to 16", TUTTI_ALLREDUCE},
      {"multiplying", "two-shot", TUTTI_REDUCE_SCATTER},
      {"elimination(long)", "none of: short", TUTTI_ALLREDUCE},
      {"rabenseifner(2)", "it takes none", TUTTI_ALLREDUCE},
      {"circulant(n=0)", "n goes from 1 to 65536", TUTTI_REDUCE},
      {"circulant", "naive, fold, ", TUTTI_ALLREDUCE},
      {"halving-doubling", "fold, one-shot, ", TUTTI_ALLGATHER},
      {"lanes(n=5)", "2^k or 3 * 2^k", TUTTI_ALLREDUCE},
      {"lanes(n=8)", "more lanes than ranks", TUTTI_ALLREDUCE},
      {"lanes", "fold, two-shot, ", TUTTI_REDUCE_SCATTER},
      {"windows(2)", "it takes none", TUTTI_ALLREDUCE},
      {"fold(ring,rings=17)", "rings go from 1 to 16", TUTTI_ALLREDUCE},
      {"fold(ring,stride=0)", "no common factor", TUTTI_ALLREDUCE},
      {"fold(ring,stride=-2147483648)", "no common factor", TUTTI_ALLREDUCE},
  };
  (void)state;
  assert_true(names_all_refused(wrong, sizeof wrong / sizeof *wrong, 6));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_at_127_ranks),
      cmocka_unit_test(trees_keep_their_counts),
      cmocka_unit_test(chains_in_nodes_keep_theirs),
      cmocka_unit_test(halving_keeps_its_counts),
      cmocka_unit_test(bruck_keeps_its_counts),
      cmocka_unit_test(pat_keeps_its_counts),
      cmocka_unit_test(multiplying_keeps_its_counts),
      cmocka_unit_test(leaders_keep_their_counts),
      cmocka_unit_test(rings_at_once_keep_theirs),
      cmocka_unit_test(aggregators_keep_theirs),
      cmocka_unit_test(splits_keep_their_counts),
      cmocka_unit_test(stripes_share_their_switches),
      cmocka_unit_test(lanes_keep_their_counts),
      cmocka_unit_test(windows_keep_their_counts),
      cmocka_unit_test(wrong_parameters_are_refused_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
