/* hybrid.c - combines two wires: ranks that share memory use it, all others exchange messages.
 *
 * Idea       Each call is passed to the wire that connects to its peer; a call that concerns all
 *            peers is passed to both wires. The combined wire has neither flag slots nor an arena,
 *            so the engine runs schedules step by step.
 * Invariant  All memory that the wire allocates is shared memory, and both wires can send from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "wires.h"

typedef struct hybrid {
  tt_wire wire;
  tt_wire *far, *near;
  int wake_fd;     /* of a sleeping rank, or -1 */
  int near_rank[]; /* negative if the peer is on the far wire */
} hybrid;

static hybrid *of(tt_wire *w) {
  return (hybrid *)w;
}

/* Returns the wire that connects this rank to a peer, and replaces *peer by the peer's rank on that wire. */
static tt_wire *way(tt_wire *w, int *peer) {
  hybrid *h = of(w);
  if (h->near_rank[*peer] < 0) return h->far;
  *peer = h->near_rank[*peer];
  return h->near;
}

static size_t hybrid_push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes,
                          size_t n, size_t left, uint64_t *ticket, tutti_status *status) {
  tt_wire *to = way(w, &peer);
  return to->channel->push(to, peer, lane, stamp, bytes, n, left, ticket, status);
}

static bool hybrid_consumed(tt_wire *w, int peer, int lane, uint64_t ticket) {
  tt_wire *to = way(w, &peer);
  return to->channel->consumed(to, peer, lane, ticket);
}

static size_t hybrid_head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  tt_wire *from = way(w, &peer);
  return from->channel->head(from, peer, lane, stamp);
}

static void hybrid_expect(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left) {
  tt_wire *from = way(w, &peer);
  if (from->channel->expect) from->channel->expect(from, peer, lane, to, n, left);
}

static const void *hybrid_view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  tt_wire *from = way(w, &peer);
  return from->channel->view(from, peer, lane, n, status);
}

static void hybrid_release(tt_wire *w, int peer, int lane, size_t n) {
  tt_wire *from = way(w, &peer);
  from->channel->release(from, peer, lane, n);
}

static bool hybrid_pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  tt_wire *from = way(w, &peer);
  return from->channel->pull(from, peer, lane, to, n, status);
}

static int hybrid_owed(tt_wire *w) {
  return of(w)->far->channel->owed(of(w)->far);
}

static bool hybrid_enter(tt_wire *w) {
  hybrid *h = of(w);
  if (!h->far->memory->enter(h->far)) return false;
  if (h->near->memory->enter(h->near)) return true;
  h->far->memory->leave(h->far);
  return false;
}

static void hybrid_leave(tt_wire *w) {
  of(w)->near->memory->leave(of(w)->near);
  of(w)->far->memory->leave(of(w)->far);
}

static bool hybrid_quiesce(tt_wire *w) {
  const bool far = of(w)->far->memory->quiesce(of(w)->far);
  return of(w)->near->memory->quiesce(of(w)->near) && far;
}

static void hybrid_revoke(tt_wire *w, void *memory, size_t bytes) {
  of(w)->near->memory->revoke(of(w)->near, memory, bytes);
}

static void hybrid_record(tt_wire *w, const tt_record *record) {
  of(w)->far->peer->record(of(w)->far, record);
  of(w)->near->peer->record(of(w)->near, record);
}

static void hybrid_over(tt_wire *w, uint64_t oldest, bool wakes) {
  of(w)->near->peer->over(of(w)->near, oldest, wakes);
}

static int hybrid_read_record(tt_wire *w, int peer, uint64_t seq, tt_record *record) {
  tt_wire *from = way(w, &peer);
  return from->peer->read_record(from, peer, seq, record);
}

static void hybrid_ask(tt_wire *w, int peer, uint64_t seq) {
  tt_wire *to = way(w, &peer);
  if (to->peer->ask) to->peer->ask(to, peer, seq);
}

static void hybrid_inquire(tt_wire *w, uint64_t seq, double most) {
  of(w)->far->peer->inquire(of(w)->far, seq, most);
}

static bool hybrid_silent(tt_wire *w, int peer, uint64_t seq) {
  tt_wire *to = way(w, &peer);
  return to->peer->silent && to->peer->silent(to, peer, seq);
}

/* A sleeping rank waits on wake_fd, which peers on this host signal, and on the network's descriptors. If the network has no
 * descriptors, the rank must poll for messages and sleeps only briefly. */
