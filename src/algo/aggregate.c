/* aggregate.c - switches that reduce: extra ranks without data form a tree above the ranks with data.
 *
 * Idea       Every rank with data sends its vector once, to its switch, and receives the result once. A switch
 *            adds the vectors of up to K members below it and sends the sum up. The top switch sends the result
 *            down. Switches are numbered after the ranks with data, row by row, from the lowest row. With
 *            several trees, each tree reduces a part of the vector on switches that no other tree uses. With
 *            `striped`, all trees use the same switches, each at a different position in every tree, which
 *            spreads the load. In a reduce, data moves down only on the path to the root; in a broadcast, it
 *            moves up only on the path from the root. In a reduce-scatter, a switch sends down the blocks of
 *            the ranks below it; in an all-gather, it sends these blocks up.
 * Cost       2 ceil(log_K D) steps for D ranks with data, each of which sends one vector and receives one. For the parts
 *            of its trees, a switch sends up to K+1 times their size and stores them once.
 * Scratch    Up to one vector on each switch.
 * Invariant  The members below a switch are neighbours, and are added in their order. A barrier uses one tree
 *            over all switches. If each tree has separate switches, the last switch adds the messages of all
 *            ranks, and the other switches forward them. With levels, the switches belong to groups of the
 *            machine: helper_tree.c.
 * Parameters share=N/M: helper_share.c. Otherwise either levels, per=, trees= and spread, as in helper_tree.c;
 *            or data=D, unless D is known; arity=K; `tree`, the smallest arity that fits; trees=T, by default
 *            as many as fit; `striped`. Without arity or `tree`, K is D, so that each tree is a single switch.
 *            A tree has ceil(D/K) switches in its first row, and so on up to one switch; P is D plus all
 *            switches.
 * Source     Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), 2016.
 * See        tutti plan draw 'aggregate(data=4,arity=2)' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_helpers.h"

enum { MOST = 1 << 16 };
#define DATA_WRONG "it needs ranks that only help: helpers of tutti_config, or data=6 in its name"

typedef struct shape {
  int data, arity, trees;
  int each;          /* number of switches in a tree */
  bool striped, fit; /* fit: derive the arity from the number of helpers */
  bool relays;       /* every switch except the last has one member below it */
} shape;

/* ---- the shape of the trees ---- */

static int row_above(int members, int arity) {
  return (members + arity - 1) / arity;
}

static int switches(int data, int arity) {
  int row = row_above(data, arity), all = row;
  while (row > 1) all += row = row_above(row, arity);
  return all;
}

/* Returns the smallest tree arity that uses every helper, or 0 if no arity uses them all. */
static int least_arity(const shape *s, int helpers) {
  for (int arity = 2; arity <= s->data || arity == 2; arity++) {
    const int each = switches(s->data, arity);
    if (s->striped ? each == helpers : helpers % each == 0) return arity;
  }
  return 0;
}

/* Derives missing parameters from the number of helpers. */
static void fill_shape_defaults(shape *s, int helpers) {
  if (s->fit) s->arity = least_arity(s, helpers);
  if (!s->arity) s->arity = (int)tt_max(2, (size_t)s->data);
  s->each = switches(s->data, s->arity);
  if (!s->trees) s->trees = s->striped ? helpers : (int)tt_max(1, (size_t)(helpers / s->each));
}

/* Returns NULL, or an error message about the parameters. */
static const char *parse_tree_shape(const tt_ask *ask, shape *s) {
  const int known = ask->data < ask->ranks ? ask->data : 0;
  *s = (shape){0};
  s->data = tt_param_number(ask, "data", known);
  if (s->data == 0 || s->data >= ask->ranks) return DATA_WRONG;
  s->arity = tt_param_number(ask, "arity", 0);
  s->trees = tt_param_number(ask, "trees", 0);
  s->striped = tt_param_given(ask, "striped");
  s->fit = !s->arity && (s->striped || tt_param_given(ask, "tree"));
  fill_shape_defaults(s, ask->ranks - s->data);
  return NULL;
}

static bool has_share(const tt_ask *ask) {
  return tt_param_given(ask, "share");
}

static bool has_levels(const tt_ask *ask) {
  return tt_param_levels(ask);
}

static const char *refuse_root(const tt_ask *ask, int data) {
  size_t size;
  char *text = tt_thread_text(&size);
  if (!tt_coll_rooted(ask->coll) || ask->root < data) return NULL;
  snprintf(text, size, "root %d brings no data", ask->root);
  return text;
}

