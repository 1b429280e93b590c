/* tcp_net.c - a network (tutti_net.h) of some processes of a job over sockets.
 *
 * Idea       A message carries its network's number, its sender's rank and a tag. The kit manages numbers and
 *            requests of networks (net/kit/kit_net.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

/* ---- requests ---- */

void tcp_complete(tcp_slot *s, int failed) {
  s->stage = TCP_DONE;
  kit_complete(&s->kit, failed);
}

void tcp_left(tcp_slot *s) {
  s->kit.net->out--;
  if (s->kit.awaits)
    s->stage = TCP_SENT;
  else
    tcp_complete(s, 0);
}

/* Returns a new request, or NULL if out of memory. *to receives the peer, or NULL if the peer is this process or can be any
 * process. */
static tcp_slot *begin(kit_net *n, int number, int peer, int tag, tcp_peer **to) {
  tcp_world *w = tcp_world_of(n);
  const int process = peer < 0 ? n->world->rank : kit_process(n, peer);
  const bool calls = process != n->world->rank;
  *to = calls ? tcp_use(w, process) : NULL;
  if (!calls || *to) return kit_begin(n, number, peer, tag);
  snprintf(n->error, sizeof n->error, "out of memory for requests");
  return NULL;
}

/* ---- the table: requests ---- */

static int send_it(tcp_slot *s, tcp_peer *p, const void *bytes, size_t size, int sure) {
  kit_net *n = s->kit.net;
  tcp_world *w = tcp_world_of(n);
  s->out = (tcp_out){.head = {.number = n->number,
                              .rank = (uint32_t)n->rank,
                              .bytes = (uint32_t)size,
                              .kind = sure ? KIT_SURE : KIT_PLAIN,
                              .tag = (uint8_t)s->kit.tag},
                     .bytes = bytes,
                     .slot = s};
  if (p && p->fate) {
    tcp_complete(s, TUTTI_NET_LOST);
    return 0;
  }
  s->stage = TCP_LEAVES;
  n->out++;
  if (sure) kit_ask(&s->kit);
  if (p) {
    tcp_queue(w, p, &s->out);
    return 0;
  }
  const kit_head head = s->out.head;
  if (!tcp_send_self(w, n, &head, bytes)) return 1;
  tcp_left(s);
  return 0;
}

static int net_send(void *self, int number, int peer, int tag, const void *bytes, size_t size,
                    int sure) {
  kit_net *n = self;
  tcp_world *w = tcp_world_of(n);
  tcp_peer *p;
  pthread_mutex_lock(&w->kit.lock);
  tcp_slot *s = begin(n, number, peer, tag, &p);
  const int failed = !s || send_it(s, p, bytes, size, sure & ~TUTTI_NET_MORE);
  if (w->due && !(sure & TUTTI_NET_MORE)) tcp_pump_due(w);
  pthread_mutex_unlock(&w->kit.lock);
  return failed;
}

static int net_recv(void *self, int number, int peer, int tag, void *bytes, size_t size) {
  kit_net *n = self;
  tcp_peer *p;
  pthread_mutex_lock(&n->world->lock);
  tcp_slot *s = begin(n, number, peer, tag, &p);
  if (s) {
    s->to = bytes;
    s->kit.bytes = size;
    if (tcp_take_early(s)) { /* this includes a message that a lost process sent earlier */
    } else if (p && p->fate) {
      tcp_complete(s, TUTTI_NET_LOST);
    } else {
      s->stage = TCP_POSTED;
      kit_append(tcp_posted(n), &s->kit);
      if (p) tcp_connect(tcp_world_of(n), p); /* the connection reports if the peer is lost */
    }
  }
  pthread_mutex_unlock(&n->world->lock);
  return !s;
}

/* Ends a request. If a message has partly arrived for it, the remainder of the message is discarded. */
static void forget(tcp_slot *s) {
  kit_net *n = s->kit.net;
  if (s->stage == TCP_POSTED) kit_unlink(tcp_posted(n), &s->kit);
  if (s->stage == TCP_BEGUN) tcp_forget_slot(s);
  if (s->stage == TCP_DONE) kit_unlink(&n->done, &s->kit);
  s->stage = TCP_DONE;
}

