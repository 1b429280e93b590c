/* contest.h - alternates a communicator's calls of one kind between the MPI and tutti, until the
 * faster one is known.
 *
 * Idea       A kind is a collective and a range of sizes up to a power of two. Collectives with sizes that differ between
 *            ranks have one kind each. The first calls of a kind alternate in blocks between tutti and the MPI. Each rank
 *            adds up the time spent in the calls of a block, except the first ones, which may wait for ranks that are still
 *            in the previous block. Then all ranks agree on the slowest rank's times, and the one with the shorter best block
 *            serves this kind until the next measurement.
 * Cost       Six blocks, half of them by the slower one, at intervals such that this takes 1 % of the time; two clock reads
 *            per call in these blocks, and one allreduce.
 * Invariant  All ranks of a communicator make the same calls in the same order, and count the same sizes, so they all choose
 *            the same one for each call. A result never depends on times: sums and products of floats on three or more
 *            ranks, and all other operations that may produce different bits, are always performed by tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_CONTEST_H
#define SHIM_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"
#include "tutti.h"

enum { TURN_SIZES = 40, TURN_ROUNDS = 3 };

typedef struct turn {           /* for one kind of call */
  uint64_t since;               /* start of the current call, in ns */
  uint64_t until;               /* end of the call in ns if tutti performed it; 0 if the MPI does */
  double spent[2][TURN_ROUNDS]; /* time in ns spent in the calls of each block: tutti's, and the
                                   MPI's */
  uint32_t calls, again;        /* again: number of calls until the next measurement */
  bool settled, mpis;           /* mpis: the MPI serves this kind */
  tutti_comm *comm;
  shim_function function; /* the last function of this kind, for the report */
  uint8_t size;
} turn;

/* The measurements of each kind of call on one communicator. If all bytes are zero, no call has been made yet. */
typedef struct turns {
  turn of[TUTTI_COLL_COUNT][TURN_SIZES];
} turns;

/* True if calls are given to tutti and the MPI in alternation, to compare their speed. All ranks agree on this when MPI is
 * initialized. */
extern bool turns_wanted;

/* Returns the measurements for this kind of call, or NULL if tutti performs all such calls. */
turn *turns_find(turns *t, int ranks, tutti_coll coll, size_t bytes, tutti_type type, tutti_op op);
/* Returns the number of calls in a block. A block is so long that no rank gains time by running ahead of the others. */
static inline uint32_t turn_block(const turn *t) {
  return t->size <= 13 ? 40 : t->size <= 19 ? 15 : 6;
}
/* Returns true if the MPI is to perform the next call. The order of the blocks is tutti, MPI, MPI, tutti, tutti, MPI. */
static inline bool turn_is_mpis(const turn *t) {
  return t->settled ? t->mpis : (t->calls / turn_block(t) + 1) / 2 & 1;
}
/* Counts a call of a settled kind. */
void turn_count(turn *t);
/* Starts timing a call, which is performed by tutti or the MPI, depending on the block it is in. */
void turn_begin(turn *t, tutti_comm *comm, shim_function function);
/* Stops timing a call. `code` is the result of the call, and is returned. */
int turn_end(turn *t, int code);

#endif
