/* group.c - ranks as an abelian group, and one step of a fold on it.
 *
 * Idea       A group only defines the rank at a given distance on a circle, and the positions of blocks. Algorithms on a
 *            group need nothing else.
 * Invariant  A set of vectors is a single span. If the group is nested, the span is a run of blocks with at most one
 *            wrap; otherwise it is a run of digits, repeated for the inner levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo_group.h"

tt_group tt_group_cyclic(const tt_ask *ask, int stride) {
  tt_group g = {.ranks = ask->ranks, .rank = ask->rank, .levels = 1, .nested = true};
  g.size[0] = ask->ranks;
  g.apart[0] = stride;
  g.width[0] = 1;
  while ((int64_t)g.digit[0] * stride % ask->ranks != ask->rank) g.digit[0]++;
  return g;
}

tt_group tt_group_product(const tt_ask *ask, const int *sizes, int n, bool inner_first) {
  tt_group g = {.ranks = ask->ranks, .rank = ask->rank, .levels = n, .inner = inner_first};
  int apart = 1;
  for (int i = n - 1; i >= 0; i--) {
    int level = inner_first ? n - 1 - i : i;
    g.size[level] = sizes[i];
    g.apart[level] = apart;
    g.digit[level] = ask->rank / apart % sizes[i];
    apart *= sizes[i];
  }
  g.nested = !inner_first || !tt_coll_owned(ask->coll); /* if not nested, rank r must own block r */
  uint32_t width = 1;
  for (int level = n - 1; level >= 0; level--) {
    g.width[level] = g.nested ? width : (uint32_t)g.apart[level];
    width *= (uint32_t)g.size[level];
  }
  return g;
}

tt_group tt_group_of(const tt_ask *ask, int stride) {
  int sizes[TT_LEVELS];
  const int n = tt_group_sizes(ask, sizes);
  return n ? tt_group_product(ask, sizes, n, tt_param_given(ask, "inner"))
           : tt_group_cyclic(ask, stride);
}

const char *tt_group_refuse(const tt_ask *ask) {
  int sizes[TT_LEVELS];
  const tt_arg *x = tt_param_of(ask, "group");
  return x && !tt_group_sizes(ask, sizes) ? x->of->wrong : NULL;
}

int tt_group_sizes(const tt_ask *ask, int sizes[TT_LEVELS]) {
  const tt_arg *x = tt_param_of(ask, "group");
  int n = 0;
  int64_t product = 1;
  for (int i = 0; x && i < x->n; i++) {
    const int size = x->list[i];
    if (size < 1 || size > ask->ranks || product * size > ask->ranks) return 0;
    product *= size;
    if (size > 1) sizes[n++] = size; /* TT_LEVELS is enough for 2^20 ranks */
  }
  if (x && ask->ranks == 1) sizes[n++] = 1;
  return product == ask->ranks ? n : 0;
}

int tt_group_of_levels(int ranks, const char *levels, int sizes[TT_LEVELS]) {
  tt_tree tree;
  int n = 0;
  if (!*levels || tt_tree_parse(levels, &tree) || !tree.even || tree.ranks != ranks) return 0;
  for (int l = 0; l < tree.levels; l++)
    if (tree.level[l].each > 1) sizes[n++] = tree.level[l].each;
  return n > 1 ? n : 0;
}

void tt_group_print(tt_text *params, const int *sizes, int n) {
  for (int i = 0; i < n; i++) tt_text_add(params, "%s%d", i ? "x" : "group=", sizes[i]);
}

bool tt_group_fits(const tt_group *g, const tt_tree *tree) {
  int64_t domain = 1, circles = 1;
  if (!tree) return true;
  for (int l = tree->levels - 1, i = 0; l > 0; l--) {
    if (!tree->even) return false;
    domain *= tree->level[l].each;
    for (; circles < domain && i < g->levels; i++)
      circles *= g->size[g->inner ? i : g->levels - 1 - i];
    if (circles != domain) return false;
  }
  return true;
}

/* Finds the *left-th factorization of `ranks` whose first n factors are those in `sizes`. Returns its number of
 * factors. If there are too few factorizations, subtracts their number from *left and returns 0. */
