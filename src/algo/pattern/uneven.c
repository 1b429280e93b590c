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
 *            A composition may fold the inner levels only: then the outer ones have one column.
 *            The trees that sum over the groups own columns of the innermost level, as the
 *            members of one more group do (helper_tree.c).
 * Scratch    none; a vector where a rank has no result (a reduce).
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
  tt_buf work;
  int columns[TT_TREE_LEVELS], width[TT_TREE_LEVELS]; /* width: blocks from a column to the next */
  path me;
  int touched; /* members' vectors from here on are sums in `work`, those below only input */
} uneven;

/* The number of columns of a level, of which `parts` groups have some each. */
static int columns_of(const tt_tree *t, int level, int parts) {
  const int most = (int)tt_max((size_t)t->level[level].most, (size_t)parts);
  int all = t->level[level].each ? t->level[level].each : 1;
  all *= parts / tt_gcd(all, parts);
  for (int i = 0; i < t->level[level].n && all <= 4 * most; i++) {
    const int n = t->run[t->level[level].at + i].size;
    all *= n / tt_gcd(all, n);
  }
  return all <= 4 * most ? all : 4 * most;
}

static int columns_folded(const tt_inner *in, int level) {
  if (level < in->from) return 1;
  return columns_of(in->tree, level, level + 1 < in->tree->levels ? 1 : in->parts);
}

uint32_t tt_inner_blocks(const tt_inner *in) {
  uint64_t blocks = 1;
  for (int level = 0; level < in->tree->levels; level++)
    blocks = tt_min(blocks * (uint64_t)columns_folded(in, level), (uint64_t)1 << 31);
  return (uint32_t)blocks;
}

uint32_t tt_uneven_blocks(const tt_tree *t) {
  const tt_inner all = {.tree = t, .parts = 1};
  return tt_inner_blocks(&all);
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

static int spans_inside(const uneven *u, const run *inner, int level) {
  int n = 1;
  for (int i = level + 2; i < u->tree->levels; i++) n *= inner[i].hi - inner[i].lo;
  return n;
}

static int spans_of(const uneven *u, const set *s) {
  return spans_inside(u, s->inner, s->level);
}

/* `count` columns of a level from `first`, which may wrap, in those columns of the levels inside. */
static tt_span span_of_columns(const uneven *u, int level, int first, int count, const run *inner,
                               tt_buf buf, int which) {
  int base = 0, repeat = 1;
  for (int i = u->tree->levels - 1; i > level + 1; i--) {
    const int size = inner[i].hi - inner[i].lo;
    base += (inner[i].lo + which % size) * u->width[i];
    which /= size;
  }
  if (level + 1 < u->tree->levels) {
    base += inner[level + 1].lo * u->width[level + 1];
    repeat = inner[level + 1].hi - inner[level + 1].lo;
  }
  const uint32_t w = (uint32_t)u->width[level], C = (uint32_t)u->columns[level];
  return (tt_span){buf, (uint32_t)base,  (uint32_t)first * w, (uint32_t)count * w, C * w,
                   1,   (uint32_t)repeat};
}

static tt_span span_of_set(const uneven *u, const set *s, tt_buf buf, int which) {
  const int l = s->level, C = u->columns[l], n = u->me.of[l], a = u->me.member[l];
  int first = columns_owned(tt_mod(a - s->hi + 1, n), n, C).lo, count = 0;
  for (int k = s->lo; k < s->hi; k++) {
    const run owned = columns_owned(tt_mod(a - k, n), n, C);
    count += owned.hi - owned.lo;
  }
  return span_of_columns(u, l, first, count, s->inner, buf, which);
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
    tt_span here = span_of_set(u, &x->s, x->buf, i), to = span_of_set(u, &x->s, u->work, i);
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
  if (u->touched <= lo) return u->work;
  set s = {.level = level, .lo = lo, .hi = u->touched};
  memcpy(s.inner, u->me.owns, sizeof s.inner);
  for (int i = 0; i < spans_of(u, &s); i++)
    tt_copy(u->b, span_of_set(u, &s, u->work, i), span_of_set(u, &s, TT_SRC, i));
  u->touched = lo;
  return u->work;
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

static uneven begin(tt_builder *b, const tt_inner *in, int rank, tt_buf work) {
  uneven u = {.b = b, .tree = in->tree, .work = work};
  for (int level = 0, width = 1; level < in->tree->levels; level++) {
    u.columns[level] = columns_folded(in, level);
    u.width[level] = width;
    width *= u.columns[level];
  }
  find_path(&u, rank);
  return u;
}

/* Memory for the numbers of live vectors of a level. */
static int *live_vectors(tt_builder *b, const tt_tree *t) {
  int most = 1;
  for (int level = 0; level < t->levels; level++)
    if (t->level[level].most > most) most = t->level[level].most;
  int *live = malloc(((size_t)most + 1) * sizeof *live);
  if (!live) b->status = TUTTI_ERR_MEMORY;
  return live;
}

tt_buf tt_inner_down(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how,
                     tt_buf work) {
  const tt_tree *t = in->tree;
  uneven u = begin(b, in, rank, work);
  int *live = live_vectors(b, t);
  bool summed = false;
  for (int level = t->levels - 1; level >= in->from && live; level--) {
    const int n = u.me.of[level];
    u.touched = summed ? 0 : n;
    reduce_scatter_level(&u, level, live, tt_fold_spec_sequence(how, t->levels, level, n, live));
    summed = summed || n > 1;
  }
  free(live);
  return summed ? work : TT_SRC;
}

void tt_inner_up(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how) {
  const tt_tree *t = in->tree;
  uneven u = begin(b, in, rank, TT_DST);
  int *live = live_vectors(b, t);
  for (int level = in->from; level < t->levels && live; level++)
    allgather_level(&u, level, live,
                    tt_fold_spec_sequence(how, t->levels, level, u.me.of[level], live));
  free(live);
}

bool tt_inner_part(const tt_inner *in, int rank, int part, int i, tt_buf buf, tt_span *span) {
  const uneven u = begin(NULL, in, rank, buf);
  const int last = in->tree->levels - 1;
  run owns[TT_TREE_LEVELS];
  memcpy(owns, u.me.owns, sizeof owns);
  const run of_part = columns_owned(part, in->parts, u.columns[last]);
  if (owns[last].lo < of_part.lo) owns[last].lo = of_part.lo;
  if (owns[last].hi > of_part.hi) owns[last].hi = of_part.hi;
  if (owns[last].lo >= owns[last].hi || i >= spans_inside(&u, owns, in->from)) return false;
  const run *own = &owns[in->from];
  *span = span_of_columns(&u, in->from, own->lo, own->hi - own->lo, owns, buf, i);
  return true;
}

tt_span tt_inner_whole(const tt_inner *in, int part, tt_buf buf) {
  const int last = in->tree->levels - 1, C = columns_folded(in, last);
  const uint32_t blocks = tt_inner_blocks(in), width = blocks / (uint32_t)C;
  const run of_part = columns_owned(part, in->parts, C);
  return tt_range(buf, (uint32_t)of_part.lo * width, (uint32_t)(of_part.hi - of_part.lo) * width,
                  blocks);
}

void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *t, const tt_fold_spec *how) {
  const tt_inner all = {.tree = t, .parts = 1};
  tt_inner_down(b, &all, ask->rank, how, TT_DST);
  tt_inner_up(b, &all, ask->rank, how);
}
