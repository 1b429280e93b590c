/* elimination.c - 3-2 elimination: halving and doubling, with groups of three reduced to two.
 *
 * Idea       Ranks start as groups of one. In every step neighbouring groups join in pairs; if their number is odd, the
 *            first three join. After floor(log2 P) steps one group is left. The two members of a pair halve the vector or
 *            part that both have. In a group of three, a, b and c, first b and c halve their sum. Then c sends its half
 *            to a, a sends the other half of its sum to b, and c has nothing left. The additional round delays only the
 *            first group, which is `a` of the next three and is not needed earlier. With `short`, members exchange whole
 *            vectors instead of halves, and c receives the result from b at the end.
 * Cost       ceil(log2 P) + floor(log2 P) steps; the busiest rank sends less than 3 vectors and adds 1.5.
 *            short: at most ceil(log2 P) steps and floor(log2 P) vectors, and one more of each if P is not a
 *            power of two.
 * Scratch    None; short: one vector, or two in place for some P.
 * Invariant  After i steps, holder k of a group has part k of 2^i. A sum is of neighbours, in their order,
 *            grouped in the same way on all ranks.
 * Parameters short.
 * Source     Rabenseifner and Traeff, EuroPVM/MPI 2004, LNCS 3241.
 * See        tutti plan draw elimination -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static bool swaps_whole_vectors(const tt_ask *ask) {
  return tt_param_given(ask, "short");
}

static uint32_t elimination_blocks(const tt_ask *ask) {
  return swaps_whole_vectors(ask) ? 1 : 1u << tt_floor_log2(ask->ranks);
}

/* ---- pairs and threes ---- */

typedef enum role { FIRST, SECOND, THIRD } role;

/* A step of one rank, in a pair or in a group of three: the ranks of the group, and the role of this rank. */
typedef struct meeting {
  role me;
  bool three;
  int rank[3];
} meeting;

/* Returns the number of the first subgroup that is merged into group g, when `count` groups are merged in pairs or threes. */
static int joined_from(int g, int count) {
  return 2 * g + (count % 2 && g > 0);
}

/* Returns the rank that is holder k of group g. With `short`, the holders belong to the group's first subgroups. */
static int holder(int ranks, int step, int g, int k) {
  for (; step > 0; step--, k >>= 1) g = joined_from(g, ranks >> (step - 1)) + (k & 1);
  return g;
}

/* Lists the steps of a rank and returns their number. The rank has nothing to do after its last step. */
static int meetings_of(const tt_ask *ask, meeting *list, int *part) {
  const int n = tt_floor_log2(ask->ranks);
  int g = ask->rank, k = 0;
  for (int i = 0; i < n; i++) {
    const int count = ask->ranks >> i;
    const bool three = count % 2 && g < 3;
    const int to = three ? 0 : (g - count % 2) / 2, from = joined_from(to, count);
    meeting *m = &list[i];
    *m = (meeting){(role)(g - from), three, {0}};
    for (int j = 0; j < 2 + three; j++) m->rank[j] = holder(ask->ranks, i, from + j, k);
    part[i] = k;
    if (m->me == THIRD) return i + 1;
    k = 2 * k + (m->me == SECOND);
    g = to;
  }
  return n;
}

/* ---- halves ---- */

static tt_span elimination_span(const tt_ask *ask, tt_buf buf, int k, int step) {
  const uint32_t all = elimination_blocks(ask), each = all >> step;
  return tt_range(buf, (uint32_t)k * each, each, all);
}

