/* p2p.c - moves p2p messages: headers, and the bytes that do not fit in them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "p2p.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKET = 256, GULP = 1 << 20 }; /* GULP: maximum number of bytes received in one pass */

typedef struct header {
  uint64_t count;
  uint32_t type;
  uint32_t inside; /* bytes of the message that follow in the same packet */
  int32_t tag;
  uint32_t unused;
} header;

typedef struct queue { /* messages, in the order of posting */
  tt_p2p_message *first, **end;
} queue;

/* A message that arrived before any receive accepted it. */
typedef struct early {
  header head;
  size_t bytes, moved;
  struct early *next;
  char at[];
} early;

typedef struct peer {
  queue out;            /* unfinished sends to it */
  uint64_t sent;        /* number of the next message */
  uint32_t wanted;      /* receives that accept only messages of this rank */
  bool active;          /* has such sends or receives, so it is in the list of active peers */
  struct peer *next;    /* in that list */
  tt_p2p_message *into; /* the receive whose message is arriving; or NULL */
  early *early;         /* in the order of arrival; the last may still be arriving */
} peer;

struct tt_p2p {
  tt_wire *wire;
  peer *active;
  queue wanted;        /* unfinished receives */
  uint32_t wanted_any; /* how many of them accept messages of any rank */
  queue over;          /* messages that have ended in this pass */
  peer peers[];
};

static void queue_clear(queue *q) {
  q->first = NULL;
  q->end = &q->first;
}

static void queue_add(queue *q, tt_p2p_message *m) {
  m->next = NULL;
  *q->end = m;
  q->end = &m->next;
}

/* Removes the message that `link` points to from the queue, and returns the message. */
static tt_p2p_message *queue_take(queue *q, tt_p2p_message **link) {
  tt_p2p_message *m = *link;
  *link = m->next;
  if (!m->next) q->end = link;
  return m;
}

tt_p2p *tt_p2p_new(tt_wire *wire) {
  tt_p2p *p2p = calloc(1, sizeof *p2p + (size_t)wire->ranks * sizeof *p2p->peers);
  if (!p2p) return NULL;
  p2p->wire = wire;
  queue_clear(&p2p->wanted);
  for (int i = 0; i < wire->ranks; i++) {
    queue_clear(&p2p->peers[i].out);
    p2p->peers[i].sent = wire->first;
  }
  return p2p;
}

static void early_free(early **link) {
  early *e = *link;
  *link = e->next;
  free(e);
}

void tt_p2p_free(tt_p2p *p2p) {
  for (int i = 0; p2p && i < p2p->wire->ranks; i++)
    while (p2p->peers[i].early) early_free(&p2p->peers[i].early);
  free(p2p);
}

/* Adds a peer to the list of active peers, whose sends and receives are driven. */
static void activate(tt_p2p *p2p, peer *p) {
  if (p->active) return;
  p->active = true;
  p->next = p2p->active;
  p2p->active = p;
}

/* Increments or decrements the number of receives for messages from rank `source`, or from any rank. */
static void count_receive(tt_p2p *p2p, int source, bool more) {
  uint32_t *n = source == TUTTI_ANY_SOURCE ? &p2p->wanted_any : &p2p->peers[source].wanted;
  *n += more ? 1 : -1u;
  if (source != TUTTI_ANY_SOURCE) activate(p2p, &p2p->peers[source]);
}

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *m) {
  m->opened = m->exported = false;
  m->moved = 0;
  queue_add(m->sends ? &p2p->peers[m->peer].out : &p2p->wanted, m);
  if (m->sends)
    activate(p2p, &p2p->peers[m->peer]);
  else
    count_receive(p2p, m->peer, true);
}

/* Removes a receive from the queue of unfinished receives. */
static void remove_receive(tt_p2p *p2p, tt_p2p_message *m) {
  tt_p2p_message **link = &p2p->wanted.first;
  while (*link != m) link = &(*link)->next;
  queue_take(&p2p->wanted, link);
  count_receive(p2p, tt_p2p_peer(m), false);
}