static int net_cancel(void *self, int number) {
  kit_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  forget(kit_slot_at(n, number));
  pthread_mutex_unlock(&n->world->lock);
  return 0;
}

/* ---- losses ---- */

void tcp_net_lose(kit_net *n, int process) {
  const int rank = kit_rank_of(n, process);
  for (int i = 0; rank >= 0 && i < n->slots; i++) {
    tcp_slot *s = kit_slot_at(n, i);
    if (s->kit.peer != rank || s->stage == TCP_NEW || s->stage == TCP_DONE) continue;
    if (s->stage == TCP_POSTED) kit_unlink(tcp_posted(n), &s->kit);
    if (s->stage == TCP_LEAVES) n->out--;
    kit_unask(&s->kit);
    tcp_complete(s, TUTTI_NET_LOST);
  }
}

static int net_fate(void *self, int peer, char *words, size_t size) {
  const kit_net *n = self;
  const tcp_world *w = tcp_world_of(n);
  const int process = kit_process(n, peer);
  const tcp_peer *p = w->peers[process];
  switch (p ? p->fate : TCP_LIVES) {
    case TCP_SILENT:
      return kit_say_silent(tcp_address_of(w, process)->home.host, w->silence, words, size);
    case TCP_CHANGED:
      snprintf(words, size, "is lost: bytes on the way from or to it were changed or repeated");
      return 1;
    case TCP_APART:
      snprintf(words, size, "cannot be reached by %s: %s", w->name,
               p->error == EKEYREJECTED ? "what listens there lacks the job's secret"
                                        : strerror(p->error));
      return 1;
    default: return 0;
  }
}

/* ---- the table: progress ---- */

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *count) {
  kit_net *n = self;
  tcp_world *w = tcp_world_of(n);
  (void)slots;
  pthread_mutex_lock(&w->kit.lock);
  if (kit_progress_due(n))
    tcp_progress(w);
  else if (w->due)
    tcp_pump_due(w);
  *count = kit_report(n, done, most);
  const int failed = *w->failed != 0;
  if (failed) snprintf(n->error, sizeof n->error, "%s", w->failed);
  pthread_mutex_unlock(&w->kit.lock);
  return failed;
}

static void net_doze(void *self, int also, int microseconds) {
  const kit_net *n = self;
  tcp_world *w = tcp_world_of(n);
  pthread_mutex_lock(&w->kit.lock);
  if (w->due) tcp_pump_due(w);
  const bool ready = n->done.first || w->unread;
  pthread_mutex_unlock(&w->kit.lock);
  if (!ready) kit_sleep(w->epoll, also, microseconds);
}

static int net_leaving(void *self) {
  const kit_net *n = self;
  return n->out + tcp_world_of(n)->waiting;
}

/* ---- making and closing a network ---- */

static void net_close(void *self, int clean) {
  kit_net *n = self;
  tcp_world *w = tcp_world_of(n);
  (void)clean; /* the number is not reused by another network */
  pthread_mutex_lock(&w->kit.lock);
  tcp_keep_copies(w, n);
  for (int i = 0; i < n->slots; i++) {
    tcp_slot *s = kit_slot_at(n, i);
    if (s->stage == TCP_BEGUN) forget(s);
  }
  tcp_early_close(w, n->number);
  kit_net_free(n);
  const bool last = !w->kit.nets;
  pthread_mutex_unlock(&w->kit.lock);
  if (last) tcp_close(w);
}

static void begin_net(kit_net *n, tutti_net *net) {
  const tcp_world *w = tcp_world_of(n);
  kit_queue_clear(tcp_posted(n));
  tcp_early_check(n);
  net->name = w->name;
  net->secure = w->encrypts;
  net->stream = 1;
  net->send = net_send;
  net->recv = net_recv;
  net->poll = net_poll;
  net->doze = net_doze;
  net->leaving = net_leaving;
  net->cancel = net_cancel;
  net->close = net_close;
  net->fate = net_fate;
}

const kit_library tcp_library = {sizeof(tcp_net), sizeof(tcp_slot), begin_net};
