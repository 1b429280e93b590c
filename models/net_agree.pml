/* net_agree.pml - ranks agree by messages on the set of survivors, while any may die, or give up waiting, at any moment.
 *
 * Mirrors    src/wire/net/net_agree.c: tt_net_agree_heard (hear), net_agree_step with confer and leave (step),
 *            net_agree_enter (begin), net_agree_quit (act); and how src/wire/net/net_recv.c notes a loss (lose). Messages
 *            from one rank to another arrive in order. A death loses any number of the last ones, and is detected at any
 *            time, before or after the last message. A rank makes a step after each event.
 * Sizes      four ranks agree once and two of them may die, or three ranks agree twice and one of them may die. One
 *            rank may give up.
 * Holds      the live ranks that return all have the same proposal, which contains them, or all have failed;
 *            no live rank waits forever.
 * Mutants    1 a rank that has accepted a proposal ignores that a rank other than the leader has given up
 *            2 a leader gives up although it has accepted a proposal
 *            3 acceptances of an earlier proposal count   4 ranks that give up in a later round are not noted
 *            5 a rank that has accepted believes any rank that gives up   6 a leader forgets the proposal that it accepted
 *            7 the deciding rank leaves before all know   8 a rank that knows leaves silently when that one is lost
 *            9 no new proposal is made when a rank of the proposal is lost
 * SPDX-License-Identifier: BSD-3-Clause */
