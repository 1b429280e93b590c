/* mpi_run.h - the parts of `tutti mpi`: starting a program, and comparing its runs without and with
 * tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPI_RUN_H
#define MPI_RUN_H

#include <limits.h>

#include "cli.h"
#include "family.h"

enum { MPI_ROUNDS = 99 /* limit of --rounds */ };

typedef struct mpi_options {
  mpi_family family;     /* the MPI that the library is for */
  mpi_family launcher;   /* whose options to use; if FAMILY_UNKNOWN, set the environment */
  char report[PATH_MAX]; /* the value of TUTTI_REPORT; empty if unset */
  bool off;              /* the MPI runs all calls (TUTTI_DROPIN=0) */
  bool compare;
  long rounds;
  cli_form format; /* format of the comparison */
  char **argv;
} mpi_options;

/* Replaces this process with the command, and preloads the library. If that fails, prints an error message and
 * returns an exit status. */
int mpi_start(const mpi_options *o, const char *library);
/* `tutti mpi --compare` (mpi_compare.c). Returns an exit status. */
int mpi_compare(const mpi_options *o, const char *library);

/* ---- results (mpi_gain.c) ---- */

enum { MPI_FUNCTIONS = 64, MPI_WITHOUT = 0, MPI_WITH = 1 };
/* One MPI function in all runs, as seen by rank 0. */
typedef struct mpi_function {
  char name[40];
  double seconds[2][MPI_ROUNDS]; /* without and with tutti, in each round */
  double calls[2], bytes;        /* in the last run; bytes: of calls that tutti executed */
  double by_tutti;               /* number of calls that tutti executed */
} mpi_function;

typedef struct mpi_gain {
  int rounds, functions;
  double wall[2][MPI_ROUNDS];
  mpi_function function[MPI_FUNCTIONS];
} mpi_gain;

/* Adds the report about one run to the comparison. Returns false if the file does not contain a report. */
bool mpi_gain_read(mpi_gain *g, FILE *report, int round, int side);
void mpi_gain_show(const mpi_options *o, const mpi_gain *g);

#endif
