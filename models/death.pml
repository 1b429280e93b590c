/* death.pml - a peer dies at any moment: before it publishes, or before it wakes the sleeper.
 *
 * Mirrors    pause_a_while and tt_look_after (src/run/wait.c, diagnose.c): a sleep has a bound.
 *            A rank that wakes after it checks whether the peer lives, and if not, looks once
 *            more at the flag that it waits for.
 * Holds      the sleeper does not sleep for ever, and does not give up a peer that did its work
 *            before it died.
 * Mutants    1 sleeps have no bound   2 no check whether the peer lives   3 no second look at
 *            the flag
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 3
#define PROCS 2
#include "weak.h"

#define FLAG 0
#define SLEEPERS 1
#define BELL 2

bool asleep = false, lives = true;

proctype sleeper() {
  byte sleeps = 0;
  bool over = false;
  do
  :: !over ->
    load(0, LDS, BELL, 1);
    store(0, ADD, SLEEPERS, 1);
    fence(0);
    load(0, LDA, FLAG, 0);
    atomic { known(0, 0) -> over = (R(0, 0) != 0) };
    if
    :: !over ->
      atomic { drained(0) -> asleep = (mem[BELL] == R(0, 1)) };
      if
      :: !asleep -> skip
      :: m != 1 -> asleep = false /* the time is over */
      fi;
      if
      :: !lives && m != 2 ->
        if
        :: m == 3 -> skip
        :: else -> load(0, LDA, FLAG, 0); known(0, 0) /* once more */
        fi;
        assert(R(0, 0) == mem[FLAG]); /* else it is lost */
        over = true
      :: else -> sleeps = (lives -> 0 : sleeps + 1)
      fi;
      assert(sleeps < 3) /* of a dead peer */
    :: else -> skip
    fi;
    store(0, ADD, SLEEPERS, 255);
    drained(0)
  :: else -> break
  od
}

proctype peer() {
  if
  :: lives = false /* before it begins */
  :: store(1, STS, FLAG, 1);
    load(1, LDS, SLEEPERS, 0);
    known(1, 0);
    if
    :: R(1, 0) != 0 ->
      if
      :: drained(1) -> lives = false /* before it wakes the sleeper */
      :: store(1, ADD, BELL, 1);
        atomic { drained(1) -> asleep = false }
      fi
    :: else -> skip
    fi
  fi
}

init {
  atomic { begin(); run machine(0); run machine(1); run sleeper(); run peer() }
}
