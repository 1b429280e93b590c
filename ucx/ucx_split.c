/* ucx_split.c - a network of some ranks of a network over UCX.
 *
 * Idea       each rank tells all what it wishes: color, key, and the first number that it has not
 *            used for a network yet. The highest of these is the new network's.
 * Invariant  no two networks that share a process have the same number.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ucx_net.h"

typedef struct wish {
  int32_t color, key;
  uint32_t next;
  int32_t process;
} wish;

static void left(void *request, ucs_status_t status, void *data) {
  ucx_slot *s = data;
  s->busy = 0;
  s->failed = status != UCS_OK;
  s->net->busy--;
  s->net->out--;
  ucp_request_free(request);
}

/* Start to send this rank's wish to one, and to receive that one's. */
static void begin_swap(ucx_net *n, wish *all, ucx_slot *out, ucx_slot *in, int peer) {
  *out = (ucx_slot){.net = n, .peer = peer, .busy = 1};
  *in = (ucx_slot){.net = n, .peer = peer, .receives = 1};
  const ucs_status_t status =
      ucx_post(n, ucx_tag(n, INSIDE, 0, n->rank), peer, &all[n->rank], sizeof *all, left, out);
  if (status != UCS_INPROGRESS) out->busy = 0, out->failed = status != UCS_OK;
  in->failed = ucx_receive(in, ucx_tag(n, INSIDE, 0, peer), ~(ucp_tag_t)0, &all[peer],
                           sizeof *all) != UCS_OK;
}

/* To all and from all; 0, or 1 and why. */
static int swap_wishes(ucx_net *n, wish *all) {
  ucx_slot *s = calloc(2 * (size_t)n->ranks, sizeof *s);
  int failed = !s, busy = 0;
  for (int r = 0; s && r < n->ranks; r++)
    if (r != n->rank) begin_swap(n, all, &s[2 * r], &s[2 * r + 1], r);
  do {
    if (busy) ucp_worker_progress(n->world->worker);
    failed |= n->world->losses != n->losses;
    busy = 0;
    for (int i = 0; s && i < 2 * n->ranks; i++) {
      if (failed && s[i].receives) ucx_withdraw(&s[i]);
      failed |= s[i].failed;
      busy += s[i].busy;
    }
  } while (busy);
  if (failed) snprintf(n->error, sizeof n->error, s ? "a rank is lost" : "out of memory");
  free(s);
  return failed;
}

static int precedes(const wish *a, int i, const wish *b, int j) {
  return a->key != b->key ? a->key < b->key : i < j;
}

/* Those of `color` in order: *mine, how many; processes by rank. */
static int order(const wish *all, int ranks, int rank, int *processes, int *mine) {
  int count = 0;
  for (int r = 0; r < ranks; r++) {
    if (all[r].color != all[rank].color) continue;
    int place = 0;
    for (int q = 0; q < ranks; q++)
      place += all[q].color == all[r].color && q != r && precedes(&all[q], q, &all[r], r);
    processes[place] = all[r].process;
    if (r == rank) *mine = place;
    count++;
  }
  return count;
}

int ucx_net_split(void *self, int color, int key, tutti_net *net) {
  ucx_net *n = self;
  const size_t ranks = (size_t)n->ranks;
  pthread_mutex_lock(&n->world->lock);
  wish *all = calloc(ranks, sizeof *all);
  int *processes = calloc(ranks, sizeof *processes), mine = 0, failed = !all || !processes;
  if (failed) snprintf(n->error, sizeof n->error, "out of memory for %d ranks", n->ranks);
  if (!failed) {
    all[n->rank] = (wish){color, key, n->world->next, ucx_process(n, n->rank)};
    failed = swap_wishes(n, all);
  }
  if (!failed) {
    uint32_t number = 0;
    for (size_t r = 0; r < ranks; r++)
      if (all[r].next > number) number = all[r].next;
    n->world->next = number + 1;
    const int count = color < 0 ? 0 : order(all, n->ranks, n->rank, processes, &mine);
    if (count) failed = ucx_net_make(n->world, number, processes, mine, count, net);
    if (failed) snprintf(n->error, sizeof n->error, "out of memory for a network");
  }
  free(all);
  free(processes);
  pthread_mutex_unlock(&n->world->lock);
  return failed;
}
