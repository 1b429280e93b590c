/* wait.c - waiting without wasting cores.
 *
 * Idea       while nothing moves a waiter spins (if every rank has a core and no network is
 *            used), then yields, then sleeps until a peer wakes it. Now and then it checks
 *            the ranks it waits for, and publishes that it waits.
 * Invariant  it never waits for ever for a rank that died, aborted or made another call;
 *            sleeps are bounded.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "flight.h"

enum {
  YIELD_US = 500,        /* how long it yields */
  YIELD_NET_US = 50,     /* the same over a network that can wake it */
  SLEEP_US = 1000,       /* the limit of its first sleep */
  SLEEP_MOST_US = 32000, /* each sleep is twice as long, up to this */
  SLEEP_NET_US = 1000,   /* the limit with a network, which also carries the caller's messages */
  LOOK_US = 100000,      /* how often it checks its peers */
  ASK_TURNS = 64         /* how often, while awake, it asks whether it was interrupted */
};

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Adapts the number of spins: if they did not help, others may be using the cores. */
static void spun(tutti_comm *comm, bool helped) {
  comm->flight->spins = helped ? tt_min(2 * comm->flight->spins, (uint32_t)TT_SPINS)
                               : tt_max(comm->flight->spins / 2, (uint32_t)TT_SPINS_LEAST);
}

/* Now and then progresses a network beside the wire, for the caller's own messages over it. */
static void progress_other_work(tutti_comm *comm, const tt_wait_policy *p) {
  bool moved = false;
  if (p->looks % 16) return;
  if (comm->beside) tt_net_progress(comm, &moved);
  tt_idle(); /* the caller's other work */
}

static uint64_t yield_us(const tutti_comm *comm) {
  return comm->wire == comm->net && comm->net->traits.wakes ? YIELD_NET_US : YIELD_US;
}

static void start_anew(tutti_comm *comm, tt_wait_policy *p) {
  if (p->shown) tt_show_moves(comm);
  *p = (tt_wait_policy){.by = p->by};
}

/* Nothing moved: spins, yields, or sleeps. */
static void pause_a_while(tutti_comm *comm, tt_wait_policy *p) {
  p->looks++;
  if (comm->flight->waits) return;
  progress_other_work(comm, p);
  if (comm->load.ranks_per_core <= 1 && p->looks < comm->flight->spins && !tt_over_net(comm)) {
    tt_relax();
    return;
  }
  if (p->looks == comm->flight->spins) spun(comm, false);
  uint64_t now = p->looks % 16 ? 0 : now_us();
  if (now && !p->since) p->since = p->looked = now;
  if (now && now - p->looked >= LOOK_US) {
    p->looked = now;
    tt_look_after(comm, p, now);
    tt_show_wait(comm, p);
  }
  if (!now || now - p->since < yield_us(comm)) {
    if (!tt_over_net(comm) || !comm->net->traits.yields) sched_yield();
    return;
  }
  if (!p->shown) tt_show_wait(comm, p);
  uint32_t futex = comm->wire->peer->sleep_begin(comm->wire);
  p->sleep = p->sleep ? (uint32_t)tt_min(2 * p->sleep, comm->net ? SLEEP_NET_US : SLEEP_MOST_US)
                      : SLEEP_US;
  const bool moved = tt_progress(comm);
  if (!moved) comm->wire->peer->sleep(comm->wire, futex, p->sleep);
  comm->wire->peer->sleep_end(comm->wire);
  p->looks |= 15; /* read the clock next time */
  if (moved) start_anew(comm, p);
}

void tt_polled_anew(tutti_comm *comm) {
  start_anew(comm, &comm->flight->wait_policy);
}

void tt_progress_polled(tutti_comm *comm) {
  tt_wait_policy *p = &comm->flight->wait_policy;
  if (tt_progress(comm)) {
    start_anew(comm, p);
    return;
  }
  progress_other_work(comm, p);
  if (p->looks++ % 64 == 0) {
    uint64_t now = now_us();
    if (!p->since) p->since = p->looked = now;
    if (now - p->looked < LOOK_US) return;
    p->looked = now;
    tt_look_after(comm, p, now);
    tt_show_wait(comm, p);
  }
}

/* Waits until it is complete; false: interrupted. deaf: ignores interrupts. */
static bool await(tutti_request *r, bool deaf) {
  tutti_comm *comm = r->comm;
  tt_wait_policy p = {.by = r};
  double asked = 0;
  bool waits = true;
  comm->flight->waits = comm->wire == comm->net && comm->net->traits.can_wait;
  for (uint32_t turn = 1; waits; turn++) {
    bool moved = tt_progress(comm);
    if (p.looks > 0 && p.looks < comm->flight->spins && (moved || r->state == TT_COMPLETE))
      spun(comm, true);
    if (r->state == TT_COMPLETE) break;
    if (moved)
      start_anew(comm, &p);
    else
      pause_a_while(comm, &p);
    if (!deaf && (p.sleep || turn % ASK_TURNS == 0)) waits = !tt_interrupted(&asked);
  }
  if (p.shown) tt_show_moves(comm);
  comm->flight->waits = false;
  return waits;
}

bool tt_request_await(tutti_request *r) {
  return await(r, false);
}

tutti_status tt_request_finish(tutti_request *r) {
  tutti_comm *comm = r->comm;
  const bool waited = await(r, false);
  if (!waited) { /* other ranks may depend on it, so it cannot be taken back */
    tt_break_interrupted(
        comm, r->message ? r->message->sends ? "send" : "recv" : tutti_coll_name(r->call.coll));
    await(r, true);
  }
  if (!r->status) return TUTTI_OK;
  return tt_fail(waited ? r->status : TUTTI_ERR_INTERRUPTED, "%s", comm->why);
}
