/* net_recv.c - the wire that uses messages between processes, sent by MPI or another network
 * through a table.
 *
 * Idea       A piece is a packet, which names its operation, plus bytes. A few bytes travel in the
 *            packet itself; more bytes follow as a separate data message. The reader posts the
 *            receive of the next packet when it waits for one. Packets and data have separate tags
 *            for each lane and arrive in order.
 * Copies     Bytes are sent from copies and received into the wire's own memory, because neither
 *            transfer can be canceled: a stopped peer may continue long after the call has failed,
 *            when the caller's memory is used for something else. (Simulated ranks are never
 *            stopped: net_simulated.c.)
 * Control    A separate tag is used to announce that a communicator has ended, and for the call
 *            signatures that a rank requests when it has waited too long.
 * Invariant  The network makes progress only in tt_net_poll. Memory for packets and bytes is bounded by
 *            the number of peers in use at the same time; each rank that was never in use costs 13
 *            bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net_parts.h"
#include "wires.h"

/* ---- receiving ---- */

static tt_in_end *in_of(tt_net *m, int peer, int lane) {
  tt_net_peer *p = tt_net_use(m, peer);
  if (!p) return NULL;
  tt_in_end **e = &p->in[lane];
  if (!*e && (*e = calloc(1, sizeof **e)))
    **e = (tt_in_end){.peer = peer, .lane = lane, .listens = -1};
  return *e;
}

/* Posts a receive for the next packet. If posting fails, the next poll reports the error. */
static void request_next_packet(tt_net *m, tt_in_end *e) {
  if (e->listens >= 0 || e->n == IN || m->failed) return;
  e->packet = tt_packet_get(m);
  const tt_slot s = {.kind = PACKET_IN, .in = e};
  if (!e->packet || tt_slot_start(m, s, e->peer, e->lane, &e->packet->head,
                                  sizeof(tt_heading) + m->wire.size.beside, &e->listens)) {
    tt_packet_put(m, e->packet);
    e->packet = NULL;
    e->listens = -1;
  }
}

static tutti_status strange(const tt_net *m, int peer) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %d received from rank %d what tutti has not sent: do both run the same "
                 "version of it?",
                 m->wire.rank, peer);
}

/* Discards a packet that was sent over an earlier network, which was closed before the packet arrived. Also discards the data
 * message that follows the packet. */
static tutti_status discard_stale_packet(tt_net *m, tt_in_end *e) {
  const size_t behind = e->packet->head.behind;
  const int tag = tt_bytes_tag(e->lane, (int)e->packet->head.rail);
  tt_packet_put(m, e->packet);
  e->packet = NULL;
  if (!behind) return TUTTI_OK;
  const tt_slot s = {.kind = STALE_IN, .in = e, .what = tt_bounce_get(m, behind)};
  if (!s.what) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for messages from rank %d", e->peer);
  return tt_slot_start(m, s, e->peer, tag, s.what, behind, NULL);
}

static tutti_status packet_came(tt_net *m, tt_in_end *e, size_t bytes) {
  const tt_heading *head = &e->packet->head;
  e->listens = -1;
  const size_t inside = bytes - sizeof *head, behind = bytes < sizeof *head ? 0 : head->behind;
  if (bytes < sizeof *head || (inside != 0) == (behind != 0) ||
      (behind > m->piece && !m->net.simulated) || (int)head->rail >= m->rails)
    return strange(m, e->peer);
  if (head->net != (uint32_t)m->net.id) return discard_stale_packet(m, e);
  const tt_record record = tt_heading_record(head, m->records.newest);
  tt_net_learn_record(m, e->peer, &record);
  tt_piece *p = &e->queue[(e->first + e->n++) % IN];
  if (e->early) return tt_simulated_came(m, e, p, inside, behind);
  *p = (tt_piece){e->packet, e->packet->bytes, NULL, inside, -1};
  e->packet = NULL;
  if (!behind) return TUTTI_OK;
  p->bytes = behind;
  p->at = p->bounce = tt_bounce_get(m, behind);
  if (!p->at) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for messages from rank %d", e->peer);
  const tt_slot s = {.kind = BYTES_IN, .in = e, .what = p};
  return tt_slot_start(m, s, e->peer, tt_bytes_tag(e->lane, (int)head->rail), p->at, p->bytes,
                       &p->slot);
}

