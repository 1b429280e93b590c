/* uneven.c - a fold level by level for groups that differ in size, such as nodes of 4 and of 3 ranks.
 *
 * Idea       A level is a row of C columns that the members of a group divide fairly: member a of n owns columns a*C/n to
 *            (a+1)*C/n. A block is one column of every level. A group folds its level as a circle of n members, whose
 *            vectors are those runs of columns. At each inner level, which has been folded before, a rank has a run of
 *            columns; its partners in the next group are all ranks whose runs overlap with its own. The ranks of a small
 *            group therefore own more, and every group sends 2(n-1)/n of a vector across its level, the minimum for a
 *            group of any size. A reduce-scatter is the first phase of this and an all-gather the reverse phase. There,
 *            the block of a rank is the one in its own columns, and a row has as many columns as that rank's group has
 *            members, so the blocks of each domain are contiguous. A composition may fold only the inner levels. The
 *            outer levels then have one column, and trees that sum over the groups divide the columns of the innermost
 *            level like the members of one more group (helper_tree.c).
 * Cost       The number of bytes between groups is the minimum. In an allreduce a rank owns at most a quarter more than
 *            its share if C is the least common multiple of the sizes or, if that is less, four times the largest size;
 *            otherwise about as much if there are many equal groups. A step is one message to each partner with
 *            overlapping columns: one if groups have equal sizes, rarely more than ceil(largest / smallest) + 1, and more
 *            if the groups inside uneven levels are uneven as well. With blocks of ranks it is that many for each run of
 *            equal groups, or for each quarter of a run. A rank finds its partners from these runs (topo_tree.h), so time
 *            and memory do not depend on P.
 * Scratch    None; partial sums in a reduce-scatter, and on ranks without a result (in a reduce).
 * Invariant  The ranks of a group own every block of the vector exactly once.
 * Source     ours; even levels are Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'blueconnect(node:(4,3))' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_uneven.h"

#include <stdlib.h>

/* The position of a rank on every level of the tree. */
typedef struct path {
  int member[TT_TREE_LEVELS], of[TT_TREE_LEVELS]; /* index in its group; size of the group */
  int group
      [TT_TREE_LEVELS]; /* number of the group: the domain of the level above that contains it */
} path;

typedef struct uneven {
  tt_builder *b;
  tutti_coll coll;
  const tt_tree *tree;
  tt_uneven_cut cut;
  path me;
  tt_buf work, result; /* buffers of partial sums and of complete sums */
  int last;            /* the outermost level with more than one member */
  int touched;         /* vectors from this one up are partial sums; those below are input */
  tt_span_list here;
} uneven;

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *t, const tt_fold_spec *how) {
  const char *wrong = NULL;
  if (!tt_coll_owned(ask->coll) && tt_uneven_blocks(t) > 1u << 22)
    return "its levels are too uneven: too many blocks";
  for (int level = 0; level < t->levels && !wrong; level++) {
    if (t->level[level].each)
      wrong = tt_fold_spec_refuse(how, t->levels, level, t->level[level].each);
    for (int i = 0; i < t->level[level].n && !wrong; i++)
      wrong = tt_fold_spec_refuse(how, t->levels, level, t->run[t->level[level].at + i].size);
  }
  return wrong;
}

/* Finds the position of this rank on every level. */
static void find_path(uneven *u, int rank) {
  path *p = &u->me;
  u->last = -1;
  for (int level = 0, group = 0; level < u->tree->levels; level++) {
    const int first = tt_tree_first(u->tree, level, group);
    p->group[level] = group;
    p->of[level] = tt_tree_count(u->tree, level, group);
    group = tt_tree_domain(u->tree, level, group, rank);
    p->member[level] = group - first;
    if (u->last < 0 && p->of[level] > 1) u->last = level;
  }
}

/* Returns vectors lo..hi-1 of this rank's circle on a level. On inner levels, includes only the columns that the rank owns. */
static tt_uneven_set vectors(const uneven *u, int level, int lo, int hi) {
  const path *me = &u->me;
  const int n = me->of[level];
  tt_uneven_set s = {level, tt_mod(me->member[level] - hi + 1, n), hi - lo, n, {{0}}};
  for (int l = level + 1; l < u->tree->levels; l++)
    s.inner[l] = (tt_share){me->member[l], me->of[l], me->member[l], me->of[l]};
  return s;
}

