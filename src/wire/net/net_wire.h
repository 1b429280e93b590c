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
/* Let the network make progress and process arrived messages; each waiting thread must call this.
 * An error means that the network failed; tutti_error() says how. *moved: set if anything came. */
tutti_status tt_net_poll(tt_wire *wire, bool *moved);
/* The same, but block until something has come, if the network can. */
tutti_status tt_net_wait(tt_wire *wire, bool *moved);
bool tt_net_can_wait(const tt_wire *wire);
/* The network's name. */
const char *tt_net_name(const tt_wire *wire);
/* Are its ranks simulated? If so, tt_net_levels sets per peer the level at which it and this rank
 * part; copied. */
bool tt_net_simulated(const tt_wire *wire);
tutti_status tt_net_levels(tt_wire *wire, const uint8_t *level);
/* How a lost peer ended, as the rest of a sentence: "died", unless the network knows more. */
void tt_net_exit_words(tt_wire *wire, int peer, char *words, size_t size);
/* Do sent messages stay in this process until some thread polls? */
bool tt_net_has_unsent(const tt_wire *wire);
/* Does polling yield the CPU? */
bool tt_net_yields(const tt_wire *wire);
/* Does an arriving message wake a sleeper? */
bool tt_net_wakes(const tt_wire *wire);
/* Sleep until a message comes, descriptor `also` becomes readable (-1: none), or the limit
 * passes. */
void tt_net_sleep(const tt_wire *wire, int also, uint32_t limit_us);
/* May any thread call the network, whatever the other threads call? */
bool tt_net_any_thread(const tt_wire *wire);
/* A number for tt_net_split: the ranks use the highest of theirs; 0: the network needs none. */
uint32_t tt_net_fresh_number(const tt_wire *wire);
/* Arguments for a new network among the ranks of a wire; all of them call tt_net_split. */
typedef struct tt_split {
  int color, key;
  int32_t asks;       /* smallest request of all ranks, for tutti_comm_grow */
  uint32_t number;    /* if the network needs one */
  const int *members; /* ranks of the color, in order */
  int n;              /* how many; 0: this rank is in none */
} tt_split;
/* A network of the ranks of one color (tutti_net.h); TUTTI_ERR_SYSTEM with the network's reason.
 * *taken: the number is in use, so all ranks must agree on another. */
tutti_status tt_net_split(tt_wire *wire, const tt_split *s, tutti_net *net, bool *taken);
/* Process ids by rank, for error messages; copied. */
tutti_status tt_net_pids(tt_wire *wire, const int64_t *pids);

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
