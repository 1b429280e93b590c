/* kit_net.c - the networks of a process: requests, receipts, losses, and numbers.
 *
 * Idea       A completed request is appended to a queue, which poll empties. Networks are numbered, so making one
 *            requires no communication: it is a list of processes and a number.
 * Cost       Slots are in chunks of 64, which do not move until the network is freed.
 * Invariant  No two networks that share a process have the same number: each process rejects numbers lower than one that
 *            it has used. The rank, tag and size in a received header are used only after kit_may_send has checked them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kit.h"

enum { CHUNK = 64 /* in slots */ };

/* ---- all networks ---- */

void kit_world_open(kit_world *w, const kit_library *library) {
  pthread_mutex_init(&w->lock, NULL);
  w->library = library;
}

void kit_world_join(kit_world *w, int rank, int ranks, const tutti_net_addresses *addresses) {
  w->addresses = *addresses;
  w->rank = rank;
  w->ranks = ranks;
  w->next = 1; /* number 0 is the network of all processes */
}

void kit_world_close(kit_world *w) {
  while (w->nets) kit_net_free(w->nets);
  pthread_mutex_destroy(&w->lock);
  free(w->lost);
  if (w->addresses.drop) w->addresses.drop(w->addresses.ctx);
}

const void *kit_address_of(const kit_world *w, int process, size_t least, size_t *bytes) {
  const kit_home *its = w->addresses.of(w->addresses.ctx, process, bytes);
  return *bytes >= least && memchr(its->host, 0, sizeof its->host) ? its : NULL;
}

void kit_lose(kit_world *w, int process) {
  int *lost = realloc(w->lost, (size_t)(w->losses + 1) * sizeof *lost);
  if (!lost) return; /* requests to the process fail nevertheless */
  w->lost = lost;
  w->lost[w->losses++] = process;
}

kit_net *kit_net_of(const kit_world *w, uint32_t number) {
  kit_net *n = w->nets;
  while (n && n->number != number) n = n->next;
  return n;
}

int kit_rank_of(const kit_net *n, int process) {
  if (!n->processes) return process;
  for (int r = 0; r < n->ranks; r++)
    if (n->processes[r] == process) return r;
  return -1;
}

bool kit_may_send(const kit_world *w, const kit_net *n, const kit_head *head, int process) {
  return head->kind <= KIT_RECEIPT && head->bytes <= TUTTI_NET_MOST && head->tag < TUTTI_NET_TAGS &&
         head->rank < (uint32_t)(n ? n->ranks : w->ranks) &&
         (!n || process < 0 || kit_process(n, (int)head->rank) == process);
}

/* ---- requests ---- */

void kit_queue_clear(kit_queue *q) {
  q->first = NULL;
  q->end = &q->first;
}

void kit_append(kit_queue *q, kit_slot *s) {
  s->next = NULL;
  *q->end = s;
  q->end = &s->next;
}

void kit_unlink(kit_queue *q, kit_slot *s) {
  kit_slot **link = &q->first;
  while (*link && *link != s) link = &(*link)->next;
  if (*link) *link = s->next;
  if (q->end == &s->next) q->end = link;
}

void *kit_slot_at(const kit_net *n, int i) {
  return n->chunks[i / CHUNK] + (size_t)(i % CHUNK) * n->world->library->slot_bytes;
}

/* Adds a chunk. Returns false if out of memory. */
static bool add_slots(kit_net *n) {
  const int chunk = n->slots / CHUNK;
  char **chunks = realloc(n->chunks, (size_t)(chunk + 1) * sizeof *chunks);
  if (!chunks) return false;
  n->chunks = chunks;
  chunks[chunk] = calloc(CHUNK, n->world->library->slot_bytes);
  n->slots += chunks[chunk] ? CHUNK : 0;
  return chunks[chunk];
}

void *kit_begin(kit_net *n, int number, int peer, int tag) {
  while (number >= n->slots)
    if (!add_slots(n)) {
      snprintf(n->error, sizeof n->error, "out of memory for requests");
      return NULL;
    }
  kit_slot *s = kit_slot_at(n, number);
  memset(s, 0, n->world->library->slot_bytes);
  *s = (kit_slot){.net = n, .number = number, .peer = peer, .tag = tag, .taken = true};
  return s;
}

void kit_complete(kit_slot *s, int failed) {
  s->failed = failed;
  kit_append(&s->net->done, s);
}

