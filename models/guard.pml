/* guard.pml - a rank reclaims its memory while peers may still write to it.
 *
 * Mirrors    src/wire/shm/shm_memory.c: shm_enter and leave around what try_sum and try_get of
 *            engine/fast/arena.c do in a peer's memory; tt_ctrl_abort and shm_quiesce, which
 *            returns when only the owner uses the memory.
 * Holds      no peer writes to the memory once the owner has quiesced.
 * Fences     `elsewhere`: the owner makes the worker execute a fence (src/job/fences.h) at any instant. Otherwise
 *            the worker executes its own.
 * Mutants    1 the worker does not fence for itself   2 the owner fences only itself, and the worker
 *            does not   3 leaving has no release   4 the aborting rank has neither exchange nor
 *            fence   5 no rank checks the abort word
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 3
#define PROCS 2
#include "weak.h"

#define INSIDE 0
#define TELLING 1
#define MEMORY 2
#define OWN 9

bool elsewhere;

proctype worker() {
  byte turns = 0;
  do
  :: turns < 2 ->
    /* tag inside: src/wire/shm/shm_memory.c store release */
    store(0, STR, INSIDE, 1);
    if
    :: elsewhere || m == 1 -> skip
    /* tag own-fence: src/wire/shm/shm_wire.h fence seq_cst */
    :: else -> fence(0)
    fi;
    /* tag look: src/wire/shm/shm_memory.c load acquire */
    load(0, LDA, TELLING, 0);
    known(0, 0);
    if
    :: R(0, 0) == 0 || m == 5 ->
      store(0, ST, MEMORY, 1);
      turns++
    :: else -> turns = 2
    fi;
    /* tag leave: src/wire/shm/shm_memory.c store release */
    store(0, unless(3, STR, ST), INSIDE, 0)
  :: else -> break
  od
}

proctype owner() {
  if
  :: m == 4 -> store(1, STR, TELLING, 1)
  :: else ->
    /* tag over: src/wire/shm/shm_ctrl.c swap seq_cst */
    issue(1, SWAP, TELLING, 1, 1);
    /* tag fence: src/job/fences.c fence seq_cst */
    fence(1);
    if
    :: elsewhere && m != 2 -> drained(1); drained(0)
    :: else -> skip
    fi
  fi;
  do
  ::
    /* tag settle: src/wire/shm/shm_memory.c load seq_cst */
    load(1, unless(4, LDS, LDA), INSIDE, 0);
    known(1, 0);
    if
    :: R(1, 0) == 0 -> break
    :: else -> skip
    fi
  od;
  store(1, ST, MEMORY, OWN);
  drained(1);
  atomic { drained(0) -> assert(mem[MEMORY] == OWN) }
}

init {
  if
  :: elsewhere = true
  :: elsewhere = false
  fi;
  atomic { begin(); run machine(0); run machine(1); run worker(); run owner() }
}