static void elimination_reduce(tt_builder *b, const meeting *m, tt_buf have, tt_span low,
                               tt_span high) {
  tt_span low_sum = low, high_sum = high;
  low_sum.buf = high_sum.buf = TT_DST;
  low.buf = high.buf = have;
  const int last = m->three ? THIRD : SECOND; /* the one that sends a half to the first */
  if (m->me == FIRST) {
    tt_send(b, m->rank[SECOND], high);
    tt_recv_reduce(b, m->rank[last], low_sum, low, TT_OWN_FIRST);
  } else if (m->me == SECOND) {
    tt_send(b, m->rank[m->three ? THIRD : FIRST], low);
    if (m->three) tt_recv_reduce(b, m->rank[THIRD], high_sum, high, TT_OWN_FIRST);
    tt_recv_reduce(b, m->rank[FIRST], high_sum, m->three ? high_sum : high, TT_OWN_LAST);
  } else {
    tt_send(b, m->rank[SECOND], high);
    tt_recv_reduce(b, m->rank[SECOND], low_sum, low, TT_OWN_LAST);
    tt_send(b, m->rank[FIRST], low_sum);
  }
}

static void put_together(tt_builder *b, const meeting *m, tt_span low, tt_span high) {
  const tt_span mine = m->me == FIRST ? low : high;
  if (m->me != THIRD) {
    tt_send(b, m->rank[m->me == FIRST ? SECOND : FIRST], mine);
    if (m->three) tt_send(b, m->rank[THIRD], mine);
  }
  if (m->me != FIRST) tt_recv(b, m->rank[FIRST], low);
  if (m->me != SECOND) tt_recv(b, m->rank[SECOND], high);
}

/* ---- whole vectors ---- */

static void exchange_vectors(tt_pingpong *t, const meeting *m) {
  if (m->me == THIRD) {
    tt_pingpong_send(t, tt_peer(m->rank[SECOND]));
    return;
  }
  if (m->me == SECOND && m->three) tt_pingpong_add(t, tt_peer(m->rank[THIRD]), TT_OWN_FIRST);
  const int other = m->rank[m->me == FIRST ? SECOND : FIRST];
  tt_pingpong_send(t, tt_peer(other));
  tt_pingpong_add(t, tt_peer(other), m->me == FIRST ? TT_OWN_FIRST : TT_OWN_LAST);
}

static void build_short(tt_builder *b, const tt_ask *ask, const meeting *list, int n) {
  const bool sits_out = list[n - 1].me == THIRD;
  int turns = 0;
  for (int i = 0; i < n; i++)
    turns += list[i].me == THIRD ? 0 : 1 + (list[i].me == SECOND && list[i].three);
  tt_pingpong t = tt_pingpong_begin(b, ask, sits_out ? turns + 1 : turns);
  for (int i = 0; i < n; i++) exchange_vectors(&t, &list[i]);
  for (int i = n - 1; i >= 0; i--) {
    if (list[i].me == THIRD) tt_recv(b, list[i].rank[SECOND], tt_block(TT_DST, 0));
    if (list[i].me == SECOND && list[i].three) tt_send(b, list[i].rank[THIRD], tt_block(TT_DST, 0));
  }
}

static void elimination_build(tt_builder *b, const tt_ask *ask) {
  meeting list[32];
  int k[32];
  const int n = meetings_of(ask, list, k);
  if (swaps_whole_vectors(ask)) {
    build_short(b, ask, list, n);
    return;
  }
  for (int i = 0; i < n; i++)
    elimination_reduce(b, &list[i], i ? TT_DST : TT_SRC,
                       elimination_span(ask, TT_DST, 2 * k[i], i + 1),
                       elimination_span(ask, TT_DST, 2 * k[i] + 1, i + 1));
  if (list[n - 1].me != THIRD) tt_mark_completes(b);
  for (int i = n - 1; i >= 0; i--)
    put_together(b, &list[i], elimination_span(ask, TT_DST, 2 * k[i], i + 1),
                 elimination_span(ask, TT_DST, 2 * k[i] + 1, i + 1));
}

const tt_algo tt_elimination_algo = {
    .name = "elimination",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"short"}},
    .blocks = elimination_blocks,
    .build = elimination_build,
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", TT_STAGE_FITS}, {"short", 0}},
    .entries = {{"elimination", TT_CANDIDATE,
                 "3-2 elimination: halve and double; threes become twos",
                 "Rabenseifner and Traeff 2004"},
                {"elimination(short)", TT_CANDIDATE, "3-2 elimination on whole vectors",
                 "Rabenseifner and Traeff 2004"}},
};
