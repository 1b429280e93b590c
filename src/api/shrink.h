/* shrink.h - inside tutti_comm_shrink and tutti_comm_grow: a communicator out of one that may
 * have failed.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GOING_ON_H
#define TT_GOING_ON_H

#include "comm.h"

enum { TT_NO_JOINERS = -1 };

/* What a new communicator gets from the one it comes out of; the same for all of its ranks. */
typedef struct tt_heritage {
  tt_profile profile;
  tt_override override;
  double cores, host_ranks_per_core;
  double timeout;
  int32_t slices, contract, helpers, measures;
  uint64_t trace, job; /* numbers of its trace; 0: there is none */
} tt_heritage;

/* One call, of all that live: `name`; least: newcomers that are waited for, or TT_NO_JOINERS. */
tutti_status tt_comm_go_on(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* The same over messages, of comm->net; the comm is entered (shrink_net.c). */
tutti_status tt_comm_reunite(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* What both say of `peer`, which lives and has not called `name`; and of the end of waiting. by == awaited:
 * that rank was interrupted. */
void tt_warn_straggler(const tutti_comm *comm, const char *name, int peer, double waited);
tutti_status tt_gave_up(const tutti_comm *comm, const char *name, tutti_status status, int by,
                        int awaited);

/* ---- what comes out of it (adopt.c) ---- */

/* Fills in what stays as it is in `old`; the terms' ranks are complete. */
void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *proposal);
/* Of the rank in this seat; old: where it was before, or NULL. On errors the others know. */
tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *proposal, int member,
                             const tutti_comm *old, tutti_comm **out);

/* ---- a process that joins (joiner.c) ---- */

/* Waits until it is taken in; the communicator that it comes into. */
tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out);

#endif
