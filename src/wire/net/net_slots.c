/* net_slots.c - numbered requests of a network, free lists of their buffers, and memory allocated
 * for the caller.
 *
 * Invariant  Slot numbers stay low: slots at and above `top` are free.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

tutti_status tt_net_failed(tt_net *m, const char *what, int peer) {
  m->failed = true;
  char who[40] = "";
  if (peer >= 0) snprintf(who, sizeof who, " rank %d", peer);
  return tt_fail(TUTTI_ERR_SYSTEM, "%s cannot %s%s: %.200s", m->net.name, what, who,
                 m->net.error(m->net.self));
}

static int take_slot(tt_requests *q) {
  if (!q->spare) {
    const int n = q->n ? 2 * q->n : 32;
    tt_slot *slots = realloc(q->slots, (size_t)n * sizeof *slots);
    if (!slots) return -1;
    q->slots = slots;
    for (int i = n; i > q->n; q->spare = i--) slots[i - 1] = (tt_slot){.next_spare = q->spare};
    q->n = n;
  }
  const int s = q->spare - 1;
  q->spare = q->slots[s].next_spare;
  if (s >= q->top) q->top = s + 1;
  return s;
}

void tt_slot_give(tt_net *m, int s) {
  tt_requests *q = &m->requests;
  q->slots[s] = (tt_slot){.next_spare = q->spare};
  q->spare = s + 1;
  while (q->top && q->slots[q->top - 1].kind == FREE) q->top--;
}

tutti_status tt_slot_start(tt_net *m, tt_slot what, int peer, int tag, void *bytes, size_t n,
                           int *number) {
  const bool sends = what.kind < PACKET_IN;
  if (m->failed) return tt_fail(TUTTI_ERR_SYSTEM, "%s has failed", m->net.name);
  const int s = take_slot(&m->requests);
  if (s < 0) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for messages to rank %d", peer);
  m->requests.slots[s] = what;
  if (number) *number = s;
  const int sure = what.sure && !m->aborted; /* after an abort, no rank waits for the receipt */
  const int more = what.more && m->net.stream ? TUTTI_NET_MORE : 0;
  const int failed = sends ? m->net.send(m->net.self, s, peer, tag, bytes, n, sure | more)
                           : m->net.recv(m->net.self, s, peer, tag, bytes, n);
  if (!failed) return TUTTI_OK;
  tt_slot_give(m, s);
  return tt_net_failed(m, sends ? "send to" : "receive from", peer);
}

tt_packet *tt_packet_get(tt_net *m) {
  tt_packet *p = m->packets;
  if (!p) return malloc(sizeof *p + m->wire.size.beside);
  m->packets = p->next;
  return p;
}

void tt_packet_put(tt_net *m, tt_packet *p) {
  if (!p) return;
  p->next = m->packets;
  m->packets = p;
}

char *tt_bounce_get(tt_net *m, size_t bytes) {
  void *at = m->bounces;
  if (m->net.simulated) return tt_scratch_take(bytes);
  if (!at) return aligned_alloc(64, m->piece);
  memcpy(&m->bounces, at, sizeof m->bounces);
  return at;
}

void tt_bounce_put(tt_net *m, void *at) {
  if (!at) return;
  if (m->net.simulated) {
    tt_scratch_give(at);
    return;
  }
  memcpy(at, &m->bounces, sizeof m->bounces);
  m->bounces = at;
}

void *tt_net_alloc(tt_wire *w, size_t bytes) {
  tt_net *m = tt_net_of(w);
  tt_given *entry = bytes > PTRDIFF_MAX - 4096 ? NULL : malloc(sizeof *entry);
  void *at = entry ? tt_scratch_take(tt_round_up(tt_max(bytes, 1), 4096)) : NULL;
  if (!at) {
    free(entry);
    return NULL;
  }
  memset(at, 0, bytes);
  *entry = (tt_given){m->given, at};
  m->given = entry;
  return at;
}

bool tt_net_free(tt_wire *w, void *at) {
  for (tt_given **link = &tt_net_of(w)->given; *link; link = &(*link)->next) {
    tt_given *entry = *link;
    if (entry->at != at) continue;
    *link = entry->next;
    tt_scratch_give(at);
    free(entry);
    return true;
  }
  return false;
}
