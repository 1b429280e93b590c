/* net_send.c - the message wire: sending.
 *
 * Queues     A message that is followed by others requests a receipt. The time until the receipt arrives
 *            determines how many messages may be in flight, so that they do not queue up in the network.
 * Rails      If several network devices carry messages simultaneously, data is sent over the device with the fewest messages
 *            of this rank in flight, among those with capacity. The packet travels over the first device and names the
 *            device of its data. A slow device thus carries less, and the order of pieces does not depend on the device.
 * Pieces     A long message is sent in pieces of 32 KiB, or of up to 128 KiB over a stream.
 * Copies     Copies are sent instead of the caller's memory. A message cannot be canceled, and a
 *            peer that was stopped may fetch the bytes long after the call has failed here and the
 *            caller has freed its memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

tt_out_end *tt_net_out(tt_net *m, int peer, int lane) {
  tt_net_peer *p = tt_net_use(m, peer);
  if (!p) return NULL;
  tt_out_end **e = &p->out[lane];
  if (!*e && (*e = calloc(1, sizeof **e)))
    **e = (tt_out_end){.peer = peer, .lane = lane, .sent = m->wire.first, .over = m->wire.first};
  for (int r = 0; *e && r < TUTTI_NET_RAILS; r++) (*e)->rail[r].window += !(*e)->rail[r].window;
  return *e;
}

tutti_status tt_packet_send(tt_net *m, tt_out_end *e, tt_stamp stamp, const void *bytes,
                            size_t inside, size_t behind, int rail) {
  tt_packet *p = tt_packet_get(m);
  if (!p) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for messages to rank %d", e->peer);
  p->head = (tt_heading){.net = (uint32_t)m->net.id,
                         .seq = (uint32_t)stamp.seq,
                         .hash = stamp.hash,
                         .behind = (uint32_t)behind,
                         .rail = (uint16_t)(rail & 3),
                         .coll = NO_RECORD};
  const tt_record *mine = tt_net_record_of(m, m->wire.rank, stamp.seq);
  if (e->lane < TT_LANE_P2P && mine->stamp.seq == stamp.seq) tt_heading_fill(&p->head, mine);
  if (inside) memcpy(p->bytes, bytes, inside);
  const tt_slot s = {
      .kind = PACKET_OUT, .more = behind != 0, .out = e, .what = p, .ticket = e->sent};
  const tutti_status status =
      tt_slot_start(m, s, e->peer, e->lane, &p->head, sizeof p->head + inside, NULL);
  if (status) {
    tt_packet_put(m, p);
  } else {
    e->packets++;
    m->sending += e->lane != TT_LANE_P2P;
  }
  return status;
}

/* Returns the rail for the next data message, or -1 if all rails are full. Rails with equal load take turns. */
static int free_rail(const tt_net *m, const tt_out_end *e) {
  int best = -1;
  for (int i = 1; i <= m->rails; i++) {
    const int r = (m->last_rail + i) % m->rails;
    if (e->rail[r].flying < e->rail[r].window && (best < 0 || m->flying[r] < m->flying[best]))
      best = r;
  }
  return e->sent - e->over < OUT ? best : -1;
}

/* Returns the size of the next piece when `left` bytes of a message remain to be sent. A piece contains at most half of the
 * remainder. The last pieces are therefore small, and the receiver can sum one piece while the next arrives. */
static size_t piece_of(const tt_net *m, size_t left) {
  return tt_max(PIECE, tt_min(m->piece, left / 2 / PIECE * PIECE));
}

size_t tt_net_push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                   size_t left, uint64_t *ticket, tutti_status *status) {
  tt_net *m = tt_net_of(w);
  tt_out_end *e = tt_net_out(m, peer, lane);
  *ticket = 0;
  if (!e) *status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for messages to rank %d", peer);
  const int rail = e && e->packets < OUT ? free_rail(m, e) : -1;
  if (rail < 0) return 0;
  if (m->net.simulated) return tt_simulated_push(m, e, stamp, bytes, n, left, ticket, status);
  if (n <= m->wire.size.beside) {
    *status = tt_packet_send(m, e, stamp, bytes, n, 0, 0);
    return *status ? 0 : n;
  }
  const size_t piece = piece_of(m, left);
  const bool more = n > piece;
  n = tt_min(n, piece);
  const tt_slot s = {
      .kind = BYTES_OUT, .sure = more, .out = e, .ticket = e->sent, .what = tt_bounce_get(m, n)};
  if (!s.what) *status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a message to rank %d", peer);
  if (!*status) *status = tt_packet_send(m, e, stamp, NULL, 0, n, rail);
  if (!*status) memcpy(s.what, bytes, n);
  if (!*status) *status = tt_slot_start(m, s, peer, tt_bytes_tag(lane, rail), s.what, n, NULL);
  if (*status) {
    tt_bounce_put(m, s.what);
    return 0;
  }
  m->sending += lane != TT_LANE_P2P;
  *ticket = tt_bytes_begin(m, e, rail, more ? tt_seconds() : 0);
  return n;
}

bool tt_net_consumed(tt_wire *w, int peer, int lane, uint64_t ticket) {
  const tt_out_end *e = tt_net_out(tt_net_of(w), peer, lane);
  return e->over >= ticket;
}

/* Adjusts the window to the time that the last receipt took. A late receipt means that messages are queued somewhere on the
 * way. Receipts wait behind messages in the opposite direction, so on a slow link the two directions alternate. */
static void adjust_window(tt_out_rail *r, double took) {
  const double longer = r->shortest * (1 + 1. / 64); /* it grows slowly, because the fastest time
                                                        may never recur */
  r->shortest = r->shortest == 0 || took < longer ? took : longer;
  if (took <= 2 * r->shortest)
    r->window += r->window < OUT;
  else
    r->window -= r->window > 1;
}

uint64_t tt_bytes_begin(tt_net *m, tt_out_end *e, int rail, double since) {
  e->flight[e->sent % OUT].done = false;
  e->flight[e->sent % OUT].rail = rail;
  e->flight[e->sent % OUT].since = since;
  e->rail[rail].flying++;
  m->flying[rail]++;
  m->last_rail = rail;
  return ++e->sent;
}

void tt_bytes_left(tt_net *m, tt_out_end *e, uint64_t ticket) {
  const int rail = e->flight[ticket % OUT].rail;
  e->flight[ticket % OUT].done = true;
  e->rail[rail].flying--;
  m->flying[rail]--;
  const double since = e->flight[ticket % OUT].since;
  if (since > 0) adjust_window(&e->rail[rail], tt_seconds() - since);
  while (e->over != e->sent && e->flight[e->over % OUT].done) e->over++;
}
