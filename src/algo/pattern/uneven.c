/* uneven.c - a fold level by level where groups differ in size: 4 ranks here, 3 there.
 *
 * Idea       a level is a row of C columns, enough to be divided fairly among its largest and
 *            its smallest group; member a of n owns columns a*C/n to (a+1)*C/n. A block is
 *            one column of every level. A group folds its level as a circle of n members,
 *            whose vectors are those runs of columns. At each inner level, which is folded
 *            already, a rank has a run of columns; its partners in the next group are all
 *            ranks whose runs overlap its own. So the ranks of a small group own more, and
 *            every group sends across its level what a group of any size must: 2(n-1)/n of
 *            a vector.
 * Cost       bytes between groups: the minimum. A rank owns at most a quarter
 *            more than its share (C is the least common multiple of the sizes, or four
 *            times the largest if that is less). A step is a message to each partner
 *            whose columns overlap: one if groups are alike, seldom more than
 *            ceil(largest / smallest) + 1; more if levels are uneven inside uneven ones.
 *            A rank finds its partners from the runs of equal groups (topo_tree.h), so time
 *            and memory depend on its messages and the number of runs, not on P.
 * Scratch    none.
 * Invariant  the ranks of a group own every block of the vector exactly once.
 * Source     ours; even levels are Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'blueconnect(node:(4,3))' -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_group.h"

#include <stdlib.h>
#include <string.h>

typedef struct run { /* of columns */
  int lo, hi;
} run;

/* A rank's path down the tree. */
typedef struct path {
  int member[TT_TREE_LEVELS], of[TT_TREE_LEVELS]; /* index in its group; group's size */
  int group[TT_TREE_LEVELS]; /* the domain of the level above, whose members the group has */
  run owns[TT_TREE_LEVELS];
} path;

typedef struct uneven {
  tt_builder *b;
  const tt_tree *tree;
  int columns[TT_TREE_LEVELS], width[TT_TREE_LEVELS]; /* width: blocks from a column to the next */
  path me;
  int touched; /* members' vectors from here on are sums in dst, those below only input */
} uneven;

/* The number of columns of a level. */
static int columns_of(const tt_tree *t, int level) {
  const int most = t->level[level].most;
  int all = t->level[level].each ? most : 1;
  for (int i = 0; i < t->level[level].n && all <= 4 * most; i++) {
    const int n = t->run[t->level[level].at + i].size;
    all *= n / tt_gcd(all, n);
  }
  return all <= 4 * most ? all : 4 * most;
}

uint32_t tt_uneven_blocks(const tt_tree *t) {
  uint64_t blocks = 1;
  for (int level = 0; level < t->levels; level++)
    blocks = tt_min(blocks * (uint64_t)columns_of(t, level), (uint64_t)1 << 31);
  return (uint32_t)blocks;
}

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *t, const tt_fold_spec *how) {
  const char *wrong = NULL;
  if (tt_coll_owned(ask->coll))
    return "with uneven levels no rank owns one block: allreduce and barrier only";
  if (tt_uneven_blocks(t) > 1u << 22) return "its levels are too uneven: too many blocks";
  for (int level = 0; level < t->levels && !wrong; level++) {
    if (t->level[level].each)
      wrong = tt_fold_spec_refuse(how, t->levels, level, t->level[level].each);
    for (int i = 0; i < t->level[level].n && !wrong; i++)
      wrong = tt_fold_spec_refuse(how, t->levels, level, t->run[t->level[level].at + i].size);
  }
  return wrong;
}

/* The columns of member a of n. */
static run columns_owned(int a, int n, int C) {
  return (run){(int)((int64_t)a * C / n), (int)((int64_t)(a + 1) * C / n)};
}

/* Goes down the tree to this rank. */
static void find_path(uneven *u, int rank) {
  path *p = &u->me;
  for (int level = 0, group = 0; level < u->tree->levels; level++) {
    const int first = tt_tree_first(u->tree, level, group);
    p->group[level] = group;
    p->of[level] = tt_tree_count(u->tree, level, group);
    group = tt_tree_domain(u->tree, level, group, rank);
    p->member[level] = group - first;
    p->owns[level] = columns_owned(p->member[level], p->of[level], u->columns[level]);
  }
}

/* Vectors lo..hi-1 of this rank's circle at a level, in every column of `inner`: one span for each
 * combination of columns of the levels inside the next one. */
typedef struct set {
  run inner[TT_TREE_LEVELS];
  int level, lo, hi;
} set;

static int spans_of(const uneven *u, const set *s) {
  int n = 1;
  for (int i = s->level + 2; i < u->tree->levels; i++) n *= s->inner[i].hi - s->inner[i].lo;
  return n;
}

static tt_span span_of_set(const uneven *u, const set *s, tt_buf buf, int which) {
  const int l = s->level, C = u->columns[l], n = u->me.of[l], a = u->me.member[l];
  int base = 0, repeat = 1;
  for (int i = u->tree->levels - 1; i > l + 1; i--) {
    const int size = s->inner[i].hi - s->inner[i].lo;
    base += (s->inner[i].lo + which % size) * u->width[i];
    which /= size;
  }
  if (l + 1 < u->tree->levels) {
    base += s->inner[l + 1].lo * u->width[l + 1];
    repeat = s->inner[l + 1].hi - s->inner[l + 1].lo;
  }
  int first = columns_owned(tt_mod(a - s->hi + 1, n), n, C).lo, count = 0;
  for (int k = s->lo; k < s->hi; k++) {
    const run owned = columns_owned(tt_mod(a - k, n), n, C);
    count += owned.hi - owned.lo;
  }
  const uint32_t w = (uint32_t)u->width[l];
  return (tt_span){buf, (uint32_t)base,  (uint32_t)first * w, (uint32_t)count * w, (uint32_t)C * w,
                   1,   (uint32_t)repeat};
}

