/* arena_state.h - what the arena's loop keeps of a wire between operations.
 *
 * Idea       The pieces of all operations have consecutive numbers, and what their times say is kept here: the kind of stores
 *            (stores.h) and the route (route.h) for vectors of each size.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ARENA_STATE_H
#define TT_ARENA_STATE_H

#include "route.h"
#include "stores.h"
#include "wire.h"

enum { TT_ARENA_COLLS = 5 }; /* collectives that arena.c runs */

typedef struct tt_arena_state {
  uint64_t begun, over; /* pieces of this rank's operations */
  size_t slot;          /* bytes of the slots into which the last operation divided the arenas */
  uint32_t slots;       /* number of these slots */
  uint64_t slots_from;  /* the first piece since then */
  tt_stores stores[TT_STORE_SIZES]; /* how this rank writes what peers read */
  int last_route;                   /* 1 + the route that the last call was about; 0: none */
  tt_cycles cycles[];               /* rank 0's, of each route */
} tt_arena_state;

/* That of the wire, made at the first call; freed with the wire. NULL: out of memory. */
tt_arena_state *tt_arena_state_of(tt_wire *w);

#endif
