/* joiner.c - builds the communicator of an accepted proposal, on ranks that continue and in a process that joins a
 * running job. The process announces itself and waits to be admitted.
 *
 * Idea       The new communicator inherits the settings of the old one. A joiner takes a heap that was never used,
 *            makes a control block in it for any number of ranks, and waits until it is invited (joiners.c). It then
 *            builds the same communicator as all the others.
 * Invariant  A joiner waits only while its launcher is alive and some rank can admit it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "build_comm.h"
#include "long_wait.h"
#include "proposal.h"
#include "remote.h"
#include "tracing.h"

/* ---- inheritance ---- */

/* The data that a new communicator inherits from the old one. All ranks of the new communicator have the same data. */
typedef struct heritage {
  tt_profile profile;
  tt_plain_settings settings;
  int32_t overrides; /* number of entries of its override, which joiners receive as text */
  tt_load load;
  int32_t helpers;
  uint64_t trace, job; /* numbers of its trace; 0: no trace */
} heritage;

_Static_assert(sizeof(heritage) <= TT_SETTINGS, "room for what is inherited");

/* Counts the helpers of the old communicator that are still alive. The helpers are its last ranks. */
static int helpers_of(const tutti_comm *old, const tt_proposal *t) {
  int n = 0;
  for (int r = old->ranks - old->helpers; r < old->ranks; r++)
    for (int i = 0; i < t->ranks; i++) n += t->member[i].index == old->info[r].index;
  return n;
}

void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *t) {
  heritage *h = (heritage *)(void *)t->settings;
  *h = (heritage){.profile = old->plans->setting.profile,
                  .settings = old->settings.plain,
                  .overrides = old->settings.override.n,
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
    const tt_intro *its = tt_heap_intro(segment, t->member[i].index);
    *w = (tt_rank_info){
        .index = t->member[i].index, .placement = tt_intro_colors(its), .pid = its->pid};
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

/* Creates the new communicator, but not its wires. Returns NULL if out of memory. */
static tutti_comm *inherit_unwired_comm(tt_heap *heap, const tt_proposal *t, int member,
                                        const tutti_comm *old) {
  const heritage *h = (const heritage *)(const void *)t->settings;
  tutti_comm *comm = tt_comm_new(member, t->ranks);
  if (!comm) return NULL;
  comm->heap = tt_heap_hold(heap);
  comm->load = h->load;
  take_places(comm, t, tt_heap_segment(heap), old);
  return comm;
}

/* Returns the first member that is not a joiner. */
static int first_that_stays(const tt_proposal *t) {
  int i = 0;
  while (i < t->ranks - 1 && t->member[i].joiner) i++;
  return i;
}

tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *t, int member, const tutti_comm *old,
                             tutti_comm **out) {
  const heritage *h = (const heritage *)(const void *)t->settings;
  char why[TT_WHY];
  tutti_comm *comm = inherit_unwired_comm(heap, t, member, old);
  const tt_override none = {.n = 0};
  const tt_comm_spec spec = {.profile = &h->profile,
                             .wisdom = (uint32_t)t->wisdom,
                             .settings = &h->settings,
                             .override = old ? &old->settings.override : &none,
                             .helpers = h->helpers};
  tutti_status status = comm ? tt_comm_build(comm, &spec) : TUTTI_ERR_MEMORY;
  if (!status && comm->joiners && h->overrides) tt_override_share(comm, first_that_stays(t));
  if (!status) tt_trace_heir(comm, old, h->job, h->trace, same_ranks(comm, old));
  if (!status) {
    *out = comm; /* if a peer is lost again, the next call reports it */
    return TUTTI_OK;
  }
  snprintf(why, sizeof why, "rank %d: %.300s", member, tutti_error());
  tt_shm_ctrl_refuse(heap, t, status, why);
  tt_comm_destroy(comm);
  return status;
}

/* ---- a joining process ---- */

enum { LOOK_EVERY = 64 };

/* each world, ready: model: grow:words */

tutti_status tt_joiner_waits(tt_long_wait *wait) {
  const double limit = tt_connect_timeout(0);
  if (limit > 0 && tt_seconds() - wait->since >= limit)
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "this process is a joiner, and was not admitted (tutti_comm_grow) within "
                   "%g s (TUTTI_CONNECT_TIMEOUT)",
                   limit);
  tt_long_wait_for(wait, "the ranks to admit this joiner (tutti_comm_grow)");
  return TUTTI_OK;
}

static tutti_status look_around(const tt_segment *segment, int index, tt_long_wait *wait) {
  const tutti_status over = tt_job_over(segment);
  if (over) return over;
  if (!tt_joiner_has_host(segment, index))
    return tt_fail(TUTTI_ERR_PEER_LOST,
                   "this process is a joiner, and no rank is alive that could take it in");
  return tt_joiner_waits(wait);
}

typedef struct admission {
  const tt_segment *segment;
  int index;
  tt_long_wait wait;
  const tt_proposal *proposal;
} admission;

static bool is_admitted(void *ctx, unsigned turn, tutti_status *status) {
  admission *a = ctx;
  *status = tt_joiner_admitted(a->segment, a->index, &a->proposal);
  if (!*status && !a->proposal && turn % LOOK_EVERY == 0)
    *status = look_around(a->segment, a->index, &a->wait);
  return a->proposal;
}

tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out) {
  tt_intro *intro = tt_heap_intro(segment, index);
  admission a = {.segment = segment, .index = index};
  tt_heap *heap = NULL;
  int member = 0;
  tt_settings own; /* reports an invalid setting before other ranks depend on this one */
  tutti_status status = tt_settings_read(&own, segment->founders);
  if (!status) status = tt_heap_open(segment, index, &heap);
  if (status) tt_segment_release(segment);
  if (status) return status;
  const uint64_t ctrl = tt_shm_ctrl_new(heap, segment->ranks, false);
  if (!ctrl) status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
  if (!status) {
    tt_heap_introduce(heap);
    tt_remote_probe(segment, index);
    atomic_store(&intro->world, ctrl);
    atomic_store(&intro->ready, 1 + TT_LAYOUT);
    a.wait = tt_long_wait_begin("tutti_comm_from_env");
    status = tt_wait_until(a.wait.call, is_admitted, &a);
    tt_long_wait_end(&a.wait);
  }
  if (!status) {
    const tt_proposal *proposal = a.proposal;
    while (member < proposal->ranks && proposal->member[member].index != index) member++;
    tt_shm_ctrl_drop_refs(heap, ctrl, segment->ranks - proposal->ranks);
    status = tt_comm_inherit(heap, proposal, member, NULL, out);
    tt_proposal_release(proposal);
  }
  tt_heap_close(heap);
  return status;
}