static size_t net_head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  tt_in_end *e = in_of(tt_net_of(w), peer, lane);
  if (!e) return 0;
  const tt_piece *p = &e->queue[e->first];
  if (!e->n || p->slot >= 0) {
    request_next_packet(tt_net_of(w), e);
    return 0;
  }
  const tt_heading *head = &p->packet->head;
  *stamp = (tt_stamp){tt_widen(head->seq, tt_net_of(w)->records.newest), head->hash};
  return (size_t)(p->bytes - e->used);
}

static void net_expect(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left) {
  tt_net *m = tt_net_of(w);
  tt_in_end *e = m->net.simulated ? in_of(m, peer, lane) : NULL;
  if (!e) return;
  request_next_packet(m, e);
  tt_simulated_expect(m, e, to && n >= left ? to : NULL, left);
}

static const void *net_view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  const tt_in_end *e = in_of(tt_net_of(w), peer, lane);
  (void)n, (void)status;
  return e->queue[e->first].at + e->used;
}

static void net_release(tt_wire *w, int peer, int lane, size_t n) {
  tt_net *m = tt_net_of(w);
  tt_in_end *e = in_of(m, peer, lane);
  tt_piece *p = &e->queue[e->first];
  e->used += n;
  if (e->used < p->bytes) return;
  tt_packet_put(m, p->packet);
  tt_bounce_put(m, p->bounce);
  e->used = 0;
  e->first = (e->first + 1) % IN;
  e->n--;
}

static bool net_pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  const void *from = net_view(w, peer, lane, &n, status);
  if (from != to) memmove(to, from, n);
  net_release(w, peer, lane, n);
  return true;
}

/* ---- progress ---- */

static bool receives(tt_slot_kind kind) {
  return kind >= PACKET_IN && kind != STALE_IN;
}

static tutti_status complete_slot(tt_net *m, const tt_slot *s, const tutti_net_done *d) {
  tt_piece *p = s->what;
  if (receives(s->kind) && (d->peer < 0 || d->peer >= m->wire.ranks)) return strange(m, d->peer);
  switch (s->kind) {
    case PACKET_OUT:
      if (m->net.simulated && !((tt_packet *)s->what)->head.behind)
        tt_bytes_left(m, s->out, s->ticket);
      tt_packet_put(m, s->what);
      s->out->packets--;
      m->sending -= s->out->lane != TT_LANE_P2P;
      return TUTTI_OK;
    case BYTES_OUT:
      tt_bytes_left(m, s->out, s->ticket);
      m->sending -= s->out->lane != TT_LANE_P2P;
      tt_bounce_put(m, s->what);
      return TUTTI_OK;
    case CONTROL_OUT:
    case AGREE_OUT: free(s->what); return TUTTI_OK;
    case AGREE_IN: return tt_net_agree_heard(m, d->peer, d->bytes);
    case CONTROL_IN:
      if (d->bytes != sizeof m->hears) return strange(m, d->peer);
      tt_net_control_came(m, d->peer);
      return tt_net_listen(m);
    case PACKET_IN: return packet_came(m, s->in, d->bytes);
    case BYTES_IN:
      p->slot = -1;
      if (!p->packet) p->bytes = d->bytes; /* the packet will tell the expected size */
      return d->bytes == p->bytes ? TUTTI_OK : strange(m, s->in->peer);
    case STALE_IN: tt_bounce_put(m, s->what); return TUTTI_OK;
    default: return TUTTI_OK;
  }
}

/* Handles a request that failed because its peer is lost. All messages to and from the peer are lost, too. A rank that waits
 * for these messages continues to wait until it checks whether the peer is alive. */
