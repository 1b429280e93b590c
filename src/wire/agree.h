/* agree.h - agreement of the live ranks on those that continue, also after a failure.
 *
 * Idea       Over shared memory a rank writes a proposal into its heap, and one compare-and-swap
 *            decides it (shm_agree.c). Over a network the ranks exchange messages (net_agree.c). A
 *            wire has the table of its kind, or neither.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include "proposal.h"
#include "wire.h"

/* ---- over shared memory ---- */

typedef struct tt_decision {
  uint32_t round;
  int by;                /* the deciding rank, the lowest live one; or the rank that timed out */
  int awaited;           /* >= 0: `by` timed out waiting for this rank */
  tt_proposal *proposal; /* NULL: the decider was out of memory */
} tt_decision;

typedef struct tt_shm_agree_ops {
  /* Enter a round with a control block (offset; UINT64_MAX: allocation failed; the leader's is not
   * used) and this rank's request. */
  void (*enter)(tt_wire *w, uint32_t round, uint64_t ctrl, uint64_t asks);
  /* A live rank that has not entered the round; -1: none. */
  int (*awaited)(tt_wire *w, uint32_t round);
  /* The lowest live rank leads. Once no rank is awaited it writes a proposal whose first members
   * are the live ranks in order, has the rest filled in, and decides it. */
  int (*leader)(tt_wire *w);
  /* A rank's request. */
  uint64_t (*asks)(tt_wire *w, int rank);
  tt_proposal *(*propose)(tt_wire *w, uint32_t round, int more);
  void (*decide)(tt_wire *w, uint32_t round, tt_proposal *proposal);
  /* Time out, unless there is a decision. */
  void (*quit)(tt_wire *w, uint32_t round, int awaited);
  /* Is there a decision? */
  bool (*decided)(tt_wire *w, uint32_t round, tt_decision *d);
} tt_shm_agree_ops;

/* ---- over a network ---- */

typedef struct tt_net_decision {
  uint64_t net;
  uint32_t round;
  int32_t word, by;         /* by: the rank that decided */
  int32_t status;           /* TUTTI_OK; else no result, because of: */
  int32_t quitter, awaited; /* the rank that timed out; the rank it waited for */
  int32_t asks;             /* smallest request of all ranks, for tutti_comm_grow */
  uint32_t number;          /* of the network */
  uint32_t tries;           /* of the proposing rank */
  uint8_t member[];         /* per rank: it continues; then, per rank: the proposal was made
                               to it */
} tt_net_decision;

typedef struct tt_net_agree_ops {
  /* Enter a round. The first is 1; the next begins once the last is decided. asks: this rank's
   * request. */
  tutti_status (*enter)(tt_wire *w, uint32_t round, int asks);
  /* Call repeatedly; *decision: NULL until this rank may leave, then valid until the next round. */
  tutti_status (*step)(tt_wire *w, const tt_net_decision **decision);
  /* A rank that this one waits for; -1: none. */
  int (*awaited)(tt_wire *w);
  bool (*leads)(tt_wire *w);
  /* Time out, unless this rank has accepted another rank's proposal. */
  void (*quit)(tt_wire *w, int awaited);
  /* The network of the ranks that continue. list: has capacity for all ranks, receives the members;
   * *mine: this rank's index in it. TUTTI_ERR_PEER_LOST: the decision excludes this rank. */
  tutti_status (*network)(tt_wire *w, const tt_net_decision *decision, int *list, int *mine,
                          tutti_net *net);
} tt_net_agree_ops;

#endif
