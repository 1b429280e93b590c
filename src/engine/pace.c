/* pace.c - order of sends over a simulated network.
 *
 * Idea       Message k of slice s has the number s * D + k. Messages of a slice, and messages to the peers of a level, are
 *            sent one at a time, in the order of their numbers. If every rank has the same steps, a slice starts after the
 *            end of the slice that it replaces; otherwise after the whole previous slice.
 * Together   If the placement of ranks is unknown, the messages of a step are sent together, and steps one at a time: many
 *            messages spread over all links, and one does not (cost/contention.c).
 * Invariant  A message waits only for smaller numbers, on this rank and on all others. Some message can therefore always be
 *            sent, although each ends only when it is received.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

static bool sends(const tt_program *p, uint32_t k) {
  return p->sched->steps[p->transfers[k].step].kind == TT_SEND;
}

/* Returns a number by which sends are ordered. No two numbers are equal, because ties go to the earlier slice. */
static uint64_t send_priority(const tt_program *p, int slice, uint32_t k) {
  const uint64_t step = p->alike ? (p->ntransfers + TT_FLIGHT - 1) / TT_FLIGHT : p->ntransfers;
  return ((uint64_t)slice * step + k) << 20 | (uint64_t)slice;
}

/* Returns the first message, starting at index k, that goes to a peer at this level, or ntransfers if no message does. */
static uint32_t first_to(const tt_wire *wire, const tt_program *p, uint32_t k, uint8_t level) {
  while (k < p->ntransfers && (!sends(p, k) || wire->paced.level[p->transfers[k].peer] != level))
    k++;
  return k;
}

/* Returns true if the slice has no more messages to peers at this level, or only messages with numbers above `than`. */
static bool later(const tt_operation *o, int slice, uint32_t from, uint8_t level, uint64_t than) {
  const uint32_t k = first_to(o->wire, o->program, from, level);
  return k == o->program->ntransfers || send_priority(o->program, slice, k) > than;
}

void tt_pace_over(tt_run *r) {
  const tt_program *p = r->program;
  while (r->sent < p->ntransfers && (!sends(p, r->sent) || tt_moving_is_over(r, r->sent)))
    r->sent++;
}

/* Returns true if message k is the next message of the run, or is sent together with the next message. */
static bool is_next(const tt_run *r, uint32_t k) {
  const tt_transfer *all = r->program->transfers;
  return r->sent == k || (r->o->wire->paced.at_once && all[r->sent].step == all[k].step);
}

bool tt_pace_allows(const tt_run *r, uint32_t k) {
  const tt_operation *o = r->o;
  if (!is_next(r, k)) return false;
  const uint8_t level = o->wire->paced.level[r->program->transfers[k].peer];
  const uint64_t mine = send_priority(r->program, r->slice, k);
  int begun = r->slice;
  for (int i = 0; i < TT_FLIGHT; i++) {
    const tt_run *other = o->runs[i];
    if (!other || !other->active || other == r) continue;
    if (!later(o, other->slice, other->sent, level, mine)) return false;
    if (other->slice > begun) begun = other->slice;
  }
  for (int s = begun + 1; s < o->slices && send_priority(r->program, s, 0) < mine; s++)
    if (!later(o, s, 0, level, mine)) return false;
  return true;
}
