/* mpi_run.h - the parts of `tutti mpi`: how a program is started, and the comparison without and with tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPI_RUN_H
#define MPI_RUN_H

#include <limits.h>

#include "cli.h"
#include "family.h"

enum { MPI_ROUNDS = 99 /* --rounds at most */ };

typedef struct mpi_options {
  mpi_family family;     /* of the library */
  mpi_family launcher;   /* whose options it takes; FAMILY_UNKNOWN: set the environment */
  char report[PATH_MAX]; /* the value of TUTTI_REPORT; empty: unset */
  bool off;              /* the MPI runs all calls (TUTTI_DROPIN=0) */
  bool compare;
  long rounds;
  cli_form format; /* of the comparison */
  char **argv;
} mpi_options;

/* Become the command, with the library preloaded. Returns only after a complaint: an exit status. */
int mpi_start(const mpi_options *o, const char *library);
/* `tutti mpi --compare` (mpi_compare.c): an exit status. */
int mpi_compare(const mpi_options *o, const char *library);

/* ---- results (mpi_gain.c) ---- */

enum { MPI_FUNCTIONS = 64, MPI_WITHOUT = 0, MPI_WITH = 1 };
/* One function of MPI in the runs, as rank 0 saw it. */
typedef struct mpi_function {
  char name[40];
  double seconds[2][MPI_ROUNDS]; /* without and with tutti, in each round */
  double calls[2], bytes;        /* of the last run; bytes: of the calls that tutti ran */
  double by_tutti;               /* calls that tutti ran */
} mpi_function;

typedef struct mpi_gain {
  int rounds, functions;
  double wall[2][MPI_ROUNDS];
  mpi_function function[MPI_FUNCTIONS];
} mpi_gain;

/* Add the report of a run; false: it is not one. */
bool mpi_gain_read(mpi_gain *g, FILE *report, int round, int side);
void mpi_gain_show(const mpi_options *o, const mpi_gain *g);

#endif