c_decl { \#include <stdlib.h> };

#define N 4
#define ROUNDS 2
#define DEATHS 2
#define QUITS 1
#define QUEUE 4
#define NONE 255 /* instead of a proposal: the agreement failed */
#define NOBODY 255

mtype = { COME, PROPOSE, ACCEPT, DECIDE, KNOW, LEAVE };

byte m;
byte last;          /* round */
byte deaths, quits; /* how many more may happen */
typedef line { chan in = [QUEUE] of { mtype, byte, byte } }; /* word, round; ranks, and more of them or one << 4 */
line lines[N * N];  /* from, to */
bool dead[N], lost[N * N];
/* the last word of a peer: in which round, or (took) which proposal */
byte came[N * N], took[N * N], knows[N * N], gave_up[N * N];
/* view: the ranks that got the proposal, which tells proposals apart; by: the deciding rank */
byte round[N], lead[N], terms[N], view[N], decision[N], by[N];
bool inside[N], proposed[N], accepted[N], decided[N], told[N], released[N], moved[N];
byte seen[N * ROUNDS]; /* the result of a rank; 0: it has not returned */

hidden byte r, k, first, word, nth, what, all;

#define AT(i, r) ((i) * N + (r))
#define SEEN(i, n) seen[((n) - 1) * N + (i)]
#define HEARS(i, r) ((r) != (i) && !lost[AT(i, r)])
#define GIVEN_UP(i, r) (gave_up[AT(i, r)] >= round[i])
#define LEADS(i) (lead[i] == (i))
#define DONE(i) (round[i] == last && !inside[i])

inline say(me, to, a, b) {
  if
  :: dead[to] || DONE(to) -> skip
  :: else ->
    assert(nfull(lines[AT(me, to)].in));
    lines[AT(me, to)].in!a(round[me], b)
  fi
}

inline say_all(me, a, b) {
  for (k : 0 .. N - 1) {
    if
    :: HEARS(me, k) -> say(me, k, a, b)
    :: else -> skip
    fi
  }
}

/* No more words to it, and no more of its state. */
inline forget(i) {
  for (k : 0 .. N - 1) {
    do
    :: nempty(lines[AT(k, i)].in) -> lines[AT(k, i)].in?word(nth, what)
    :: empty(lines[AT(k, i)].in) -> break
    od;
    lost[AT(i, k)] = false;
    came[AT(i, k)] = 0; took[AT(i, k)] = 0; knows[AT(i, k)] = 0; gave_up[AT(i, k)] = 0
  }
  lead[i] = 0; terms[i] = 0; view[i] = 0; by[i] = 0; decision[i] = 0;
  decided[i] = false; proposed[i] = false; accepted[i] = false; told[i] = false; released[i] = false;
  moved[i] = false; inside[i] = false; round[i] = last;
  word = 0; nth = 0; what = 0
}

inline take(me, outcome, maker) {
  decided[me] = true; decision[me] = outcome; by[me] = maker;
  lead[me] = 0; terms[me] = 0; view[me] = 0; proposed[me] = false; accepted[me] = false;
  for (k : 0 .. N - 1) { took[AT(me, k)] = 0 }
}

/* ---- incoming words ---- */

inline take_decision(i, from) {
  knows[AT(i, from)] = nth;
  if
  :: what == NONE && !(m == 1 && accepted[i] && from != lead[i]) && !(m == 4 && (nth != round[i] || decided[i])) ->
    gave_up[AT(i, from)] = nth
  :: what != NONE && nth == round[i] && !decided[i] -> take(i, what & 15, what >> 4)
  :: else -> skip
  fi
}

/* ---- steps of a rank ---- */

/* all: `so` is true of each live rank k */
inline look_for_all(i, so) {
  all = true;
  for (k : 0 .. N - 1) { all = all && (!HEARS(i, k) || so) }
}

inline find_leader(i) {
  first = 0;
  do
  :: first < i && !HEARS(i, first) -> first++
  :: else -> break
  od
}

/* all: a rank has given up without which no decision is possible */
inline look_for_who_gave_up(i) {
  all = false;
  for (k : 0 .. N - 1) {
    all = all || (HEARS(i, k) && GIVEN_UP(i, k) && (!accepted[i] || m == 5 || (view[i] & (1 << k))))
  }
}

inline propose(i) {
  what = 1 << i;
  for (k : 0 .. N - 1) {
    if
    :: HEARS(i, k) -> what = what | (1 << k)
    :: else -> skip
    fi
  }
  view[i] = what;
  terms[i] = (accepted[i] && m != 6 -> terms[i] : what);
  what = 0;
  proposed[i] = true; moved[i] = true;
  say_all(i, PROPOSE, terms[i] | view[i] << 4)
}

/* all: a rank of the proposal is lost */
inline look_for_losses(i) {
  all = false;
  for (k : 0 .. N - 1) {
    all = all || (k != i && (view[i] & (1 << k)) && lost[AT(i, k)] && m != 9)
  }
}

/* what: the decided proposal; 0: none yet */
inline confer(i) {
  find_leader(i);
  look_for_who_gave_up(i);
  if
  :: all -> what = NONE
  :: else ->
    if
    :: first == lead[i] -> skip
    :: else ->
      lead[i] = first;
      if
      :: first != i -> say(i, first, COME, 0)
      :: else -> skip
      fi
    fi;
    if
    :: first != i -> all = false
    :: first == i && !proposed[i] -> look_for_all(i, came[AT(i, k)] == round[i])
    :: first == i && proposed[i] -> look_for_losses(i)
    fi;
    if
    :: all -> propose(i)
    :: !all && proposed[i] ->
      look_for_all(i, took[AT(i, k)] == view[i] || (m == 3 && took[AT(i, k)]));
      if
      :: all -> what = terms[i]
      :: else -> skip
      fi
    :: else -> skip
    fi
  fi
}

inline decide(i) {
  take(i, what, i);
  moved[i] = true;
  if
  :: what != NONE -> say_all(i, DECIDE, what | by[i] << 4)
  :: else -> skip
  fi;
  what = 0
}

/* all: it may leave; word: its last word, or 0 */
inline look_for_leave(i) {
  all = true;
  if
  :: decision[i] == NONE -> word = DECIDE
  :: decision[i] != NONE && by[i] == i ->
    word = LEAVE;
    look_for_all(i, came[AT(i, k)] != round[i] || knows[AT(i, k)] == round[i] || m == 7)
  :: else ->
    if
    :: !told[i] && HEARS(i, by[i]) -> say(i, by[i], KNOW, 0)
    :: else -> skip
    fi;
    told[i] = true;
    all = released[i] || !HEARS(i, by[i]);
    word = (released[i] || m == 8 -> 0 : DECIDE)
  fi
}

inline leave(i) {
  if
  :: word -> what = (decision[i] == NONE -> NONE : decision[i] | by[i] << 4); say_all(i, word, what)
  :: else -> skip
  fi;
  inside[i] = false;
  SEEN(i, round[i]) = decision[i];
  for (k : 0 .. N - 1) {
    assert(dead[k] || SEEN(k, round[i]) == 0 || SEEN(k, round[i]) == decision[i])
  }
  assert(decision[i] & (1 << i)); /* also of NONE */
  if
  :: DONE(i) -> forget(i)
  :: else -> skip
  fi
}

inline step(i) {
  do
  :: moved[i] ->
    moved[i] = false; what = 0;
    if
    :: !decided[i] -> confer(i)
    :: else -> skip
    fi;
    if
    :: what -> decide(i)
    :: decided[i] && !what ->
      look_for_leave(i);
      if
      :: all -> leave(i)
      :: else -> skip
      fi
    :: else -> skip
    fi
  :: else -> break
  od;
  k = 0; first = 0; all = 0; word = 0; nth = 0; what = 0
}

inline hear(i, from) {
  d_step {
    !dead[i] && round[i] && nempty(lines[AT(from, i)].in) ->
    lines[AT(from, i)].in?word(nth, what);
    if
    :: word == COME -> came[AT(i, from)] = nth
    :: word == ACCEPT && nth == round[i] && !decided[i] -> took[AT(i, from)] = what
    :: word == ACCEPT && !(nth == round[i] && !decided[i]) -> skip
    :: word == KNOW -> knows[AT(i, from)] = nth
    :: word == LEAVE -> released[i] = released[i] || nth == round[i]
    :: word == DECIDE -> take_decision(i, from)
    :: word == PROPOSE ->
      if
      :: nth != round[i] || from != lead[i] || decided[i] -> skip
      :: else -> terms[i] = what & 15; view[i] = what >> 4; accepted[i] = true; say(i, from, ACCEPT, view[i])
      fi
    fi;
    moved[i] = inside[i];
    step(i)
  }
}

/* Notice the death of a peer. */
inline lose(i, from) {
  d_step {
     dead[from] && !dead[i] && !DONE(i) && !lost[AT(i, from)] ->
    lost[AT(i, from)] = true;
    moved[i] = inside[i];
    step(i)
  }
}

/* The rest of the peer's words never comes. */
inline cut(i, from) {
  d_step {
    lost[AT(i, from)] && nempty(lines[AT(from, i)].in) ->
    do
    :: nempty(lines[AT(from, i)].in) -> lines[AT(from, i)].in?word(nth, what)
    :: empty(lines[AT(from, i)].in) -> break
    od;
    word = 0; nth = 0; what = 0
  }
}

inline begin(i) {
  round[i]++; inside[i] = true; moved[i] = true;
  decided[i] = decision[i] == NONE; /* final */
  lead[i] = NOBODY; terms[i] = 0; view[i] = 0;
  proposed[i] = false; accepted[i] = false; told[i] = false; released[i] = false
}

/* Call it again; or give up, having waited too long. */
inline act(i) {
  d_step {
    !dead[i] && (inside[i] -> quits && !decided[i] && (!accepted[i] || (m == 2 && LEADS(i))) : round[i] < last) ->
    if
    :: !inside[i] -> begin(i)
    :: else -> quits--; what = NONE; decide(i)
    fi;
    step(i)
  }
}

inline die(i) {
  d_step {
    deaths && !dead[i] ->
    deaths--; dead[i] = true;
    forget(i);
    for (k : 1 .. ROUNDS) { SEEN(i, k) = 0 }
    k = 0
  }
}

proctype ear(byte i; byte from) {
end:
  do
  :: hear(i, from)
  :: lose(i, from)
  :: cut(i, from)
  od
}

proctype rank(byte i) {
  do
  :: act(i)
  :: die(i)
  :: dead[i] || DONE(i) -> break
  od
}

init {
  atomic {
    c_code { now.m = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; };
    if
    :: last = 2; round[3] = last; dead[3] = true; lost[AT(0, 3)] = true; lost[AT(1, 3)] = true; lost[AT(2, 3)] = true
    :: last = 1
    fi;
    select(deaths : 0 .. DEATHS + 1 - last);
    select(quits : 0 .. QUITS);
    for (r : 0 .. N - 1) {
      if
      :: !dead[r] -> begin(r); step(r)
      :: else -> skip
      fi;
      run rank(r);
      for (k : 0 .. N - 1) {
        if
        :: k != r -> run ear(r, k)
        :: else -> skip
        fi
      }
    }
    r = 0; k = 0
  }
}