void kit_ask(kit_slot *s) {
  s->awaits = true;
  kit_append(&s->net->asked, s);
}

void kit_unask(kit_slot *s) {
  if (s->awaits) kit_unlink(&s->net->asked, s);
  s->awaits = false;
}

void *kit_receipt(kit_net *n, int peer, int tag) {
  kit_slot *s = n->asked.first;
  while (s && (s->peer != peer || s->tag != tag)) s = s->next;
  if (s) kit_unask(s);
  return s;
}

int kit_report(kit_net *n, tutti_net_done *done, int most) {
  const kit_world *w = n->world;
  int count = 0;
  while (n->done.first && count < most) {
    kit_slot *s = n->done.first;
    kit_unlink(&n->done, s);
    s->taken = false;
    done[count++] = (tutti_net_done){
        .slot = s->number, .peer = s->peer, .bytes = s->bytes, .failed = s->failed};
  }
  while (n->told < w->losses && count < most) {
    const int r = kit_rank_of(n, w->lost[n->told++]);
    if (r >= 0) done[count++] = (tutti_net_done){.slot = -1, .peer = r, .failed = TUTTI_NET_LOST};
  }
  return count;
}

void kit_sleep(int wakes, int also, int microseconds) {
  const struct timespec limit = {microseconds / 1000000, microseconds % 1000000 * 1000L};
  struct pollfd fds[] = {{.fd = wakes, .events = POLLIN}, {.fd = also, .events = POLLIN}};
  ppoll(fds, 2, &limit, NULL);
}

int kit_say_silent(const char *host, int silence, char *words, size_t size) {
  snprintf(words, size, "is lost: its host, %s, has been silent for %d s (TUTTI_SILENCE)", host,
           silence);
  return 1;
}

/* ---- making and freeing a network ---- */

static unsigned net_fresh(void *self) {
  kit_world *w = ((kit_net *)self)->world;
  pthread_mutex_lock(&w->lock);
  const unsigned number = w->next;
  pthread_mutex_unlock(&w->lock);
  return number;
}

static int net_pick(void *self, unsigned number, const int *ranks, int n, tutti_net *net) {
  kit_net *old = self;
  kit_world *w = old->world;
  int *processes = malloc((size_t)(n ? n : 1) * sizeof *processes), failed = !processes, mine = 0;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; processes && i < n; i++) {
    processes[i] = kit_process(old, ranks[i]);
    if (ranks[i] == old->rank) mine = i;
  }
  if (n && number < w->next)
    failed = TUTTI_NET_TAKEN;
  else if (n && !failed)
    failed = kit_net_make(w, number, processes, mine, n, net);
  if (number >= w->next) w->next = number + 1;
  if (failed == 1) snprintf(old->error, sizeof old->error, "out of memory for a network");
  pthread_mutex_unlock(&w->lock);
  free(processes);
  return failed;
}

static const char *net_error(void *self) {
  return ((kit_net *)self)->error;
}

int kit_net_make(kit_world *w, uint32_t number, const int *processes, int rank, int ranks,
                 tutti_net *net) {
  kit_net *n = calloc(1, w->library->net_bytes);
  int *copy = processes ? malloc((size_t)ranks * sizeof *copy) : NULL;
  if (!n || (processes && !copy)) {
    free(n);
    free(copy);
    return 1;
  }
  if (processes) memcpy(copy, processes, (size_t)ranks * sizeof *copy);
  *n = (kit_net){.next = w->nets,
                 .world = w,
                 .number = number,
                 .rank = rank,
                 .ranks = ranks,
                 .processes = copy};
  kit_queue_clear(&n->done);
  kit_queue_clear(&n->asked);
  w->nets = n;
  *net = (tutti_net){.size = sizeof *net,
                     .rank = rank,
                     .ranks = ranks,
                     .self = n,
                     .threads = 1,
                     .fresh = net_fresh,
                     .pick = net_pick,
                     .error = net_error};
  w->library->begin(n, net);
  return 0;
}

void kit_net_free(kit_net *n) {
  kit_net **link = &n->world->nets;
  while (*link != n) link = &(*link)->next;
  *link = n->next;
  for (int c = 0; c < n->slots / CHUNK; c++) free(n->chunks[c]);
  free(n->chunks);
  free(n->processes);
  free(n);
}