typedef enum deed { SEND, RECEIVE, ADD } deed;

/* What a rank does with each of its partners: vectors s.lo to s.hi - 1. */
typedef struct deal {
  deed what;
  tt_buf buf;
  bool last;
  set s;
} deal;

static void trade_with(uneven *u, const deal *x, int partner) {
  for (int i = 0; i < spans_of(u, &x->s); i++) {
    tt_span here = span_of_set(u, &x->s, x->buf, i), to = span_of_set(u, &x->s, TT_DST, i);
    if (x->what == SEND) tt_send(u->b, partner, here);
    if (x->what == RECEIVE) tt_recv(u->b, partner, to);
    if (x->what == ADD) tt_recv_reduce(u->b, partner, to, here, TT_OWN_FIRST);
    if (x->what == ADD && x->last) tt_mark_completes(u->b);
  }
}

/* Trades with the ranks of a domain of the level above `level` that share inner columns with this one: in
 * each group inside, the members whose columns overlap are neighbours. */
static void trade_within(uneven *u, deal *x, int level, int domain) {
  if (level == u->tree->levels) {
    trade_with(u, x, domain);
    return;
  }
  const int n = tt_tree_count(u->tree, level, domain), C = u->columns[level];
  const int first = tt_tree_first(u->tree, level, domain);
  const run me = u->me.owns[level];
  for (int a = (int)((int64_t)me.lo * n / C); a < n; a++) {
    const run other = columns_owned(a, n, C);
    if (other.lo >= me.hi) break;
    if (other.hi <= me.lo) continue;
    x->s.inner[level].lo = me.lo > other.lo ? me.lo : other.lo;
    x->s.inner[level].hi = me.hi < other.hi ? me.hi : other.hi;
    trade_within(u, x, level + 1, first + a);
  }
}

/* Sends or receives vectors lo..hi-1, with all partners in the member `by` up the circle. */
static void trade(uneven *u, deed what, int level, int by, int lo, int hi, tt_buf buf, bool last) {
  const path *me = &u->me;
  const int member = tt_mod(me->member[level] + by, me->of[level]);
  deal x = {.what = what, .buf = buf, .last = last, .s = {.level = level, .lo = lo, .hi = hi}};
  trade_within(u, &x, level + 1, tt_tree_first(u->tree, level, me->group[level]) + member);
}

/* Moves vectors lo..hi-1 to one buffer if needed, and returns it. */
static tt_buf collect_in_one_buffer(uneven *u, int level, int lo, int hi) {
  if (u->touched >= hi) return TT_SRC;
  if (u->touched <= lo) return TT_DST;
  set s = {.level = level, .lo = lo, .hi = u->touched};
  memcpy(s.inner, u->me.owns, sizeof s.inner);
  for (int i = 0; i < spans_of(u, &s); i++)
    tt_copy(u->b, span_of_set(u, &s, TT_DST, i), span_of_set(u, &s, TT_SRC, i));
  u->touched = lo;
  return TT_DST;
}

static void reduce_scatter_level(uneven *u, int level, const int *live, int length) {
  bool last = true; /* no outer level folds */
  for (int i = 0; i < level; i++) last = last && u->me.of[i] == 1;
  for (int i = 0; i + 1 < length; i++) {
    const int n = live[i], m = live[i + 1], d = n - m;
    tt_buf from = collect_in_one_buffer(u, level, m, n),
           own = collect_in_one_buffer(u, level, m - d, m);
    trade(u, SEND, level, -d, m, n, from, false);
    trade(u, ADD, level, d, m - d, m, own, last && m == 1);
    if (u->touched > m - d) u->touched = m - d;
  }
}

static void allgather_level(uneven *u, int level, const int *live, int length) {
  for (int i = length - 2; i >= 0; i--) {
    const int n = live[i], m = live[i + 1], d = n - m;
    trade(u, SEND, level, d, m - d, m, TT_DST, false);
    trade(u, RECEIVE, level, -d, m, n, TT_DST, false);
  }
}

void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *t, const tt_fold_spec *how) {
  uneven u = {.b = b, .tree = t};
  int width = 1, most = 1;
  for (int level = 0; level < t->levels; level++) {
    u.columns[level] = columns_of(t, level);
    u.width[level] = width;
    width *= u.columns[level];
    if (t->level[level].most > most) most = t->level[level].most;
  }
  int *live = malloc(((size_t)most + 1) * sizeof *live);
  if (!live) {
    b->status = TUTTI_ERR_MEMORY;
    return;
  }
  find_path(&u, ask->rank);
  bool summed = false;
  for (int level = t->levels - 1; level >= 0; level--) {
    const int n = u.me.of[level];
    u.touched = summed ? 0 : n;
    reduce_scatter_level(&u, level, live, tt_fold_spec_sequence(how, t->levels, level, n, live));
    summed = summed || n > 1;
  }
  for (int level = 0; level < t->levels; level++)
    allgather_level(&u, level, live,
                    tt_fold_spec_sequence(how, t->levels, level, u.me.of[level], live));
  free(live);
}
