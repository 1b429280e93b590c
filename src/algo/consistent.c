/* consistent.c - the generalized allreduce, with additions grouped in the same way on all ranks.
 *
 * Idea       Fold by halving i times (fold.c). Every block then has N = N(i) holders, members 0..N-1, which complete the
 *            sum by recursive doubling. H is the largest power of two that is at most N. Members v and v + H first add
 *            their sums as a pair. Then both take part in recursive doubling on H members, in which partners differ in
 *            one bit. If the partner of member v + H would be N or above, it uses member (v with that bit flipped)
 *            instead, which has the same sum. The reverse phase of the fold follows. Each rank acts as every member, for
 *            a different block each. With rank-order, nothing is folded, the vector is a single block, and ranks are
 *            members. Bits are processed from the lowest up, so that sums are of neighbours. The number of members is
 *            rounded up to V, a power of two. Members from P up are simulated by the rank V/2 below, and the last
 *            exchange is local.
 * Cost       i + ceil(log2 P) steps, i = 0 .. ceil(log2 P); one less if the last fold leaves two of three vectors (i=4 on
 *            23 ranks), because the exchange that follows overlaps it. A rank sends 2(P-N) blocks in the fold, and 2(N-H)
 *            and N log2 H blocks after it, in at most 4 messages per step. With rank-order, a step has at most 2
 *            messages, each a whole vector.
 * Scratch    Up to 3 vectors less one block; rank-order: 2 vectors, 4 on some ranks.
 * Invariant  All holders of a block add in the same order.
 * Parameters i=I, or rank-order.
 * Source     ours; the fold is Kolmakov and Zhang's, 2020.
 * See        tutti plan draw 'consistent(i=1)' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_group.h"

static int folds_of(const tt_ask *ask) {
  return tt_param_number(ask, "i", 0);
}

static bool power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

/* Returns true if each step of every rank covers the whole vector, so that the vector need not be divided. */
static bool keeps_whole_vector(const tt_ask *ask) {
  return tt_param_given(ask, "rank-order") || (folds_of(ask) == 0 && power_of_two(ask->ranks));
}

static const char *consistent_refuse(const tt_ask *ask) {
  int i = folds_of(ask);
  if (i > 0 && tt_param_given(ask, "rank-order")) return "rank-order goes without folds: i=0";
  if (i > tt_ceil_log2((uint64_t)ask->ranks)) return "i goes from 0 to ceil(log2 P)";
  return NULL;
}

static uint32_t consistent_blocks(const tt_ask *ask) {
  return keeps_whole_vector(ask) ? 1 : (uint32_t)ask->ranks;
}

/* ---- P blocks ---- */

/* The buffer that holds the sums of the members. LEFT and RIGHT are two regions of tmp that do not wrap; in them,
 * member k of this rank is k blocks below the top. OUT is dst. */
typedef enum region { LEFT, RIGHT, OUT } region;

typedef struct cube {
  tt_fold f;
  int N, H;
} cube;

static tt_span members(const cube *c, region at, int lo, int run, int times) {
  const tt_group *g = &c->f.g;
  if (at == OUT) return tt_group_vectors(g, TT_DST, 0, lo, lo + run);
  int top = g->rank + g->ranks * (at == LEFT ? 1 : 2) - lo;
  int base = top - 2 * run * (times - 1) - (run - 1);
  return (tt_span){TT_TMP, (uint32_t)base, 0, (uint32_t)run, 2 * (uint32_t)run, 1, (uint32_t)times};
}

/* Members lo..lo+run-1 each add the sum of the member that is `from` above. The same is done for `times` runs of
 * members in total, whose starts are 2 * run apart. */
typedef struct pass {
  int lo, run, times, from;
  tt_side side;
} pass;

