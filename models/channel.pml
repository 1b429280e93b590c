/* channel.pml - pieces through a channel: descriptors in turn, an acknowledgement.
 *
 * Mirrors    src/wire/shm/shm.c: shm_push, shm_head and shm_pull, shm_release, reclaim. Blocks of
 *            the stage (stage.c) come back in the same way, with the acknowledgement.
 * Holds      a reader finds in a piece the sender's bytes, whenever it looks.
 * Mutants    1 the flag is stored without release   2 it is read without acquire
 *            3 the acknowledgement is stored without release   4 the sender does not wait for it
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 5
#define PROCS 2
#include "weak.h"

#define DEPTH 2 /* TT_DEPTH */
#define PIECES 4
#define FLAG(n) ((n) % DEPTH)
#define BYTES(n) (DEPTH + (n) % DEPTH)
#define CONSUMED 4

proctype sender() {
  byte n = 1, seen = 0;
  do
  :: n <= PIECES ->
    do
    :: n - seen > DEPTH && m != 4 ->
      /* tag reclaim: src/wire/shm/shm.c load acquire */
      load(0, LDA, CONSUMED, 0);
      atomic { known(0, 0) -> seen = R(0, 0) }
    :: else -> break
    od;
    store(0, ST, BYTES(n), n);
    /* tag flag: src/wire/shm/shm.c store release */
    store(0, unless(1, STR, ST), FLAG(n), n);
    n++
  :: else -> break
  od
}

proctype reader() {
  byte n = 1;
  do
  :: n <= PIECES ->
    /* tag look: src/wire/shm/shm.c load acquire */
    load(1, unless(2, LDA, LD), FLAG(n), 0);
    load(1, LD, BYTES(n), 1); /* early, if no order forbids it */
    known(1, 0);
    if
    :: R(1, 0) == n ->
      /* tag consumed: src/wire/shm/shm.c store release */
      store(1, unless(3, STR, ST), CONSUMED, n); /* it may overtake the reading of the bytes */
      atomic { known(1, 1) -> assert(R(1, 1) == n) };
      n++
    :: else -> known(1, 1)
    fi
  :: else -> break
  od
}

init {
  atomic { begin(); run machine(0); run machine(1); run sender(); run reader() }
}
