/* ucx_pick.c - a network of some ranks of a network over UCX: a list of processes and a number,
 * without communication.
 *
 * Invariant  No two networks that share a process have the same number: each process refuses a
 *            number lower than one that it has used.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "ucx_net.h"

unsigned ucx_net_fresh(void *self) {
  ucx_world *w = ((ucx_net *)self)->world;
  pthread_mutex_lock(&w->lock);
  const unsigned number = w->next;
  pthread_mutex_unlock(&w->lock);
  return number;
}

int ucx_net_pick(void *self, unsigned number, const int *ranks, int n, tutti_net *net) {
  ucx_net *old = self;
  ucx_world *w = old->world;
  int *processes = malloc((size_t)(n ? n : 1) * sizeof *processes), failed = !processes, mine = 0;
  pthread_mutex_lock(&w->lock);
  for (int i = 0; processes && i < n; i++) {
    processes[i] = ucx_process(old, ranks[i]);
    if (ranks[i] == old->rank) mine = i;
  }
  if (n && number < w->next)
    failed = TUTTI_NET_TAKEN;
  else if (n && !failed)
    failed = ucx_net_make(w, number, processes, mine, n, net);
  if (number >= w->next) w->next = number + 1;
  if (failed == 1) snprintf(old->error, sizeof old->error, "out of memory for a network");
  pthread_mutex_unlock(&w->lock);
  free(processes);
  return failed;
}
