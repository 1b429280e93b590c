/* flags.pml - flag slots that are reused: two ranks, operations that overlap.
 *
 * Mirrors    src/wire/shm/shm_memory.c: shm_flag_slot, shm_flag_set, shm_flag_get;
 *            tt_shm_over publishes `oldest` when an operation ends. There are more slots than operations in the
 *            window, so waits for a slot are rare. The model has equally many, so that ranks do wait.
 * Holds      a rank finds in a slot the bytes set for this operation.
 * Mutants    1 the stamp is stored without release   2 it is read without acquire
 *            3 `oldest` is stored without release   4 no rank waits for a slot
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 10
#define PROCS 2
#include "weak.h"

#define AHEAD 2 /* TT_WINDOW */
#define PLACES 2
#define LAST 3
#define STAMP(p, n) ((p) * 5 + (n) % PLACES)
#define BYTES(p, n) ((p) * 5 + PLACES + (n) % PLACES)
#define OLDEST(p) ((p) * 5 + 4)

proctype rank(byte p) {
  byte next = 1, old = 1, over = 1; /* over: all operations of the peer before this one are complete */
  do
  :: old > LAST -> break
  :: next <= LAST && next < old + AHEAD && (next < over + PLACES || m == 4) ->
    store(p, ST, BYTES(p, next), next);
    /* tag stamp: src/wire/shm/shm_memory.c store release */
    store(p, unless(1, STR, ST), STAMP(p, next), next);
    next++
  :: next <= LAST && next < old + AHEAD && next >= over + PLACES ->
    /* tag oldest-look: src/wire/shm/shm_memory.c load acquire */
    load(p, LDA, OLDEST(1 - p), 0);
    atomic { known(p, 0) -> over = (R(p, 0) > over -> R(p, 0) : over) }
  :: old < next ->
    /* tag look: src/wire/shm/shm_memory.c load acquire */
    load(p, unless(2, LDA, LD), STAMP(1 - p, old), 0);
    load(p, LD, BYTES(1 - p, old), 1);
    known(p, 0);
    if
    :: R(p, 0) == old -> /* complete and published here; the bytes may be read later */
      /* tag oldest: src/wire/shm/shm_memory.c store release */
      store(p, unless(3, STR, ST), OLDEST(p), old + 1);
      atomic { known(p, 1) -> assert(R(p, 1) == old) };
      old++
    :: else -> known(p, 1)
    fi
  od
}

init {
  atomic { begin(); run machine(0); run machine(1); run rank(0); run rank(1) }
}
