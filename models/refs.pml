/* refs.pml - memory that others may still read is freed after they have left.
 *
 * Mirrors    leave of src/wire/shm/shm_open.c, and tt_heap_free_later (src/job/heap.c): a rank that has
 *            left a control block does not read it any more; its owner then reuses the memory.
 * Holds      a peer reads the bytes that were meant for it.
 * Mutants    1 leaving has no order   2 the owner does not check for peers
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 2
#define PROCS 2
#include "weak.h"

#define GUESTS 0
#define BYTES 1

proctype guest() {
  load(0, LD, BYTES, 1);
  /* tag leave: src/wire/shm/shm_open.c, src/wire/shm/shm_ctrl.c add seq_cst */
  store(0, unless(1, ADD, ADDX), GUESTS, 255);
  atomic { known(0, 1) -> assert(R(0, 1) == 0) }
}

proctype owner() {
  do
  :: m == 2 -> break
  :: else ->
    /* tag gone: src/job/heap.c load acquire */
    load(1, LDA, GUESTS, 0);
    known(1, 0);
    if
    :: R(1, 0) == 0 -> break
    :: else -> skip
    fi
  od;
  store(1, ST, BYTES, 7)
}

init {
  atomic { begin(); mem[GUESTS] = 1; run machine(0); run machine(1); run guest(); run owner() }
}
