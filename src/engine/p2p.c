/* p2p.c - moves p2p messages: headers, and the bytes that did not fit in them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "p2p.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET = 256, GULP = 1 << 20 }; /* GULP: most bytes received in one pass */

typedef struct header {
  uint64_t count;
  uint32_t type;
  uint32_t inside; /* bytes of the message behind the header */
} header;

/* The unfinished messages of one peer and direction, in order. */
typedef struct box {
  tt_p2p_message *first, **end;
  uint64_t posted; /* so far */
  bool active;     /* in the list of nonempty queues */
  struct box *next;
} box;

struct tt_p2p {
  tt_wire *wire;
  box *active;
  tt_p2p_message *over, **over_end; /* of this pass */
  box boxes[];                      /* per peer: in, out */
};

tt_p2p *tt_p2p_new(tt_wire *wire) {
  tt_p2p *p2p = calloc(1, sizeof *p2p + 2 * (size_t)wire->ranks * sizeof *p2p->boxes);
  if (!p2p) return NULL;
  p2p->wire = wire;
  for (int i = 0; i < 2 * wire->ranks; i++)
    p2p->boxes[i] = (box){.end = &p2p->boxes[i].first, .posted = wire->first};
  return p2p;
}

void tt_p2p_free(tt_p2p *p2p) {
  free(p2p);
}

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *m) {
  box *b = &p2p->boxes[2 * m->peer + m->sends];
  m->opened = m->exported = false;
  m->moved = 0;
  m->number = b->posted++;
  m->next = NULL;
  *b->end = m;
  b->end = &m->next;
  if (b->active) return;
  b->active = true;
  b->next = p2p->active;
  p2p->active = b;
}

bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *m) {
  return m->peer == p2p->wire->rank && !p2p->boxes[2 * m->peer + !m->sends].first;
}

/* Move a finished message from its queue to the list `over`. */
static void dequeue_finished(tt_p2p *p2p, box *b, tt_p2p_message **link, bool *moved) {
  tt_p2p_message *m = *link;
  *link = m->next;
  if (!m->next) b->end = link;
  m->next = NULL;
  *p2p->over_end = m;
  p2p->over_end = &m->next;
  *moved = true;
}

static tt_stamp stamp_of(const tt_p2p_message *m) {
  return (tt_stamp){m->number, 0};
}

static bool differs_from(const tt_p2p_message *m, const header *head) {
  return head->count != m->count || head->type != m->type;
}

/* The receive does not match the send. */
static tutti_status differ(const tt_p2p_message *m, int me, uint64_t count, uint32_t type) {
  return tt_fail(TUTTI_ERR_MISMATCH,
                 "message %llu from rank %d to rank %d: sent are %llu %s, received %llu %s",
                 (unsigned long long)m->number, m->peer, me, (unsigned long long)count,
                 tutti_type_name((tutti_type)type), (unsigned long long)m->count,
                 tutti_type_name(m->type));
}

/* ---- sending ---- */

static bool send_header(tt_wire *w, tt_p2p_message *m, bool *moved, tutti_status *status) {
  char packet[PACKET];
  const size_t capacity = tt_min(w->beside, sizeof packet) - sizeof(header);
  const header head = {m->count, m->type, m->bytes <= capacity ? (uint32_t)m->bytes : 0};
  uint64_t ticket;
  memcpy(packet, &head, sizeof head);
  if (head.inside) memcpy(packet + sizeof head, m->at, head.inside);
  const size_t n = sizeof head + head.inside;
  if (!w->channel->push(w, m->peer, TT_LANE_P2P, stamp_of(m), packet, n, n, &ticket, status))
    return false;
  m->moved = head.inside;
  return m->opened = *moved = true;
}

/* True once the whole message has been sent. */
static bool send_message(tt_wire *w, tt_p2p_message *m, bool *moved, tutti_status *status) {
  if (!m->opened && !send_header(w, m, moved, status)) return false;
  while (m->moved < m->bytes) {
    uint64_t ticket = 0;
    const char *from = (const char *)m->at + m->moved;
    const size_t left = m->bytes - m->moved;
    const size_t n =
        w->channel->push(w, m->peer, TT_LANE_P2P, stamp_of(m), from, left, left, &ticket, status);
    if (!n) return false;
    if (ticket) m->ticket = ticket;
    m->exported |= ticket != 0;
    m->moved += n;
    *moved = true;
  }
  return true;
}

static void send_all(tt_p2p *p2p, box *b, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  for (tt_p2p_message **link = &b->first; *link;) {
    tt_p2p_message *m = *link;
    if (!send_message(w, m, moved, status)) return; /* messages behind it wait */
    if (m->exported && !w->channel->consumed(w, m->peer, TT_LANE_P2P, m->ticket))
      link = &m->next;
    else
      dequeue_finished(p2p, b, link, moved);
  }
}

