/* joiner.c - a process joins a running job: it announces itself and waits to be admitted.
 *
 * Idea       it takes a heap that was never used, makes a control block in it for any number of
 *            ranks, and waits until it is invited (joiners.c); then it builds the same
 *            communicator as all the others (adopt.c).
 * Invariant  it waits only while its launcher and a rank that can admit it are alive.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "adopt.h"
#include "proposal.h"
#include "remote.h"

enum { LOOK_EVERY = 64, WARN_S = 10 };

/* Checks this process's own environment before other ranks depend on it. */
/* each world, ready: model: grow:words */

static tutti_status check_settings(int ranks) {
  tutti_contract contract;
  tt_override override;
  tutti_status status = tt_contract_read(tt_env("TUTTI_CONTRACT"), ranks, &contract);
  if (status) return status;
  status = tt_override_parse(tt_env("TUTTI_ALGO"), ranks, &override);
  return status ? tt_fail(status, "TUTTI_ALGO: %.300s", tutti_error()) : TUTTI_OK;
}

static tutti_status look_around(const tt_segment *segment, int index, double waited, bool *warned) {
  const double limit = tt_connect_timeout(0);
  long launcher;
  if (tt_segment_orphaned(segment, &launcher))
    return tt_fail(TUTTI_ERR_PEER_LOST, "the job is over: its launcher (pid %ld) is gone",
                   launcher);
  if (!tt_joiner_has_host(segment, index))
    return tt_fail(TUTTI_ERR_PEER_LOST,
                   "this process is a joiner, and no rank is alive that could take it in");
  if (limit > 0 && waited >= limit)
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "this process is a joiner, and was not taken in (tutti_comm_grow) within "
                   "%g s (TUTTI_CONNECT_TIMEOUT)",
                   limit);
  if (waited >= WARN_S && !*warned)
    tt_log(0, "a joiner has waited %.0f s to be taken in: tutti_comm_grow", waited);
  *warned |= waited >= WARN_S;
  return TUTTI_OK;
}

typedef struct admission {
  const tt_segment *segment;
  int index;
  double since; /* s */
  bool warned;
  const tt_proposal *proposal;
} admission;

static bool is_admitted(void *ctx, unsigned turn, tutti_status *status) {
  admission *a = ctx;
  *status = tt_joiner_admitted(a->segment, a->index, &a->proposal);
  if (!*status && !a->proposal && turn % LOOK_EVERY == 0)
    *status = look_around(a->segment, a->index, tt_seconds() - a->since, &a->warned);
  return a->proposal;
}

tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out) {
  tt_head *head = tt_heap_head(segment, index);
  admission a = {.segment = segment, .index = index};
  tt_heap *heap = NULL;
  int member = 0;
  tutti_status status = check_settings(segment->founders);
  if (!status) status = tt_heap_open(segment, index, &heap);
  if (status) tt_segment_release(segment);
  if (status) return status;
  const uint64_t ctrl = tt_shm_ctrl_new(heap, segment->ranks, false);
  if (!ctrl) status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
  if (!status) {
    tt_heap_introduce(heap);
    tt_remote_probe(segment, index);
    atomic_store(&head->world, ctrl);
    atomic_store(&head->ready, 1 + TT_LAYOUT);
    a.since = tt_seconds();
    status = tt_wait_until("tutti_comm_from_env", is_admitted, &a);
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
