/* abort.pml - two ranks end a communicator simultaneously, and a third rank reads the reason.
 *
 * Mirrors    src/wire/shm/shm_ctrl.c: tt_ctrl_abort and tt_ctrl_aborted.
 * Holds      a rank that reads status and reason reads those of one abort, and the whole reason.
 * Mutants    1 the status is stored without release   2 it is loaded without acquire
 *            3 a load and a store decide which rank is first
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 3
#define PROCS 3
#include "weak.h"

#define TELLING 0
#define REASON 1
#define ABORTED 2

proctype teller(byte p) {
  if
  :: m == 3 -> load(p, LDS, TELLING, 0); known(p, 0); store(p, STS, TELLING, 1)
  /* tag first: src/wire/shm/shm_ctrl.c swap seq_cst */
  :: else -> issue(p, SWAP, TELLING, 1, 0)
  fi;
  known(p, 0);
  if
  :: R(p, 0) == 0 ->
    store(p, ST, REASON, p);
    /* tag status: src/wire/shm/shm_ctrl.c store seq_cst */
    store(p, unless(1, STS, ST), ABORTED, p)
  :: else -> skip
  fi
}

proctype hearer() {
  /* tag hear: src/wire/shm/shm_ctrl.c, src/run/comm.h load acquire */
  load(0, unless(2, LDA, LD), ABORTED, 0);
  load(0, LD, REASON, 1);
  known(0, 0);
  known(0, 1);
  assert(R(0, 0) == 0 || R(0, 0) == R(0, 1))
}

init {
  atomic {
    begin();
    run machine(0); run machine(1); run machine(2);
    run teller(1); run teller(2); run hearer()
  }
}
