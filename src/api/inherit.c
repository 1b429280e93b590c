/* inherit.c - a communicator made by the terms that were decided, with what was set on the old one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "going_on.h"
#include "tracing.h"
#include "wise.h"

_Static_assert(sizeof(tt_heritage) <= TT_SETTINGS, "room for what is inherited");

/* Of its helpers, the last ranks, those that live. */
static int helpers_of(const tutti_comm *old, const tt_pact *t) {
  int n = 0;
  for (int r = old->ranks - old->helpers; r < old->ranks; r++)
    for (int i = 0; i < t->ranks; i++) n += t->seat[i].index == old->where[r].index;
  return n;
}

void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_pact *t) {
  tt_heritage *h = (tt_heritage *)(void *)t->settings;
  *h = (tt_heritage){.machine = old->setting.machine,
                     .wish = old->wish,
                     .cores = old->cores,
                     .kernel_crowd = old->kernel_crowd * t->ranks / old->ranks, /* about */
                     .timeout = old->timeout,
                     .slices = old->slices,
                     .contract = (int32_t)old->contract,
                     .helpers = helpers_of(old, t),
                     .measures = old->measures};
  tt_trace_names(old, d->round, ~d->by, &h->job, &h->trace); /* no color is negative */
  t->bytes = sizeof *h;
}

static void take_places(tutti_comm *comm, const tt_pact *t, tt_segment *segment,
                        const tutti_comm *old) {
  for (int i = 0; i < t->ranks; i++) {
    tt_where *w = &comm->where[i];
    *w = (tt_where){.index = t->seat[i].index, .pid = tt_heap_head(segment, t->seat[i].index)->pid};
    for (int r = 0; old && r < old->ranks; r++)
      if (old->where[r].index == w->index) *w = old->where[r];
  }
}

static bool same_ranks(const tutti_comm *comm, const tutti_comm *old) {
  bool same = old && old->ranks == comm->ranks && old->rank == comm->rank;
  for (int r = 0; same && r < comm->ranks; r++) same = comm->where[r].index == old->where[r].index;
  return same;
}

static tutti_status set_up(tutti_comm *comm, const tt_heritage *h) {
  comm->wish = h->wish;
  comm->slices = h->slices;
  comm->timeout = h->timeout;
  comm->contract = (tutti_contract)h->contract;
  comm->measures |= h->measures;
  const int helpers = h->helpers;
  return helpers && helpers < comm->ranks ? tutti_comm_set_helpers(comm, helpers) : TUTTI_OK;
}

/* Without wires; NULL if out of memory. */
static tutti_comm *begin(tt_heap *heap, const tt_pact *t, int seat, const tutti_comm *old,
                         uint64_t *rooms) {
  const tt_heritage *h = (const tt_heritage *)(const void *)t->settings;
  tutti_comm *comm = tt_comm_new(seat, t->ranks);
  if (!comm) return NULL;
  comm->heap = tt_heap_hold(heap);
  comm->cores = h->cores;
  comm->kernel_crowd = h->kernel_crowd;
  take_places(comm, t, tt_heap_segment(heap), old);
  for (int i = 0; i < t->ranks; i++) rooms[i] = t->seat[i].room;
  for (int i = 0; i < t->ranks; i++) comm->newcomers += t->seat[i].newcomer;
  return comm;
}

tutti_status tt_comm_inherit(tt_heap *heap, const tt_pact *t, int seat, const tutti_comm *old,
                             tutti_comm **out) {
  const tt_heritage *h = (const tt_heritage *)(const void *)t->settings;
  char why[TT_WHY];
  uint64_t *rooms = malloc((size_t)t->ranks * sizeof *rooms);
  tutti_comm *comm = rooms ? begin(heap, t, seat, old, rooms) : NULL;
  tutti_status status =
      comm ? tt_comm_stand(comm, NULL, rooms)
           : tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", t->ranks);
  if (!status) status = tt_comm_settle(comm, &h->machine);
  if (!status) tt_trace_heir(comm, old, h->job, h->trace, same_ranks(comm, old));
  if (!status) status = tt_wise_share(comm, (uint32_t)t->wise);
  if (!status) status = set_up(comm, h);
  free(rooms);
  if (!status) {
    *out = comm; /* if a peer is lost again, the next call says so */
    return TUTTI_OK;
  }
  snprintf(why, sizeof why, "rank %d: %.300s", seat, tutti_error());
  tt_council_refuse(tt_heap_segment(heap), t, status, why);
  tt_comm_destroy(comm);
  return status;
}