static void exchange_passes(cube *c, const pass *p, int n, region here, region there) {
  const tt_group *g = &c->f.g;
  for (int i = 0; i < n; i++)
    tt_send(c->f.b, tt_group_peer(g, 0, -p[i].from),
            members(c, here, p[i].lo + p[i].from, p[i].run, p[i].times));
  for (int i = 0; i < n; i++) {
    tt_recv_reduce(c->f.b, tt_group_peer(g, 0, p[i].from),
                   members(c, there, p[i].lo, p[i].run, p[i].times),
                   members(c, here, p[i].lo, p[i].run, p[i].times), p[i].side);
    if (there == OUT) tt_mark_completes(c->f.b);
  }
}

/* Adds the sums of members v and v + H in pairs. A member without a partner is only copied. */
static void pair_up(cube *c) {
  const int H = c->H, pairs = c->N - H;
  const tt_group *g = &c->f.g;
  tt_buf buf = tt_fold_gather(&c->f, 0, 0, c->N);
  tt_send(c->f.b, tt_group_peer(g, 0, -H), tt_group_vectors(g, buf, 0, H, c->N));
  tt_send(c->f.b, tt_group_peer(g, 0, H), tt_group_vectors(g, buf, 0, 0, pairs));
  tt_recv_reduce(c->f.b, tt_group_peer(g, 0, H), members(c, LEFT, 0, pairs, 1),
                 tt_group_vectors(g, buf, 0, 0, pairs), TT_OWN_FIRST);
  tt_recv_reduce(c->f.b, tt_group_peer(g, 0, -H), members(c, LEFT, H, pairs, 1),
                 tt_group_vectors(g, buf, 0, H, c->N), TT_OWN_LAST);
  tt_copy(c->f.b, members(c, LEFT, pairs, H - pairs, 1), tt_group_vectors(g, buf, 0, pairs, H));
}

static void go_through_the_cube(cube *c) {
  region here = LEFT;
  for (int bit = 1; bit < c->H; bit *= 2) {
    const int periods = c->N / (2 * bit), rest = periods * 2 * bit, more = c->N - rest;
    region there = 2 * bit == c->H ? OUT : here == LEFT ? RIGHT : LEFT;
    pass p[4] = {{0, bit, periods, bit, TT_OWN_FIRST}, {bit, bit, periods, -bit, TT_OWN_LAST}};
    int n = 2;
    if (more > 0)
      p[n++] = (pass){rest, (int)tt_min((size_t)more, (size_t)bit), 1, bit - c->H, TT_OWN_FIRST};
    if (more > bit) p[n++] = (pass){rest + bit, more - bit, 1, -bit - c->H, TT_OWN_LAST};
    exchange_passes(c, p, n, here, there);
    here = there;
  }
}

/* Runs the last fold, if no pair_up follows, and stores the vectors in tmp at the places where go_through_the_cube reads them. */
static void fold_into_the_cube(cube *c, int n) {
  const int m = c->N, kept = 2 * m - n;
  tt_fold_down(&c->f, 0, n, m, members(c, LEFT, kept, n - m, 1));
  if (kept == 0) return;
  tt_buf buf = tt_fold_gather(&c->f, 0, 0, kept);
  tt_copy(c->f.b, members(c, LEFT, 0, kept, 1), tt_group_vectors(&c->f.g, buf, 0, 0, kept));
}

static void build_blocks(tt_builder *b, const tt_ask *ask) {
  const int folds = folds_of(ask);
  cube c = {.f = {b, tt_group_cyclic(ask, 1), TT_DST, ask->ranks}, .N = ask->ranks};
  int live[34] = {ask->ranks};
  for (int i = 0; i < folds; i++) c.N = live[i + 1] = (live[i] + 1) / 2;
  c.H = 1 << tt_floor_log2(c.N);
  for (int i = 0; i < folds; i++) {
    const int n = live[i], m = live[i + 1];
    if (i + 1 == folds && m > 1 && c.H == m)
      fold_into_the_cube(&c, n);
    else
      tt_fold_down(&c.f, 0, n, m, tt_group_vectors(&c.f.g, TT_DST, 0, 2 * m - n, m));
    if (m == 1) tt_mark_completes(b);
  }
  if (c.H < c.N) pair_up(&c);
  go_through_the_cube(&c);
  for (int i = folds - 1; i >= 0; i--) tt_fold_up(&c.f, 0, live[i], live[i + 1], TT_DST);
}

