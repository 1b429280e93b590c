/* simulated.h - shared by simulated programs: a common instant, and simulated memory.
 *
 * Idea       SMPI gives every rank its own copy of a program's variables, including static ones.
 *            Time passes only in MPI calls, and in nanosleep, which smpicc replaces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stddef.h>

/* Collective. Returns the largest x of all ranks. Sleeps first, so that its messages do not share links with the messages
 * that are measured. */
double simulated_latest(double x);
/* Collective. Waits for an instant that is the same on all ranks, and returns the instant. */
double simulated_line_up(void);
/* Lets simulated seconds pass. */
void simulated_sleep(double seconds);

/* Allocates memory. After a call of simulated_unreal, all ranks share their large allocations, and the contents are
 * undefined. Small allocations stay separate, because ranks use them to exchange information about themselves. */
void *simulated_take(size_t bytes);
void simulated_give(void *memory);
/* Makes all ranks share all later large allocations, including tutti's scratch memory. */
void simulated_unreal(void);

/* Prints tutti's log, but only on rank 0. This is a callback for tutti_log_set, with the rank as `self`. */
void simulated_log(void *self, int level, const char *line);

#endif
