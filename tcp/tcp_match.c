/* tcp_match.c - matches incoming messages with receives.
 *
 * Idea       A message belongs to the oldest receive for its network, sender and tag. A message without a receive is kept
 *            until one is posted, even if its network does not exist on this process yet.
 * Receipts   A message of kind SURE requests a receipt, which is sent once its receive has begun. Messages with the same
 *            sender and tag are answered in order.
 * Invariant  Messages of one pair and tag begin to arrive in the order sent, because one connection carries them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

enum { STEP = 64 << 10 /* in bytes */ };
static const char WRONG[] = "tutti has not made what";

static void fail_world(tcp_world *w, const char *what, int process) {
  if (!*w->failed) snprintf(w->failed, sizeof w->failed, "%s rank %d sends", what, process);
}

/* ---- receipts ---- */

static void receipt_came(kit_net *n, int peer, int tag) {
  tcp_slot *s = kit_receipt(n, peer, tag);
  if (s && s->stage == TCP_SENT) tcp_complete(s, 0);
}

/* Sends a receipt for this message, if the sender has requested one. Called when the message's receive has begun. */
static void answer(kit_net *n, const kit_head *head, int process) {
  tcp_world *w = tcp_world_of(n);
  const kit_head receipt = {
      .number = head->number, .rank = (uint32_t)n->rank, .kind = KIT_RECEIPT, .tag = head->tag};
  if (head->kind != KIT_SURE) return;
  if (process == w->kit.rank)
    receipt_came(n, n->rank, head->tag);
  else if (!tcp_queue_copy(w, w->peers[process], &receipt, NULL))
    fail_world(w, "out of memory for a receipt of what", process);
}

/* ---- matching ---- */

static bool fits(const kit_slot *s, const kit_head *head) {
  return s->tag == head->tag && (s->peer == TUTTI_NET_ANY || s->peer == (int)head->rank);
}

/* Returns the receive that waits for this message, or NULL. */
static kit_slot *find_posted(kit_net *n, const kit_head *head) {
  kit_slot *s = tcp_posted(n)->first;
  while (s && !fits(s, head)) s = s->next;
  return s;
}

static tcp_slot *take_posted(kit_net *n, const kit_head *head) {
  kit_slot *s = find_posted(n, head);
  if (s) kit_unlink(tcp_posted(n), s);
  return (tcp_slot *)(void *)s;
}

/* Assigns a message to a receive. If the message is too long, fails the receive and returns false. */
static bool begin_receive(tcp_slot *s, const kit_head *head, int process) {
  kit_net *n = s->kit.net;
  s->kit.peer = (int)head->rank;
  if (head->bytes > s->kit.bytes) {
    snprintf(n->error, sizeof n->error, "a message of rank %d has %u bytes, not %zu", s->kit.peer,
             head->bytes, s->kit.bytes);
    tcp_complete(s, 1);
    return false;
  }
  s->kit.bytes = head->bytes;
  s->stage = TCP_BEGUN;
  answer(n, head, process);
  return true;
}

static tcp_early *keep(tcp_world *w, const kit_head *head, int process) {
  tcp_early *e = malloc(sizeof *e);
  if (!e) return NULL;
  *e = (tcp_early){.head = *head, .process = process};
  *w->early_end = e;
  w->early_end = &e->next;
  return e;
}

/* Enlarges the memory of an early message to `room` bytes. Returns false if out of memory. */
static bool grow_early(tcp_early *e, size_t room) {
  char *bytes = realloc(e->bytes, room + !room);
  if (!bytes) return false;
  e->bytes = bytes;
  e->room = room;
  return true;
}

static void free_early(tcp_early *e) {
  free(e->bytes);
  free(e);
}

/* The head of a message can announce any size. Therefore, the memory of an early message grows only as its data arrives. */
size_t tcp_room(tcp_line *line) {
  tcp_early *e = line->early;
  if (!e) return line->left;
  const size_t come = e->head.bytes - line->left;
  if (come == e->room && !grow_early(e, tt_min(e->head.bytes, 2 * come + STEP))) {
    fail_world(line->world, "out of memory for what", line->process);
    return 0;
  }
  line->to = e->bytes + come;
  return e->room - come;
}

bool tcp_awaited(const tcp_line *line, const kit_head *head) {
  kit_net *n = kit_net_of(&line->world->kit, head->number);
  return head->kind == KIT_RECEIPT || (n && find_posted(n, head));
}

