/* interleave.h - simulated ranks in a single thread, run in every order of their actions, up to a number of
 * preemptions.
 *
 * Idea       Each rank has its own stack. The test calls interleave_point after each read of peers' data by a rank,
 *            and after each action that is visible to peers. By default a rank runs until it makes no progress, then
 *            the next rank runs. A run is a list of deviations from that: at point i, rank r continues instead. The
 *            search starts with the empty list. It records how many points there were and which ranks could have
 *            continued, and tries each of these as an additional deviation, up to a bound (iterative context
 *            bounding: most faults need at most two preemptions).
 * Event      One of the deviations may be an event: the rank at the point aborts, or dies. If there is an event, lists of full
 *            length always include it.
 * Time       advances only while no rank makes progress. The test's clock_gettime calls interleave_time.
 * Invariant  A run depends only on its list. A failure is printed as a list, and a list that a run cannot follow is a failure.
 * Source     Musuvathi, Qadeer, "Iterative context bounding for systematic testing of multithreaded programs", PLDI 2007.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

enum { INTERLEAVE_RANKS = 5, INTERLEAVE_BOUND = 4 };

typedef struct interleaving {
  int ranks, bound;
  bool keeps; /* a rank keeps the core until it sleeps, even without progress */
  void (*begin)(void);
  void (*act)(int rank);   /* performs a rank's actions, on its stack */
  void (*end)(void);       /* called when all ranks have ended */
  void (*event)(int rank); /* the event, or NULL */
  bool (*awake)(int rank); /* returns true if the rank can wake up */
  uint64_t random;         /* if not 0: a single run, with deviations drawn from this seed */
} interleaving;

/* Returns the number of runs. *points is the number of points in the longest run. interleave_wrong describes the
 * failure, or is "". */
uint64_t interleave(const interleaving *all, uint32_t *points);
extern char interleave_wrong[500];

/* ---- called by a running rank ---- */

/* Another rank may continue here. Has no effect outside of a run. */
void interleave_point(void);
/* Called when this rank has done something visible to peers, and thus made progress. */
void interleave_moved(void);
/* Returns how often this rank has made progress. */
uint64_t interleave_moves(void);
/* Called when this rank makes no progress, so that another one continues. Returns false outside of a run. */
bool interleave_idle(void);
/* Lets other ranks run until `awake` is true for this one. */
void interleave_sleep(void);
/* Ends this rank, which does not run again until `interleave_finish`. */
void interleave_die(void);
bool interleave_is_dead(int rank);
/* Reports a failure, and ends the run. */
void interleave_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For `end`: lets dead ranks run to their ends, without points. */
void interleave_finish(void);
/* returns the simulated time in ns */
uint64_t interleave_time(void);

#endif
