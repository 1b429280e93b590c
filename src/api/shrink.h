/* shrink.h - inside tutti_comm_shrink and tutti_comm_grow: makes a communicator from one that
 * may have failed.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GOING_ON_H
#define TT_GOING_ON_H

#include "agree.h"
#include "comm.h"

enum { TT_NO_JOINERS = -1 };

/* What a new communicator inherits from the old one; the same on all its ranks. */
typedef struct tt_heritage {
  tt_profile profile;
  tt_override override;
  double cores, host_ranks_per_core;
  double timeout;
  int32_t slices, contract, helpers, measures;
  uint64_t trace, job; /* numbers of its trace; 0: none */
} tt_heritage;

/* A call of all survivors; name: the public function. least: joiners to wait for, or
 * TT_NO_JOINERS. */
tutti_status tt_comm_go_on(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* The same over the messages of comm->net; the comm is entered (shrink_net.c). */
tutti_status tt_comm_reunite(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* Both warn of `peer`, which is alive and has not called `name`; and report that the wait has
 * ended. by == awaited: that rank was interrupted. */
void tt_warn_straggler(const tutti_comm *comm, const char *name, int peer, double waited);
tutti_status tt_gave_up(const tutti_comm *comm, const char *name, tutti_status status, int by,
                        int awaited);

/* ---- the new communicator (adopt.c) ---- */

/* Writes what is inherited from `old` into a proposal; its ranks are complete. */
void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *proposal);
/* Builds the communicator for this rank, number `member` of the proposal; old: the communicator it
 * was in, or NULL. If it fails, the other ranks are informed. */
tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *proposal, int member,
                             const tutti_comm *old, tutti_comm **out);

/* ---- a process that joins (joiner.c) ---- */

/* Waits until it is admitted; *out: its communicator. */
tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out);

#endif
