/* request_lanes.c - tutti communicators for persistent collectives, reused by later requests.
 *
 * Idea       Ranks may start requests in different orders, so each request has a separate communicator. A new one is
 *            expensive: its first collective chooses a plan, which takes milliseconds. The communicators of freed requests
 *            are therefore kept with the program's communicator.
 * Invariant  All ranks take the same lane, the first one that no rank uses, even if they free requests in different orders.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_lanes.h"

#include <pthread.h>
#include <stdlib.h>

enum { LANES = 64 };

struct lanes {
  pthread_mutex_t lock;
  int users;     /* number of requests, plus one for the communicator */
  uint64_t used; /* one bit for each lane */
  tutti_comm *comm[LANES];
};

static lanes *new_lanes(void) {
  lanes *all = calloc(1, sizeof *all);
  if (!all) return NULL;
  pthread_mutex_init(&all->lock, NULL);
  all->users = 1;
  return all;
}

/* Sets *index to the first lane that is free on every rank, or to -1. Returns false if a call of
 * tutti has failed. */
static bool agree(state *s, int *index) {
  uint64_t mine = UINT64_MAX, any = 0;
  if (s->lanes) {
    pthread_mutex_lock(&s->lanes->lock);
    mine = s->lanes->used;
    pthread_mutex_unlock(&s->lanes->lock);
  }
  if (tutti_allreduce(s->comm, &mine, &any, 1, TUTTI_UINT64, TUTTI_BOR)) return false;
  *index = any == UINT64_MAX ? -1 : __builtin_ctzll(~any);
  return true;
}

bool lane_take(state *s, lane *l) {
  if (!s->lanes) s->lanes = new_lanes();
  *l = (lane){.index = -1};
  if (!agree(s, &l->index)) return false;
  if (l->index < 0) return tutti_comm_dup(s->comm, &l->comm) == TUTTI_OK;
  lanes *all = l->of = s->lanes;
  if (!all->comm[l->index] && tutti_comm_dup(s->comm, &all->comm[l->index])) return false;
  l->comm = all->comm[l->index];
  pthread_mutex_lock(&all->lock);
  all->used |= UINT64_C(1) << l->index;
  all->users++;
  pthread_mutex_unlock(&all->lock);
  return true;
}

void lanes_leave(lanes *all) {
  if (!all) return;
  pthread_mutex_lock(&all->lock);
  const bool last = --all->users == 0;
  pthread_mutex_unlock(&all->lock);
  if (!last) return;
  for (int i = 0; i < LANES; i++) tutti_comm_free(all->comm[i]);
  pthread_mutex_destroy(&all->lock);
  free(all);
}

void lane_give(lane *l) {
  if (!l->of) {
    tutti_comm_free(l->comm);
    return;
  }
  pthread_mutex_lock(&l->of->lock);
  l->of->used &= ~(UINT64_C(1) << l->index);
  pthread_mutex_unlock(&l->of->lock);
  lanes_leave(l->of);
}
