/* agree.h - how the live ranks agree on which of them continue, even after a failure.
 *
 * Idea       Over shared memory, a rank writes a proposal into its heap, and one compare-and-swap
 *            decides it (shm_agree.c). Over a network, the ranks exchange messages (net_agree.c). A
 *            wire has the table for its kind, or neither table.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include "proposal.h"
#include "wire.h"

/* ---- over shared memory ---- */

typedef struct tt_decision {
  uint32_t round;
  int by;                /* the deciding rank (the lowest live rank), or the rank that timed out */
  int awaited;           /* if >= 0, `by` timed out waiting for this rank */
  tt_proposal *proposal; /* NULL if the decider ran out of memory */
} tt_decision;

typedef struct tt_shm_agree_ops {
  /* Enters a round. Publishes this rank's request and its control block (an offset, or UINT64_MAX if the allocation failed).
   * The leader's control block is not used. */
  void (*enter)(tt_wire *w, uint32_t round, uint64_t ctrl, uint64_t asks);
  /* Returns a live rank that has not entered the round, or -1. */
  int (*awaited)(tt_wire *w, uint32_t round);
  /* Returns the leader, which is the lowest live rank. When all live ranks have entered the round, the leader writes a
   * proposal, whose first members are the live ranks in order. After the other members have been filled in, the leader
   * decides the proposal. */
  int (*leader)(tt_wire *w);
  /* Returns a rank's request. */
  uint64_t (*asks)(tt_wire *w, int rank);
  tt_proposal *(*propose)(tt_wire *w, uint32_t round, int more);
  void (*decide)(tt_wire *w, uint32_t round, tt_proposal *proposal);
  /* Ends the round with a timeout, unless it has been decided. */
  void (*quit)(tt_wire *w, uint32_t round, int awaited);
  /* Returns true and fills in *d if a decision has been made in this round. */
  bool (*decided)(tt_wire *w, uint32_t round, tt_decision *d);
} tt_shm_agree_ops;

/* ---- over a network ---- */

typedef struct tt_net_decision {
  uint64_t net;
  uint32_t round;
  int32_t word, by;         /* by: the rank that decided */
  int32_t status;           /* TUTTI_OK, or the error that ended the round without a result */
  int32_t quitter, awaited; /* the rank that timed out, and the rank it was waiting for */
  int32_t asks;             /* smallest request of all ranks, for tutti_comm_grow */
  uint32_t number;          /* of the network */
  uint32_t tries;           /* of the proposing rank */
  uint8_t member[];         /* by rank, 1 if it continues; then by rank, 1 if the proposal was sent
                               to it */
} tt_net_decision;

typedef struct tt_net_agree_ops {
  /* Enters a round of the agreement with the request `asks` of this rank. Rounds are numbered from 1, and a round starts only
   * after the previous round has been decided. */
  tutti_status (*enter)(tt_wire *w, uint32_t round, int asks);
  /* Makes progress with the agreement; the caller calls this repeatedly. *decision is NULL until this rank may leave the
   * round. It then remains valid until the next round. */
  tutti_status (*step)(tt_wire *w, const tt_net_decision **decision);
  /* Returns a rank that this rank is waiting for, or -1. */
  int (*awaited)(tt_wire *w);
  bool (*leads)(tt_wire *w);
  /* Ends the round with a timeout. Does nothing if this rank has accepted the proposal of another rank. */
  void (*quit)(tt_wire *w, int awaited);
  /* Makes a network for the ranks that continue. `list` must have room for all ranks and receives the members; *mine receives
   * this rank's index in the list. Returns TUTTI_ERR_PEER_LOST if the decision excludes this rank. */
  tutti_status (*network)(tt_wire *w, const tt_net_decision *decision, int *list, int *mine,
                          tutti_net *net);
} tt_net_agree_ops;

#endif
