/* conflict.c - accesses to a block that conflict must be ordered, on every rank.
 *
 * Idea       derive, from the steps alone, which step must wait for which; each
 *            such pair must be ordered by the schedule: by the rank's own `after`
 *            lists, or, failing that, by a chain of events across ranks (what a
 *            send's readers have consumed, and what was sent after).
 * Invariant  derived pairs generate all conflicts, so ordering them orders all.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "prove.h"

/* Events: a step's start, and its end (a receive's end is when data moved). */
static uint32_t start_of(uint32_t id) {
  return 2 * id;
}
static uint32_t end_of(uint32_t id) {
  return 2 * id + 1;
}

typedef struct search {
  const tt_graph *g;
  unsigned char *seen;
  uint32_t *queue;
} search;

static void reach(search *s, uint32_t event, uint32_t *tail) {
  if (s->seen[event]) return;
  s->seen[event] = 1;
  s->queue[(*tail)++] = event;
}

/* Mark every event that happens after `from`. */
static void flood(search *s, uint32_t from) {
  const tt_graph *g = s->g;
  uint32_t head = 0, tail = 0;
  memset(s->seen, 0, 2 * (size_t)g->nsteps);
  reach(s, from, &tail);
  while (head < tail) {
    uint32_t event = s->queue[head++], id = event / 2;
    if (event == start_of(id)) {
      reach(s, end_of(id), &tail);
      for (uint32_t k = g->out_at[id]; k < g->out_at[id + 1]; k++)
        reach(s, end_of(g->messages[k].to), &tail);
      continue;
    }
    for (uint32_t k = g->deps_at[id]; k < g->deps_at[id + 1]; k++)
      reach(s, start_of(g->deps[k]), &tail);
    for (uint32_t k = g->in_at[id]; k < g->in_at[id + 1]; k++) {
      const tt_message *m = &g->messages[g->in[k]];
      reach(s, end_of(m->from), &tail);
      if (m->next != UINT32_MAX) reach(s, end_of(g->messages[m->next].to), &tail);
    }
  }
}

/* The accesses of y begin after its start, and after its senders' starts. */
static bool begins_after(const search *s, uint32_t y) {
  if (s->seen[start_of(y)]) return true;
  for (uint32_t k = s->g->in_at[y]; k < s->g->in_at[y + 1]; k++)
    if (s->seen[start_of(s->g->messages[s->g->in[k]].from)]) return true;
  return false;
}

static bool ordered_across(tt_graph *g, uint32_t x, uint32_t y) {
  search s = {g, malloc(2 * (size_t)g->nsteps + 1), malloc((2 * (size_t)g->nsteps + 1) * 4)};
  bool ok = s.seen && s.queue;
  if (!ok) g->failed = true;
  if (ok) flood(&s, end_of(x));
  if (ok && !begins_after(&s, y)) {
    ok = g->out_at[x + 1] > g->out_at[x]; /* a send is over when its readers are */
    for (uint32_t k = g->out_at[x]; ok && k < g->out_at[x + 1]; k++) {
      flood(&s, end_of(g->messages[k].to));
      ok = begins_after(&s, y);
    }
  }
  free(s.seen);
  free(s.queue);
  return ok;
}

/* Per step, the set of steps that end before it starts, by `after` alone. */
static uint64_t *ancestors(const tt_sched *s, size_t words) {
  uint64_t *sets = calloc(s->nsteps * words + 1, sizeof *sets);
  for (uint32_t i = 0; sets && i < s->nsteps; i++)
    for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++) {
      uint32_t before = s->after[k];
      for (size_t w = 0; w < words; w++) sets[i * words + w] |= sets[before * words + w];
      sets[i * words + before / 64] |= 1ull << (before % 64);
    }
  return sets;
}

static bool rank_ordered(tt_graph *g, int rank) {
  const tt_sched *s = g->all[rank];
  tt_sched derived = *s; /* same steps; the order they need */
  derived.after_at = NULL;
  derived.after = NULL;
  size_t words = s->nsteps / 64 + 1;
  uint64_t *sets = ancestors(s, words);
  if (!sets || tt_derive_order(&derived)) g->failed = true;
  for (uint32_t i = 0; !g->failed && !g->refused && i < s->nsteps; i++)
    for (uint32_t k = derived.after_at[i]; k < derived.after_at[i + 1]; k++) {
      uint32_t before = derived.after[k];
      if (sets[i * words + before / 64] >> (before % 64) & 1) continue;
      if (!ordered_across(g, g->base[rank] + before, g->base[rank] + i) && !g->failed)
        tt_graph_refuse(g, g->base[rank] + i,
                        "it must wait for step %u, whose blocks may still be in use", before);
      if (g->failed || g->refused) break;
    }
  free(sets);
  free(derived.after_at);
  free(derived.after);
  return !g->failed && !g->refused;
}

bool tt_conflicts_ordered(tt_graph *g) {
  for (int rank = 0; rank < g->ranks; rank++)
    if (!rank_ordered(g, rank)) return false;
  return true;
}