typedef enum deed { SEND, RECEIVE, ADD } deed;

/* A transfer between a rank and each of its partners. */
typedef struct deal {
  deed what;
  tt_buf buf, to; /* source of a send, or own operand; destination of a receive */
  bool completes;
  tt_side side;
  tt_uneven_set s;
} deal;

static void trade_with(uneven *u, const deal *x, int partner) {
  tt_uneven_spans(&u->cut, &x->s, x->buf, &u->here);
  for (uint32_t i = 0; i < u->here.n; i++) {
    const tt_span here = u->here.at[i];
    tt_span to = here;
    to.buf = x->to;
    if (x->what == SEND) tt_send(u->b, partner, here);
    if (x->what == RECEIVE) tt_recv(u->b, partner, to);
    if (x->what == ADD) tt_recv_reduce(u->b, partner, to, here, x->side);
    if (x->what == ADD && x->completes) tt_mark_completes(u->b);
  }
}

/* Exchanges data with those ranks of a domain whose inner columns overlap the columns of this rank. The domain is on
 * the level above `level`. Within each inner group, the members with overlapping columns are neighbours. */
static void trade_within(uneven *u, deal *x, int level, int domain) {
  if (level == u->tree->levels) {
    trade_with(u, x, domain);
    return;
  }
  const int m = tt_tree_count(u->tree, level, domain), n = u->me.of[level];
  const int first = tt_tree_first(u->tree, level, domain);
  const int64_t a = u->me.member[level];
  for (int b = (int)(a * m / n); (int64_t)b * n < (a + 1) * m; b++) {
    x->s.inner[level] = (tt_share){(int)a, n, b, m};
    trade_within(u, x, level + 1, first + b);
  }
}

/* Exchanges vectors lo..hi-1 with all partners in one member of the circle, which is `by` positions above this one. */
static void trade(uneven *u, deal x, int level, int by, int lo, int hi) {
  const path *me = &u->me;
  const int member = tt_mod(me->member[level] + by, me->of[level]);
  x.s = vectors(u, level, lo, hi);
  trade_within(u, &x, level + 1, tt_tree_first(u->tree, level, me->group[level]) + member);
}

/* Returns the buffer that contains vectors lo..hi-1. If they are spread over two buffers, first copies them into one. */
static tt_buf collect_in_one_buffer(uneven *u, int level, int lo, int hi) {
  if (u->touched >= hi) return TT_SRC;
  if (u->touched <= lo) return u->work;
  const tt_uneven_set s = vectors(u, level, lo, u->touched);
  tt_uneven_spans(&u->cut, &s, TT_SRC, &u->here);
  for (uint32_t i = 0; i < u->here.n; i++) {
    tt_span to = u->here.at[i];
    to.buf = u->work;
    tt_copy(u->b, to, u->here.at[i]);
  }
  u->touched = lo;
  return u->work;
}

/* Folds one level. On a circle of two, both members add the operands in the same order. */
static void reduce_scatter_level(uneven *u, int level, const int *live, int length) {
  const tt_side side = u->me.of[level] == 2 && u->me.member[level] ? TT_OWN_LAST : TT_OWN_FIRST;
  for (int i = 0; i + 1 < length; i++) {
    const int n = live[i], m = live[i + 1], d = n - m;
    const tt_buf from = collect_in_one_buffer(u, level, m, n),
                 own = collect_in_one_buffer(u, level, m - d, m);
    const bool ends = level == u->last && m == 1;
    trade(u, (deal){.what = SEND, .buf = from}, level, -d, m, n);
    trade(u, (deal){ADD, own, ends ? u->result : u->work, ends, side, {0}}, level, d, m - d, m);
    if (u->touched > m - d) u->touched = m - d;
  }
}

