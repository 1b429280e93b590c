/* tcp_net.c - some processes of a job as a network (tutti_net.h) over sockets.
 *
 * Idea       A message names its network, its sender's rank and a tag. A request that ends goes into a queue, which poll
 *            empties. Networks are numbered: making one takes no communication.
 * Invariant  No two networks that share a process have the same number: each process refuses a number lower than one
 *            that it has used.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

enum { SKIPS_MOST = 8 };

/* ---- requests ---- */

void tcp_append(tcp_slot ***end, tcp_slot *s) {
  s->next = NULL;
  **end = s;
  *end = &s->next;
}

void tcp_unlink(tcp_slot **first, tcp_slot ***end, tcp_slot *s) {
  tcp_slot **link = first;
  while (*link && *link != s) link = &(*link)->next;
  if (*link) *link = s->next;
  if (*end == &s->next) *end = link;
}

void tcp_complete(tcp_slot *s, int failed) {
  s->stage = TCP_DONE;
  s->failed = failed;
  tcp_append(&s->net->done_end, s);
}

void tcp_left(tcp_slot *s) {
  s->net->out--;
  if (s->awaits)
    s->stage = TCP_SENT;
  else
    tcp_complete(s, 0);
}

static tcp_slot *slot_at(tcp_net *n, int number) {
  const int chunk = number / TCP_CHUNK;
  if (chunk >= n->nchunks) {
    tcp_slot **chunks = realloc(n->chunks, (size_t)(chunk + 1) * sizeof *chunks);
    if (!chunks) return NULL;
    n->chunks = chunks;
    for (; n->nchunks <= chunk; n->nchunks++)
      if (!(chunks[n->nchunks] = calloc(TCP_CHUNK, sizeof(tcp_slot)))) return NULL;
  }
  return &n->chunks[chunk][number % TCP_CHUNK];
}

static tcp_slot *slot_number(const tcp_net *n, int i) {
  return &n->chunks[i / TCP_CHUNK][i % TCP_CHUNK];
}

/* The peer of a new request, and the slot, reset; NULL: out of memory. */
static tcp_slot *begin(tcp_net *n, int number, int peer, int tag, tcp_peer **to) {
  tcp_slot *s = slot_at(n, number);
  const int process = peer < 0 ? -1 : tcp_process(n, peer);
  *to = process < 0 || process == n->world->rank ? NULL : tcp_use(n->world, process);
  if (s && (*to || process < 0 || process == n->world->rank)) {
    *s = (tcp_slot){.net = n, .number = number, .peer = peer, .tag = tag};
    return s;
  }
  snprintf(n->error, sizeof n->error, "out of memory for requests");
  return NULL;
}

/* ---- the table: requests ---- */

static int send_it(tcp_slot *s, tcp_peer *p, const void *bytes, size_t size, int sure) {
  tcp_net *n = s->net;
  s->awaits = sure;
  s->out = (tcp_out){.head = {.number = n->number,
                              .rank = (uint32_t)n->rank,
                              .bytes = (uint32_t)size,
                              .kind = sure ? TCP_SURE : TCP_PLAIN,
                              .tag = (uint8_t)s->tag},
                     .bytes = bytes,
                     .slot = s};
  if (p && p->fate) {
    tcp_complete(s, TUTTI_NET_LOST);
    return 0;
  }
  s->stage = TCP_LEAVES;
  n->out++;
  if (sure) tcp_append(&n->asked_end, s);
  if (p) {
    tcp_queue(n->world, p, &s->out);
    return 0;
  }
  const tcp_head head = s->out.head;
  if (!tcp_send_self(n->world, n, &head, bytes)) return 1;
  tcp_left(s);
  return 0;
}

static int net_send(void *self, int number, int peer, int tag, const void *bytes, size_t size,
                    int sure) {
  tcp_net *n = self;
  tcp_peer *p;
  pthread_mutex_lock(&n->world->lock);
  tcp_slot *s = begin(n, number, peer, tag, &p);
  const int failed = !s || send_it(s, p, bytes, size, sure & ~TUTTI_NET_MORE);
  if (n->world->due && !(sure & TUTTI_NET_MORE)) tcp_pump_due(n->world);
  pthread_mutex_unlock(&n->world->lock);
  return failed;
}

