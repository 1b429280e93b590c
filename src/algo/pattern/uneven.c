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
  int first[TT_TREE_LEVELS];                      /* first rank of that group */
  run owns[TT_TREE_LEVELS];
} path;

typedef struct uneven {
  tt_builder *b;
  const tt_tree *tree;
  int columns[TT_TREE_LEVELS], width[TT_TREE_LEVELS]; /* width: blocks from a column to the next */
  path *all, me;                                      /* of all ranks, and this one's */
  int touched; /* members' vectors from here on are sums in dst, those below only input */
} uneven;

/* The number of columns of a level. */
static int columns_of(const tt_tree *t, int level) {
  const int most = t->level[level].most;
  int all = t->level[level].each ? most : 1;
  for (int i = 0; i < t->level[level].n && all <= 4 * most; i++) {
    const int n = t->list[t->level[level].at + i];
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
      wrong = tt_fold_spec_refuse(how, t->levels, level, t->list[t->level[level].at + i]);
  }
  return wrong;
}

/* Fills in the paths of all ranks below a domain, starting from `p`; returns the rank after the
 * last. */
static int walk(uneven *u, int level, int group, int rank, path p) {
  const int domain = tt_tree_first(u->tree, level, group), C = u->columns[level];
  p.of[level] = tt_tree_count(u->tree, level, group);
  p.first[level] = rank;
  for (int a = 0; a < p.of[level]; a++) {
    p.member[level] = a;
    p.owns[level] = (run){a * C / p.of[level], (a + 1) * C / p.of[level]};
    if (level + 1 < u->tree->levels)
      rank = walk(u, level + 1, domain + a, rank, p);
    else
      u->all[rank++] = p;
  }
  return rank;
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
  int first = tt_mod(a - s->hi + 1, n) * C / n, count = 0;
  for (int k = s->lo; k < s->hi; k++)
    count += (tt_mod(a - k, n) + 1) * C / n - tt_mod(a - k, n) * C / n;
  const uint32_t w = (uint32_t)u->width[l];
  return (tt_span){buf, (uint32_t)base,  (uint32_t)first * w, (uint32_t)count * w, (uint32_t)C * w,
                   1,   (uint32_t)repeat};
}

/* Finds the inner columns that this rank shares with another; false: none. */
static bool meets(const uneven *u, const path *other, set *s) {
  for (int i = s->level + 1; i < u->tree->levels; i++) {
    const run *x = &u->me.owns[i], *y = &other->owns[i];
    s->inner[i].lo = x->lo > y->lo ? x->lo : y->lo;
    s->inner[i].hi = x->hi < y->hi ? x->hi : y->hi;
    if (s->inner[i].lo >= s->inner[i].hi) return false;
  }
  return true;
}

typedef enum deed { SEND, RECEIVE, ADD } deed;

/* Sends or receives vectors lo..hi-1, with all partners in the member `by` up the circle. */
static void trade(uneven *u, deed what, int level, int by, int lo, int hi, tt_buf buf, bool last) {
  const path *me = &u->me;
  const int member = tt_mod(me->member[level] + by, me->of[level]);
  for (int r = me->first[level]; r < u->tree->ranks; r++) {
    const path *with = &u->all[r];
    set s = {.level = level, .lo = lo, .hi = hi};
    if (with->first[level] != me->first[level] || with->member[level] > member) break;
    if (with->member[level] < member || !meets(u, with, &s)) continue;
    for (int i = 0; i < spans_of(u, &s); i++) {
      tt_span here = span_of_set(u, &s, buf, i), to = span_of_set(u, &s, TT_DST, i);
      if (what == SEND) tt_send(u->b, r, here);
      if (what == RECEIVE) tt_recv(u->b, r, to);
      if (what == ADD) tt_recv_reduce(u->b, r, to, here, TT_OWN_FIRST);
      if (what == ADD && last) tt_mark_completes(u->b);
    }
  }
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
  uneven u = {.b = b, .tree = t, .all = malloc((size_t)ask->ranks * sizeof *u.all)};
  int width = 1, *live = malloc(((size_t)ask->ranks + 1) * sizeof *live);
  if (!live || !u.all) {
    b->status = TUTTI_ERR_MEMORY;
    free(u.all);
    free(live);
    return;
  }
  for (int level = 0; level < t->levels; level++) {
    u.columns[level] = columns_of(t, level);
    u.width[level] = width;
    width *= u.columns[level];
  }
  walk(&u, 0, 0, 0, (path){0});
  u.me = u.all[ask->rank];
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
  free(u.all);
  free(live);
}
