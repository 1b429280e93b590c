/* contest.h - gives a communicator's calls of one kind alternately to the MPI and to tutti, until the faster one is known.
 *
 * Idea       A kind is a collective and a power of two of bytes, or of any number where each rank knows its own alone. Its first calls alternate in blocks between the two. Each
 *            rank adds up the time it spends in the calls of a block, except the first ones, which may wait for ranks that
 *            are still in the block before. Then all ranks agree on the slowest rank's times, and the one with the shorter
 *            best block serves that kind, until the next measurement.
 * Cost       Six blocks, half of them by the slower one, so rarely that this is 1 % of the time; two clock reads per call in
 *            these blocks, and one allreduce.
 * Invariant  All ranks of a communicator make the same calls in the same order, and count the same bytes, so they all choose
 *            the same one for each call. A result never depends on times: sums and products of floats on three ranks and
 *            more, and all other operations that may give different bits, are always tutti's.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_CONTEST_H
#define SHIM_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"
#include "tutti.h"

enum { TURN_SIZES = 40, TURN_ROUNDS = 3 };

typedef struct turn { /* of one kind of call */
  uint64_t since;     /* ns: when the call that is under way began */
  uint64_t until;     /* when tutti had done it; 0: the MPI does it */
  double spent[2][TURN_ROUNDS];   /* ns in the calls of each block: tutti's, the MPI's */
  uint32_t calls, again; /* again: number of calls until both are measured again */
  bool settled, mpis;    /* mpis: it serves them */
  tutti_comm *comm;
  shim_function function; /* the last one of this kind, for the report */
  uint8_t size;
} turn;

/* Of one communicator; memory of nothing but zeros: no call yet. */
typedef struct turns {
  turn of[TUTTI_COLL_COUNT][TURN_SIZES];
} turns;

/* Do calls take turns? Agreed by all ranks when MPI begins. */
extern bool turns_wanted;

/* The kind of a call on that many ranks; NULL: it is always tutti's. */
turn *turns_find(turns *t, int ranks, tutti_coll coll, size_t bytes, tutti_type type, tutti_op op);
/* Calls of a block: enough that a rank that runs ahead of the others gains nothing by it. */
static inline uint32_t turn_block(const turn *t) {
  return t->size <= 13 ? 40 : t->size <= 19 ? 15 : 6;
}
/* Whose turn is it? Blocks in turn: tutti, MPI, MPI, tutti, tutti, MPI. */
static inline bool turn_is_mpis(const turn *t) {
  return t->settled ? t->mpis : (t->calls / turn_block(t) + 1) / 2 & 1;
}
/* Counts a call of a kind that is settled. */
void turn_count(turn *t);
/* The call begins, by whose turn it is. */
void turn_begin(turn *t, tutti_comm *comm, shim_function function);
/* It has ended; returns `code`, its own. */
int turn_end(turn *t, int code);

#endif
