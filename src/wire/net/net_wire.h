/* net_wire.h - wires over messages: over an MPI alone, or together with shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_NET_WIRE_H
#define TT_NET_WIRE_H

#include "tutti_net.h"
#include "wire.h"

/* A waiting rank that naps polls for messages at least this often. */
enum { TT_NAP_US = 50 };

/* ---- messages (net_recv.c) ---- */

/* A wire over a network. Copies the table; the wire closes the network when it is closed, or if
 * this call fails. */
tutti_status tt_net_wire(const tutti_net *net, tt_wire **wire);

/* ---- agreement of the live ranks on those that continue (net_agree.c) ---- */

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

/* Can the network make new networks of the live ranks? */
bool tt_net_agree_possible(const tt_wire *wire);
/* Enter a round. The first is 1; the next begins once the last is decided. asks: this rank's
 * request. */
tutti_status tt_net_agree_enter(tt_wire *wire, uint32_t round, int asks);
/* Call repeatedly; *decision: NULL until this rank may leave, then valid until the next round. */
tutti_status tt_net_agree_step(tt_wire *wire, const tt_net_decision **decision);
/* A rank that this one waits for; -1: none. */
int tt_net_agree_awaited(tt_wire *wire);
bool tt_net_agree_leads(tt_wire *wire);
/* Time out, unless this rank has accepted another rank's proposal. */
void tt_net_agree_quit(tt_wire *wire, int awaited);
/* The network of the ranks that continue. list: has capacity for all ranks, receives the members;
 * *mine: this rank's place in it. TUTTI_ERR_PEER_LOST: the decision excludes this rank. */
tutti_status tt_net_agree_network(tt_wire *wire, const tt_net_decision *decision, int *list,
                                  int *mine, tutti_net *net);

/* ---- both (hybrid.c) ---- */

/* Messages of rank r use `near`, as rank near_rank[r] there, if that is >= 0; else `far`. Takes
 * ownership of both wires; copies near_rank. */
tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire);

#endif
