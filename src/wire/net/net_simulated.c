/* net_simulated.c - the wire over a simulated network. Each message of a schedule is one simulated
 * message, which leaves at the time given by the cost model.
 *
 * Idea       Bytes that do not fit in a packet are sent at the same time as the packet, and their receive is
 *            posted together with the packet's, so both together take as long as one message. Bytes in several
 *            buffers are packed first. A rank has one message in flight per slice, and one per level that
 *            separates it from a peer, unless it has several ports. If the placement is unknown, all messages
 *            of one step are in flight simultaneously.
 * Proofs     Simulated ranks share one process: the first rank that needs a plan proves it for all.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

/* Returns the payload size of a packet. If a thousand ranks send to each other, the process has millions of packets.
 * Therefore all packets from one rank to the other ranks hold 1 MiB in total, but each holds at least 1 KiB. */
size_t tt_simulated_packet(int ranks) {
  const size_t share = ((size_t)1 << 20) / (size_t)ranks;
  return tt_min(SMALL, tt_max(share, SMALL / 8));
}

/* ---- sending ---- */

/* Sends a message in one piece. No receipt is requested, because a sender has only one message in flight. packed: a buffer to
 * release once the message is sent, or NULL. */
static tutti_status send_whole_message(tt_net *m, tt_out_end *e, tt_stamp stamp, const void *bytes,
                                       size_t n, void *packed) {
  const size_t inside = n <= m->wire.size.beside ? n : 0;
  tutti_status status = tt_packet_send(m, e, stamp, bytes, inside, n - inside, 0);
  if (!status && !inside) {
    const tt_slot s = {.kind = BYTES_OUT, .out = e, .ticket = e->sent, .what = packed};
    status =
        tt_slot_start(m, s, e->peer, tt_bytes_tag(e->lane, 0), (void *)(uintptr_t)bytes, n, NULL);
    m->sending += !status && e->lane != TT_LANE_P2P;
  }
  if (status || inside) tt_bounce_put(m, packed);
  tt_bytes_begin(m, e, 0, 0);
  return status;
}

size_t tt_simulated_push(tt_net *m, tt_out_end *e, tt_stamp stamp, const void *bytes, size_t n,
                         size_t left, uint64_t *ticket, tutti_status *status) {
  const bool alone = !e->have && n == left;
  if (!e->have && !alone && !(e->packed = tt_bounce_get(m, left))) {
    *status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a message to rank %d", e->peer);
    return 0;
  }
  if (!alone) {
    memcpy(e->packed + e->have, bytes, n);
    e->have += n;
  }
  if (n < left) return n;
  *status = send_whole_message(m, e, stamp, alone ? bytes : e->packed, alone ? n : e->have,
                               alone ? NULL : e->packed);
  e->have = 0;
  *ticket = e->sent;
  return *status ? 0 : n;
}

/* ---- receiving ---- */

void tt_simulated_expect(tt_net *m, tt_in_end *e, void *to, size_t left) {
  if (left <= m->wire.size.beside || e->n || e->early || e->listens < 0) return;
  tt_piece *p = &e->queue[e->first];
  *p = (tt_piece){.bytes = left, .at = to, .slot = -1};
  if (!to) p->at = p->bounce = tt_bounce_get(m, left);
  const tt_slot s = {.kind = BYTES_IN, .in = e, .what = p};
  /* the next poll reports a failure */
  e->early =
      p->at && !tt_slot_start(m, s, e->peer, tt_bytes_tag(e->lane, 0), p->at, left, &p->slot);
  if (!e->early) tt_bounce_put(m, p->bounce);
}

tutti_status tt_simulated_came(tt_net *m, tt_in_end *e, tt_piece *p, size_t inside, size_t behind) {
  e->early = false;
  p->packet = e->packet;
  e->packet = NULL;
  if (behind) {
    if (p->slot >= 0) p->bytes = behind;
    return TUTTI_OK;
  }
  /* the ranks made different calls, so no bytes follow */
  if (p->slot >= 0 && !m->net.cancel(m->net.self, p->slot)) tt_slot_give(m, p->slot);
  tt_bounce_put(m, p->bounce);
  *p = (tt_piece){p->packet, p->packet->bytes, NULL, inside, -1};
  return TUTTI_OK;
}

/* ---- state shared by the simulated ranks ---- */

/* Allocates the table of proofs. An extra word at its end counts the wires that use the table. */
atomic_ullong *tt_net_make_proofs(int ranks) {
  atomic_ullong *proofs = calloc(TT_PROOFS + 1, sizeof *proofs);
  if (proofs) atomic_init(&proofs[TT_PROOFS], (unsigned long long)ranks);
  return proofs;
}

void tt_net_share_proofs(tt_wire *w, atomic_ullong *proofs, bool joins) {
  w->proofs = proofs;
  if (proofs && joins) atomic_fetch_add_explicit(&proofs[TT_PROOFS], 1, memory_order_relaxed);
}

void tt_simulated_drop_proofs(tt_net *m) {
  atomic_ullong *proofs = m->wire.proofs;
  if (proofs && atomic_fetch_sub_explicit(&proofs[TT_PROOFS], 1, memory_order_relaxed) == 1)
    free(proofs);
}

tutti_status tt_net_set_levels(tt_wire *w, const uint8_t *level, bool at_once) {
  tt_net *m = tt_net_of(w);
  if (!m->level) w->paced.level = m->level = malloc((size_t)w->ranks);
  if (!m->level) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", w->ranks);
  memcpy(m->level, level, (size_t)w->ranks);
  w->paced.at_once = at_once;
  return TUTTI_OK;
}
