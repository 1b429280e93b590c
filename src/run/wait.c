/* wait.c - waiting without wasting cores.
 *
 * Idea       While nothing moves, a waiting rank spins (if every rank has a core and no network is used), then yields,
 *            then sleeps until a peer wakes it. From time to time it checks the ranks that it waits for. Before it
 *            sleeps, it publishes the rank, step and operation that it waits for, and the start of the wait, for its
 *            peers and for `tutti doctor`.
 * Invariant  It never waits forever for a rank that died, aborted or made another call; sleeps are bounded.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <time.h>

#include "flight.h"

enum {
  YIELD_US = 500,        /* duration of yielding */
  YIELD_NET_US = 50,     /* the same, over a network that can wake it */
  SLEEP_US = 1000,       /* limit of the first sleep */
  SLEEP_MOST_US = 32000, /* each sleep is twice as long as the last, up to this */
  SLEEP_DEVICE_US =
      100, /* limit while vectors are copied from a device, which does not wake any rank */
  SLEEP_NET_US = 1000,   /* limit with a network, which also carries the caller's messages */
  LOOK_US = 20000,       /* time of the first check of the peers */
  LOOK_MOST_US = 100000, /* the pauses between checks grow up to this */
  ASK_TURNS = 64         /* number of turns between checks for an interrupt, while awake */
};

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* each since: order: shown to people, and looked at twice */

/* ---- publishing a wait ---- */

#define STORE(at, value) atomic_store_explicit(&(at), (value), memory_order_relaxed)

static void publish_wait(tutti_comm *comm, tt_wait_policy *p, int peer) {
  tt_shown *s = comm->wire->shown;
  const tt_rank_info *w = comm->info;
  const bool near = peer >= 0 && peer < comm->ranks && w[peer].index >= 0 &&
                    w[peer].placement.node == w[comm->rank].placement.node;
  STORE(s->waits_for, (uint32_t)peer);
  STORE(s->waits_near, near ? (uint32_t)w[peer].index : UINT32_MAX);
  STORE(s->seen, p->looked);
  atomic_store_explicit(&s->since, p->since, memory_order_release);
  p->shown = true;
  if (comm->heap && peer < comm->ranks) return; /* `tutti doctor` finds `shown` there */
  if (!p->note.call)                            /* tt_report_straggler warns */
    p->note = (tt_long_wait){"an operation", 1e-6 * (double)p->since, .warned = true};
  if (peer == TUTTI_ANY_SOURCE)
    tt_long_wait_for(&p->note, "any of %d ranks", comm->ranks);
  else if (peer < comm->ranks)
    tt_long_wait_for(&p->note, "rank %d of %d (operation %llu)", peer, comm->ranks, s->waits_in);
  else
    tt_long_wait_for(&p->note, "the %s (operation %llu)", comm->wire->outside->ops->name,
                     s->waits_in);
}

static void show_message(tutti_comm *comm, tt_wait_policy *p, const tt_p2p_message *m) {
  tt_shown *s = comm->wire->shown;
  STORE(s->message, m->sends ? 2 : 1);
  STORE(s->waits_in, (uint64_t)m->tag);
  STORE(s->type, (uint32_t)m->type);
  STORE(s->count, m->count);
  publish_wait(comm, p, tt_p2p_peer(m));
}

typedef struct awaited {
  int peer;
  uint32_t step;
} awaited;

static bool take_first(void *ctx, int peer, uint32_t step) {
  *(awaited *)ctx = (awaited){peer, step};
  return true;
}

static void show_wait(tutti_comm *comm, tt_wait_policy *p) {
  tt_shown *s = comm->wire->shown;
  const tt_p2p_message *m = p->by ? p->by->message : NULL;
  for (uint64_t seq = comm->flight->oldest; !m && seq != comm->flight->seq; seq++) {
    const tt_place *place = &comm->flight->places[seq % TT_WINDOW];
    awaited a = {-1, 0};
    if (!place->by) continue;
    if (!tt_operation_awaits(&place->operation, take_first, &a))
      a.peer = tt_leaving_to(comm, &place->operation);
    if (a.peer < 0) continue;
    STORE(s->message, 0);
    STORE(s->waits_in, seq);
    STORE(s->waits_at, a.step);
    const char *tag = place->by->call.tag;
    snprintf(s->tag, sizeof s->tag, "%s", tag ? tag : "");
    publish_wait(comm, p, a.peer);
    return;
  }
  if (!m && comm->flight->p2p) m = tt_p2p_waiting(comm->flight->p2p, 0);
  if (m) show_message(comm, p, m);
}

void tt_wait_for_taker(tutti_comm *comm, tt_wait_policy *p, int peer) {
  const uint64_t now = now_us();
  if (!p->since) p->since = now;
  p->looked = now;
  STORE(comm->wire->shown->message, 0);
  STORE(comm->wire->shown->waits_in, comm->flight->seq - 1);
  STORE(comm->wire->shown->waits_at, 0);
  publish_wait(comm, p, peer);
  tt_report_undelivered(comm, p, now - p->since, peer);
}

static void show_moves(tutti_comm *comm, tt_wait_policy *p) {
  tt_long_wait_end(&p->note);
  atomic_store_explicit(&comm->wire->shown->since, 0, memory_order_release);
}

/* ---- waiting ---- */

