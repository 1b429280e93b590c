/* slices.c - the same play, cut in slices.
 *
 * Idea       a slice is a copy of all steps and messages, with its share of the bytes;
 *            its first steps wait for the last ones of the slice whose place it takes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "play.h"

/* A step of its player that waits for no other, or that no other waits for. */
static bool is_edge(const tt_play *w, uint32_t step, bool first) {
  return first ? w->job[step].alone : w->then_at[step] == w->then_at[step + 1];
}

static uint32_t count_edges(const tt_play *w, uint32_t player, bool first) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->steps; i++) n += w->job[i].player == player && is_edge(w, i, first);
  return n;
}

/* What waits for a step: its own, and if it is a last one the first ones of a later slice. */
static uint32_t list_then(const tt_play *w, tt_play *p, int slice, int flight, int slices,
                          const uint32_t *firsts, uint32_t n) {
  const uint32_t base = (uint32_t)slice * w->steps, later = base + (uint32_t)flight * w->steps;
  for (uint32_t i = 0; i < w->steps; i++) {
    p->then_at[base + i] = n;
    for (uint32_t k = w->then_at[i]; k < w->then_at[i + 1]; k++) p->then[n++] = base + w->then[k];
    if (slice + flight >= slices || !is_edge(w, i, false)) continue;
    for (uint32_t k = 0; firsts[k] != UINT32_MAX; k++) {
      if (w->job[firsts[k]].player != w->job[i].player) continue;
      p->then[n++] = later + firsts[k];
      p->job[later + firsts[k]].needs++;
    }
  }
  return n;
}

static void copy_parts(const tt_play *w, tt_play *p, int slice, int slices) {
  const uint32_t base = (uint32_t)slice * w->steps, first = (uint32_t)slice * w->deals;
  for (uint32_t i = 0; i < w->steps; i++) {
    tt_job *job = &p->job[base + i];
    *job = w->job[i];
    job->turn += base;
    job->copying /= slices;
    job->reducing /= slices;
    p->deal_at[base + i] = first + w->deal_at[i];
  }
  for (uint32_t i = 0; i < w->deals; i++) {
    tt_deal *d = &p->deal[first + i];
    *d = w->deal[i];
    d->from += base;
    d->to += base;
    d->share /= slices;
    d->slope /= slices;
  }
}

tt_play *tt_play_slices(const tt_play *w, int slices, int flight) {
  tt_play *p = calloc(1, sizeof *p);
  const uint32_t k = (uint32_t)slices;
  uint32_t *firsts = malloc(((size_t)w->steps + 1) * sizeof *firsts), nfirsts = 0, extra = 0;
  if (!p || !firsts) {
    free(p);
    free(firsts);
    return NULL;
  }
  for (uint32_t i = 0; i < w->steps; i++)
    if (is_edge(w, i, true)) firsts[nfirsts++] = i;
  firsts[nfirsts] = UINT32_MAX;
  for (uint32_t r = 0; r < (uint32_t)w->players; r++)
    extra += count_edges(w, r, true) * count_edges(w, r, false);
  p->profile = w->profile;
  p->players = w->players;
  p->link_slope = w->link_slope;
  p->senders = w->senders;
  p->link_level = w->link_level;
  memcpy(p->saved, w->saved, sizeof p->saved);
  p->slices = k;
  p->steps = k * w->steps;
  p->deals = k * w->deals;
  p->job = malloc(((size_t)p->steps + 1) * sizeof *p->job);
  p->then_at = malloc(((size_t)p->steps + 2) * sizeof *p->then_at);
  p->then = malloc(((size_t)k * (w->then_at[w->steps] + extra) + 1) * sizeof *p->then);
  p->deal_at = malloc(((size_t)p->steps + 1) * sizeof *p->deal_at);
  p->deal = malloc(((size_t)p->deals + 1) * sizeof *p->deal);
  if (!p->job || !p->then_at || !p->then || !p->deal_at || !p->deal || !tt_play_room(p)) {
    free(firsts);
    tt_play_free(p);
    return NULL;
  }
  for (int s = 0; s < slices; s++) copy_parts(w, p, s, slices);
  p->deal_at[p->steps] = p->deals;
  uint32_t n = 0;
  for (int s = 0; s < slices; s++) n = list_then(w, p, s, flight, slices, firsts, n);
  p->then_at[p->steps] = n;
  free(firsts);
  return p;
}