static const char *refuse_levels(const tt_ask *ask) {
  static const char *const flat[] = {"data", "arity", "tree", "striped"};
  tt_helpers h;
  if (tt_param_count(ask, flat, 4))
    return "levels say all: leave out data, arity, tree and striped";
  const char *wrong = tt_helpers_of(ask, &h);
  return wrong ? wrong : refuse_root(ask, h.data);
}

/* Checks the parameters of a plan with share=. In such a plan a row of helpers reduces one share of the vector, and the
 * ranks with data fold the rest. */
static const char *refuse_share(const tt_ask *ask) {
  static const char *const folds[] = {"ring", "halving", "seq"}, *const trees[] = {
                                                                     "per",   "arity",   "tree",
                                                                     "trees", "striped", "spread"};
  if (has_share(ask) && (has_levels(ask) || tt_param_count(ask, trees, 6)))
    return "a share goes to one row of helpers: leave out levels and trees";
  if (!has_share(ask) && tt_param_count(ask, folds, 3))
    return "ring, halving and seq= fold what a share= leaves";
  return has_share(ask) ? tt_share_refuse(ask) : NULL;
}

static const char *aggregate_refuse(const tt_ask *ask) {
  shape s;
  const char *share = refuse_share(ask);
  if (share || has_share(ask)) return share;
  if (has_levels(ask)) return refuse_levels(ask);
  const char *wrong = parse_tree_shape(ask, &s);
  if (wrong) return wrong;
  if (tt_param_given(ask, "spread")) return "spread needs levels, which say what a node is";
  size_t size;
  char *text = tt_thread_text(&size);
  const int need = s.striped ? s.each : s.each * s.trees, helpers = ask->ranks - s.data;
  if ((wrong = refuse_root(ask, s.data))) return wrong;
  if (s.fit && s.each == 1)
    snprintf(text, size, "no trees of several rows over %d ranks have %d switches", s.data,
             helpers);
  else if (need != helpers)
    snprintf(text, size, "%d ranks with data need %d switches%s: P = %d", s.data, need,
             s.striped ? ", striped" : "", s.data + need);
  else
    return NULL;
  return text;
}

/* Returns the number of ranks that own a block. */
static uint32_t data_of(const tt_ask *ask) {
  shape s;
  tt_helpers h;
  const char *wrong = has_levels(ask) ? tt_helpers_of(ask, &h) : parse_tree_shape(ask, &s);
  return wrong ? 1 : (uint32_t)(has_levels(ask) ? h.data : s.data);
}

static uint32_t aggregate_blocks(const tt_ask *ask) {
  if (has_share(ask)) return tt_share_blocks(ask);
  shape s;
  tt_helpers h;
  if (ask->coll == TUTTI_BARRIER) return 1;
  if (tt_coll_owned(ask->coll)) return data_of(ask);
  if (has_levels(ask)) return tt_helpers_of(ask, &h) ? 1 : tt_helpers_blocks(&h);
  return parse_tree_shape(ask, &s) ? 1 : (uint32_t)s.trees;
}

/* ---- one tree: members 0 .. D-1 are the ranks with data, followed by its switches ---- */

typedef struct spot {
  int below, count; /* the first member below, and how many there are; 0 for ranks with data */
  int above;        /* the member above; -1 for the top switch */
} spot;

static spot relay_of(const shape *s, int member) {
  const int D = s->data, last = D + s->each - 1;
  if (member == last) return (spot){last - D, D, -1};
  return (spot){member - D, member >= D, (int)tt_min((size_t)(member + D), (size_t)last)};
}

static spot spot_of(const shape *s, int member) {
  int below = 0, first = 0, row = s->data;
  if (s->relays) return relay_of(s, member);
  while (member >= first + row) {
    below = first;
    first += row;
    row = row_above(row, s->arity);
  }
  const int place = (member - first) * s->arity;
  spot x = {.above = row > 1 || first == 0 ? first + row + (member - first) / s->arity : -1};
  if (first > 0) {
    x.below = below + place;
    x.count = (int)tt_min((size_t)s->arity, (size_t)(first - x.below));
  }
  return x;
}

static int rank_in_tree(const shape *s, int tree, int member) {
  const int place = member - s->data;
  if (place < 0) return member;
  return s->data + (s->striped ? (place + tree) % s->each : tree * s->each + place);
}

