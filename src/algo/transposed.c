/* transposed.c - the cores of a node reach several nodes at once: one wait for the network in place of two.
 *
 * Idea       once the c cores of each node have the node's sum, g <= c nodes need one round between them:
 *            core k of node d swaps sums with core d of node k, as in a transposed matrix. Then core k of
 *            every node has the sum of node k, and the cores add them up within their node. The same again
 *            for groups of such groups, level by level outwards. Doubling would take log2(g) rounds
 *            between the nodes.
 * Cost       for each factor g of a level one message between nodes; within nodes, for c and for each g,
 *            p - 1 messages for each prime factor p, and one more if g does not divide c. All messages
 *            are whole vectors.
 * Scratch    one vector, or two.
 * Invariant  the cores of all nodes add the same sums in the same order: the same bits, in rank order.
 * Parameters group=SIZES, such as 3x16x4: the levels, outermost first; the last are the cores. By default
 *            two levels, with as few cores as suffice.
 * Source     ours; that all cores of a node should talk at once is the idea of multi-lane and multi-object
 *            collectives, such as Traeff and Hunold, 2020.
 * See        tutti plan draw 'transposed(group=3x4)' -P 12
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_group.h"
#include "algo_pattern.h"

enum { MOST_STEPS = 32 };

/* A step outwards: g groups of ranks, `apart` ranks from one to the next, swap. */
typedef struct swap {
  int g, apart;
} swap;

typedef struct nest {
  int cores, swaps;
  swap of[MOST_STEPS];
} nest;

static int least_prime(int n) {
  int p = 2;
  while (n % p) p++;
  return p;
}

/* The largest factor of n that is at most `most`; 1: none. */
static int factor_within(int n, int most) {
  int f = most < n ? most : n;
  while (f > 1 && n % f) f--;
  return f;
}

/* Nodes of as few cores as suffice; all ranks in one node if no number of cores does. */
static int two_sizes(int ranks, int size[2]) {
  for (int cores = 2; cores < ranks; cores++) {
    int left = ranks % cores ? 0 : ranks / cores;
    for (int g = 2; left > 1 && g > 1; left /= g) g = factor_within(left, cores);
    if (left != 1) continue;
    size[0] = ranks / cores, size[1] = cores;
    return 2;
  }
  size[0] = ranks;
  return 1;
}

/* NULL, or why the sizes do not allow it. */
static const char *find_nest(const tt_ask *ask, nest *of) {
  int size[TT_LEVELS], n = 0, apart;
  char text[TT_NAME];
  if (!tt_param_value(ask, "group", text, sizeof text))
    n = two_sizes(ask->ranks, size);
  else if ((n = tt_group_sizes(text, ask->ranks, size)) < 2)
    return "group must be at least two sizes as 3x16x4 whose product is P";
  of->cores = apart = size[n - 1];
  of->swaps = 0;
  for (int l = n - 2; l >= 0; l--)
    for (int left = size[l]; left > 1;) {
      const int g = factor_within(left, of->cores);
      if (g == 1) return "the cores of a node are fewer than a prime factor of another level";
      of->of[of->swaps++] = (swap){g, apart};
      apart *= g;
      left /= g;
    }
  return NULL;
}

static const char *transposed_refuse(const tt_ask *ask) {
  nest of;
  return find_nest(ask, &of);
}

/* The i-th product of the ranks, if the cores suffice. */
static bool transposed_samples(int ranks, int i, char *params, size_t size) {
  char text[TT_NAME];
  for (int k = 0; tt_group_split(ranks, k, text, sizeof text); k++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
    snprintf(ask.params, sizeof ask.params, "group=%.200s", text);
    if (transposed_refuse(&ask) || i-- > 0) continue;
    snprintf(params, size, "%s", ask.params);
    return true;
  }
  return false;
}

/* On the machine's levels. */
static bool transposed_plans(int ranks, const char *levels, int i, char *params, size_t size) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
  char text[100];
  if (i > 0 || !tt_group_of_levels(ranks, levels, text, sizeof text)) return false;
  snprintf(ask.params, sizeof ask.params, "group=%s", text);
  snprintf(params, size, "%s", ask.params);
  return !transposed_refuse(&ask);
}

/* Adds up what `n` neighbouring cores from `first` on have: in groups of a prime factor of n each. */
static void add_within(tt_pingpong *t, int rank, int first, int n) {
  const int me = rank - first;
  for (int apart = 1, left = n; left > 1;) {
    const int p = least_prime(left), digit = me / apart % p;
    const tt_peers group = {rank - digit * apart, p, apart};
    tt_pingpong_send(t, group);
    tt_pingpong_add(t, group, TT_OWN_AMONG);
    apart *= p;
    left /= p;
  }
}

static int adds_within(int n) {
  int adds = 0;
  for (; n > 1; n /= least_prime(n)) adds++;
  return adds;
}