/* ---- receiving ---- */

static bool read_header(tt_wire *w, tt_p2p_message *m, bool *moved, tutti_status *status) {
  tt_stamp stamp;
  header head;
  const size_t n = w->channel->head(w, m->peer, TT_LANE_P2P, &stamp);
  size_t seen = n;
  const char *packet = n ? w->channel->view(w, m->peer, TT_LANE_P2P, &seen, status) : NULL;
  if (!packet) return false;
  const bool whole = seen == n && n >= sizeof head;
  if (whole) memcpy(&head, packet, sizeof head);
  if (!whole || head.inside != n - sizeof head ||
      (head.inside && head.inside != m->bytes && !differs_from(m, &head))) {
    *status =
        tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent rank %d a message whose header makes no sense",
                m->peer, w->rank);
    return false;
  }
  if (differs_from(m, &head)) {
    *status = differ(m, w->rank, head.count, head.type);
    return false;
  }
  memcpy(m->at, packet + sizeof head, head.inside);
  m->moved = head.inside;
  w->channel->release(w, m->peer, TT_LANE_P2P, n);
  return m->opened = *moved = true;
}

/* No bytes are there yet: announce their destination. */
static void announce_receive(tt_wire *w, const tt_p2p_message *m) {
  const size_t left = m->bytes - m->moved;
  if (left && w->channel->expect)
    w->channel->expect(w, m->peer, TT_LANE_P2P, (char *)m->at + m->moved, left, left);
}

/* True once the whole message has come. */
static bool receive(tt_wire *w, tt_p2p_message *m, bool *moved, tutti_status *status) {
  tt_stamp stamp;
  size_t n, budget = GULP;
  if (!m->opened && !read_header(w, m, moved, status)) return false;
  while (m->moved < m->bytes && budget &&
         (n = w->channel->head(w, m->peer, TT_LANE_P2P, &stamp)) > 0) {
    n = tt_min(tt_min(n, budget), m->bytes - m->moved);
    if (!w->channel->pull(w, m->peer, TT_LANE_P2P, (char *)m->at + m->moved, n, status))
      return false;
    m->moved += n;
    budget -= n;
    *moved = true;
  }
  if (budget) announce_receive(w, m);
  return m->moved == m->bytes;
}

/* ---- both ---- */

/* A rank's messages to itself. */
static void deliver_to_self(tt_p2p *p2p, box *in, bool *moved, tutti_status *status) {
  box *out = in + 1;
  while (in->first && out->first) {
    const tt_p2p_message *from = out->first, *to = in->first;
    if (from->count != to->count || from->type != to->type) {
      *status = differ(to, to->peer, from->count, from->type);
      return;
    }
    if (to->bytes) memmove(to->at, from->at, to->bytes);
    dequeue_finished(p2p, in, &in->first, moved);
    dequeue_finished(p2p, out, &out->first, moved);
  }
}

static void progress_queue(tt_p2p *p2p, box *b, bool *moved, tutti_status *status) {
  const int i = (int)(b - p2p->boxes);
  if (i / 2 == p2p->wire->rank)
    deliver_to_self(p2p, b - i % 2, moved, status);
  else if (i % 2)
    send_all(p2p, b, moved, status);
  else
    while (b->first && receive(p2p->wire, b->first, moved, status))
      dequeue_finished(p2p, b, &b->first, moved);
}

tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status) {
  tt_wire *w = p2p->wire;
  p2p->over = NULL;
  p2p->over_end = &p2p->over;
  if (!p2p->active || !w->memory->enter(w)) return NULL;
  for (box **link = &p2p->active; *link;) {
    box *b = *link;
    if (!*status) progress_queue(p2p, b, moved, status);
    b->active = b->first != NULL;
    if (b->active)
      link = &b->next;
    else
      *link = b->next;
  }
  w->memory->leave(w);
  return p2p->over;
}

tt_p2p_message *tt_p2p_drop(tt_p2p *p2p) {
  bool moved = false;
  p2p->over = NULL;
  p2p->over_end = &p2p->over;
  for (; p2p->active; p2p->active = p2p->active->next) {
    p2p->active->active = false;
    while (p2p->active->first) dequeue_finished(p2p, p2p->active, &p2p->active->first, &moved);
  }
  return p2p->over;
}

const tt_p2p_message *tt_p2p_first(const tt_p2p *p2p, int i) {
  for (const box *b = p2p->active; b; b = b->next)
    if (b->first && i-- == 0) return b->first;
  return NULL;
}