static void lose(tt_net *m, const tt_slot *s, const tutti_net_done *d) {
  if (d->peer >= 0 && d->peer < m->wire.ranks) tt_net_lose_peer(m, d->peer);
  switch (s->kind) {
    case PACKET_IN:
      tt_packet_put(m, s->in->packet);
      s->in->packet = NULL;
      s->in->listens = NEVER;
      break;
    case BYTES_IN: ((tt_piece *)s->what)->slot = NEVER; break;
    case CONTROL_IN: tt_net_listen(m); break;
    case AGREE_IN: tt_net_agree_listen(m); break;
    case STALE_IN: tt_bounce_put(m, s->what); break;
    default: complete_slot(m, s, d); /* already sent, or not needed */
  }
}

/* Returns true if a completed request of this kind counts as progress. An exchange of records does not. */
static bool moves(const tt_net *m, tt_slot_kind kind) {
  return kind != CONTROL_OUT && (kind != CONTROL_IN || m->aborted);
}

typedef int look_fn(void *self, int slots, tutti_net_done *done, int most, int *n);

static tutti_status poll_network(tt_net *m, look_fn *first, bool *moved) {
  tutti_net_done done[DONE];
  int n = DONE;
  tutti_status status = TUTTI_OK;
  for (look_fn *take = first; n == DONE && !status; take = m->net.poll) {
    if (m->failed)
      return tt_fail(TUTTI_ERR_SYSTEM, "%s has failed: %.200s", m->net.name,
                     m->net.error(m->net.self));
    n = 0;
    if (take(m->net.self, m->requests.top, done, DONE, &n)) return tt_net_failed(m, "go on", -1);
    for (int i = 0; i < n; i++) {
      if (done[i].slot < 0) { /* not about a request */
        tt_net_lose_peer(m, done[i].peer);
        *moved = true;
        continue;
      }
      const tt_slot s = m->requests.slots[done[i].slot];
      tt_slot_give(m, done[i].slot);
      tutti_status here = TUTTI_OK;
      if (done[i].failed == TUTTI_NET_LOST)
        lose(m, &s, &done[i]);
      else
        here = complete_slot(m, &s, &done[i]);
      if (done[i].failed && done[i].failed != TUTTI_NET_LOST)
        here =
            tt_net_failed(m, "complete a message with", s.kind == CONTROL_IN ? -1 : done[i].peer);
      *moved |= moves(m, s.kind);
      if (!status) status = here;
    }
  }
  return status;
}

tutti_status tt_net_poll(tt_wire *w, bool *moved) {
  return poll_network(tt_net_of(w), tt_net_of(w)->net.poll, moved);
}

static tutti_status net_wait(tt_wire *w, bool *moved) {
  return poll_network(tt_net_of(w), tt_net_of(w)->net.wait, moved);
}

static bool net_has_unsent(const tt_wire *w) {
  const tt_net *m = (const tt_net *)w;
  return m->net.leaving && !m->failed && m->net.leaving(m->net.self) > 0;
}

/* Returns true if this process still holds messages that operations have sent to this peer. */
static bool owes_to(const tt_net *m, int peer) {
  for (int lane = 0; m->peers[peer] && lane < TT_LANE_P2P; lane++) {
    const tt_out_end *e = m->peers[peer]->out[lane];
    if (e && (e->packets || e->sent != e->over)) return true;
  }
  return false;
}

static int net_owed(tt_wire *w) {
  tt_net *m = tt_net_of(w);
  bool moved = false;
  if (tt_net_poll(w, &moved) || m->sending == 0) return -1;
  for (int peer = 0; peer < w->ranks; peer++)
    if (owes_to(m, peer)) return peer;
  return w->rank; /* the peer is unknown */
}

/* ---- the other tables ---- */

static const double moment = 0.1; /* s */

/* Called after the communicator has ended. Waits briefly until outgoing messages, including the reason, have left this
 * process. Receipts are not awaited, because peers start no more receives once the communicator has ended. */
