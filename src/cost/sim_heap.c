/* sim_heap.c - the events of a simulation that are ready. The earliest is first; at equal times steps precede
 * departures, and departures precede arrivals; then the schedule of the port's rank decides.
 *
 * Idea       A binary heap in memory that is allocated once, because each step and message has at most one event in it.
 * Cost       O(log n). SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "sim_run.h"

__extension__ typedef unsigned __int128 place;

/* Builds a key that compares without branches. The bit patterns of non-negative times have the same order as the times. */
static place event_order_key(const tt_sim_event *e) {
  uint64_t at;
  memcpy(&at, &e->at, sizeof at);
  return (place)at << 64 | e->order;
}

static bool before(const tt_sim_event *a, const tt_sim_event *b) {
  return event_order_key(a) < event_order_key(b);
}

void tt_heap_push(tt_running *s, double at, uint32_t event) {
  const tt_sim *sim = s->sim;
  uint32_t i = s->waiting++, d = event;
  if (event >= sim->steps) d = (event - sim->steps) % sim->messages;
  const bool message = event >= sim->steps, arrives = event >= sim->steps + sim->messages;
  const uint32_t step = !message ? event : arrives ? sim->message[d].to : sim->message[d].from;
  const uint64_t kind = (uint64_t)message + arrives, turn = sim->task[step].turn;
  const tt_sim_event e = {at, kind << 62 | turn << 32 | event};
  for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
    s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = e;
}

tt_sim_event tt_heap_pop(tt_running *s) {
  const tt_sim_event top = s->heap[0], e = s->heap[--s->waiting];
  uint32_t i = 0;
  for (uint32_t k = 1; k < s->waiting; k = 2 * i + 1) {
    k += k + 1 < s->waiting && before(&s->heap[k + 1], &s->heap[k]);
    if (before(&e, &s->heap[k])) break;
    s->heap[i] = s->heap[k];
    i = k;
  }
  s->heap[i] = e;
  return top;
}
