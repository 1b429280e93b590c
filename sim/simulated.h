/* simulated.h - shared by simulated programs: a common instant, and simulated memory.
 *
 * Idea       SMPI gives every rank its own copy of a program's variables, including static ones.
 *            Time passes only in MPI calls, and in nanosleep, which smpicc replaces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stddef.h>

/* Returns the largest x of all ranks. Collective. It waits first, so that its messages do not share links with the
 * measured ones. */
double simulated_latest(double x);
/* Waits for an instant that is the same on all ranks, and returns it. Collective. */
double simulated_line_up(void);
/* Lets simulated seconds pass. */
void simulated_sleep(double seconds);

/* Allocates memory. After simulated_unreal, all ranks share large allocations, whose contents are undefined. Small
 * allocations are real, because ranks exchange information about themselves in them. */
void *simulated_take(size_t bytes);
void simulated_give(void *memory);
/* Makes all later large allocations shared in this way, including those of tutti's scratch memory. */
void simulated_unreal(void);

/* Prints tutti's log, on rank 0 only. It is a callback for tutti_log_set, with the rank as `self`. */
void simulated_log(void *self, int level, const char *line);

#endif
