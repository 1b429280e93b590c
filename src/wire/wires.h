/* wires.h - making wires, and the control blocks that exist before their wire does.
 *
 * Idea       Only these functions of the wire are called by name; all else goes through the tables
 *            of wire.h and agree.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WIRES_H
#define TT_WIRES_H

#include "proposal.h"
#include "wire.h"

/* ---- shared memory ---- */

/* Allocate this rank's control block for a communicator of `ranks`; the first rank's also holds the
 * state common to all. Returns its offset; 0 if out of memory. */
uint64_t tt_shm_ctrl_new(tt_heap *heap, int ranks, bool first);
void tt_shm_ctrl_free(tt_heap *heap, uint64_t ctrl);
/* `by` fewer ranks than planned will attach: drop their references. */
void tt_shm_ctrl_drop_refs(tt_heap *heap, uint64_t ctrl, int by);
/* Do not attach to the communicator of this rank's control block: publish status and reason there
 * for the ranks that do; free it when all have left. */
void tt_shm_ctrl_abandon(tt_heap *heap, uint64_t ctrl, tutti_status status, const char *why);
/* Tell the members that the proposed communicator failed before it began. */
void tt_shm_ctrl_refuse(tt_heap *heap, const tt_proposal *proposal, tutti_status status,
                        const char *reason);
/* members[r], ctrls[r]: heap index and control block offset of rank r. Copies both. */
tutti_status tt_shm_wire(tt_heap *heap, int rank, int ranks, const int *members,
                         const uint64_t *ctrls, tt_wire **wire);

/* ---- messages ---- */

/* A wire over a network. Copies the table; the wire closes the network when it is closed, or if
 * this call fails. */
tutti_status tt_net_wire(const tutti_net *net, tt_wire **wire);

/* ---- both ---- */

/* Messages of rank r use `near`, as rank near_rank[r] there, if that is >= 0; else `far`. Takes
 * ownership of both wires; copies near_rank. */
tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire);

#endif
