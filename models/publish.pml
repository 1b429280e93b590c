/* publish.pml - the rank that claims a word first does the work, and publishes it by that word.
 *
 * Mirrors    src/run/proof_table.c: find_word, await_answer and tt_proof_ask: a rank claims a
 *            plan's word, proves, and stores the verdict; others wait for it, but not for ever.
 *            An open channel (src/wire/shm/shm.c), a ready heap (src/comm/from_env.c)
 *            and a tape of events (src/trace/trace.c) are published in the same way, without
 *            a claim.
 * Holds      a rank that finds the work published finds it whole; one rank does it, or a rank that
 *            waited too long; no rank waits for ever, though the claimer may die.
 * Mutants    1 it is published without release   2 it is read without acquire
 *            3 a wait has no bound   4 a claim is a load and a store
 * SPDX-License-Identifier: BSD-3-Clause */
#define ADDRESSES 2
#define PROCS 2
#include "weak.h"

#define WORD 0
#define WORK 1
#define CLAIMED 1
#define READY 2
#define LOOKS 2

byte claims = 0;

proctype rank(byte p) {
  byte looks = 0;
  if
  :: m == 4 -> load(p, LDS, WORD, 0); known(p, 0); store(p, STS, WORD, CLAIMED)
  /* tag claim: src/run/proof_table.c swap seq_cst */
  :: else -> issue(p, CLAIM, WORD, CLAIMED, 0); known(p, 0)
  fi;
  if
  :: R(p, 0) == 0 ->
    claims++;
    assert(claims == 1);
    if
    :: true /* it dies */
    :: store(p, ST, WORK, 7);
      /* tag set: src/wire/shm/shm.c, src/comm/from_env.c, src/core/interrupt.c, src/trace/trace.c store release */
      /* tag verdict: src/run/proof_table.c store release */
      store(p, unless(1, STR, ST), WORD, READY)
    fi
  :: else ->
    do
    :: looks < LOOKS ->
      /* tag find: src/wire/shm/shm.c, src/comm/from_env.c, src/core/interrupt.c, src/trace/trace_file.c load acquire */
      /* tag await: src/run/proof_table.c load acquire */
      load(p, unless(2, LDA, LD), WORD, 0);
      load(p, LD, WORK, 1);
      known(p, 0);
      known(p, 1);
      if
      :: R(p, 0) == READY -> assert(R(p, 1) == 7); break
      :: else -> looks = (looks < LOOKS -> looks + 1 : looks)
      fi
    :: looks == LOOKS && m == 3 -> mem[WORD] == READY; looks = 0
    :: looks == LOOKS && m != 3 -> break /* it proves alone */
    od
  fi
}

init {
  atomic { begin(); run machine(0); run machine(1); run rank(0); run rank(1) }
}
