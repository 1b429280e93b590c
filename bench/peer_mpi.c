/* peer_mpi.c - MPI_Allreduce of floats, sum, in place, as `tutti bench` measures.
 *
 *   mpirun -n P peer_mpi loop|cycle FIRST LAST BUDGET REPEATS
 *
 * Prints a line per size: bytes, median us, least us (of the slowest rank's means).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>

#include "timing.h"

static void call(float *x, size_t n) {
  MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double timed(float *x, size_t n, long iterations, int touch, int with) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) {
    if (touch) timing_write(x, n, i);
    if (with) call(x, n);
    if (touch) timing_read(x, n);
  }
  return (timing_now() - from) / (double)iterations;
}

static double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

static void size(const timing_plan *plan, size_t bytes, int rank) {
  const size_t n = bytes / sizeof(float);
  double each[MOST_REPEATS];
  float *x = malloc(bytes);
  if (!x) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(x, 0, bytes);
  for (int i = 0; i < 3; i++) call(x, n);
  double once = slowest(timed(x, n, 3, plan->cycle, 1));
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    const double again = slowest(timed(x, n, timing_trial(plan->budget, once), plan->cycle, 1));
    settled = timing_settled(once, again);
    once = again;
  }
  const long iterations = timing_fit(plan->budget, once);
  for (int k = 0; k < plan->repeats; k++) {
    const double without = plan->cycle ? timed(x, n, iterations, 1, 0) : 0;
    const double with = timed(x, n, iterations, plan->cycle, 1);
    each[k] = slowest(with - without);
  }
  timing_median(each, plan->repeats);
  if (rank == 0) timing_show(bytes, each, plan->repeats);
  free(x);
}

int main(int argc, char **argv) {
  timing_plan plan;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!timing_parse(&plan, argc - 1, argv + 1)) {
    if (rank == 0) fprintf(stderr, "usage: peer_mpi " TIMING_USAGE "\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (size_t b = plan.first; b <= plan.last; b *= 4) size(&plan, b, rank);
  MPI_Finalize();
  return 0;
}
