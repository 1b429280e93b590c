/* arena_state.h - the state of the arena's loop between operations, one for each wire.
 *
 * Idea       It contains the numbers of pieces, which are consecutive over all operations. For vectors of each size, it also
 *            contains the measured times of both kinds of stores (stores.h) and of both routes (route.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ARENA_STATE_H
#define TT_ARENA_STATE_H

#include "route.h"
#include "stores.h"
#include "wire.h"

enum { TT_ARENA_COLLS = 5 }; /* collectives that arena.c runs */

typedef struct tt_arena_state {
  uint64_t begun, over; /* pieces of operations that have started; that have ended, on this rank */
  size_t slot;          /* slot size of the last operation, in bytes */
  uint32_t slots;       /* number of these slots */
  uint64_t slots_from;  /* number of the first piece with these slots */
  tt_stores stores[TT_STORE_SIZES]; /* how this rank writes what peers read */
  int last_route;                   /* 1 + the route that the last call learned about; 0: none */
  tt_cycles cycles[];               /* on rank 0: one per route */
} tt_arena_state;

/* Returns the state of the wire, which the first call creates and which is freed with the wire. Returns NULL if out of
 * memory. */
tt_arena_state *tt_arena_state_of(tt_wire *w);

#endif