static int nth_factorization(int ranks, int n, int *left, int sizes[TT_LEVELS]) {
  if (ranks == 1) return n >= 2 && (*left)-- == 0 ? n : 0;
  for (int factor = 2; factor <= ranks && n < TT_LEVELS; factor++) {
    if (ranks % factor) continue;
    sizes[n] = factor;
    const int all = nth_factorization(ranks / factor, n + 1, left, sizes);
    if (all) return all;
  }
  return 0;
}

int tt_group_split(int ranks, int i, int sizes[TT_LEVELS]) {
  return ranks > 1 ? nth_factorization(ranks, 0, &i, sizes) : 0;
}

int tt_group_peer(const tt_group *g, int level, int by) {
  int digit = tt_mod(g->digit[level] + by, g->size[level]);
  return tt_mod(g->rank + (int64_t)(digit - g->digit[level]) * g->apart[level], g->ranks);
}

/* Returns the blocks of `count` consecutive members of a circle of n members. Member a has blocks g->runs * a/n up to
 * g->runs * (a+1)/n. */
static tt_span vectors_of_members(const tt_group *g, tt_buf buf, int n, int first, int count) {
  const int64_t all = g->runs, end = first + count;
  const int64_t lo = all * first / n, hi = end > n ? all + all * (end - n) / n : all * end / n;
  return tt_range(buf, (uint32_t)lo, (uint32_t)(hi - lo), g->runs);
}

tt_span tt_group_vectors(const tt_group *g, tt_buf buf, int level, int lo, int hi) {
  const int n = g->size[level];
  if (hi - lo > n) hi = lo + n;
  if (g->runs) return vectors_of_members(g, buf, n, tt_mod(g->digit[level] - hi + 1, n), hi - lo);
  uint32_t base = g->base, behind = 1, width = g->width[level];
  uint32_t first = (uint32_t)tt_mod(g->digit[level] - hi + 1, n), count = (uint32_t)(hi - lo);
  for (int i = 0; i < level; i++) base += (uint32_t)g->digit[i] * g->width[i];
  for (int i = level + 1; i < g->levels; i++) behind *= (uint32_t)g->size[i];
  if (g->nested)
    return (tt_span){buf, base, first * width, count * width, (uint32_t)n * width, 1, 1};
  return (tt_span){buf, base, first, count, (uint32_t)n, width, behind};
}

tt_side tt_group_side(const tt_group *g, int level) {
  return g->levels > 1 && g->size[level] == 2 && g->digit[level] ? TT_OWN_LAST : TT_OWN_FIRST;
}

tt_buf tt_fold_gather(tt_fold *f, int level, int lo, int hi) {
  if (f->touched >= hi) return TT_SRC;
  if (f->touched > lo) {
    tt_copy(f->b, tt_group_vectors(&f->g, f->work, level, lo, f->touched),
            tt_group_vectors(&f->g, TT_SRC, level, lo, f->touched));
    f->touched = lo;
  }
  return f->work;
}

void tt_fold_down(tt_fold *f, int level, int n, int m, tt_span to) {
  const int d = n - m;
  tt_buf from = tt_fold_gather(f, level, m, n), own = tt_fold_gather(f, level, m - d, m);
  tt_send(f->b, tt_group_peer(&f->g, level, -d), tt_group_vectors(&f->g, from, level, m, n));
  tt_recv_reduce(f->b, tt_group_peer(&f->g, level, d), to,
                 tt_group_vectors(&f->g, own, level, m - d, m), tt_group_side(&f->g, level));
  f->touched = (int)tt_min((size_t)f->touched, (size_t)(m - d));
}

void tt_fold_up(tt_fold *f, int level, int n, int m, tt_buf from) {
  const int d = n - m;
  tt_send(f->b, tt_group_peer(&f->g, level, d), tt_group_vectors(&f->g, from, level, m - d, m));
  tt_recv(f->b, tt_group_peer(&f->g, level, -d), tt_group_vectors(&f->g, TT_DST, level, m, n));
}
