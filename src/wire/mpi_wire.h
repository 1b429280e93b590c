/* mpi_wire.h - wires over messages: of an MPI alone, and together with shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MPI_WIRE_H
#define TT_MPI_WIRE_H

#include "tutti_net.h"
#include "wire.h"

/* Who waits looks for messages this often, at least, when it sleeps. */
enum { TT_NAP_US = 50 };

/* ---- messages (mpi.c) ---- */

/* Over a network, whose table is copied, and closed with the wire; also if this fails. */
tutti_status tt_mpi_wire(const tutti_net *net, tt_wire **wire);
/* Let the network make progress, and take in what has come; to be called by everyone who
 * waits. Not TUTTI_OK: it failed, with the sentence in tutti_error. *moved: anything came. */
tutti_status tt_mpi_poll(tt_wire *wire, bool *moved);
/* The same, but wait until something has come, where the network can. */
tutti_status tt_mpi_wait(tt_wire *wire, bool *moved);
bool tt_mpi_waits(const tt_wire *wire);
/* What the network is called. */
const char *tt_mpi_name(const tt_wire *wire);
/* Are its ranks simulated? Then of each peer: the level at which it and this rank part; copied. */
bool tt_mpi_simulated(const tt_wire *wire);
tutti_status tt_mpi_levels(tt_wire *wire, const uint8_t *level);
/* How a peer that is lost came to be so, as words to go on with: "died", unless the network knows.
 */
void tt_mpi_fate(tt_wire *wire, int peer, char *words, size_t size);
/* Does something that was sent stay here until somebody polls? */
bool tt_mpi_leaving(const tt_wire *wire);
/* Does polling give up the processor? */
bool tt_mpi_yields(const tt_wire *wire);
/* Does who dozes wake when a message comes? */
bool tt_mpi_wakes(const tt_wire *wire);
/* Doze until a message comes, or a descriptor becomes readable (-1: none), or the limit. */
void tt_mpi_doze(const tt_wire *wire, int also, uint32_t limit_us);
/* May any thread call it, whatever others call? */
bool tt_mpi_threads(const tt_wire *wire);
/* A number for tt_mpi_split: the highest of what its ranks say; 0: the network needs none. */
uint32_t tt_mpi_fresh(const tt_wire *wire);
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
tutti_status tt_mpi_split(tt_wire *wire, const tt_split *s, tutti_net *net, bool *taken);
/* Processes by rank, which messages name; copied. */
tutti_status tt_mpi_pids(tt_wire *wire, const int64_t *pids);

/* ---- those who live agree on who goes on (mpi_parley.c) ---- */

typedef struct tt_treaty {
  uint64_t net;
  uint32_t round;
  int32_t word, by;         /* by: the rank that decided */
  int32_t status;           /* TUTTI_OK; or nothing comes of it: ... */
  int32_t quitter, awaited; /* ... who gave up waiting for whom */
  int32_t asks;             /* the least that any rank asked for, of tutti_comm_grow */
  uint32_t number;          /* of the network */
  uint32_t tries;           /* of the rank that proposes it */
  uint8_t member[];         /* per rank: it goes on; then, per rank: it is proposed to it */
} tt_treaty;

/* Can the network make networks of those who live? */
bool tt_parley_possible(const tt_wire *wire);
/* The first round is 1; the next one begins when the last was decided. asks: what this rank does.
 */
tutti_status tt_parley_enter(tt_wire *wire, uint32_t round, int asks);
/* Again and again; *decision: NULL until it may be left, then valid until the next round. */
tutti_status tt_parley_step(tt_wire *wire, const tt_treaty **decision);
/* Some rank that keeps this one waiting; -1: none. */
int tt_parley_waits_for(tt_wire *wire);
bool tt_parley_leads(tt_wire *wire);
/* This rank will not wait any more, unless it has accepted another one's terms. */
void tt_parley_quit(tt_wire *wire, int awaited);
/* The network of those who go on; list: room for all ranks, filled with theirs; *mine: this one's
 * place. TUTTI_ERR_PEER_LOST: the others do not count this rank in. */
tutti_status tt_parley_network(tt_wire *wire, const tt_treaty *decision, int *list, int *mine,
                               tutti_net *net);

/* ---- both (hybrid.c) ---- */

/* Rank r's messages go through `near` where near_rank[r] >= 0 says who it is there, else
 * through `far`. Takes over both wires; copies near_rank. */
tutti_status tt_hybrid_wire(tt_wire *far, tt_wire *near, const int *near_rank, tt_wire **wire);

#endif
