/* fold_levels.c - a whole fold: every level of a group down, and all the way back.
 *
 * Idea       a level after the other by its own sequence of live vectors; the way
 *            back is the way down reversed, without sums.
 * Invariant  the first level starts from the input; behind it all is partial sums.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo_group.h"

/* The part of `how` that is for a level. */
static bool item_of(const tt_how *how, const tt_group *g, bool inner_first, int level, char *item,
                    size_t size) {
  const char *at = how->text;
  int place = inner_first ? g->levels - 1 - level : level, items = 1;
  for (const char *p = at; *p; p++) items += *p == '/';
  if (items != 1 && items != g->levels) return false;
  for (; items > 1 && place > 0; place--) at = strchr(at, '/') + 1;
  snprintf(item, size, "%.*s", (int)strcspn(at, "/"), at);
  return true;
}

/* How many vectors stay of n; 0: none that is legal. */
static int next_live(const char *item, int n) {
  if (strcmp(item, "ring") == 0) return n - 1;
  if (strcmp(item, "halving") == 0) return (n + 1) / 2;
  for (char *end; *item; item = *end == '.' ? end + 1 : end) {
    int here = (int)strtol(item, &end, 10);
    if (end == item) return 0;
    if (here == n && *end == '.') {
      int next = atoi(end + 1);
      return next > 0 && next < n && 2 * next >= n ? next : 0;
    }
  }
  return 0;
}

const char *tt_how_refuse(const tt_how *how, const tt_group *g, bool inner_first) {
  char item[TT_NAME];
  for (int level = 0; level < g->levels; level++) {
    if (!item_of(how, g, inner_first, level, item, sizeof item))
      return "seq must be one sequence, or one per level with slashes between";
    const bool numbers = *item >= '0' && *item <= '9';
    if (numbers && atoi(item) != g->size[level])
      return g->levels == 1
                 ? "seq must fall from P to 1, each number at least half of the one before"
                 : "a level's seq must fall from its size to 1";
    for (int n = g->size[level]; n > 1; n = next_live(item, n))
      if (next_live(item, n) < 1)
        return "seq must fall from P to 1, each number at least half of the one before";
  }
  return NULL;
}

int tt_how_sequence(const tt_how *how, const tt_group *g, bool inner_first, int level, int *live) {
  char item[TT_NAME];
  int length = 0;
  if (!item_of(how, g, inner_first, level, item, sizeof item)) return 0;
  for (int n = g->size[level]; n >= 1; n = n > 1 ? next_live(item, n) : 0) live[length++] = n;
  return length;
}

void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_how *how,
                   bool inner_first) {
  tt_fold f = {b, *g, ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST, g->size[0]};
  const int last = g->levels - 1;
  int *live = malloc((size_t)ask->ranks * sizeof *live);
  if (!live) b->status = TUTTI_ERR_MEMORY;
  for (int level = 0; live && ask->coll != TUTTI_ALL_GATHER && level <= last; level++) {
    int n = tt_how_sequence(how, g, inner_first, level, live);
    for (int i = 0; i + 1 < n; i++) {
      const bool ends = level == last && live[i + 1] == 1;
      tt_fold_down(&f, level, live[i], live[i + 1],
                   tt_group_vectors(g, ends ? TT_DST : f.work, level, 2 * live[i + 1] - live[i],
                                    live[i + 1]));
      if (ends) tt_mark_last(b);
    }
    f.touched = 0;
  }
  if (ask->coll == TUTTI_ALL_GATHER)
    tt_copy(b, tt_block(TT_DST, (uint32_t)ask->rank), tt_block(TT_SRC, (uint32_t)ask->rank));
  for (int level = last; live && ask->coll != TUTTI_REDUCE_SCATTER && level >= 0; level--) {
    int n = tt_how_sequence(how, g, inner_first, level, live);
    for (int i = n - 2; i >= 0; i--) {
      const bool mine = ask->coll == TUTTI_ALL_GATHER && level == last && live[i + 1] == 1;
      tt_fold_up(&f, level, live[i], live[i + 1], mine ? TT_SRC : TT_DST);
    }
  }
  free(live);
}
