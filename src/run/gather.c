/* gather.c - tutti's internal collectives, which exchange bytes between ranks while communicators are created.
 *
 * Idea       These are an all-gather, a gather and a broadcast of bytes. All ranks contribute data, including helpers. Such
 *            calls are never exact, traced or measured. Their plans are cached like any other.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "flight.h"

tutti_status tt_call_own(tutti_comm *comm, tt_call call, bool in_place) {
  const tt_plan *plan;
  call.everyone = true;
  tutti_status status = tt_break_if_memory(comm, tt_plan_for(comm, &call, in_place, &plan));
  return status ? status : tt_call_run(comm, &call, plan);
}

static tutti_status move_bytes(tutti_comm *comm, const char *who, tt_call call) {
  const bool in_place =
      call.coll == TUTTI_BROADCAST && comm->rank == call.root; /* only the root has a src */
  call.type = TUTTI_UINT8;
  tutti_status status = tt_comm_enter(comm, who);
  if (status) return status;
  status = tt_call_own(comm, call, in_place);
  tt_comm_leave(comm);
  return status;
}

tutti_status tt_gather(tutti_comm *comm, const char *who, const void *src, void *dst,
                       size_t bytes) {
  return move_bytes(comm, who,
                    (tt_call){.coll = TUTTI_ALLGATHER, .src = src, .dst = dst, .count = bytes});
}

tutti_status tt_gather_first(tutti_comm *comm, const char *who, const void *src, void *dst,
                             size_t bytes) {
  return move_bytes(comm, who,
                    (tt_call){.coll = TUTTI_GATHER, .src = src, .dst = dst, .count = bytes});
}

tutti_status tt_broadcast(tutti_comm *comm, const char *who, int root, void *bytes, size_t n) {
  return move_bytes(
      comm, who,
      (tt_call){.coll = TUTTI_BROADCAST, .src = bytes, .dst = bytes, .count = n, .root = root});
}
