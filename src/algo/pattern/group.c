/* group.c - ranks as an abelian group, and one step of a fold on it.
 *
 * Idea       a group only says which rank is how far up which circle, and which blocks are
 *            where; algorithms on it need to know nothing more.
 * Invariant  a set of vectors is one span: if nested, a run of blocks with at most one wrap;
 *            else a run of digits, repeated for the inner levels.
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
  g.nested = !inner_first || !tt_coll_owned(ask->coll); /* else rank r must own block r */
  uint32_t width = 1;
  for (int level = n - 1; level >= 0; level--) {
    g.width[level] = g.nested ? width : (uint32_t)g.apart[level];
    width *= (uint32_t)g.size[level];
  }
  return g;
}

tt_group tt_group_of(const tt_ask *ask, int stride) {
  char value[TT_NAME];
  int sizes[TT_LEVELS];
  if (!tt_param_value(ask, "group", value, sizeof value)) return tt_group_cyclic(ask, stride);
  const int n = tt_group_sizes(value, ask->ranks, sizes);
  return tt_group_product(ask, sizes, n, tt_param_word(ask, "inner"));
}

const char *tt_group_refuse(const tt_ask *ask) {
  char value[TT_NAME];
  int sizes[TT_LEVELS];
  return tt_param_value(ask, "group", value, sizeof value) &&
                 !tt_group_sizes(value, ask->ranks, sizes)
             ? "group must be sizes as 3x2x2 whose product is P"
             : NULL;
}

int tt_group_sizes(const char *text, int ranks, int sizes[TT_LEVELS]) {
  int n = 0;
  int64_t product = 1;
  for (char *end; *text; text = *end == 'x' ? end + 1 : end) {
    long size = strtol(text, &end, 10);
    if (end == text || size < 1 || size > ranks || (*end && (*end != 'x' || !end[1]))) return 0;
    product *= size;
    if (product > ranks || (size > 1 && n == TT_LEVELS)) return 0;
    if (size > 1) sizes[n++] = (int)size;
  }
  if (ranks == 1) sizes[n++] = 1;
  return product == ranks ? n : 0;
}

bool tt_group_of_levels(int ranks, const char *levels, char *text, size_t size) {
  tt_tree tree;
  size_t at = 0;
  *text = 0;
  if (!*levels || tt_tree_parse(levels, &tree) || !tree.even || tree.ranks != ranks) return false;
  for (int l = 0; l < tree.levels && at < size; l++)
    if (tree.level[l].each > 1)
      at += (size_t)snprintf(text + at, size - at, "%s%d", at ? "x" : "", tree.level[l].each);
  return at < size && strchr(text, 'x');
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

/* Counts down *left splits of `ranks` into at least `least` factors; true when it reaches the
 * wanted one. */
static bool nth_factorization(int ranks, int least, int *left, char *text, size_t size) {
  if (ranks == 1) return least <= 0 && (*left)-- == 0;
  for (int factor = 2; factor <= ranks; factor++) {
    if (ranks % factor) continue;
    int n = snprintf(text, size, "%d%s", factor, factor < ranks ? "x" : "");
    if ((size_t)n >= size) return false;
    if (nth_factorization(ranks / factor, least - 1, left, text + n, size - (size_t)n)) return true;
  }
  return false;
}

bool tt_group_split(int ranks, int i, char *text, size_t size) {
  return ranks > 1 && nth_factorization(ranks, 2, &i, text, size);
}

int tt_group_peer(const tt_group *g, int level, int by) {
  int digit = tt_mod(g->digit[level] + by, g->size[level]);
  return tt_mod(g->rank + (int64_t)(digit - g->digit[level]) * g->apart[level], g->ranks);
}

/* The blocks of `count` members of a circle of n, which divides g->runs. */
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
