/* sim_receive.c - messages that wait for receives (`rendezvous` of the profile).
 *
 * Idea       A reader has one receive for each of its peers. So a message begins when its reader has the last one of the same
 *            rank. A paced rank (engine/pace.c) sends the messages of a slice in their order, and each when the one before is
 *            there. Messages that come to a paced rank together share its port, as flows of a network do: two of the same
 *            length both take twice as long.
 * Cost       O(n) for an event at a port that n messages share; n log n for n messages once, to number the pairs of ranks.
 * Invariant  A message that shares a port has one event, at the time at which it has come if no other joins. Others only
 *            delay it, and then it looks again.
 * Source     SimGrid's flows, which sim/topologies.py simulates; src/engine/run.c, which receives so.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim_run.h"

/* ---- pairs of ranks ---- */

static int by_ranks(const void *a, const void *b) {
  const tt_sim_message *x = *(tt_sim_message *const *)a, *y = *(tt_sim_message *const *)b;
  if (x->sender != y->sender) return x->sender < y->sender ? -1 : 1;
  return x->reader < y->reader ? -1 : x->reader > y->reader;
}

bool tt_sim_pairs(tt_sim *sim) {
  if (sim->model.rendezvous <= 0) return true;
  tt_sim_message **all = malloc(((size_t)sim->messages + 1) * sizeof *all);
  if (!all) return false;
  for (uint32_t i = 0; i < sim->messages; i++) all[i] = &sim->message[i];
  qsort(all, sim->messages, sizeof *all, by_ranks);
  for (uint32_t i = 0; i < sim->messages; i++) {
    if (!i || by_ranks(&all[i - 1], &all[i]) != 0) sim->pairs++;
    all[i]->pair = sim->pairs - 1;
  }
  free(all);
  return true;
}

bool tt_sim_meets(const tt_running *s, uint32_t d) {
  const double least = s->sim->model.rendezvous;
  return least > 0 && (s->sim->idle || s->bytes * s->sim->message[d].share >= least);
}

/* ---- turns ---- */

bool tt_sim_has_turn(tt_running *s, uint32_t d) {
  s->coming[d].waits = tt_slice_of(s, d)->first != d;
  return !s->coming[d].waits;
}

void tt_sim_pass_turn(tt_running *s, uint32_t d, double at, uint32_t cause) {
  tt_server *slice = tt_slice_of(s, d);
  const uint32_t next = d + 1;
  *slice = (tt_server){at, cause, next};
  if (next == s->sim->messages || tt_slice_of(s, next) != slice || !s->coming[next].waits) return;
  s->timing[s->sim->steps + next].cause = cause;
  tt_heap_push(s, at, s->sim->steps + next);
}

bool tt_sim_awaits(const tt_running *s, uint32_t waited, uint32_t d) {
  const tt_sim *sim = s->sim;
  if (!tt_sim_meets(s, d)) return false;
  if (s->coming) return true; /* for its turn, as it left */
  if (waited < sim->steps + sim->messages) return false;
  return sim->message[waited - sim->steps - sim->messages].pair == sim->message[d].pair;
}

/* ---- ports that messages share ---- */

static tt_coming *of_link(const tt_running *s, uint32_t link) {
  return link ? &s->coming[link - 1] : NULL;
}

/* All that share a port have crossed it for some time. */
static void cross_on(tt_running *s, tt_server *port, double at) {
  int n = 0;
  for (const tt_coming *c = of_link(s, port->first); c; c = of_link(s, c->next)) n++;
  for (tt_coming *c = of_link(s, port->first); c; c = of_link(s, c->next))
    c->left -= (at - port->free) / n;
  port->free = at;
}

/* When a message has come if no other joins. */
static double comes_at(const tt_running *s, const tt_server *port, double left) {
  double sum = port->free;
  for (const tt_coming *c = of_link(s, port->first); c; c = of_link(s, c->next))
    sum += c->left < left ? c->left : left;
  return sum;
}

static void leave_port(tt_running *s, tt_server *port, uint32_t d) {
  uint32_t *link = &port->first;
  while (*link != d + 1) link = &s->coming[*link - 1].next;
  *link = s->coming[d].next;
}

bool tt_sim_has_come(tt_running *s, tt_server *port, double at, uint32_t d) {
  tt_coming *c = &s->coming[d];
  const uint32_t what = s->sim->steps + s->sim->messages + d;
  if (!c->travels) {
    const tt_takes takes = tt_sim_takes(s, d);
    *c = (tt_coming){.since = at, .left = takes.port, .travels = true};
    tt_heap_push(s, at + takes.before, what);
    return false;
  }
  if (c->shares) port = c->port;
  cross_on(s, port, at);
  if (!c->shares) {
    c->shares = true;
    c->port = port;
    c->next = port->first;
    port->first = d + 1;
  }
  const double then = comes_at(s, port, c->left);
  if (then <= at * (1 + 1e-12)) {
    leave_port(s, port, d);
    return true;
  }
  tt_heap_push(s, then, what);
  return false;
}

void tt_sim_stretch(const tt_running *s, uint32_t d, tt_line *cost) {
  const tt_coming *c = &s->coming[d];
  const tt_takes takes = tt_sim_takes(s, d);
  const double took = s->timing[s->sim->steps + s->sim->messages + d].end - c->since - takes.before;
  if (!c->travels || takes.port <= 0) return;
  cost->fixed += (took / takes.port - 1) * takes.header;
  cost->slope *= took / takes.port;
}
