/* interleave.h - ranks that one thread drives, and every order in which they act, up to a number of preemptions.
 *
 * Idea       Each rank runs on a stack of its own. The test calls interleave_point behind each look of a rank at its peers, and
 *            behind each act that peers see. A rank goes on until nothing moves for it; then the next one does. A run is a list
 *            of deviations from that: at its point i, rank r goes on instead. The search runs the empty list, reads from the
 *            run how many points there were and who could have gone on, and tries each of these as one deviation more, up to
 *            a bound (iterative context bounding: most faults need two preemptions at most).
 * Event      One of the deviations may be an event: the rank at the point aborts, or dies. Then the search runs only lists that
 *            have it.
 * Time       It passes only while no rank moves; the test's clock_gettime asks interleave_time.
 * Invariant  A run depends on its list alone; so a failure is printed as one, and a list that a run cannot follow is a failure.
 * Source     Musuvathi, Qadeer, "Iterative context bounding for systematic testing of multithreaded programs", PLDI 2007.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

enum { INTERLEAVE_RANKS = 5, INTERLEAVE_BOUND = 4 };

typedef struct interleaving {
  int ranks, bound;
  bool keeps; /* a rank keeps the core until it sleeps, though nothing moves */
  void (*begin)(void);
  void (*act)(int rank);   /* what a rank does, on its stack */
  void (*end)(void);       /* all are over */
  void (*event)(int rank); /* NULL: none */
  bool (*awake)(int rank); /* may it go on? */
  uint64_t random;         /* not 0: one run, with deviations drawn from this seed */
} interleaving;

/* Returns how many runs there were; points: of the longest. The text of interleave_wrong says what failed: "" if nothing did. */
uint64_t interleave(const interleaving *all, uint32_t *points);
extern char interleave_wrong[500];

/* ---- for a rank, while it acts ---- */

/* Another rank may go on here. Outside of a run: nothing. */
void interleave_point(void);
/* This rank did something that peers see: it moved. */
void interleave_moved(void);
/* How often it has moved so far. */
uint64_t interleave_moves(void);
/* Nothing moves for this rank: another one goes on. False: outside of a run. */
bool interleave_idle(void);
/* Another rank goes on until `awake` says that this one may. */
void interleave_sleep(void);
/* This rank never goes on, until `interleave_finish`. */
void interleave_die(void);
bool interleave_is_dead(int rank);
/* The run is wrong, and ends here. */
void interleave_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For `end`: dead ranks go on to their ends, without points. */
void interleave_finish(void);
/* ns */
uint64_t interleave_time(void);

#endif
