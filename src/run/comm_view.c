/* comm_view.c - properties of a communicator, for code outside of run/.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "comm.h"

int tt_comm_near(const tutti_comm *comm, int *near) {
  const tt_rank_info *w = comm->info, *mine = &w[comm->rank];
  int n = 0;
  for (int r = 0; r < comm->ranks; r++) {
    const bool shares = r == comm->rank || (mine->index >= 0 && w[r].index >= 0 &&
                                            w[r].placement.node == mine->placement.node);
    if (near) near[r] = shares ? n : -1;
    n += shares;
  }
  return n;
}

double tt_comm_timeout(const tutti_comm *comm) {
  return comm->settings.plain.timeout > 0 ? comm->settings.plain.timeout
                                          : comm->settings.plain.env_timeout;
}

tutti_contract tt_comm_contract(const tutti_comm *comm) {
  return comm->settings.plain.contract;
}

const tt_code_wish *tt_call_wish(const tutti_comm *comm, const tt_call *c) {
  return c->code ? c->code : &comm->settings.plain.wish;
}

tt_code_wish tt_comm_wish(const tutti_comm *comm) {
  return comm->settings.plain.wish;
}

int tt_comm_helpers(const tutti_comm *comm) {
  return comm->helpers;
}

bool tt_comm_failed(const tutti_comm *comm) {
  return comm->broken != TUTTI_OK;
}

const tt_override *tt_comm_override(const tutti_comm *comm) {
  return &comm->settings.override;
}

const tt_override *tt_call_override(const tutti_comm *comm, const tt_call *c) {
  return c->override ? c->override : &comm->settings.override;
}

bool tt_call_is_exact(const tutti_comm *comm, const tt_call *c) {
  return comm->settings.plain.contract == TUTTI_CONTRACT_EXACT && tt_coll_reduces(c->coll) &&
         !c->everyone && tt_type_valid(c->type) && tt_op_rounds(c->type, c->op);
}

tt_sched tt_call_outline(const tutti_comm *comm, const tt_call *c) {
  const int data = tt_call_data(comm, c);
  return (tt_sched){.coll = c->coll,
                    .ranks = comm->ranks,
                    .rank = comm->rank,
                    .root = c->root,
                    .data = data,
                    .blocks = tt_coll_owned(c->coll) ? (uint32_t)data : 1};
}

tt_call tt_barrier_call(tutti_comm *comm) {
  uint8_t *token = comm ? comm->token : NULL;
  return (tt_call){.coll = TUTTI_BARRIER,
                   .src = token,
                   .dst = token,
                   .count = 1,
                   .type = TUTTI_UINT8,
                   .op = TUTTI_MAX};
}

/* ---- memory ---- */

bool tt_comm_exports(const tutti_comm *comm, const void *at) {
  const tt_memory_ops *ops = comm->wire->memory;
  if (!at || !ops->export || !ops->writable) return false;
  return ops->writable(comm->wire, ops->export(comm->wire, at, 1)) != NULL;
}

enum { SMALL = 1 << 20 }; /* bytes; there is always enough memory for less */

char *tt_trial_take(tutti_comm *comm, size_t bytes, bool exportable) {
  const uint64_t wanted = 2 * (uint64_t)bytes * (uint64_t)tt_comm_near(comm, NULL);
  if (bytes >= SMALL && wanted > tt_memory_available()) return NULL;
  return exportable ? comm->wire->memory->alloc(comm->wire, bytes) : tt_scratch_take(bytes);
}

void tt_trial_give(tutti_comm *comm, char *memory, bool exportable) {
  if (exportable)
    comm->wire->memory->free(comm->wire, memory);
  else
    tt_scratch_give(memory);
}