static int net_recv(void *self, int number, int peer, int tag, void *bytes, size_t size) {
  tcp_net *n = self;
  tcp_peer *p;
  pthread_mutex_lock(&n->world->lock);
  tcp_slot *s = begin(n, number, peer, tag, &p);
  if (s) {
    s->to = bytes;
    s->bytes = size;
    if (tcp_take_early(s)) { /* also one that a lost process sent before */
    } else if (p && p->fate) {
      tcp_complete(s, TUTTI_NET_LOST);
    } else {
      s->stage = TCP_POSTED;
      tcp_append(&n->posted_end, s);
      if (p) tcp_connect(n->world, p); /* the connection tells when it is gone */
    }
  }
  pthread_mutex_unlock(&n->world->lock);
  return !s;
}

/* End the request; the rest of a message that it has begun to receive is dropped. */
static void forget(tcp_slot *s) {
  tcp_net *n = s->net;
  if (s->stage == TCP_POSTED) tcp_unlink(&n->posted, &n->posted_end, s);
  if (s->stage == TCP_BEGUN) tcp_forget_slot(s);
  if (s->stage == TCP_DONE) tcp_unlink(&n->done, &n->done_end, s);
  s->stage = TCP_FREE;
}

static int net_cancel(void *self, int number) {
  tcp_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  forget(slot_number(n, number));
  pthread_mutex_unlock(&n->world->lock);
  return 0;
}

/* ---- losses ---- */

/* The rank of a process; -1: it is not in this network. */
static int rank_of(const tcp_net *n, int process) {
  if (!n->processes) return process;
  for (int r = 0; r < n->ranks; r++)
    if (n->processes[r] == process) return r;
  return -1;
}

void tcp_net_lose(tcp_net *n, int process) {
  const int rank = rank_of(n, process);
  for (int i = 0; rank >= 0 && i < n->nchunks * TCP_CHUNK; i++) {
    tcp_slot *s = slot_number(n, i);
    if (s->peer != rank || s->stage == TCP_FREE || s->stage == TCP_DONE) continue;
    if (s->stage == TCP_POSTED) tcp_unlink(&n->posted, &n->posted_end, s);
    if (s->stage == TCP_LEAVES) n->out--;
    if (s->awaits) tcp_unlink(&n->asked, &n->asked_end, s);
    s->awaits = false;
    tcp_complete(s, TUTTI_NET_LOST);
  }
}

/* Report lost ranks, even if no request waits for them; returns their number. */
static int tell_losses(tcp_net *n, tutti_net_done *done, int most) {
  const tcp_world *w = n->world;
  int count = 0;
  while (n->told < w->losses && count < most) {
    const int r = rank_of(n, w->lost[n->told++]);
    if (r >= 0) done[count++] = (tutti_net_done){.slot = -1, .peer = r, .failed = TUTTI_NET_LOST};
  }
  return count;
}

static int net_fate(void *self, int peer, char *words, size_t size) {
  const tcp_net *n = self;
  const int process = tcp_process(n, peer);
  const tcp_peer *p = n->world->peers[process];
  switch (p ? p->fate : TCP_LIVES) {
    case TCP_SILENT:
      snprintf(words, size, "is lost: its host, %s, has been silent for %d s (TUTTI_SILENCE)",
               tcp_address_of(n->world, process)->host, n->world->silence);
      return 1;
    case TCP_CHANGED:
      snprintf(words, size, "is lost: bytes on the way from or to it were changed or repeated");
      return 1;
    case TCP_APART:
      snprintf(words, size, "cannot be reached by %s: %s", n->world->name,
               p->error == EKEYREJECTED ? "what listens there lacks the job's secret"
                                        : strerror(p->error));
      return 1;
    default: return 0;
  }
}

/* ---- the table: progress ---- */

static int net_poll(void *self, int slots, tutti_net_done *done, int most, int *count) {
  tcp_net *n = self;
  tcp_world *w = n->world;
  (void)slots;
  *count = 0;
  pthread_mutex_lock(&w->lock);
  if (!n->done || ++n->skips % SKIPS_MOST == 0)
    tcp_progress(w);
  else if (w->due)
    tcp_pump_due(w);
  while (n->done && *count < most) {
    tcp_slot *s = n->done;
    tcp_unlink(&n->done, &n->done_end, s);
    s->stage = TCP_FREE;
    done[(*count)++] = (tutti_net_done){
        .slot = s->number, .peer = s->peer, .bytes = s->bytes, .failed = s->failed};
  }
  if (n->told < w->losses && *count < most) *count += tell_losses(n, done + *count, most - *count);
  const int failed = *w->failed != 0;
  if (failed) snprintf(n->error, sizeof n->error, "%s", w->failed);
  pthread_mutex_unlock(&w->lock);
  return failed;
}

