/* slices.c - cuts a simulation into slices.
 *
 * Idea       A slice is a copy of all steps and messages, with its share of the bytes (partition.h). Its first steps
 *            wait for the last steps of the slice that it replaces in flight.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "partition.h"
#include "sim.h"

enum { MOST_EVENTS = 1 << 23 }; /* total over all slices: steps, messages and dependencies */

/* If `first`, returns true if the step waits for no other step. Otherwise, returns true if no other step waits for it. */
static bool is_edge(const tt_sim *w, uint32_t step, bool first) {
  return first ? w->task[step].alone : w->then_at[step] == w->then_at[step + 1];
}

/* Lists the steps that wait for each step of a slice. The rank's first steps in a later slice wait for its last steps
 * here. */
static uint32_t list_then(const tt_sim *w, tt_sim *p, int slice, int flight, int slices,
                          const uint32_t *firsts, uint32_t n) {
  const uint32_t base = (uint32_t)slice * w->steps, later = base + (uint32_t)flight * w->steps;
  for (uint32_t i = 0; i < w->steps; i++) {
    p->then_at[base + i] = n;
    for (uint32_t k = w->then_at[i]; k < w->then_at[i + 1]; k++) p->then[n++] = base + w->then[k];
    if (slice + flight >= slices || !is_edge(w, i, false)) continue;
    for (uint32_t k = 0; firsts[k] != UINT32_MAX; k++) {
      if (w->task[firsts[k]].sim_rank != w->task[i].sim_rank) continue;
      p->then[n++] = later + firsts[k];
      p->task[later + firsts[k]].needs++;
    }
  }
  return n;
}

/* Returns the fraction of the vector that a slice contains. */
static double share_of(uint32_t slice, uint32_t slices) {
  return (double)(tt_slice_quarters(slices, slice + 1) - tt_slice_quarters(slices, slice)) /
         tt_slice_quarters(slices, slices);
}

static void copy_parts(const tt_sim *w, tt_sim *p, int slice, int slices) {
  const uint32_t base = (uint32_t)slice * w->steps, first = (uint32_t)slice * w->messages;
  const double share = share_of((uint32_t)slice, (uint32_t)slices);
  for (uint32_t i = 0; i < w->steps; i++) {
    tt_sim_task *task = &p->task[base + i];
    *task = w->task[i];
    task->turn += base;
    task->copying *= share;
    task->reducing *= share;
    p->message_at[base + i] = first + w->message_at[i];
  }
  for (uint32_t i = 0; i < w->messages; i++) {
    tt_sim_message *d = &p->message[first + i];
    *d = w->message[i];
    d->from += base;
    d->to += base;
    d->share *= share;
    d->slope *= share;
    d->late *= share;
    if (!w->ends) continue;
    tt_sim_ends *e = &p->ends[first + i];
    *e = w->ends[i];
    e->out_slope *= share;
    e->in_slope *= share;
  }
}

/* Counts the dependencies between two slices. Each is a first step of a rank that waits for a last step of the same rank in
 * an earlier slice. The steps of a rank are contiguous. */
static uint64_t count_handovers(const tt_sim *w) {
  uint64_t n = 0, firsts = 0, lasts = 0;
  for (uint32_t i = 0; i < w->steps; i++) {
    if (i && w->task[i].sim_rank != w->task[i - 1].sim_rank)
      n += firsts * lasts, firsts = lasts = 0;
    firsts += is_edge(w, i, true);
    lasts += is_edge(w, i, false);
  }
  return n + firsts * lasts;
}

bool tt_sim_can_slice(const tt_sim *w, int slices) {
  const uint64_t each = (uint64_t)w->steps + w->messages + w->then_at[w->steps];
  return (uint64_t)slices * (each + count_handovers(w)) <= MOST_EVENTS;
}

tt_sim *tt_sim_slices(const tt_sim *w, int slices, int flight) {
  tt_sim *p = calloc(1, sizeof *p);
  const uint32_t k = (uint32_t)slices;
  uint32_t *firsts = malloc(((size_t)w->steps + 1) * sizeof *firsts), nfirsts = 0;
  if (!p || !firsts) {
    free(p);
    free(firsts);
    return NULL;
  }
  for (uint32_t i = 0; i < w->steps; i++)
    if (is_edge(w, i, true)) firsts[nfirsts++] = i;
  firsts[nfirsts] = UINT32_MAX;
  *p = *w; /* except for the fields set below */
  p->timing = NULL;
  p->event = NULL;
  p->slices = k;
  p->steps = k * w->steps;
  p->messages = k * w->messages;
  p->task = malloc(((size_t)p->steps + 1) * sizeof *p->task);
  p->then_at = malloc(((size_t)p->steps + 2) * sizeof *p->then_at);
  p->then = malloc((k * (w->then_at[w->steps] + count_handovers(w)) + 1) * sizeof *p->then);
  p->message_at = malloc(((size_t)p->steps + 1) * sizeof *p->message_at);
  p->message = malloc(((size_t)p->messages + 1) * sizeof *p->message);
  if (w->ends) p->ends = malloc(((size_t)p->messages + 1) * sizeof *p->ends);
  if ((w->ends && !p->ends) || !p->task || !p->then_at || !p->then || !p->message_at ||
      !p->message || !tt_sim_reserve(p)) {
    free(firsts);
    tt_sim_free(p);
    return NULL;
  }
  for (int s = 0; s < slices; s++) copy_parts(w, p, s, slices);
  p->message_at[p->steps] = p->messages;
  uint32_t n = 0;
  for (int s = 0; s < slices; s++) n = list_then(w, p, s, flight, slices, firsts, n);
  p->then_at[p->steps] = n;
  free(firsts);
  return p;
}