bool tt_p2p_withdraw(tt_p2p *p2p, tt_p2p_message *m) {
  if (m->sends || m->opened) return false;
  remove_receive(p2p, m);
  return true;
}

/* ---- matching ---- */

static bool accepts(const tt_p2p_message *m, int source, int tag) {
  return !m->opened && (m->peer == source || m->peer == TUTTI_ANY_SOURCE) &&
         (m->tag == tag || m->tag == TUTTI_ANY_TAG);
}

/* Returns the receive that was posted first among those that accept such a message, or NULL. */
static tt_p2p_message *receive_for(const tt_p2p *p2p, int source, int tag) {
  tt_p2p_message *m = p2p->wanted.first;
  while (m && !accepts(m, source, tag)) m = m->next;
  return m;
}

bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *m) {
  const int me = p2p->wire->rank;
  if (m->opened) return false;
  if (m->sends) return m->peer == me && !receive_for(p2p, me, m->tag);
  if (m->peer != me && (m->peer != TUTTI_ANY_SOURCE || p2p->wire->ranks > 1)) return false;
  for (const tt_p2p_message *s = p2p->peers[me].out.first; s; s = s->next)
    if (accepts(m, me, s->tag)) return false;
  return true;
}

/* Assigns a message to a receive. Returns false and sets *status if the message is too long or has another type. */
static bool open_receive(tt_p2p *p2p, tt_p2p_message *m, int source, const header *head,
                         tutti_status *status) {
  if (head->type != m->type || head->count > m->count) {
    *status = tt_fail(TUTTI_ERR_MISMATCH,
                      "message from rank %d to rank %d with tag %d: sent are %" PRIu64
                      " %s, and the receive has room for %" PRIu64 " %s",
                      source, p2p->wire->rank, head->tag, head->count,
                      tutti_type_name((tutti_type)head->type), m->count, tutti_type_name(m->type));
    return false;
  }
  count_receive(p2p, m->peer, false);
  count_receive(p2p, source, true);
  m->got = (tutti_received){source, head->tag, (size_t)head->count};
  m->comes = (size_t)head->count * tutti_type_size(m->type);
  return m->opened = true;
}

static void end_receive(tt_p2p *p2p, tt_p2p_message *m) {
  remove_receive(p2p, m);
  queue_add(&p2p->over, m);
}

/* ---- sending ---- */

static header header_of(const tt_p2p_message *m, size_t inside) {
  return (header){m->count, m->type, (uint32_t)inside, m->tag, 0};
}

static bool send_header(tt_p2p *p2p, tt_p2p_message *m, bool *moved, tutti_status *status) {
  char packet[PACKET];
  tt_wire *w = p2p->wire;
  peer *p = &p2p->peers[m->peer];
  const size_t capacity = tt_min(w->size.beside, sizeof packet) - sizeof(header);
  const header head = header_of(m, m->bytes <= capacity ? m->bytes : 0);
  const size_t n = sizeof head + head.inside;
  uint64_t ticket;
  memcpy(packet, &head, sizeof head);
  if (head.inside) memcpy(packet + sizeof head, m->at, head.inside);
  if (!w->channel->push(w, m->peer, TT_LANE_P2P, (tt_stamp){p->sent, 0}, packet, n, n, &ticket,
                        status))
    return false;
  p->sent++;
  m->moved = head.inside;
  return m->opened = *moved = true;
}

/* Returns true once the whole message has been sent. */
static bool send_message(tt_p2p *p2p, tt_p2p_message *m, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  if (!m->opened && !send_header(p2p, m, moved, status)) return false;
  while (m->moved < m->bytes) {
    uint64_t ticket = 0;
    const char *from = (const char *)m->at + m->moved;
    const size_t left = m->bytes - m->moved;
    const tt_stamp stamp = {p2p->peers[m->peer].sent - 1, 0};
    const size_t n =
        w->channel->push(w, m->peer, TT_LANE_P2P, stamp, from, left, left, &ticket, status);
    if (!n) return false;
    if (ticket) m->ticket = ticket;
    m->exported |= ticket != 0;
    m->moved += n;
    *moved = true;
  }
  return true;
}