/* Gathers the vectors on one level. In an all-gather, the block of this rank is still in src at the start. */
static void allgather_level(uneven *u, int level, const int *live, int length) {
  for (int i = length - 2; i >= 0; i--) {
    const int n = live[i], m = live[i + 1], d = n - m;
    const bool own = u->coll == TUTTI_ALLGATHER && level == u->last && m == 1;
    trade(u, (deal){.what = SEND, .buf = own ? TT_SRC : TT_DST}, level, d, m - d, m);
    trade(u, (deal){.what = RECEIVE, .to = TT_DST}, level, -d, m, n);
  }
}

/* Folds all levels from the innermost to level `from`, and returns the buffer that then has this rank's part. */
static tt_buf go_down(uneven *u, const tt_fold_spec *how, int *live, int from) {
  bool summed = false;
  for (int level = u->tree->levels - 1; level >= from; level--) {
    const int n = u->me.of[level];
    u->touched = summed ? 0 : n;
    reduce_scatter_level(u, level, live,
                         tt_fold_spec_sequence(how, u->tree->levels, level, n, live));
    summed = summed || n > 1;
  }
  return summed ? u->work : TT_SRC;
}

static void go_up(uneven *u, const tt_fold_spec *how, int *live, int from) {
  for (int level = from; level < u->tree->levels; level++)
    allgather_level(u, level, live,
                    tt_fold_spec_sequence(how, u->tree->levels, level, u->me.of[level], live));
}

static uneven begin(tt_builder *b, const tt_inner *in, tutti_coll coll, int rank, tt_buf work) {
  uneven u = {.b = b, .coll = coll, .tree = in->tree, .cut = tt_uneven_cut_of(in, coll)};
  u.work = work;
  u.result = TT_DST;
  find_path(&u, rank);
  return u;
}

static void end(uneven *u, int *live) {
  if (!live || u->here.failed) u->b->status = TUTTI_ERR_MEMORY;
  free(u->here.at);
  free(live);
}

/* Allocates an array that is large enough for the numbers of live vectors on any level. Returns NULL if out of memory. */
static int *live_vectors(const tt_tree *t) {
  int most = 1;
  for (int level = 0; level < t->levels; level++)
    if (t->level[level].most > most) most = t->level[level].most;
  return malloc(((size_t)most + 1) * sizeof(int));
}

void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *t, const tt_fold_spec *how) {
  const tt_inner all = {.tree = t, .parts = 1};
  const tt_buf work = ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST;
  uneven u = begin(b, &all, ask->coll, ask->rank, work);
  const tt_span own = tt_block(TT_SRC, (uint32_t)ask->rank);
  int *live = live_vectors(t);
  if (live && u.coll == TUTTI_ALLGATHER) tt_copy(b, tt_block(TT_DST, own.first), own);
  if (live && u.coll != TUTTI_ALLGATHER) go_down(&u, how, live, 0);
  if (live && u.coll != TUTTI_REDUCE_SCATTER) go_up(&u, how, live, 0);
  end(&u, live);
}

/* ---- only the inner levels ---- */

tt_buf tt_inner_down(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how,
                     tt_buf work) {
  uneven u = begin(b, in, TUTTI_ALLREDUCE, rank, work);
  int *live = live_vectors(in->tree);
  u.result = work;
  const tt_buf at = live ? go_down(&u, how, live, in->from) : TT_SRC;
  end(&u, live);
  return at;
}

void tt_inner_up(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how) {
  uneven u = begin(b, in, TUTTI_ALLREDUCE, rank, TT_DST);
  int *live = live_vectors(in->tree);
  if (live) go_up(&u, how, live, in->from);
  end(&u, live);
}

void tt_inner_part(const tt_inner *in, int rank, int part, tt_buf buf, tt_span_list *list) {
  const uneven u = begin(NULL, in, TUTTI_ALLREDUCE, rank, buf);
  const int last = in->tree->levels - 1;
  tt_share own[TT_TREE_LEVELS];
  for (int l = in->from; l <= last; l++)
    own[l] = (tt_share){u.me.member[l], u.me.of[l], u.me.member[l], u.me.of[l]};
  own[last].b = part;
  own[last].m = in->parts;
  tt_uneven_shares(&u.cut, in->from, own, buf, list);
}
