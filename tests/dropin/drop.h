/* drop.h - what the programs of tests/dropin/ share. They know MPI only: each is run as it is
 * and with tutti's library preloaded, and must print the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DROP_H
#define DROP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern int drop_rank, drop_ranks;

/* MPI_Init_thread for that level; what was provided. */
int drop_start(int *argc, char ***argv, int level);
/* A line of TAP: is it so on all ranks? Asked by messages, as collectives are what is tested. */
void drop_tell(const char *what, bool good);
/* The plan, MPI_Finalize, and main's return value. */
int drop_end(void);

/* A pseudo-random number; the same for the same arguments. */
unsigned drop_mix(unsigned a, unsigned b, unsigned c);
/* Is each of n ints what the function says? The first that is not is shown. */
bool drop_same(const char *what, const int *got, const int *want, size_t n);

/* A call that must succeed, and a condition that must hold; the line is shown if not. */
#define DROP_CALL(call)       drop_check((call) == MPI_SUCCESS, #call, __FILE__, __LINE__)
#define DROP_CHECK(condition) drop_check((condition), #condition, __FILE__, __LINE__)
bool drop_check(bool good, const char *what, const char *file, int line);

#endif
