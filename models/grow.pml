/* grow.pml - two communicators want to add the same joiner. One has two ranks, either of which may die at any moment, and
 * the other has one rank.
 *
 * Mirrors    src/job/joiners.c, and lead, gather and take_part of src/fault/shrink.c. The agreement
 *            on a decision is in shm_agree.pml; here it is one exchange. All stores and loads are sequentially
 *            consistent, so the model does not use weak.h.
 * Holds      the joiner is in the proposal of one communicator at most. If it is, and one of the ranks
 *            that agreed on it lives, the joiner receives that proposal; it receives no other.
 * Mutants    1 it is claimed though the other communicator has claimed it  2 it is released after any decision
 *            3 only the rank that decided invites it  4 it is invited before the decision
 * SPDX-License-Identifier: BSD-3-Clause */
c_decl { \#include <stdlib.h> };

#define RANKS 3         /* 0 and 1: communicator 1; 2: communicator 2 */
#define HOME(i) ((i) == 2 -> 2 : 1)

byte m;
bool dead[RANKS], over[RANKS];
bool ready;             /* the joiner's words: ready, */
/* tag words: src/job/joiners.c, src/comm/joiner.c any seq_cst */
byte claimed, invited;  /* its communicator, its proposal's author plus 1 */
bool in_terms[RANKS];   /* is it in this rank's proposal? */
byte decided[3];        /* per communicator: the author of the decided proposal, plus 1 */

#define IN(c) (decided[c] != 0 && in_terms[decided[c] - 1])
#define LEADS(i) ((i) != 1 || dead[0])
#define GONE(i) (dead[i] || over[i])

inline claim(i) {
  if
  :: !ready || invited -> skip
  :: else ->
    atomic {
      if
      :: claimed == 0 || claimed == HOME(i) || m == 1 -> claimed = HOME(i); in_terms[i] = true
      :: else -> skip
      fi
    }
  fi
}

inline invite(i) {
  atomic {
    if
    :: invited == 0 -> invited = i
    :: else -> skip
    fi
  }
}

proctype rank(byte i) {
  bool claims = false;
  {
    do
    :: decided[HOME(i)] != 0 -> break
    :: decided[HOME(i)] == 0 && LEADS(i) ->
      claim(i);
      claims = true;
      if
      :: m == 4 && in_terms[i] -> invite(i + 1)
      :: else -> skip
      fi;
      atomic {
        if
        :: decided[HOME(i)] == 0 -> decided[HOME(i)] = i + 1
        :: else -> skip
        fi
      }
    od;
    if
    :: claims && (!IN(HOME(i)) || m == 2) ->
      atomic {
        if
        :: claimed == HOME(i) -> claimed = 0
        :: else -> skip
        fi
      }
    :: else -> skip
    fi;
    if
    :: IN(HOME(i)) && (m != 3 || decided[HOME(i)] == i + 1) -> invite(decided[HOME(i)])
    :: else -> skip
    fi;
    over[i] = true
  } unless { dead[i] }
}

proctype newcomer() {
  ready = true;
  if
  :: invited ->
    assert(decided[HOME(invited - 1)] == invited && in_terms[invited - 1])
  :: !invited && GONE(0) && GONE(1) && GONE(2) && !IN(1) && !IN(2) -> skip
  fi;
  assert(!(IN(1) && IN(2)))
}

proctype killer() {
  if
  :: !over[0] -> dead[0] = true
  :: !over[1] -> dead[1] = true
  :: true
  fi
}

init {
  atomic {
    c_code { now.m = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; };
    run rank(0); run rank(1); run rank(2); run newcomer(); run killer()
  }
}
