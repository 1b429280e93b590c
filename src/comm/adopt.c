/* adopt.c - builds the communicator of a decided proposal; it inherits the old one's settings.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "adopt.h"
#include "comm_wisdom.h"
#include "tracing.h"

_Static_assert(sizeof(tt_heritage) <= TT_SETTINGS, "room for what is inherited");

/* The number of the old communicator's helpers (its last ranks) that are still alive. */
static int helpers_of(const tutti_comm *old, const tt_proposal *t) {
  int n = 0;
  for (int r = old->ranks - old->helpers; r < old->ranks; r++)
    for (int i = 0; i < t->ranks; i++) n += t->member[i].index == old->info[r].index;
  return n;
}

void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *t) {
  tt_heritage *h = (tt_heritage *)(void *)t->settings;
  *h = (tt_heritage){.profile = old->plans->setting.profile,
                     .settings = old->settings,
                     .load = old->load,
                     .helpers = helpers_of(old, t)};
  h->load.host_ranks_per_core *= (double)t->ranks / old->ranks; /* approximate */
  tt_trace_names(old, d->round, ~d->by, &h->job, &h->trace);    /* colors are never negative */
  t->bytes = sizeof *h;
}

static void take_places(tutti_comm *comm, const tt_proposal *t, tt_segment *segment,
                        const tutti_comm *old) {
  for (int i = 0; i < t->ranks; i++) {
    tt_rank_info *w = &comm->info[i];
    *w = (tt_rank_info){.index = t->member[i].index,
                        .pid = tt_heap_head(segment, t->member[i].index)->pid};
    for (int r = 0; old && r < old->ranks; r++)
      if (old->info[r].index == w->index) *w = old->info[r];
    w->ctrl = t->member[i].ctrl;
    comm->joiners += t->member[i].joiner;
  }
}

static bool same_ranks(const tutti_comm *comm, const tutti_comm *old) {
  bool same = old && old->ranks == comm->ranks && old->rank == comm->rank;
  for (int r = 0; same && r < comm->ranks; r++) same = comm->info[r].index == old->info[r].index;
  return same;
}

/* Has no wires yet. Returns NULL if out of memory. */
static tutti_comm *inherit_unwired_comm(tt_heap *heap, const tt_proposal *t, int member,
                                        const tutti_comm *old) {
  const tt_heritage *h = (const tt_heritage *)(const void *)t->settings;
  tutti_comm *comm = tt_comm_new(member, t->ranks);
  if (!comm) return NULL;
  comm->heap = tt_heap_hold(heap);
  comm->load = h->load;
  take_places(comm, t, tt_heap_segment(heap), old);
  return comm;
}

tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *t, int member, const tutti_comm *old,
                             tutti_comm **out) {
  const tt_heritage *h = (const tt_heritage *)(const void *)t->settings;
  char why[TT_WHY];
  tutti_comm *comm = inherit_unwired_comm(heap, t, member, old);
  const tt_comm_spec spec = {.profile = &h->profile,
                             .wisdom = (uint32_t)t->wisdom,
                             .settings = &h->settings,
                             .helpers = h->helpers};
  tutti_status status = comm ? tt_comm_build(comm, &spec) : TUTTI_ERR_MEMORY;
  if (!status) tt_trace_heir(comm, old, h->job, h->trace, same_ranks(comm, old));
  if (!status) {
    *out = comm; /* if a peer is lost again, the next call reports it */
    return TUTTI_OK;
  }
  snprintf(why, sizeof why, "rank %d: %.300s", member, tutti_error());
  tt_shm_ctrl_refuse(tt_heap_segment(heap), t, status, why);
  tt_comm_destroy(comm);
  return status;
}
