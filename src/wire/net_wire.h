/* net_wire.h - wires over messages: of an MPI alone, and together with shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_NET_WIRE_H
#define TT_NET_WIRE_H

#include "tutti_net.h"
#include "wire.h"

/* Who waits looks for messages this often, at least, when it sleeps. */
enum { TT_NAP_US = 50 };

/* ---- messages (net_recv.c) ---- */

/* Over a network, whose table is copied, and closed with the wire; also if this fails. */
tutti_status tt_net_wire(const tutti_net *net, tt_wire **wire);
/* Let the network make progress, and take in what has come; to be called by everyone who
 * waits. Not TUTTI_OK: it failed, with the sentence in tutti_error. *moved: anything came. */
tutti_status tt_net_poll(tt_wire *wire, bool *moved);
/* The same, but wait until something has come, where the network can. */
tutti_status tt_net_wait(tt_wire *wire, bool *moved);
bool tt_net_can_wait(const tt_wire *wire);
/* What the network is called. */
const char *tt_net_name(const tt_wire *wire);
/* Are its ranks simulated? Then of each peer: the level at which it and this rank part; copied. */
bool tt_net_simulated(const tt_wire *wire);
tutti_status tt_net_levels(tt_wire *wire, const uint8_t *level);
/* How a peer that is lost came to be so, as words to go on with: "died", unless the network knows.
 */
void tt_net_exit_words(tt_wire *wire, int peer, char *words, size_t size);
/* Does something that was sent stay here until somebody polls? */
bool tt_net_has_unsent(const tt_wire *wire);
/* Does polling give up the processor? */
bool tt_net_yields(const tt_wire *wire);
/* Does who dozes wake when a message comes? */
bool tt_net_wakes(const tt_wire *wire);
/* Doze until a message comes, or a descriptor becomes readable (-1: none), or the limit. */
void tt_net_sleep(const tt_wire *wire, int also, uint32_t limit_us);
/* May any thread call it, whatever others call? */
bool tt_net_any_thread(const tt_wire *wire);
/* A number for tt_net_split: the highest of what its ranks say; 0: the network needs none. */
uint32_t tt_net_fresh_number(const tt_wire *wire);
/* What a network is made of, among ranks of a wire that all call this. */
typedef struct tt_split {
  int color, key;
  int32_t asks;       /* the least that any rank asked for, of tutti_comm_grow */
  uint32_t number;    /* if the network wants one */
  const int *members; /* of the color, in order */
  int n;              /* so many; 0: this rank is in none */
} tt_split;
/* Of the ranks of one color (tutti_net.h); TUTTI_ERR_SYSTEM with the network's reason. *taken:
 * the number is, so all have to agree on another one. */
tutti_status tt_net_split(tt_wire *wire, const tt_split *s, tutti_net *net, bool *taken);
/* Processes by rank, which messages name; copied. */
tutti_status tt_net_pids(tt_wire *wire, const int64_t *pids);

/* ---- those who live agree on who goes on (net_agree.c) ---- */

typedef struct tt_net_decision {
  uint64_t net;
  uint32_t round;
  int32_t word, by;         /* by: the rank that decided */
  int32_t status;           /* TUTTI_OK; or nothing comes of it: ... */
  int32_t quitter, awaited; /* ... who gave up waiting for whom */
  int32_t asks;             /* the least that any rank asked for, of tutti_comm_grow */
  uint32_t number;          /* of the network */
  uint32_t tries;           /* of the rank that proposes it */
  uint8_t member[];         /* per rank: it goes on; then, per rank: it is proposed to it */
} tt_net_decision;

/* Can the network make networks of those who live? */
bool tt_net_agree_possible(const tt_wire *wire);
/* The first round is 1; the next one begins when the last was decided. asks: what this rank does.
 */
tutti_status tt_net_agree_enter(tt_wire *wire, uint32_t round, int asks);
/* Again and again; *decision: NULL until it may be left, then valid until the next round. */
tutti_status tt_net_agree_step(tt_wire *wire, const tt_net_decision **decision);
/* Some rank that keeps this one waiting; -1: none. */
int tt_net_agree_awaited(tt_wire *wire);
bool tt_net_agree_leads(tt_wire *wire);
/* This rank will not wait any more, unless it has accepted another one's terms. */
void tt_net_agree_quit(tt_wire *wire, int awaited);
/* The network of those who go on; list: room for all ranks, filled with theirs; *mine: this one's
 * place. TUTTI_ERR_PEER_LOST: the others do not count this rank in. */
tutti_status tt_net_agree_network(tt_wire *wire, const tt_net_decision *decision, int *list,
                                  int *mine, tutti_net *net);

/* ---- both (hybrid.c) ---- */

/* Rank r's messages go through `near` where near_rank[r] >= 0 says who it is there, else
 * through `far`. Takes over both wires; copies near_rank. */
tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire);

#endif
