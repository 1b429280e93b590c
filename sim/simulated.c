/* simulated.c - functions shared by simulated programs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "simulated.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tutti.h>

/* ---- time ---- */

enum { CALM = 100 }; /* in s */

void simulated_sleep(double seconds) {
  const struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
  nanosleep(&t, NULL);
}

/* Returns the largest x of all ranks. Sleeps first, so that its messages do not share links with the measured messages. */
double simulated_latest(double x) {
  simulated_sleep(CALM);
  double y;
  MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Bcast(&y, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return y;
}

/* Ranks leave a barrier one after another. All ranks therefore wait for a common instant, which is after the last rank's
 * arrival. */
double simulated_line_up(void) {
  const double start = floor(simulated_latest(MPI_Wtime()) + CALM) + 2;
  for (double left; (left = start - MPI_Wtime()) > 1e-12;) simulated_sleep(left + 1e-9);
  return MPI_Wtime();
}

/* ---- memory ---- */

enum { REAL = 1 << 20, UNREAL = 256 };
static int is_unreal;
static void *unreal[UNREAL];

void *simulated_take(size_t bytes) {
  int i = 0;
  while (i < UNREAL && unreal[i]) i++;
  if (!is_unreal || bytes < REAL || i == UNREAL) return malloc(bytes);
  return unreal[i] = SMPI_SHARED_MALLOC(bytes);
}

void simulated_give(void *memory) {
  int i = 0;
  while (i < UNREAL && (!memory || unreal[i] != memory)) i++;
  if (i == UNREAL) {
    free(memory);
    return;
  }
  unreal[i] = NULL;
  SMPI_SHARED_FREE(memory);
}

void simulated_unreal(void) {
  is_unreal = 1;
  tutti_scratch_set(simulated_take, simulated_give);
}

/* ---- the log ---- */

void simulated_log(void *self, int level, const char *line) {
  if (*(const int *)self == 0) fprintf(stderr, "%s %s\n", level ? "tutti:" : "tutti warns:", line);
}