static bool net_quiesce(tt_wire *w) {
  tt_net *m = tt_net_of(w);
  bool moved = false;
  if (m->draining_since <= 0) m->draining_since = tt_seconds();
  while ((m->net.leaving ? net_has_unsent(w) : m->sending > 0) && !m->failed &&
         tt_seconds() - m->draining_since < moment)
    if (tt_net_poll(w, &moved)) break;
  return true;
}

static bool net_enter(tt_wire *w) {
  return !tt_net_of(w)->aborted;
}
static void net_leave(tt_wire *w) {
  (void)w;
}
static void net_poll_sleep(const tt_wire *w, int also, uint32_t limit_us) {
  const tutti_net *net = &((const tt_net *)w)->net;
  if (net->doze) {
    net->doze(net->self, also, (int)limit_us);
    return;
  }
  const struct timespec t = {0, 1000 * (long)tt_min(limit_us, TT_NAP_US)};
  nanosleep(&t, NULL);
}

static void net_exit_words(tt_wire *w, int peer, char *words, size_t size) {
  tt_net *m = tt_net_of(w);
  if (!m->net.fate || !m->net.fate(m->net.self, peer, words, size)) snprintf(words, size, "died");
}

static tutti_status net_set_pids(tt_wire *w, const int64_t *pids) {
  tt_net *m = tt_net_of(w);
  m->pids = malloc((size_t)w->ranks * sizeof *m->pids);
  if (!m->pids) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", w->ranks);
  for (int r = 0; r < w->ranks; r++) m->pids[r] = (int32_t)pids[r];
  return TUTTI_OK;
}

static uint32_t net_fresh_number(const tt_wire *w) {
  const tt_net *m = (const tt_net *)w;
  return m->net.fresh ? m->net.fresh(m->net.self) : 0;
}

static tutti_status net_split(tt_wire *w, const tt_split *s, tutti_net *net, bool *taken) {
  tt_net *m = tt_net_of(w);
  if (m->failed) return tt_net_failed(m, "make another communicator", -1);
  const int failed = m->net.pick ? m->net.pick(m->net.self, s->number, s->members, s->n, net)
                                 : m->net.split(m->net.self, s->color, s->key, net);
  *taken = failed == TUTTI_NET_TAKEN;
  if (failed && !*taken) return tt_net_failed(m, "make another communicator", -1);
  if (s->id) {
    if (!failed) net->id = s->id;
    return TUTTI_OK;
  }
  m->splits++;
  if (s->n && !failed) net->id = tt_mix(m->net.id ^ tt_mix((uint64_t)s->color << 32 | m->splits));
  return TUTTI_OK;
}

/* Cancels all receives. If the receive of a data message cannot be canceled, its memory is not freed. Smaller messages have
 * arrived either completely or not at all. */
static void end_requests(tt_net *m) {
  const bool calls = !m->failed;
  for (int i = 0; i < m->requests.top; i++) {
    const tt_slot *s = &m->requests.slots[i];
    if (s->kind < PACKET_IN) continue;
    const bool over = calls && m->net.cancel(m->net.self, i) == 0;
    if (!over && s->kind == BYTES_IN) ((tt_piece *)s->what)->bounce = NULL;
    if (over && s->kind == STALE_IN) tt_bounce_put(m, s->what);
    m->failed |= !over;
  }
}

/* Keeps the memory of messages that have not left this process. The network may still read it after it is closed. */
static void keep_unsent(const tt_net *m) {
  for (int i = 0; i < m->requests.top; i++) {
    const tt_slot *s = &m->requests.slots[i];
    const bool ours = s->kind != FREE && s->kind < PACKET_IN && s->what;
    if (ours && !(m->net.simulated && s->kind == BYTES_OUT)) tt_unsent_keep(s->what);
  }
}

