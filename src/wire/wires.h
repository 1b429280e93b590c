/* wires.h - functions that make wires, and control blocks, which exist before their wire.
 *
 * Idea       Only these functions of the wire are called by name. All others are called through the
 *            tables of wire.h and agree.h.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WIRES_H
#define TT_WIRES_H

#include "proposal.h"
#include "wire.h"

/* ---- shared memory ---- */

/* Allocates this rank's control block for a communicator of `ranks` ranks. On the first rank, the block also holds the state
 * that all ranks share. Returns the block's offset, or 0 if out of memory. */
uint64_t tt_shm_ctrl_new(tt_heap *heap, int ranks, bool first);
void tt_shm_ctrl_free(tt_heap *heap, uint64_t ctrl);
/* Drops `by` references to a control block, for ranks that were to attach to it but will not. */
void tt_shm_ctrl_drop_refs(tt_heap *heap, uint64_t ctrl, int by);
/* Called instead of attaching to a communicator. Publishes the status and the reason in this rank's control block, for the
 * ranks that do attach. The block is freed when all of these ranks have left. */
void tt_shm_ctrl_abandon(tt_heap *heap, uint64_t ctrl, tutti_status status, const char *why);
/* Notifies the members of a proposed communicator that it failed before it started. */
void tt_shm_ctrl_refuse(tt_heap *heap, const tt_proposal *proposal, tutti_status status,
                        const char *reason);
/* members[r] and ctrls[r] are the heap index and control block offset of rank r. Copies both arrays. */
tutti_status tt_shm_wire(tt_heap *heap, int rank, int ranks, const int *members,
                         const uint64_t *ctrls, tt_wire **wire);

/* ---- messages ---- */

/* Makes a wire over a network, and copies its table. The network is closed with the wire, or when this call fails. */
tutti_status tt_net_wire(const tutti_net *net, tt_wire **wire);

/* ---- both ---- */

/* Makes a wire from two others. If near_rank[r] is not negative, messages to and from rank r use `near`, where that rank has
 * the number near_rank[r]; otherwise they use `far`. Takes ownership of both wires, and copies near_rank. */
tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire);

#endif