/* One rank's part in a swap: the cores of a node are as many sets of g as fit, and some that are left. */
typedef struct part {
  int core, digit, slot; /* digit: of its group of ranks; slot: within its set */
  int first;             /* the rank that is the first of its set */
  int over;              /* cores in no set */
} part;

static part part_of(const nest *of, const swap *s, int rank) {
  const int core = rank % of->cores, slot = core % s->g;
  return (part){core, rank / s->apart % s->g, slot, rank - slot, of->cores % s->g};
}

static bool in_a_set(const nest *of, const part *p) {
  return p->core < of->cores - p->over;
}

/* How often the sum so far moves to another buffer. */
static int moves_of(const nest *of, int rank) {
  int moves = adds_within(of->cores);
  for (int i = 0; i < of->swaps; i++) {
    const part p = part_of(of, &of->of[i], rank);
    moves += in_a_set(of, &p) ? (p.slot != p.digit) + adds_within(of->of[i].g) : 1;
  }
  return moves;
}

static void swap_and_add(tt_pingpong *t, const nest *of, const swap *s, int rank) {
  const part p = part_of(of, s, rank);
  const int set = of->cores - p.over; /* cores in sets */
  if (!in_a_set(of, &p)) {
    tt_pingpong_take(t, rank - set);
    return;
  }
  if (p.slot != p.digit) {
    const int peer = rank + (p.slot - p.digit) * s->apart + (p.digit - p.slot);
    tt_pingpong_send(t, tt_peer(peer));
    tt_pingpong_take(t, peer);
  }
  add_within(t, rank, p.first, s->g);
  if (p.core < p.over) tt_pingpong_send(t, tt_peer(rank + set));
}

static void transposed_build(tt_builder *b, const tt_ask *ask) {
  nest of;
  find_nest(ask, &of);
  tt_pingpong t = tt_pingpong_begin(b, ask, moves_of(&of, ask->rank));
  add_within(&t, ask->rank, ask->rank - ask->rank % of.cores, of.cores);
  for (int i = 0; i < of.swaps; i++) swap_and_add(&t, &of, &of.of[i], ask->rank);
}

/* ---- its price on many ranks: the parts one after the other ---- */

/* An exchange in which that share of the ranks takes part, over the same links. */
static tt_level_stage exchange_at(int level, double share) {
  return (tt_level_stage){"doubling", TUTTI_ALLREDUCE, 2, level, share};
}

/* What n cores of a node do. */
static tt_level_stage within_node(int n, int level) {
  tt_level_stage s = {.coll = TUTTI_ALLREDUCE, .ranks = n, .level = level, .part = 1};
  int most = 2;
  for (int left = n; left > 1; left /= least_prime(left))
    most = (int)tt_max(most, least_prime(left));
  snprintf(s.name, sizeof s.name, "multiplying(radix=%d)", most);
  return s;
}

/* The level of the tree at whose border ranks are that far apart. */
static int level_apart(const tt_tree *tree, int apart) {
  int l = tree->levels - 1;
  for (int below = tree->level[l].each; l > 0 && below <= apart; below *= tree->level[l].each) l--;
  return l;
}

/* Are the sizes those of the tree's levels? */
static bool is_of_tree(const tt_ask *ask, const tt_tree *tree) {
  int size[TT_LEVELS], n = 0, i = 0;
  char text[TT_NAME];
  if (!tree->even || !tt_param_value(ask, "group", text, sizeof text)) return false;
  n = tt_group_sizes(text, ask->ranks, size);
  for (int l = 0; l < tree->levels; l++)
    if (tree->level[l].each > 1 && (i == n || size[i++] != tree->level[l].each)) return false;
  return i == n;
}

static int transposed_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[]) {
  nest of;
  int n = 0;
  if (find_nest(ask, &of) || !is_of_tree(ask, tree) || 3 * of.swaps >= TT_STAGES) return 0;
  const int cores = level_apart(tree, 1);
  list[n++] = within_node(of.cores, cores);
  for (int i = 0; i < of.swaps; i++) {
    const int g = of.of[i].g, over = of.cores % g;
    const double swapping = (double)(of.cores - over) / of.cores * (g - 1) / g;
    list[n++] = exchange_at(level_apart(tree, of.of[i].apart), swapping);
    list[n++] = within_node(g, cores);
    if (over) list[n++] = exchange_at(cores, 1);
  }
  return n;
}

const tt_algo tt_transposed_algo = {
    .name = "transposed",
    .does = TT_DOES_ALLREDUCE,
    .params = "group=",
    .refuse = transposed_refuse,
    .blocks = tt_one_block,
    .build = transposed_build,
    .samples = transposed_samples,
    .plans = transposed_plans,
    .stages = transposed_stages,
    .entries = {{"transposed", TT_NAMED,
                 "core k of node d swaps with core d of node k: transposed(group=4x8)",
                 "tutti's own"}},
};
