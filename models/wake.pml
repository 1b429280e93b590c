/* wake.pml - a rank sleeps, and another one wakes it.
 *
 * Mirrors    src/wire/shm/wake.c and tt_shm_wake (src/wire/shm/shm_wire.h), as pause_a_while
 *            (src/run/wait.c) calls them. The sleeper waits for a flag, a counter, an
 *            acknowledgement or the abort word: stored with release at least, read with acquire.
 *            Sleeps have no bound here. A wake_fd works in the same way; its pipe keeps a wake, so it needs no
 *            futex word.
 * Holds      no rank sleeps forever after the event that it waits for has happened.
 * Fences     `elsewhere`: the sleeper makes the waker execute a fence (src/job/fences.h) at any instant. Otherwise
 *            the waker executes its own.
 * Mutants    1 no fence before the last check   2 the waker executes no fence
 *            3 the sleeper executes only its own fence, and the waker none   4 the futex word is read
 *            after the last check   5 the last check is missing   6 the futex word is not changed
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 4
#define PROCS 2
#include "weak.h"

#define FLAG 0
#define DOZING 1
#define SLEEPERS 2
#define BELL 3
#define ONE_LESS 255

bool asleep = false, elsewhere;

proctype sleeper() {
  bool over = false;
  do
  :: !over ->
    if
    :: m == 4 -> skip
    /* tag bell: src/wire/shm/wake.c load seq_cst */
    :: else -> load(0, LDS, BELL, 1)
    fi;
    /* tag dozing: src/wire/shm/wake.c add seq_cst */
    store(0, ADD, DOZING, 1);
    /* tag sleepers: src/wire/shm/wake.c add seq_cst */
    /* tag door: src/wire/shm/wake.c any seq_cst */
    store(0, ADD, SLEEPERS, 1);
    if
    :: m == 1 -> skip
    /* tag fence: src/job/fences.c fence seq_cst */
    :: else -> fence(0);
      if
      :: elsewhere && m != 3 -> drained(0); drained(1)
      :: else -> skip
      fi
    fi;
    /* tag last: src/wire/shm/shm_memory.c, src/wire/shm/shm.c load acquire */
    /* tag last: src/run/comm.h, src/wire/shm/shm_ctrl.c load acquire */
    load(0, LDA, FLAG, 0);
    if
    :: m == 4 -> known(0, 0); load(0, LDS, BELL, 1)
    :: else -> skip
    fi;
    atomic { known(0, 0) -> over = (R(0, 0) != 0 && m != 5) };
    if
    :: !over ->
      atomic { drained(0) -> asleep = (mem[BELL] == R(0, 1)) }; /* FUTEX_WAIT */
      !asleep
    :: else -> skip
    fi;
    /* tag up: src/wire/shm/wake.c add seq_cst */
    store(0, ADD, SLEEPERS, ONE_LESS);
    /* tag dozing-less: src/wire/shm/wake.c add seq_cst */
    store(0, ADD, DOZING, ONE_LESS);
    load(0, LDA, FLAG, 0);
    atomic { known(0, 0) -> over = (R(0, 0) != 0) }
  :: else -> break
  od
}

proctype waker() {
  /* tag publish: src/wire/shm/shm_memory.c, src/wire/shm/shm.c store release */
  store(1, STR, FLAG, 1);
  if
  :: elsewhere || m == 2 -> skip
  /* tag own-fence: src/wire/shm/shm_wire.h fence seq_cst */
  :: else -> fence(1)
  fi;
  /* tag look: src/wire/shm/shm_wire.h load acquire */
  load(1, LDA, DOZING, 0);
  known(1, 0);
  if
  :: R(1, 0) != 0 ->
    /* tag sleepers-look: src/wire/shm/wake.c load seq_cst */
    load(1, LDS, SLEEPERS, 0);
    known(1, 0);
    if
    :: R(1, 0) != 0 ->
      if
      :: m == 6 -> skip
      /* tag ring: src/wire/shm/wake.c add seq_cst */
      :: else -> store(1, ADD, BELL, 1)
      fi;
      atomic { drained(1) -> asleep = false } /* FUTEX_WAKE */
    :: else -> skip
    fi
  :: else -> skip
  fi
}

init {
  if
  :: elsewhere = true
  :: elsewhere = false
  fi;
  atomic { begin(); run machine(0); run machine(1); run sleeper(); run waker() }
}
