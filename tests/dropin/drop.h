/* drop.h - shared by the programs of tests/dropin/. They use MPI only: each runs unchanged, with and without
 * tutti's library preloaded, and must print the same both times.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DROP_H
#define DROP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define BCAST_INIT     MPIX_Bcast_init
#else
#define ALLREDUCE_INIT MPI_Allreduce_init
#define BCAST_INIT     MPI_Bcast_init
#endif

extern int drop_rank, drop_ranks;

/* Calls MPI_Init_thread with that level; returns the provided level. */
int drop_start(int *argc, char ***argv, int level);
/* Prints a line of TAP: is `good` true on all ranks? Uses messages, because the collectives are
 * under test. */
void drop_tell(const char *what, bool good);
/* Prints the TAP plan; drop_end does that itself. */
void drop_plan(void);
/* Prints the TAP plan and calls MPI_Finalize; returns main's return value. */
int drop_end(void);

/* A pseudo-random number; the same for the same arguments. */
unsigned drop_mix(unsigned a, unsigned b, unsigned c);
/* Compares n ints with the expected ones; prints the first difference. */
bool drop_same(const char *what, const int *got, const int *want, size_t n);

/* A call that must succeed, and a condition that must hold; a failure prints the source line. */
#define DROP_CALL(call)       drop_check((call) == MPI_SUCCESS, #call, __FILE__, __LINE__)
#define DROP_CHECK(condition) drop_check((condition), #condition, __FILE__, __LINE__)
bool drop_check(bool good, const char *what, const char *file, int line);

#endif
