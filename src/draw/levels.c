/* levels.c - which messages of a picture cross which level of the machine, and how much they carry.
 *
 * Idea       the levels are named with the schedule, as in blueconnect(node:4 core:3), or asked for. A
 *            message crosses the outermost level at which its two ranks are in different domains.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "picture.h"

/* Copies the parameter of an algorithm's name that has a colon, such as "node:4 core:3"; else "". */
static void levels_in_name(const char *name, char *levels, size_t size) {
  const char *item = strchr(name, '(');
  *levels = 0;
  while (item && *item && *item != ')') {
    const size_t n = tt_text_until(++item, ",)");
    if (memchr(item, ':', n) && !memchr(item, '=', n) && n < size) {
      memcpy(levels, item, n);
      levels[n] = 0;
      return;
    }
    item += n;
  }
}

tutti_status tt_picture_levels(tt_picture *p, const char *topo) {
  char own[TT_TREE_TEXT];
  const bool asked = topo && *topo;
  if (!asked) levels_in_name(p->all[0]->name, own, sizeof own);
  if (!asked && !*own) return TUTTI_OK;
  const tutti_status status = tt_tree_parse(asked ? topo : own, &p->tree);
  const bool fits = !status && p->tree.ranks == p->ranks;
  if (!asked && !fits) return TUTTI_OK; /* a name of somebody's own */
  if (status) return status;
  if (!fits)
    return tt_fail(TUTTI_ERR_ARG, "the topology '%.80s' holds %d ranks, not %d", topo,
                   p->tree.ranks, p->ranks);
  p->levels = p->tree.levels;
  return TUTTI_OK;
}

int tt_picture_domain(const tt_picture *p, int level, int rank) {
  int domain = rank;
  for (int l = p->levels - 1; l > level; l--) { /* from a domain to the one that holds it */
    int holder = 0;
    while (tt_tree_first(&p->tree, l, holder) + tt_tree_count(&p->tree, l, holder) <= domain)
      holder++;
    domain = holder;
  }
  return domain;
}

int tt_picture_crosses(const tt_picture *p, const tt_message *m) {
  int level = 0;
  while (level < p->levels - 1 &&
         tt_picture_domain(p, level, m->sender) == tt_picture_domain(p, level, m->reader))
    level++;
  return level;
}

double tt_picture_carries(const tt_picture *p, const tt_message *m) {
  uint32_t lo, hi;
  tt_part_of(tt_graph_step(&p->graph, m->from), (int)m->entry_from, &lo, &hi);
  return (double)(hi - lo) / p->blocks;
}