static void find_place(tcp_line *line, kit_net *n, const kit_head *head) {
  tcp_world *w = line->world;
  tcp_slot *s = n ? take_posted(n, head) : NULL;
  if (s && begin_receive(s, head, line->process)) {
    line->into = s;
    line->to = s->to;
  }
  if (s || (!n && head->number < w->kit.next)) return; /* its network was closed */
  line->early = keep(w, head, line->process);
  if (!line->early) fail_world(w, "out of memory for what", line->process);
}

void tcp_begins(tcp_line *line, const kit_head *head) {
  tcp_world *w = line->world;
  kit_net *n = kit_net_of(&w->kit, head->number);
  line->to = NULL;
  line->into = NULL;
  line->early = NULL;
  if (!kit_may_send(&w->kit, n, head, line->process))
    fail_world(w, WRONG, line->process);
  else if (head->kind != KIT_RECEIPT)
    find_place(line, n, head);
  else if (n)
    receipt_came(n, (int)head->rank, head->tag);
}

/* ---- messages that arrived before their receives ---- */

static void unlink_early(tcp_world *w, tcp_early *e) {
  tcp_early **link = &w->early;
  while (*link != e) link = &(*link)->next;
  *link = e->next;
  if (w->early_end == &e->next) w->early_end = link;
}

/* Drops an early message. Its memory is freed once the message has fully arrived. */
static void discard(tcp_world *w, tcp_early *e) {
  e->slot = NULL;
  e->unwanted = true;
  if (!e->whole) return;
  unlink_early(w, e);
  free_early(e);
}

static void deliver(tcp_world *w, tcp_early *e) {
  tcp_slot *s = e->slot;
  if (s->kit.bytes) memcpy(s->to, e->bytes, s->kit.bytes);
  discard(w, e);
  tcp_complete(s, 0);
}

void tcp_ends(tcp_line *line) {
  tcp_early *e = line->early;
  if (line->into) {
    line->received++;
    tcp_complete(line->into, 0);
  }
  line->into = NULL;
  line->early = NULL;
  if (!e) return;
  e->whole = true;
  if (e->slot)
    deliver(line->world, e);
  else if (e->unwanted)
    discard(line->world, e);
}

bool tcp_take_early(tcp_slot *s) {
  tcp_world *w = tcp_world_of(s->kit.net);
  tcp_early *e = w->early;
  while (e && (e->slot || e->unwanted || e->head.number != s->kit.net->number ||
               !fits(&s->kit, &e->head)))
    e = e->next;
  if (!e) return false;
  if (!begin_receive(s, &e->head, e->process)) {
    discard(w, e);
    return true;
  }
  e->slot = s;
  if (e->whole) deliver(w, e);
  return true;
}

bool tcp_send_self(tcp_world *w, kit_net *n, const kit_head *head, const void *bytes) {
  tcp_slot *s = take_posted(n, head);
  if (s) {
    if (!begin_receive(s, head, w->kit.rank)) return true;
    memcpy(s->to, bytes, head->bytes);
    tcp_complete(s, 0);
    return true;
  }
  tcp_early *e = keep(w, head, w->kit.rank);
  if (!e) return false;
  e->whole = true;
  if (!grow_early(e, head->bytes)) {
    discard(w, e);
    return false;
  }
  memcpy(e->bytes, bytes, head->bytes);
  return true;
}

/* ---- ending a receive, a network or a process ---- */

void tcp_forget_slot(tcp_slot *s) {
  tcp_world *w = tcp_world_of(s->kit.net);
  for (tcp_line *line = w->lines; line; line = line->next)
    if (line->into == s) line->into = NULL, line->to = NULL;
  for (tcp_early *e = w->early, *next; e; e = next) {
    next = e->next;
    if (e->slot == s) discard(w, e);
  }
}

void tcp_early_check(const kit_net *n) {
  tcp_world *w = tcp_world_of(n);
  for (tcp_early *e = w->early, *next; e; e = next) {
    next = e->next;
    if (e->head.number != n->number || kit_may_send(&w->kit, n, &e->head, e->process)) continue;
    fail_world(w, WRONG, e->process);
    discard(w, e);
  }
}

void tcp_early_close(tcp_world *w, uint32_t number) {
  for (tcp_early *e = w->early, *next; e; e = next) {
    next = e->next;
    if (e->head.number == number) discard(w, e);
  }
}

void tcp_early_lose(tcp_world *w, int process) {
  for (tcp_early *e = w->early, *next; e; e = next) {
    next = e->next;
    tcp_slot *s = e->slot;
    if (e->process != process || e->whole) continue;
    e->whole = true;
    discard(w, e);
    if (s) tcp_complete(s, TUTTI_NET_LOST);
  }
}
