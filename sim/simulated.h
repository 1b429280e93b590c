/* simulated.h - what simulated programs share: a common instant, and memory that is not real.
 *
 * Idea       SMPI gives every rank its own copy of a program's variables, so statics are a rank's own. Time passes in
 *            MPI's calls, and in nanosleep, which smpicc replaces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stddef.h>

/* The largest x of all ranks. Collective; it waits first, so that its messages share no link with
 * the measured ones. */
double simulated_latest(double x);
/* Waits for an instant that is the same on all ranks, and returns it. Collective. */
double simulated_line_up(void);
/* Lets simulated seconds pass. */
void simulated_sleep(double seconds);

/* Long memory is one for all ranks if `unreal`; its contents mean nothing. Short memory is real, because ranks tell
 * each other about themselves in it. */
void *simulated_take(size_t bytes);
void simulated_give(void *memory);
/* Later allocations are such memory, also those of tutti's scratch. */
void simulated_unreal(void);

/* Prints tutti's log, on rank 0 only: as the callback of tutti_log_set, with the rank as `self`. */
void simulated_log(void *self, int level, const char *line);

#endif
