/* fold_levels.c - a whole fold: every level of a group, followed by the reverse phase.
 *
 * Idea       The levels are folded one after the other, each with its own sequence of live vectors. The reverse phase
 *            runs the same steps in the opposite order, without additions. On a ring, sums travel in the same direction
 *            as the operands did, so that a rank which is ahead stays ahead.
 * Invariant  The first level folded starts from the input. After it, all vectors are partial sums.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo_group.h"

static const int ring[] = {TT_SEQ_RING}, halving[] = {TT_SEQ_HALVING};
const tt_fold_spec tt_fold_ring = {ring, 1}, tt_fold_halving = {halving, 1};

tt_fold_spec tt_fold_spec_of(const tt_ask *ask) {
  const tt_arg *seq = tt_param_of(ask, "seq");
  if (seq) return (tt_fold_spec){seq->list, seq->n};
  return tt_param_given(ask, "ring") ? tt_fold_ring : tt_fold_halving;
}

/* Returns the sequence for one level. The sequence is empty if there are several but not one for each level. */
static tt_fold_spec item_of(const tt_fold_spec *how, int levels, int i) {
  int items = 1, at = 0, end = 0;
  for (int k = 0; k < how->n; k++) items += how->of[k] == TT_SEQ_NEXT;
  if (items != 1 && items != levels) return (tt_fold_spec){NULL, 0};
  for (; items > 1 && i > 0; at++) i -= how->of[at] == TT_SEQ_NEXT;
  for (end = at; end < how->n && how->of[end] != TT_SEQ_NEXT;) end++;
  return (tt_fold_spec){how->of + at, end - at};
}

/* Returns the number of live vectors that follows n in the sequence, or 0 if the sequence has no valid next number. */
static int next_live(const tt_fold_spec *item, int n) {
  if (item->n == 1 && *item->of == TT_SEQ_RING) return n - 1;
  if (item->n == 1 && *item->of == TT_SEQ_HALVING) return (n + 1) / 2;
  for (int i = 0; i + 1 < item->n; i++) {
    const int next = item->of[i + 1];
    if (item->of[i] == n) return next > 0 && next < n && 2 * next >= n ? next : 0;
  }
  return 0;
}

const char *tt_fold_spec_refuse(const tt_fold_spec *how, int levels, int i, int size) {
  const tt_fold_spec item = item_of(how, levels, i);
  if (!item.n) return "seq must be one sequence, or one per level with slashes between";
  bool legal = *item.of < 0 || *item.of == size;
  for (int n = size; legal && n > 1; n = next_live(&item, n)) legal = next_live(&item, n) > 0;
  if (legal) return NULL;
  return levels == 1 ? "seq must fall from P to 1, each number at least half of the one before"
                     : "a level's seq must fall from its size to 1, each number at least half of "
                       "the one before";
}

int tt_fold_spec_sequence(const tt_fold_spec *how, int levels, int i, int size, int *live) {
  const tt_fold_spec item = item_of(how, levels, i);
  int length = 0;
  for (int n = item.n ? size : 0; n >= 1; n = n > 1 ? next_live(&item, n) : 0) live[length++] = n;
  return length;
}

/* Returns the number of a level, counted from the outermost level. */
static int from_outside(const tt_group *g, int level) {
  return g->inner ? g->levels - 1 - level : level;
}

const char *tt_fold_spec_refuse_all(const tt_fold_spec *how, const tt_group *g) {
  const char *wrong = NULL;
  for (int level = 0; level < g->levels && !wrong; level++)
    wrong = tt_fold_spec_refuse(how, g->levels, from_outside(g, level), g->size[level]);
  return wrong;
}

/* Folds a level. If `ends` is set, this is the last level, and the complete sum is stored in `to`. */
static void fold_level(tt_fold *f, int level, const tt_fold_spec *how, int *live, bool ends,
                       tt_buf to) {
  const tt_group *g = &f->g;
  const int n = tt_fold_spec_sequence(how, g->levels, from_outside(g, level), g->size[level], live);
  for (int i = 0; i + 1 < n; i++) {
    const bool last = ends && live[i + 1] == 1;
    tt_fold_down(
        f, level, live[i], live[i + 1],
        tt_group_vectors(g, last ? to : f->work, level, 2 * live[i + 1] - live[i], live[i + 1]));
    if (last) tt_mark_completes(f->b);
  }
  f->touched = 0;
}

/* Sends this rank's sum down the circle, followed by each sum that it receives from above. */
static void walk_on(tt_fold *f, int level, bool from_src) {
  const tt_group *g = &f->g;
  const int n = g->size[level];
  for (int k = n; k > 1; k--) {
    const tt_buf from = from_src && k == n ? TT_SRC : TT_DST;
    tt_send(f->b, tt_group_peer(g, level, -1), tt_group_vectors(g, from, level, k % n, k % n + 1));
    tt_recv(f->b, tt_group_peer(g, level, 1), tt_group_vectors(g, TT_DST, level, k - 1, k));
  }
}

static void unfold_level(tt_fold *f, int level, const tt_fold_spec *how, int *live, bool from_src) {
  const tt_group *g = &f->g;
  const tt_fold_spec item = item_of(how, g->levels, from_outside(g, level));
  if (item.n && *item.of == TT_SEQ_RING) {
    walk_on(f, level, from_src);
    return;
  }
  const int n = tt_fold_spec_sequence(how, g->levels, from_outside(g, level), g->size[level], live);
  for (int i = n - 2; i >= 0; i--)
    tt_fold_up(f, level, live[i], live[i + 1], from_src && live[i + 1] == 1 ? TT_SRC : TT_DST);
}

void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_fold_spec *how) {
  tt_fold f = {b, *g, ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST, g->size[0]};
  const int last = g->levels - 1;
  const bool gathers = ask->coll == TUTTI_ALLGATHER;
  int *live = malloc((size_t)ask->ranks * sizeof *live);
  if (!live) b->status = TUTTI_ERR_MEMORY;
  for (int level = 0; live && !gathers && level <= last; level++)
    fold_level(&f, level, how, live, level == last, TT_DST);
  if (gathers)
    tt_copy(b, tt_block(TT_DST, (uint32_t)ask->rank), tt_block(TT_SRC, (uint32_t)ask->rank));
  for (int level = last; live && ask->coll != TUTTI_REDUCE_SCATTER && level >= 0; level--)
    unfold_level(&f, level, how, live, gathers && level == last);
  free(live);
}

tt_buf tt_fold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how) {
  tt_fold f = {b, *g, TT_TMP, g->size[0]};
  int *live = malloc((size_t)g->ranks * sizeof *live);
  if (!live) b->status = TUTTI_ERR_MEMORY;
  for (int level = 0; live && level < levels; level++)
    fold_level(&f, level, how, live, level == g->levels - 1, TT_TMP);
  free(live);
  return levels ? TT_TMP : TT_SRC;
}

void tt_unfold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how) {
  tt_fold f = {b, *g, TT_DST, 0};
  int *live = malloc((size_t)g->ranks * sizeof *live);
  if (!live) b->status = TUTTI_ERR_MEMORY;
  for (int level = levels - 1; live && level >= 0; level--)
    unfold_level(&f, level, how, live, false);
  free(live);
}
