/* trace.c - records a rank's events on its tape.
 *
 * Idea       Consecutive steps of the same kind without a gap are recorded as one event. A wait is the time between a
 *            rank's steps if a poll in between found that a peer was not ready.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

enum { GAP = 250 }; /* in ticks, about a tenth of a microsecond; shorter gaps are not waits */

void tt_trace_add(tt_tape *tape, const tt_event *event) {
  const uint32_t n = atomic_load_explicit(&tape->n, memory_order_relaxed);
  if (n == tape->capacity) {
    tape->dropped++;
    return;
  }
  tape->events[n] = *event;
  /* model: publish:set */
  atomic_store_explicit(&tape->n, n + 1, memory_order_release);
}

static void add_wait(tt_trace *t, uint64_t until, uint64_t seq) {
  if (!t->waits || t->awaits < 0 || until <= t->last + GAP) return;
  const tt_event wait = {
      .begin = t->last, .end = until, .seq = seq, .peer = t->awaits, .kind = TT_EVENT_IDLE};
  tt_trace_add(&t->steps, &wait);
  t->last = until;
}

uint64_t tt_trace_cut(tt_trace *t) {
  const uint64_t now = tt_trace_now(t);
  add_wait(t, now, t->seq);
  return t->last = now;
}

/* Returns true if the event continues the last recorded one, so that both become one event. */
static bool goes_on(const tt_trace *t, const tt_event *e) {
  const uint32_t n = atomic_load_explicit(&t->steps.n, memory_order_relaxed);
  if (n == t->before || !n) return false;
  const tt_event *l = &t->steps.events[n - 1];
  return l->kind == e->kind && l->seq == e->seq && l->peer == e->peer && l->step == e->step &&
         l->end == t->last && e->begin <= l->end + GAP;
}

void tt_trace_step(tt_trace *t, tt_event_kind kind, uint64_t begin, uint64_t seq, int peer,
                   uint64_t bytes, uint32_t step) {
  const bool takes = kind == TT_EVENT_RECEIVE || kind == TT_EVENT_REDUCE;
  if (t->awaits >= 0 && takes && peer >= 0)
    t->awaits = peer; /* the peer whose bytes arrived was waited for */
  add_wait(t, begin, seq);
  t->awaits = -1;
  if (!bytes) return;
  const tt_event e = {.begin = begin,
                      .end = tt_trace_now(t),
                      .bytes = bytes,
                      .seq = seq,
                      .peer = peer,
                      .step = step,
                      .kind = (uint16_t)kind};
  if (goes_on(t, &e)) {
    tt_event *l = &t->steps.events[atomic_load_explicit(&t->steps.n, memory_order_relaxed) - 1];
    l->end = e.end;
    l->bytes += bytes;
  } else {
    tt_trace_add(&t->steps, &e);
  }
  t->last = e.end;
}

void tt_trace_enter(tt_trace *t, bool waits) {
  t->entered = t->last = tt_trace_now(t);
  t->inside = true;
  t->waits = waits;
  t->begun = false;
  t->awaits = -1;
  t->before = atomic_load_explicit(&t->steps.n, memory_order_relaxed);
}

void tt_trace_leave(tt_trace *t, tt_event_kind kind) {
  const uint64_t end = tt_trace_now(t);
  add_wait(t, end, t->seq);
  t->inside = t->waits = t->blocking = false;
  const bool idle = t->before == atomic_load_explicit(&t->steps.n, memory_order_relaxed);
  if (kind == TT_EVENT_TEST && idle) return;
  const tt_event e = {.begin = t->entered,
                      .end = end,
                      .seq = t->seq,
                      .peer = -1,
                      .kind = (uint16_t)kind,
                      .what = t->begun ? t->open[t->seq % TT_WINDOW].what : 0};
  tt_trace_add(&t->steps, &e);
}
