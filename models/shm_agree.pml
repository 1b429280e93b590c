/* shm_agree.pml - three ranks agree twice on the set of survivors, while any of them may die at any moment.
 *
 * Mirrors    src/wire/shm/shm_agree.c, and agree of src/fault/shrink.c. All stores and loads there are sequentially
 *            consistent, so the model does not use weak.h, and writes a proposal in one step. A rank that waits too long
 *            closes the agreement, at any moment.
 * Holds      all ranks that return have read the same proposal, each is in it, and the control blocks that it
 *            names are those of their round; no live rank waits forever.
 * Mutants    1 the deciding rank waits for no rank   2 a decision is stored without a comparison
 *            3 a rank announces itself before its control block
 *            4 a rank that gives up overwrites the last decision
 * SPDX-License-Identifier: BSD-3-Clause */
c_decl { \#include <stdlib.h> };

#define N 3
#define ROUNDS 2

byte m;
bool dead[N];
byte deaths;
byte at_round[N];
byte room[N];
byte members[N];         /* proposals, by author: the members, */
bool stale[N];           /* and whether a control block is of another round */
/* tag words: src/wire/shm/shm_agree.c any seq_cst */
byte decided, by;         /* one word: the round, the deciding rank, */
bool closed;              /* and whether no other decision can come */
byte seen[ROUNDS + 1];    /* what the first reader of a round read; 0: no rank has read yet */

#define THERE(r, n) (at_round[r] >= (n))
#define LEADS(i) ((i) == 0 || (dead[0] && ((i) == 1 || dead[1])))
#define ALL_THERE(n) \
  ((dead[0] || THERE(0, n)) && (dead[1] || THERE(1, n)) && (dead[2] || THERE(2, n)))

inline decide(n, what) {
  last = decided;
  if
  :: last == n || closed -> skip
  :: else ->
    atomic {
      if
      :: (decided == last && !closed) || m == 2 -> decided = n; by = what
      :: else -> skip
      fi
    }
  fi
}

inline give_up(n) {
  last = decided;
  if
  :: last == n || closed -> skip
  :: else ->
    atomic {
      if
      :: m == 4 -> decided = n; closed = true /* without the last decision */
      :: m != 4 && (decided == last || m == 2) -> closed = true
      :: else -> skip
      fi
    }
  fi
}

proctype rank(byte i) {
  byte n = 1, r, last, list;
  bool over = false;
  {
    do
    :: n > ROUNDS -> break
    :: else ->
      if
      :: m == 3 -> at_round[i] = n; room[i] = n
      :: else -> room[i] = n; at_round[i] = n
      fi;
      do
      :: decided == n -> break
      :: decided != n && !closed && LEADS(i) && (ALL_THERE(n) || m == 1) ->
        d_step {
          stale[i] = false;
          for (r : 0 .. N - 1) {
            if
            :: THERE(r, n) && !dead[r] -> members[i] = members[i] | (1 << r)
            :: else -> members[i] = members[i] & (255 - (1 << r))
            fi;
            stale[i] = stale[i] || ((members[i] & (1 << r)) && room[r] != n)
          }
          r = 0
        }
        decide(n, i)
      :: decided != n && closed -> over = true; break
      :: decided != n && !closed && !ALL_THERE(n) -> give_up(n)
      od;
      if
      :: over || (m == 4 && closed) -> list = 255
      :: else -> list = members[by]; assert(list & (1 << i))
      fi;
      d_step {
        if
        :: seen[n] == 0 -> seen[n] = list
        :: else -> assert(seen[n] == list)
        fi
      }
      d_step {
        assert(list == 255 || !stale[by]);
        last = 0;
        list = 0
      };
      n++
    od
  } unless { dead[i] }
}

proctype killer() {
  do
  :: atomic { deaths < N - 1 && !dead[0] -> dead[0] = true; deaths++ }
  :: atomic { deaths < N - 1 && !dead[1] -> dead[1] = true; deaths++ }
  :: atomic { deaths < N - 1 && !dead[2] -> dead[2] = true; deaths++ }
  :: break
  od
}

init {
  atomic {
    c_code { now.m = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; };
    run rank(0); run rank(1); run rank(2); run killer()
  }
}