static void send_all(tt_p2p *p2p, peer *p, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  for (tt_p2p_message **link = &p->out.first; *link;) {
    tt_p2p_message *m = *link;
    if (!send_message(p2p, m, moved, status)) return; /* later messages wait */
    if (m->exported && !w->channel->consumed(w, m->peer, TT_LANE_P2P, m->ticket)) {
      link = &m->next;
    } else {
      queue_add(&p2p->over, queue_take(&p->out, link));
      *moved = true;
    }
  }
}

/* Delivers messages that this rank sends to itself. */
static void deliver_to_self(tt_p2p *p2p, bool *moved, tutti_status *status) {
  const int me = p2p->wire->rank;
  peer *p = &p2p->peers[me];
  for (tt_p2p_message **link = &p->out.first; *link;) {
    tt_p2p_message *from = *link, *to = receive_for(p2p, me, from->tag);
    const header head = header_of(from, from->bytes);
    if (to && !open_receive(p2p, to, me, &head, status)) return;
    if (!to) {
      link = &from->next;
      continue;
    }
    if (from->bytes) memmove(to->at, from->at, from->bytes);
    end_receive(p2p, to);
    queue_add(&p2p->over, queue_take(&p->out, link));
    *moved = true;
  }
}

/* ---- receiving ---- */

/* Reads the header of the next message from a rank. A message that no receive accepts is kept as an early message. */
static bool read_header(tt_p2p *p2p, int source, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  peer *p = &p2p->peers[source];
  tt_stamp stamp;
  header head;
  const size_t n = w->channel->head(w, source, TT_LANE_P2P, &stamp);
  size_t seen = n;
  const char *packet = n ? w->channel->view(w, source, TT_LANE_P2P, &seen, status) : NULL;
  if (!packet) return false;
  const bool whole = seen == n && n >= sizeof head;
  if (whole) memcpy(&head, packet, sizeof head);
  const bool known = whole && head.type < TUTTI_TYPE_COUNT && head.tag >= 0;
  const size_t element = known ? tutti_type_size((tutti_type)head.type) : 1;
  const size_t bytes = known && head.count <= SIZE_MAX / 2 / element ? head.count * element : 0;
  if (!known || bytes / element != head.count || head.inside != n - sizeof head ||
      (head.inside && head.inside != bytes)) {
    *status =
        tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent rank %d a message whose header makes no sense",
                source, w->rank);
    return false;
  }
  tt_p2p_message *m = receive_for(p2p, source, head.tag);
  char *at = m ? m->at : NULL;
  if (m && !open_receive(p2p, m, source, &head, status)) return false;
  if (!m) {
    early *e = malloc(sizeof *e + bytes), **link = &p->early;
    if (!e) {
      *status =
          tt_fail(TUTTI_ERR_MEMORY,
                  "out of memory for a message of %zu bytes of rank %d with tag %d, which this "
                  "rank has not begun to receive",
                  bytes, source, head.tag);
      return false;
    }
    while (*link) link = &(*link)->next;
    *link = e;
    *e = (early){.head = head, .bytes = bytes, .moved = head.inside};
    at = e->at;
  }
  if (head.inside) memcpy(at, packet + sizeof head, head.inside);
  if (m) m->moved = head.inside;
  p->into = m;
  w->channel->release(w, source, TT_LANE_P2P, n);
  return *moved = true;
}

/* Receives part of an arriving message. Returns true once the whole message has arrived. */
static bool pull(tt_wire *w, int source, char *at, size_t bytes, size_t *done, bool *moved,
                 tutti_status *status) {
  tt_stamp stamp;
  size_t n, budget = GULP;
  while (*done < bytes && budget && (n = w->channel->head(w, source, TT_LANE_P2P, &stamp)) > 0) {
    n = tt_min(tt_min(n, budget), bytes - *done);
    if (!w->channel->pull(w, source, TT_LANE_P2P, at + *done, n, status)) return false;
    *done += n;
    budget -= n;
    *moved = true;
  }
  const size_t left = bytes - *done;
  if (budget && left && w->channel->expect)
    w->channel->expect(w, source, TT_LANE_P2P, at + *done, left, left);
  return !left;
}