static void net_doze(void *self, int also, int microseconds) {
  tcp_net *n = self;
  pthread_mutex_lock(&n->world->lock);
  if (n->world->due) tcp_pump_due(n->world);
  const bool ready = n->done || n->world->unread;
  pthread_mutex_unlock(&n->world->lock);
  const struct timespec limit = {microseconds / 1000000, microseconds % 1000000 * 1000L};
  struct pollfd fds[] = {{.fd = n->world->epoll, .events = POLLIN}, {.fd = also, .events = POLLIN}};
  if (!ready) ppoll(fds, 2, &limit, NULL);
}

static int net_leaving(void *self) {
  const tcp_net *n = self;
  return n->out + n->world->waiting;
}

static const char *net_error(void *self) {
  return ((tcp_net *)self)->error;
}

/* ---- making a network, and its end ---- */

static void free_net(tcp_net *n) {
  for (int c = 0; c < n->nchunks; c++) free(n->chunks[c]);
  free(n->chunks);
  free(n->processes);
  free(n);
}

static void net_close(void *self, int clean) {
  tcp_net *n = self;
  tcp_world *w = n->world;
  (void)clean; /* no other network has its number */
  pthread_mutex_lock(&w->lock);
  tcp_keep_copies(w, n);
  for (int i = 0; i < n->nchunks * TCP_CHUNK; i++)
    if (slot_number(n, i)->stage == TCP_BEGUN) forget(slot_number(n, i));
  tcp_early_close(w, n->number);
  tcp_net **link = &w->nets;
  while (*link != n) link = &(*link)->next;
  *link = n->next;
  free_net(n);
  const bool last = !w->nets;
  pthread_mutex_unlock(&w->lock);
  if (last) tcp_close(w);
}

static unsigned net_fresh(void *self) {
  tcp_world *w = ((tcp_net *)self)->world;
  pthread_mutex_lock(&w->lock);
  const unsigned number = w->next;
  pthread_mutex_unlock(&w->lock);
  return number;
}

static int net_pick(void *self, unsigned number, const int *ranks, int n, tutti_net *net) {
  tcp_net *old = self;
  tcp_world *w = old->world;
  int *processes = malloc((size_t)(n ? n : 1) * sizeof *processes), failed = !processes, mine = 0;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; processes && i < n; i++) {
    processes[i] = tcp_process(old, ranks[i]);
    if (ranks[i] == old->rank) mine = i;
  }
  if (n && number < w->next)
    failed = TUTTI_NET_TAKEN;
  else if (n && !failed)
    failed = tcp_net_make(w, number, processes, mine, n, net);
  if (number >= w->next) w->next = number + 1;
  if (failed == 1) snprintf(old->error, sizeof old->error, "out of memory for a network");
  pthread_mutex_unlock(&w->lock);
  free(processes);
  return failed;
}

int tcp_net_make(tcp_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net) {
  tcp_net *n = calloc(1, sizeof *n);
  int *copy = processes ? malloc((size_t)ranks * sizeof *copy) : NULL;
  if (!n || (processes && !copy)) {
    free(n);
    free(copy);
    return 1;
  }
  if (processes) memcpy(copy, processes, (size_t)ranks * sizeof *copy);
  *n = (tcp_net){.next = w->nets,
                 .world = w,
                 .number = number,
                 .rank = rank,
                 .ranks = ranks,
                 .processes = copy};
  n->done_end = &n->done;
  n->asked_end = &n->asked;
  n->posted_end = &n->posted;
  w->nets = n;
  tcp_early_check(n);
  *net = (tutti_net){.size = sizeof *net,
                     .name = w->name,
                     .rank = rank,
                     .ranks = ranks,
                     .self = n,
                     .threads = 1,
                     .secure = w->encrypts,
                     .stream = 1,
                     .send = net_send,
                     .recv = net_recv,
                     .poll = net_poll,
                     .doze = net_doze,
                     .leaving = net_leaving,
                     .cancel = net_cancel,
                     .fresh = net_fresh,
                     .pick = net_pick,
                     .close = net_close,
                     .error = net_error,
                     .fate = net_fate};
  return 0;
}