static uint32_t hybrid_sleep_begin(tt_wire *w) {
  hybrid *h = of(w);
  h->wake_fd = h->far->traits.wakes ? h->near->peer->wake_fd_open(h->near) : -1;
  return h->wake_fd < 0 ? h->near->peer->sleep_begin(h->near) : 0;
}
static void hybrid_sleep(tt_wire *w, uint32_t futex, uint32_t limit_us) {
  hybrid *h = of(w);
  if (h->wake_fd >= 0)
    h->far->net->sleep(h->far, tt_extra_fd(w, h->wake_fd), limit_us);
  else
    h->near->peer->sleep(h->near, futex, (uint32_t)tt_min(limit_us, TT_NAP_US));
}
static void hybrid_sleep_end(tt_wire *w) {
  hybrid *h = of(w);
  if (h->wake_fd >= 0)
    h->near->peer->wake_fd_close(h->near, h->wake_fd);
  else
    h->near->peer->sleep_end(h->near);
}

static void hybrid_abort(tt_wire *w, tutti_status status, const char *reason) {
  of(w)->near->peer->abort(of(w)->near, status, reason);
  of(w)->far->peer->abort(of(w)->far, status, reason);
}

static tutti_status hybrid_aborted(tt_wire *w, char *reason, size_t size) {
  const tutti_status near = of(w)->near->peer->aborted(of(w)->near, reason, size);
  return near ? near : of(w)->far->peer->aborted(of(w)->far, reason, size);
}

static bool hybrid_alive(tt_wire *w, int peer) {
  tt_wire *to = way(w, &peer);
  return to->peer->alive(to, peer);
}

static bool hybrid_stopped(tt_wire *w, int peer) {
  tt_wire *to = way(w, &peer);
  return to->peer->stopped && to->peer->stopped(to, peer);
}

static long hybrid_pid(tt_wire *w, int peer) {
  return of(w)->far->peer->pid(of(w)->far, peer);
}

static const tt_shown *hybrid_shown(tt_wire *w, int peer) {
  tt_wire *to = way(w, &peer);
  return to->peer->shown(to, peer);
}

static void *hybrid_alloc(tt_wire *w, size_t bytes) {
  return of(w)->near->memory->alloc(of(w)->near, bytes);
}
static bool hybrid_free(tt_wire *w, void *memory) {
  return of(w)->near->memory->free(of(w)->near, memory);
}

static void hybrid_close(tt_wire *w) {
  of(w)->near->peer->close(of(w)->near);
  of(w)->far->peer->close(of(w)->far);
  free(w);
}

static const tt_channel_ops channel_ops = {
    .push = hybrid_push,
    .consumed = hybrid_consumed,
    .head = hybrid_head,
    .view = hybrid_view,
    .release = hybrid_release,
    .expect = hybrid_expect,
    .pull = hybrid_pull,
    .owed = hybrid_owed,
};

static const tt_memory_ops memory_ops = {
    .enter = hybrid_enter,
    .leave = hybrid_leave,
    .quiesce = hybrid_quiesce,
    .revoke = hybrid_revoke,
    .alloc = hybrid_alloc,
    .free = hybrid_free,
};

static const tt_peer_ops peer_ops = {
    .record = hybrid_record,
    .over = hybrid_over,
    .read_record = hybrid_read_record,
    .ask = hybrid_ask,
    .inquire = hybrid_inquire,
    .silent = hybrid_silent,
    .sleep_begin = hybrid_sleep_begin,
    .sleep = hybrid_sleep,
    .sleep_end = hybrid_sleep_end,
    .abort = hybrid_abort,
    .aborted = hybrid_aborted,
    .alive = hybrid_alive,
    .stopped = hybrid_stopped,
    .pid = hybrid_pid,
    .shown = hybrid_shown,
    .close = hybrid_close,
};

tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire) {
  const size_t bytes = (size_t)far->ranks * sizeof *near_rank;
  hybrid *h = malloc(sizeof *h + bytes);
  if (!h) {
    near->peer->close(near);
    far->peer->close(far);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", far->ranks);
  }
  *h = (hybrid){.wire = {.channel = &channel_ops,
                         .memory = &memory_ops,
                         .peer = &peer_ops,
                         .rank = far->rank,
                         .ranks = far->ranks,
                         .first = far->first},
                .far = far,
                .near = near};
  h->wire.size.beside = tt_min(far->size.beside, near->size.beside);
  h->wire.shown = near->shown;
  h->wire.proofs = near->proofs;
  memcpy(h->near_rank, near_rank, bytes);
  h->wire.near.wire = near;
  h->wire.near.rank = h->near_rank;
  *wire = &h->wire;
  return TUTTI_OK;
}
