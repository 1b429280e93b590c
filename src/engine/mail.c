/* mail.c - moves messages: letters, and the bytes that did not fit in.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "mail.h"

#include <stdlib.h>
#include <string.h>

enum { PAPER = 256, GULP = 1 << 20 }; /* GULP: bytes that one pass receives, at most */

typedef struct letter {
  uint64_t count;
  uint32_t type;
  uint32_t inside; /* bytes of the message behind this */
} letter;

/* The messages of one peer and direction that are not over, in order. */
typedef struct box {
  tt_parcel *first, **end;
  uint32_t posted;
  bool active; /* it is in the list of those that have any */
  struct box *next;
} box;

struct tt_mail {
  tt_wire *wire;
  box *active;
  tt_parcel *over, **over_end; /* of this pass */
  box boxes[];                 /* per peer: in, out */
};

tt_mail *tt_mail_new(tt_wire *wire) {
  tt_mail *mail = calloc(1, sizeof *mail + 2 * (size_t)wire->ranks * sizeof *mail->boxes);
  if (!mail) return NULL;
  mail->wire = wire;
  for (int i = 0; i < 2 * wire->ranks; i++) mail->boxes[i].end = &mail->boxes[i].first;
  return mail;
}

void tt_mail_free(tt_mail *mail) {
  free(mail);
}

void tt_mail_post(tt_mail *mail, tt_parcel *m) {
  box *b = &mail->boxes[2 * m->peer + m->sends];
  m->opened = m->lent = false;
  m->moved = 0;
  m->number = b->posted++;
  m->next = NULL;
  *b->end = m;
  b->end = &m->next;
  if (b->active) return;
  b->active = true;
  b->next = mail->active;
  mail->active = b;
}

bool tt_mail_is_alone(const tt_mail *mail, const tt_parcel *m) {
  return m->peer == mail->wire->rank && !mail->boxes[2 * m->peer + !m->sends].first;
}

/* Take the message out of its queue: it is over. */
static void finish(tt_mail *mail, box *b, tt_parcel **link, bool *moved) {
  tt_parcel *m = *link;
  *link = m->next;
  if (!m->next) b->end = link;
  m->next = NULL;
  *mail->over_end = m;
  mail->over_end = &m->next;
  *moved = true;
}

static tt_stamp stamp_of(const tt_parcel *m) {
  return (tt_stamp){m->number, 0};
}

/* What is received is not what is sent. */
static tutti_status differ(const tt_parcel *m, int me, uint64_t count, uint32_t type) {
  return tt_fail(
      TUTTI_ERR_MISMATCH, "message %u from rank %d to rank %d: sent are %llu %s, received %llu %s",
      m->number, m->peer, me, (unsigned long long)count, tutti_type_name((tutti_type)type),
      (unsigned long long)m->count, tutti_type_name(m->type));
}

/* ---- sending ---- */

static bool send_letter(tt_wire *w, tt_parcel *m, bool *moved, tutti_status *status) {
  char paper[PAPER];
  const size_t room = tt_min(w->beside, sizeof paper) - sizeof(letter);
  const letter head = {m->count, m->type, m->bytes <= room ? (uint32_t)m->bytes : 0};
  uint32_t ticket;
  memcpy(paper, &head, sizeof head);
  if (head.inside) memcpy(paper + sizeof head, m->at, head.inside);
  const size_t n = sizeof head + head.inside;
  if (!w->ops->push(w, m->peer, TT_MAIL, stamp_of(m), paper, n, n, &ticket, status)) return false;
  m->moved = head.inside;
  return m->opened = *moved = true;
}

/* True once all of it has gone. */
static bool send(tt_wire *w, tt_parcel *m, bool *moved, tutti_status *status) {
  if (!m->opened && !send_letter(w, m, moved, status)) return false;
  while (m->moved < m->bytes) {
    uint32_t ticket = 0;
    const char *from = (const char *)m->at + m->moved;
    const size_t left = m->bytes - m->moved;
    const size_t n =
        w->ops->push(w, m->peer, TT_MAIL, stamp_of(m), from, left, left, &ticket, status);
    if (!n) return false;
    if (ticket) m->ticket = ticket;
    m->lent |= ticket != 0;
    m->moved += n;
    *moved = true;
  }
  return true;
}