/* Returns the member number of a rank in a tree, or -1 if the rank is not in the tree. */
static int member_of(const shape *s, int tree, int rank) {
  const int at = rank - s->data - (s->striped ? tree : tree * s->each);
  if (rank < s->data) return rank;
  if (s->striped) return s->data + tt_mod(at, s->each);
  return at >= 0 && at < s->each ? s->data + at : -1;
}

static bool holds_root(const shape *s, const tt_ask *ask, int member) {
  int m = ask->root;
  while (m >= 0 && m < member) m = spot_of(s, m).above;
  return m == member;
}

/* ---- the blocks that a member exchanges with the one above ---- */

/* Returns the blocks that a tree reduces: one block or, if every rank owns a block, the blocks of some ranks. */
static tt_owned part_of_tree(const shape *s, const tt_ask *ask, int tree) {
  if (!tt_coll_owned(ask->coll)) return (tt_owned){tree, tree + 1};
  return tt_owned_of_tree(s->data, s->trees, tree);
}

/* Returns the ranks with data in the subtree of a member. These ranks are consecutive. */
static tt_owned ranks_below(const shape *s, int member) {
  int first = member, last = member;
  while (first >= s->data) first = spot_of(s, first).below;
  while (last >= s->data) {
    const spot x = spot_of(s, last);
    last = x.below + x.count - 1;
  }
  return (tt_owned){first, last + 1};
}

/* passes_up returns the blocks that a member sends up the tree, and passes_down the blocks that it receives from above. */
typedef tt_owned pass_fn(const shape *s, const tt_ask *ask, int tree, int member);
static tt_owned passes_up(const shape *s, const tt_ask *ask, int tree, int member) {
  const tt_owned part = part_of_tree(s, ask, tree), none = {0, 0};
  if (tt_coll_reduces(ask->coll)) return part;
  if (ask->coll == TUTTI_ALLGATHER) return tt_owned_both(part, ranks_below(s, member));
  return holds_root(s, ask, member) ? part : none;
}

static tt_owned passes_down(const shape *s, const tt_ask *ask, int tree, int member) {
  const tt_owned part = part_of_tree(s, ask, tree), none = {0, 0};
  if (ask->coll == TUTTI_REDUCE_SCATTER) return tt_owned_both(part, ranks_below(s, member));
  if (!tt_coll_rooted(ask->coll)) return part;
  return holds_root(s, ask, member) == tt_coll_reduces(ask->coll) ? part : none;
}

static bool same_blocks(tt_owned a, tt_owned b) {
  return a.lo == b.lo && a.hi == b.hi;
}

/* Returns the longest run of consecutive ranks below x, starting with member i, that exchange the same blocks with x. */
static tt_peers run_of(const shape *s, const tt_ask *ask, int tree, const spot *x, int i,
                       pass_fn *pass, tt_owned *what) {
  tt_peers run = {rank_in_tree(s, tree, x->below + i), 1, 1};
  *what = pass(s, ask, tree, x->below + i);
  while (i + run.count < x->count &&
         same_blocks(pass(s, ask, tree, x->below + i + run.count), *what) &&
         rank_in_tree(s, tree, x->below + i + run.count) == run.first + run.count)
    run.count++;
  return run;
}

/* Receives the blocks from the members below x. If the collective reduces, also adds them. */
static void take_from_below(tt_builder *b, const shape *s, const tt_ask *ask, int tree,
                            const spot *x) {
  bool first = true, summed = false;
  tt_owned what;
  tt_peers run;
  for (int i = 0; i < x->count; i += run.count) {
    run = run_of(s, ask, tree, x, i, passes_up, &what);
    if (tt_owned_none(what)) continue;
    const tt_span here = tt_owned_span(TT_TMP, what, b->s->blocks);
    if (first || !tt_coll_reduces(ask->coll)) {
      run.count = 1;
      tt_recv(b, run.first, here);
    } else {
      tt_recv_reduce_all(b, run, here, here, TT_OWN_FIRST);
      summed = true;
    }
    first = false;
  }
  if (x->above < 0 && summed) tt_mark_completes(b);
}

static void be_switch(tt_builder *b, const shape *s, const tt_ask *ask, int tree, int member) {
  const spot x = spot_of(s, member);
  const int up = x.above < 0 ? -1 : rank_in_tree(s, tree, x.above);
  const tt_owned sent = passes_up(s, ask, tree, member), got = passes_down(s, ask, tree, member);
  tt_owned what;
  tt_peers run;
  take_from_below(b, s, ask, tree, &x);
  if (up >= 0 && !tt_owned_none(sent)) tt_send(b, up, tt_owned_span(TT_TMP, sent, b->s->blocks));
  if (up >= 0 && !tt_owned_none(got)) tt_recv(b, up, tt_owned_span(TT_TMP, got, b->s->blocks));
  for (int i = 0; i < x.count; i += run.count) {
    run = run_of(s, ask, tree, &x, i, passes_down, &what);
    if (!tt_owned_none(what)) tt_send_all(b, run, tt_owned_span(TT_TMP, what, b->s->blocks));
  }
}

