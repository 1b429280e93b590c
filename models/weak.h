/* weak.h - memory that reorders all accesses except where the program orders them, for Promela.
 *
 * Idea       a process does not access memory directly. It issues operations into a window, and a second process
 *            performs any operation of the window at any time, unless an earlier operation in it forbids that.
 *            This delays stores and reorders them. Loads happen early (even before a branch that decides
 *            whether to load) or late, unless a release, an acquire or a fence prevents it.
 * Orders     those of C11: PLAIN (relaxed, or not atomic), ACQ, REL, SC. As on ARM, all processes see
 *            a store at the same time. A load with ACQ is performed before all later operations, and a
 *            store with REL when all earlier ones have been performed. A load with ACQ may overtake a store with
 *            REL or SC (ldapr); a load with SC may not overtake a store with SC. An ADD or SWAP
 *            is SC, but its store may be late: later loads that are not SC may overtake it.
 * Not here   a load that sees its own process's delayed store (the load waits for the store),
 *            and stores before a branch is decided (no processor does that).
 * Mutants    the variable m is the number of the mutation (environment: MUTANT; 0: none).
 * SPDX-License-Identifier: BSD-3-Clause */
c_decl { \#include <stdlib.h> };

#define WINDOW 4
#define REGS 3
#define NONE 255

#define LD 0 /* loads: plain, acquire, seq_cst */
#define LDA 1
#define LDS 2
#define ST 3 /* stores: plain, release, seq_cst */
#define STR 4
#define STS 5
#define ADD 6 /* seq_cst */
#define SWAP 7
#define ADDX 8 /* relaxed */
#define FENCE 9
#define CLAIM 10 /* a SWAP where 0 is found, else a load; seq_cst */

typedef op { byte kind; byte addr; byte val; byte reg };

byte m;                     /* the mutation */
byte mem[ADDRESSES];        /* the memory that all processes share */
byte reg[PROCS * REGS];     /* loaded values; NONE: not loaded yet */
op win[PROCS * WINDOW];     /* operations that are issued and not yet performed */
byte pending[PROCS];

#define E(p, i) win[(p) * WINDOW + (i)]
#define R(p, r) reg[(p) * REGS + (r)]

/* Does e, issued before l, forbid that l is performed first? */
#define FORBIDS(e, l) \
  (e.kind == FENCE || l.kind == FENCE || e.addr == l.addr || e.kind == LDA || e.kind == LDS || \
   l.kind == STR || l.kind == STS || l.kind == ADD || l.kind == SWAP || l.kind == CLAIM || \
   ((e.kind == ADD || e.kind == SWAP || e.kind == CLAIM) && l.kind != LD && l.kind != LDA) || \
   (e.kind == STS && l.kind == LDS))

#define READY0(p) (pending[p] > 0)
#define READY1(p) (pending[p] > 1 && !FORBIDS(E(p, 0), E(p, 1)))
#define READY2(p) (pending[p] > 2 && !FORBIDS(E(p, 0), E(p, 2)) && !FORBIDS(E(p, 1), E(p, 2)))
#define READY3(p) \
  (pending[p] > 3 && !FORBIDS(E(p, 0), E(p, 3)) && !FORBIDS(E(p, 1), E(p, 3)) && \
   !FORBIDS(E(p, 2), E(p, 3)))

inline perform(p, i) {
  d_step {
    if
    :: E(p, i).kind <= LDS -> R(p, E(p, i).reg) = mem[E(p, i).addr]
    :: E(p, i).kind >= ST && E(p, i).kind <= STS -> mem[E(p, i).addr] = E(p, i).val
    :: E(p, i).kind == ADD || E(p, i).kind == ADDX ->
      mem[E(p, i).addr] = mem[E(p, i).addr] + E(p, i).val
    :: E(p, i).kind == CLAIM ->
      R(p, E(p, i).reg) = mem[E(p, i).addr];
      mem[E(p, i).addr] = (mem[E(p, i).addr] -> mem[E(p, i).addr] : E(p, i).val)
    :: E(p, i).kind == SWAP ->
      R(p, E(p, i).reg) = mem[E(p, i).addr];
      mem[E(p, i).addr] = E(p, i).val
    :: else -> skip
    fi;
    k = i;
    do
    :: k + 1 < pending[p] ->
      E(p, k).kind = E(p, k + 1).kind; E(p, k).addr = E(p, k + 1).addr;
      E(p, k).val = E(p, k + 1).val; E(p, k).reg = E(p, k + 1).reg;
      k++
    :: else -> break
    od;
    pending[p]--;
    k = pending[p];
    E(p, k).kind = 0; E(p, k).addr = 0; E(p, k).val = 0; E(p, k).reg = 0;
    k = 0
  }
}

proctype machine(byte p) {
  byte k;
end:
  do
  :: atomic { READY0(p) -> perform(p, 0) }
  :: atomic { READY1(p) -> perform(p, 1) }
  :: atomic { READY2(p) -> perform(p, 2) }
  :: atomic { READY3(p) -> perform(p, 3) }
  od
}

inline issue(who, what, where, value, into) {
  atomic {
    pending[who] < WINDOW ->
    E(who, pending[who]).kind = what; E(who, pending[who]).addr = where;
    E(who, pending[who]).val = value; E(who, pending[who]).reg = into;
    if
    :: what <= LDS || what == SWAP || what == CLAIM -> R(who, into) = NONE
    :: else -> skip
    fi;
    pending[who]++
  }
}

#define load(p, k, a, r) issue(p, k, a, 0, r)
#define store(p, k, a, v) issue(p, k, a, v, 0)
#define fence(p) issue(p, FENCE, NONE, 0, 0)
#define known(p, r) (R(p, r) != NONE)
#define drained(p) (pending[p] == 0) /* a system call, or the end */

/* The order of an operation, but for mutant n, where it is plain. */
#define unless(n, k, weaker) (m == n -> weaker : k)

inline begin() {
  c_code { now.m = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; };
}