static void send_all(tt_mail *mail, box *b, bool *moved, tutti_status *status) {
  tt_wire *w = mail->wire;
  for (tt_parcel **link = &b->first; *link;) {
    tt_parcel *m = *link;
    if (!send(w, m, moved, status)) return; /* those behind it wait */
    if (m->lent && !w->ops->consumed(w, m->peer, TT_MAIL, m->ticket))
      link = &m->next;
    else
      finish(mail, b, link, moved);
  }
}

/* ---- receiving ---- */

static bool open_letter(tt_wire *w, tt_parcel *m, bool *moved, tutti_status *status) {
  tt_stamp stamp;
  letter head;
  const size_t n = w->ops->head(w, m->peer, TT_MAIL, &stamp);
  size_t seen = n;
  const char *paper = n ? w->ops->view(w, m->peer, TT_MAIL, &seen, status) : NULL;
  if (!paper) return false;
  memcpy(&head, paper, sizeof head);
  if (head.count != m->count || head.type != m->type) {
    *status = differ(m, w->rank, head.count, head.type);
    return false;
  }
  memcpy(m->at, paper + sizeof head, head.inside);
  m->moved = head.inside;
  w->ops->release(w, m->peer, TT_MAIL, n);
  return m->opened = *moved = true;
}

/* Nothing is there: say where it is to go. */
static void expect(tt_wire *w, const tt_parcel *m) {
  const size_t left = m->bytes - m->moved;
  if (left && w->ops->expect)
    w->ops->expect(w, m->peer, TT_MAIL, (char *)m->at + m->moved, left, left);
}

/* True once all of it has come. */
static bool receive(tt_wire *w, tt_parcel *m, bool *moved, tutti_status *status) {
  tt_stamp stamp;
  size_t n, budget = GULP;
  if (!m->opened && !open_letter(w, m, moved, status)) return false;
  while (m->moved < m->bytes && budget && (n = w->ops->head(w, m->peer, TT_MAIL, &stamp)) > 0) {
    n = tt_min(tt_min(n, budget), m->bytes - m->moved);
    if (!w->ops->pull(w, m->peer, TT_MAIL, (char *)m->at + m->moved, n, status)) return false;
    m->moved += n;
    budget -= n;
    *moved = true;
  }
  if (budget) expect(w, m);
  return m->moved == m->bytes;
}

/* ---- both ---- */

/* A rank's messages to itself. */
static void hand_over(tt_mail *mail, box *in, bool *moved, tutti_status *status) {
  box *out = in + 1;
  while (in->first && out->first) {
    const tt_parcel *from = out->first, *to = in->first;
    if (from->count != to->count || from->type != to->type) {
      *status = differ(to, to->peer, from->count, from->type);
      return;
    }
    if (to->bytes) memmove(to->at, from->at, to->bytes);
    finish(mail, in, &in->first, moved);
    finish(mail, out, &out->first, moved);
  }
}

static void work(tt_mail *mail, box *b, bool *moved, tutti_status *status) {
  const int i = (int)(b - mail->boxes);
  if (i / 2 == mail->wire->rank)
    hand_over(mail, b - i % 2, moved, status);
  else if (i % 2)
    send_all(mail, b, moved, status);
  else
    while (b->first && receive(mail->wire, b->first, moved, status))
      finish(mail, b, &b->first, moved);
}

tt_parcel *tt_mail_progress(tt_mail *mail, bool *moved, tutti_status *status) {
  tt_wire *w = mail->wire;
  mail->over = NULL;
  mail->over_end = &mail->over;
  if (!mail->active || !w->ops->enter(w)) return NULL;
  for (box **link = &mail->active; *link;) {
    box *b = *link;
    if (!*status) work(mail, b, moved, status);
    b->active = b->first != NULL;
    if (b->active)
      link = &b->next;
    else
      *link = b->next;
  }
  w->ops->leave(w);
  return mail->over;
}

tt_parcel *tt_mail_drop(tt_mail *mail) {
  bool moved;
  mail->over = NULL;
  mail->over_end = &mail->over;
  for (; mail->active; mail->active = mail->active->next) {
    mail->active->active = false;
    while (mail->active->first) finish(mail, mail->active, &mail->active->first, &moved);
  }
  return mail->over;
}

const tt_parcel *tt_mail_first(const tt_mail *mail, int i) {
  for (const box *b = mail->active; b; b = b->next)
    if (b->first && i-- == 0) return b->first;
  return NULL;
}