static void free_end(tt_net *m, tt_in_end *e) {
  if (!e) return;
  for (uint32_t i = 0; i < e->n; i++) {
    tt_piece *p = &e->queue[(e->first + i) % IN];
    tt_packet_put(m, p->packet);
    tt_bounce_put(m, p->bounce);
  }
  if (e->early) tt_bounce_put(m, e->queue[e->first].bounce);
  tt_packet_put(m, e->packet);
  free(e);
}

static void free_peer(tt_net *m, tt_net_peer *p) {
  for (int lane = 0; p && lane < TT_LANES; lane++) {
    free_end(m, p->in[lane]);
    free(p->out[lane]);
  }
  free(p);
}

void tt_net_close(tt_wire *w) {
  tt_net *m = tt_net_of(w);
  bool moved = false;
  if (!m->failed) tt_net_poll(w, &moved);
  end_requests(m);
  m->net.close(m->net.self, !m->aborted && !m->failed);
  keep_unsent(m);
  for (int r = 0; r < w->ranks; r++) free_peer(m, m->peers[r]);
  free(m->level);
  tt_simulated_drop_proofs(m);
  for (tt_packet *p = m->packets, *next; p; p = next) {
    next = p->next;
    free(p);
  }
  for (void *at; (at = m->bounces);) {
    tt_bounce_get(m, m->piece);
    free(at);
  }
  while (m->given) tt_net_free(w, m->given->at);
  free(m->agreement);
  free(m->requests.slots);
  free(m->pids);
  free(m);
}

static const tt_channel_ops channel_ops = {
    .push = tt_net_push,
    .consumed = tt_net_consumed,
    .head = net_head,
    .view = net_view,
    .release = net_release,
    .expect = net_expect,
    .pull = net_pull,
    .owed = net_owed,
};

static const tt_memory_ops memory_ops = {
    .enter = net_enter,
    .leave = net_leave,
    .quiesce = net_quiesce,
    .alloc = tt_net_alloc,
    .free = tt_net_free,
};

static const tt_net_ops net_ops = {
    .poll = tt_net_poll,
    .wait = net_wait,
    .sleep = net_poll_sleep,
    .has_unsent = net_has_unsent,
    .fresh_number = net_fresh_number,
    .split = net_split,
    .set_pids = net_set_pids,
    .set_levels = tt_net_set_levels,
    .make_proofs = tt_net_make_proofs,
    .share_proofs = tt_net_share_proofs,
    .exit_words = net_exit_words,
};

/* The tables of all ranks, 9 bytes per rank, follow the struct in the same allocation. */
static tt_net *alloc_net(size_t ranks) {
  tt_net *m = calloc(1, sizeof *m + ranks * (sizeof *m->peers + sizeof *m->lost));
  if (!m) return NULL;
  m->peers = (tt_net_peer **)(void *)(m + 1);
  m->lost = (bool *)(void *)(m->peers + ranks);
  return m;
}

tutti_status tt_net_wire(const tutti_net *net, tt_wire **wire) {
  tt_net *m = alloc_net((size_t)net->ranks);
  if (!m) {
    net->close(net->self, 1);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", net->ranks);
  }
  m->wire = (tt_wire){
      .channel = &channel_ops,
      .memory = &memory_ops,
      .peer = &tt_net_peer_ops,
      .net = &net_ops,
      .net_agree = net->pick ? &tt_net_agree_table : NULL,
      .rank = net->rank,
      .ranks = net->ranks,
      .first = tt_first_number(),
      .size.beside = net->simulated ? tt_simulated_packet(net->ranks) : SMALL,
      .shown = &m->shown,
      .traits = {.name = net->name,
                 .simulated = net->simulated,
                 .can_wait = net->wait,
                 .yields = net->yields,
                 .wakes = net->doze,
                 .any_thread = net->threads},
  };
  m->net = *net;
  m->records.newest = m->wire.first;
  m->rails = net->rails > 1 ? net->rails : 1;
  m->piece = net->stream ? LONG_PIECE : PIECE;
  const tutti_status status = tt_net_listen(m);
  if (status)
    tt_net_close(&m->wire);
  else
    *wire = &m->wire;
  return status;
}