/* Delivers early messages that are complete and that a posted receive now accepts. */
static void deliver_early(tt_p2p *p2p, int source, bool *moved, tutti_status *status) {
  for (early **link = &p2p->peers[source].early; *link && !*status;) {
    early *e = *link;
    tt_p2p_message *m = receive_for(p2p, source, e->head.tag);
    if (e->moved < e->bytes) return;
    if (m && open_receive(p2p, m, source, &e->head, status)) {
      if (e->bytes) memcpy(m->at, e->at, e->bytes);
      end_receive(p2p, m);
      early_free(link);
      *moved = true;
    } else {
      link = &e->next;
    }
  }
}

/* Receives messages from a rank while any posted receive accepts messages from that rank. */
static void receive_from(tt_p2p *p2p, int source, bool *moved, tutti_status *status) {
  peer *p = &p2p->peers[source];
  if (!p->wanted && !p2p->wanted_any) return;
  do {
    early *e = p->early;
    tt_p2p_message *m = p->into;
    while (e && e->next) e = e->next;
    if (m && !pull(p2p->wire, source, m->at, m->comes, &m->moved, moved, status)) return;
    if (m) end_receive(p2p, m);
    p->into = NULL;
    if (e && !m && !pull(p2p->wire, source, e->at, e->bytes, &e->moved, moved, status)) return;
    deliver_early(p2p, source, moved, status);
  } while (!*status && (p->wanted || p2p->wanted_any) && read_header(p2p, source, moved, status));
}

/* ---- both directions ---- */

static void progress_peer(tt_p2p *p2p, peer *p, bool *moved, tutti_status *status) {
  const int rank = (int)(p - p2p->peers);
  if (rank == p2p->wire->rank) {
    deliver_to_self(p2p, moved, status);
    return;
  }
  send_all(p2p, p, moved, status);
  if (!*status) receive_from(p2p, rank, moved, status);
}

tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  queue_clear(&p2p->over);
  if ((!p2p->active && !p2p->wanted_any) || !w->memory->enter(w)) return NULL;
  for (peer **link = &p2p->active; *link;) {
    peer *p = *link;
    if (!*status) progress_peer(p2p, p, moved, status);
    p->active = p->out.first || p->wanted;
    if (p->active)
      link = &p->next;
    else
      *link = p->next;
  }
  for (int r = 0; p2p->wanted_any && r < w->ranks && !*status; r++)
    if (!p2p->peers[r].active) progress_peer(p2p, &p2p->peers[r], moved, status);
  w->memory->leave(w);
  return p2p->over.first;
}

tt_p2p_message *tt_p2p_drop(tt_p2p *p2p) {
  queue_clear(&p2p->over);
  while (p2p->wanted.first) end_receive(p2p, p2p->wanted.first);
  for (peer *p = p2p->active; p; p = p->next) {
    p->active = false;
    p->into = NULL;
    while (p->out.first) queue_add(&p2p->over, queue_take(&p->out, &p->out.first));
  }
  p2p->active = NULL;
  return p2p->over.first;
}

const tt_p2p_message *tt_p2p_waiting(const tt_p2p *p2p, int i) {
  for (const peer *p = p2p->active; p; p = p->next)
    if (p->out.first && i-- == 0) return p->out.first;
  const tt_p2p_message *m = p2p->wanted.first;
  while (m && i-- > 0) m = m->next;
  return m;
}

void tt_p2p_words(bool sends, uint64_t count, tutti_type type, int tag, char *text, size_t size) {
  const int n = snprintf(text, size, "%s %" PRIu64 " %s with ", sends ? "send" : "receive", count,
                         tutti_type_name(type));
  snprintf(text + n, size - (size_t)n, tag == TUTTI_ANY_TAG ? "any tag" : "tag %d", tag);
}