/* ---- rank-order ---- */

typedef struct line {
  tt_builder *b;
  int P, half;
} line;

static int host(const line *x, int member) {
  return member < x->P ? member : member - x->half;
}

/* Returns true if the subtree of `bit` members that contains this member has at least one real rank. */
static bool lives(const line *x, int member, int bit) {
  return (member & ~(bit - 1)) < x->P;
}

static tt_span alternate_block(tt_span here, uint32_t block) {
  return tt_block(TT_TMP, block + (here.buf == TT_TMP && tt_span_block(&here, 0) == block));
}

/* Exchanges the sums of this rank's members with the partners whose numbers differ in one bit. at[i] is the span with
 * the sum of member i. */
static void exchange_with_partners(const line *x, const int *member, int n, int bit, tt_span *at) {
  for (int i = 0; i < n; i++)
    if (lives(x, member[i], bit)) tt_send(x->b, host(x, member[i] ^ bit), at[i]);
  for (int i = 0; i < n; i++) {
    const int partner = member[i] ^ bit;
    if (!lives(x, partner, bit)) continue;
    tt_span to = bit == x->half ? tt_block(TT_DST, 0) : alternate_block(at[i], 2 * (uint32_t)i);
    if (lives(x, member[i], bit))
      tt_recv_reduce(x->b, host(x, partner), to, at[i],
                     partner < member[i] ? TT_OWN_LAST : TT_OWN_FIRST);
    else
      tt_recv(x->b, host(x, partner), to);
    at[i] = to;
  }
}

static void build_line(tt_builder *b, const tt_ask *ask) {
  line x = {b, ask->ranks, 1 << (tt_ceil_log2((uint64_t)ask->ranks) - 1)};
  const int member[2] = {ask->rank, ask->rank + x.half};
  const bool two = ask->rank < x.half && member[1] >= x.P;
  tt_span at[2] = {tt_block(TT_SRC, 0), tt_block(TT_TMP, 2)};
  for (int bit = 1; bit < x.half; bit *= 2)
    exchange_with_partners(&x, member, two ? 2 : 1, bit, at);
  if (two)
    tt_reduce_local(b, tt_block(TT_DST, 0), at[0], at[1]);
  else
    exchange_with_partners(&x, member, 1, x.half, at);
  tt_mark_completes(b);
}

static void consistent_build(tt_builder *b, const tt_ask *ask) {
  if (!keeps_whole_vector(ask))
    build_blocks(b, ask);
  else if (power_of_two(ask->ranks))
    tt_doubling_algo.build(b, ask); /* it would be the same plan */
  else
    build_line(b, ask);
}

static bool consistent_plans(int ranks, const char *levels, int i, tt_text *params) {
  (void)levels;
  tt_text_add(params, "i=%d", i);
  return i < tt_ceil_log2((uint64_t)ranks);
}

/* With rank-order, returns false unless P is a power of two, because otherwise some ranks have a partner and others have none. */
static bool consistent_uniform(const tt_ask *ask, const tt_tree *tree) {
  return !tree && (!keeps_whole_vector(ask) || power_of_two(ask->ranks));
}

const tt_algo tt_consistent_algo = {
    .name = "consistent",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"rank-order"},
               {"i", TT_PARAM_NUMBER, .lo = 0, .hi = 32, .wrong = "i goes from 0 to ceil(log2 P)"}},
    .refuse = consistent_refuse,
    .blocks = consistent_blocks,
    .build = consistent_build,
    .plans = consistent_plans,
    .uniform = consistent_uniform,
    .stage = {{"i=0", 0}, {"i=1", 0}, {"i=2", 0}, {"rank-order", 0}},
    .entries = {{"consistent(rank-order)", TT_CANDIDATE,
                 "ceil(log2 P) steps for any P, in rank order",
                 "tutti's own, after Kolmakov and Zhang 2020"}},
};
