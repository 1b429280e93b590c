/* peer_sync.c - synchronizes the ranks of a comparison, in shared memory, without the compared libraries.
 *
 * Idea      each rank has a counter in its own cache line, and waits for the counters of all other ranks.
 *           It yields if ranks share cores, or if it has waited for a long time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <string.h>

#include "peer.h"

enum { LOOKS = 20000, PINGS = 400, PING_TRIES = 5 };

size_t peer_bytes(int ranks, size_t sizes) {
  return sizeof(peer_memory) + (size_t)ranks * sizeof(peer_lines) + sizes * sizeof(peer_row);
}

peer_row *peer_rows(peer_memory *m) {
  return (peer_row *)(void *)&m->lines[m->ranks];
}

static void relax(bool crowded, int *looked) {
  if (crowded || ++*looked > LOOKS)
    sched_yield();
  else
    __asm__ volatile("" ::: "memory");
}

static void wait_for(const peer_sync *s, atomic_long *word, long value) {
  int looked = 0;
  while (atomic_load_explicit(word, memory_order_acquire) < value) relax(s->crowded, &looked);
}

void peer_meet(peer_sync *s) {
  const long value = ++s->met;
  atomic_store_explicit(&s->m->lines[s->rank].met, value, memory_order_release);
  for (int r = 0; r < s->m->ranks; r++) wait_for(s, &s->m->lines[r].met, value);
}

double peer_slowest(peer_sync *s, double seconds) {
  double most = seconds;
  s->m->lines[s->rank].seconds = seconds;
  peer_meet(s);
  for (int r = 0; r < s->m->ranks; r++)
    if (s->m->lines[r].seconds > most) most = s->m->lines[r].seconds;
  peer_meet(s); /* all ranks have read the numbers before a rank writes its next one */
  return most;
}

/* Measures the round-trip time of a cache line between rank 0, which begins, and rank 1. Returns the fastest try. */
static double ping(peer_sync *s) {
  atomic_long *mine = &s->m->lines[s->rank].ping, *theirs = &s->m->lines[1 - s->rank].ping;
  const long first = atomic_load_explicit(mine, memory_order_relaxed);
  double best = 0;
  for (int k = 0; k < PING_TRIES; k++) {
    const double from = cli_now();
    for (long i = first + k * PINGS + 1; i <= first + (k + 1) * PINGS; i++) {
      if (s->rank) wait_for(s, theirs, i);
      atomic_store_explicit(mine, i, memory_order_release);
      if (!s->rank) wait_for(s, theirs, i);
    }
    const double took = (cli_now() - from) / PINGS;
    if (best <= 0 || took < best) best = took;
  }
  return best;
}

double peer_line(peer_sync *s) {
  double seconds = 0;
  if (s->crowded || s->m->ranks < 2) return 0;
  peer_meet(s);
  if (s->rank < 2) seconds = ping(s);
  return peer_slowest(s, s->rank ? 0 : seconds);
}

int peer_gather(void *sync, const void *mine, size_t bytes, void *all) {
  peer_sync *s = sync;
  for (size_t at = 0; at < bytes; at += PEER_BOX) {
    const size_t n = bytes - at < PEER_BOX ? bytes - at : PEER_BOX;
    memcpy(s->m->lines[s->rank].box, (const char *)mine + at, n);
    peer_meet(s);
    for (int r = 0; r < s->m->ranks; r++)
      memcpy((char *)all + (size_t)r * bytes + at, s->m->lines[r].box, n);
    peer_meet(s);
  }
  return 0;
}
