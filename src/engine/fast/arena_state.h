/* arena_state.h - the state of the arena's loop between operations, one for each wire.
 *
 * Idea       It holds the numbers of pieces, which are consecutive over all operations. For vectors of each size it also holds
 *            the measured times of both kinds of stores (stores.h) and of both routes (route.h).
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
