/* arena.pml - pieces of a vector through the arena, sums written over the inputs.
 *
 * Mirrors    src/engine/fast/arena.c: try_put (slot_is_free), try_sum (hand_out), try_get, with
 *            shm_publish and shm_published of src/wire/shm/shm_memory.c. Rank 0 puts pieces and
 *            gets sums, rank 1 sums them and writes each sum into the piece's place.
 * Holds      rank 1 sums the whole piece, and rank 0 gets its sum.
 * Mutants    1 a counter is published without release   2 it is read without acquire
 *            3 a place is reused before its piece was summed   4 nothing waits for a sum
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 4
#define PROCS 2
#include "weak.h"

#define SLOTS 2 /* wire.slots */
#define PIECES 4
#define PLACE(k) ((k) % SLOTS)
#define PUT 2
#define SUM 3
#define SUM_OF(n) ((n) + PIECES)

proctype putter() {
  byte put = 1, got = 1, sums = 0; /* sums: published by the peer */
  do
  :: got > PIECES -> break
  :: put <= PIECES && put < got + SLOTS + (m == 3 -> 1 : 0) ->
    store(0, ST, PLACE(put), put);
    /* tag told: src/wire/shm/shm_memory.c store release */
    store(0, unless(1, STR, ST), PUT, put);
    put++
  :: got < put ->
    /* tag look: src/wire/shm/shm_memory.c load acquire */
    load(0, unless(2, LDA, LD), SUM, 0);
    load(0, LD, PLACE(got), 1);
    atomic { known(0, 0) -> sums = R(0, 0) };
    known(0, 1);
    if
    :: sums >= got || m == 4 -> assert(R(0, 1) == SUM_OF(got)); got++
    :: else -> skip
    fi
  od
}

proctype summer() {
  byte n = 1;
  do
  :: n <= PIECES ->
    /* tag look: src/wire/shm/shm_memory.c load acquire */
    load(1, unless(2, LDA, LD), PUT, 0);
    load(1, LD, PLACE(n), 1);
    known(1, 0);
    if
    :: R(1, 0) >= n && R(1, 0) != NONE ->
      atomic { known(1, 1) -> assert(R(1, 1) == n) };
      store(1, ST, PLACE(n), SUM_OF(n));
      /* tag told: src/wire/shm/shm_memory.c store release */
      store(1, unless(1, STR, ST), SUM, n);
      n++
    :: else -> known(1, 1)
    fi
  :: else -> break
  od
}

init {
  atomic { begin(); run machine(0); run machine(1); run putter(); run summer() }
}