/* Merges all trees into one that uses every switch. */
static void merge_trees(shape *s) {
  s->relays = s->trees > 1 && !s->striped;
  if (s->relays) s->each *= s->trees;
  s->trees = 1;
}

static void aggregate_build(tt_builder *b, const tt_ask *ask) {
  const int me = ask->rank;
  tt_helpers h;
  shape s;
  if (has_share(ask)) {
    tt_share_build(b, ask);
    return;
  }
  if (has_levels(ask)) {
    if (tt_helpers_of(ask, &h)) return;
    if (ask->coll != TUTTI_BARRIER || h.rows.trees == 1) {
      tt_helpers_build(b, ask, &h);
      return;
    }
    s = (shape){.data = h.data, .arity = h.data, .each = 1, .trees = ask->ranks - h.data};
  } else if (parse_tree_shape(ask, &s)) {
    return;
  }
  if (ask->coll == TUTTI_BARRIER) merge_trees(&s);
  tt_build_data(b, s.data);
  for (int t = 0; t < s.trees && me < s.data; t++) {
    const tt_owned sent = passes_up(&s, ask, t, me);
    if (!tt_owned_none(sent))
      tt_send(b, rank_in_tree(&s, t, spot_of(&s, me).above),
              tt_owned_span(TT_SRC, sent, b->s->blocks));
  }
  for (int t = 0; t < s.trees; t++) {
    const int member = member_of(&s, t, me);
    if (member < 0 || tt_owned_none(part_of_tree(&s, ask, t))) continue;
    if (member >= s.data) {
      be_switch(b, &s, ask, t, member);
      continue;
    }
    const tt_owned got = passes_down(&s, ask, t, me);
    const tt_span here = tt_owned_span(TT_DST, got, b->s->blocks);
    if (!tt_owned_none(got))
      tt_recv(b, rank_in_tree(&s, t, spot_of(&s, me).above), here);
    else if (ask->coll == TUTTI_BROADCAST)
      tt_copy(b, tt_owned_span(TT_DST, part_of_tree(&s, ask, t), b->s->blocks),
              tt_owned_span(TT_SRC, part_of_tree(&s, ask, t), b->s->blocks));
  }
}

const tt_algo tt_aggregate_algo = {
    .name = "aggregate",
    .does = TT_DOES_ALLREDUCE | TT_DOES_ROOTED | TT_DOES_BLOCKS,
    .helped = true,
    .params = {{"LEVEL:N", TT_PARAM_LEVELS},
               {"per", TT_PARAM_LABEL, true},
               {"data", TT_PARAM_NUMBER, true, 1, 1 << 20, DATA_WRONG},
               {"arity", TT_PARAM_NUMBER, false, 2, MOST, "arity goes from 2 to 65536"},
               {"tree"},
               {"trees", TT_PARAM_NUMBER, false, 1, MOST, "trees go from 1 to 65536"},
               {"striped"},
               {"spread"},
               {"share", TT_PARAM_SHARE, .wrong = TT_SHARE_WRONG},
               {"ring"},
               {"halving"},
               TT_PARAM_SEQ},
    .refuse = aggregate_refuse,
    .blocks = aggregate_blocks,
    .build = aggregate_build,
    .plans = tt_helpers_plan,
    .entries = {{"aggregate", TT_CANDIDATE,
                 "helpers sum, a part of the vector each: aggregate(data=6)",
                 "Graham et al. 2016 (SHARP), of one row"},
                {"aggregate(tree)", TT_CANDIDATE,
                 "helpers sum in trees, as switches do: aggregate(data=6,arity=3)",
                 "Graham et al. 2016 (SHARP)"},
                {"aggregate(striped)", TT_CANDIDATE, "several trees at once over the same helpers",
                 "Graham et al. 2016 (SHARP)"},
                {"aggregate(share=1/4)", TT_NAMED,
                 "helpers sum a share, a fold the rest: aggregate(data=6,share=1/4)",
                 "Jiang et al. 2020 (BytePS)"}},
};