void tt_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Adapts the number of spins before a yield. Reduces it if spinning did not help, because others may need the cores. */
static void spun(tutti_comm *comm, bool helped) {
  const uint32_t spins = helped ? 2 * comm->flight->spins : comm->flight->spins / 2;
  comm->flight->spins = spins > TT_SPINS         ? TT_SPINS
                        : spins < TT_SPINS_LEAST ? TT_SPINS_LEAST
                                                 : spins;
}

/* At every 16th poll, makes other work progress, including a network that only the caller's own messages use. */
static void progress_other_work(tutti_comm *comm, const tt_wait_policy *p) {
  bool moved = false;
  if (p->looks % 16) return;
  if (comm->beside) tt_net_progress(comm, &moved);
  /* order: a flag of this process */
  if (atomic_load_explicit(&tt_process.idle, memory_order_relaxed)) tt_idle();
}

static uint64_t yield_us(const tutti_comm *comm) {
  return comm->wire == comm->net && comm->net->traits.wakes ? YIELD_NET_US : YIELD_US;
}

void tt_wait_anew(tutti_comm *comm, tt_wait_policy *p) {
  if (p->shown || p->note.call) show_moves(comm, p);
  *p = (tt_wait_policy){.by = p->by};
}

/* Checks the peers periodically, and immediately after the network has reported a loss. Publishes that this rank is waiting. */
static void check_now_and_then(tutti_comm *comm, tt_wait_policy *p, uint64_t now) {
  if (!p->since) p->since = p->looked = now;
  const uint32_t losses = comm->net ? comm->net->losses : 0;
  const uint64_t pause = (uint64_t)tt_min(tt_max(LOOK_US, (now - p->since) / 2), LOOK_MOST_US);
  if (now - p->looked < pause && p->losses == losses) return;
  p->losses = losses;
  p->looked = now;
  tt_look_after(comm, p, now);
  show_wait(comm, p);
}

/* Called when nothing has moved. Spins, yields or sleeps. */
static void pause_a_while(tutti_comm *comm, tt_wait_policy *p) {
  p->looks++;
  if (comm->flight->waits && !comm->flight->on_devices) return;
  progress_other_work(comm, p);
  if (!comm->load.crowded && p->looks < comm->flight->spins && !tt_over_net(comm)) {
    tt_relax();
    return;
  }
  if (p->looks == comm->flight->spins) spun(comm, false);
  uint64_t now = p->looks % 16 ? 0 : now_us();
  if (now) check_now_and_then(comm, p, now);
  if (!now || now - p->since < yield_us(comm)) {
    if (!tt_over_net(comm) || !comm->net->traits.yields) sched_yield();
    return;
  }
  if (!p->shown) show_wait(comm, p);
  uint32_t futex = comm->wire->peer->sleep_begin(comm->wire);
  const uint32_t most = comm->flight->on_devices ? SLEEP_DEVICE_US
                        : comm->net              ? SLEEP_NET_US
                                                 : SLEEP_MOST_US;
  p->sleep = (uint32_t)tt_min(p->sleep ? 2 * p->sleep : SLEEP_US, most);
  const bool moved = tt_progress(comm);
  if (!moved) comm->wire->peer->sleep(comm->wire, futex, p->sleep);
  comm->wire->peer->sleep_end(comm->wire);
  p->looks |= 15; /* read the clock next time */
  if (moved) tt_wait_anew(comm, p);
}

void tt_progress_polled(tutti_comm *comm) {
  tt_wait_policy *p = &comm->flight->wait_policy;
  if (tt_progress(comm)) {
    tt_wait_anew(comm, p);
    return;
  }
  progress_other_work(comm, p);
  if (p->looks++ % 64 == 0) check_now_and_then(comm, p, now_us());
}

void tt_watch_peers(tutti_comm *comm) {
  comm->flight->wait_policy.looks++;
  check_now_and_then(comm, &comm->flight->wait_policy, now_us());
}

/* Returns true if any thread has registered a function that may interrupt waits. */
static bool some_interrupt_set(void) {
  return atomic_load_explicit(&tt_process.interrupt.fn, memory_order_relaxed) != NULL;
}

bool tt_request_await(tutti_request *r, bool deaf) {
  tutti_comm *comm = r->comm;
  tt_wait_policy p = {.by = r};
  double asked = 0;
  bool waits = true;
  comm->flight->waits =
      comm->wire == comm->net && comm->net->traits.can_wait && !comm->wire->outside;
  for (uint32_t turn = 1; waits; turn++) {
    bool moved = tt_progress(comm);
    if (p.looks > 0 && p.looks < comm->flight->spins && (moved || r->state == TT_COMPLETE))
      spun(comm, true);
    if (r->state == TT_COMPLETE) break;
    if (moved)
      tt_wait_anew(comm, &p);
    else
      pause_a_while(comm, &p);
    if (!deaf && (p.sleep || turn % ASK_TURNS == 0) && some_interrupt_set())
      waits = !tt_interrupted(&asked);
  }
  if (p.shown || p.note.call) show_moves(comm, &p);
  comm->flight->waits = false;
  return waits;
}

tutti_status tt_request_finish(tutti_request *r) {
  tutti_comm *comm = r->comm;
  const bool waited = tt_request_await(r, false);
  if (!waited) { /* other ranks may depend on the request, so it cannot be withdrawn */
    tt_break_interrupted(
        comm, r->message ? r->message->sends ? "send" : "recv" : tutti_coll_name(r->call.coll));
    tt_request_await(r, true);
  }
  if (!r->status) return TUTTI_OK;
  return tt_fail(waited ? r->status : TUTTI_ERR_INTERRUPTED, "%s", comm->why);
}
