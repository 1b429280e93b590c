/* dropin.c - the overhead of the drop-in library for calls that it passes on to the MPI.
 *
 *   mpirun ... dropin REPEATS       with and without the library preloaded
 *
 * Runs on one rank, so that the MPI's own part is short. Prints the name and the median time in ns
 * of each call. bench/dropin.py computes the overhead as the difference of two runs. turns.c
 * measures calls that the library executes itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>

#include "timing.h"

enum { CALLS = 20000 };

static int in[4], out[4];

static void allreduce(void) {
  MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
static void reduce(void) {
  MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF);
}
static void bcast(void) {
  MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_SELF);
}
static void allgather(void) {
  MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_SELF);
}
static void barrier(void) {
  MPI_Barrier(MPI_COMM_SELF);
}
static void iallreduce(void) {
  MPI_Request q;
  MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static const struct {
  const char *name;
  void (*call)(void);
} handed[] = {{"MPI_Allreduce", allreduce}, {"MPI_Reduce", reduce},
              {"MPI_Bcast", bcast},         {"MPI_Allgather", allgather},
              {"MPI_Barrier", barrier},     {"MPI_Iallreduce", iallreduce}};

static void hand(int repeats) {
  static double each[MOST_REPEATS];
  for (size_t h = 0; h < sizeof handed / sizeof *handed; h++) {
    for (int k = -1; k < repeats; k++) { /* the first call is not counted */
      const double from = timing_now();
      for (int i = 0; i < CALLS; i++) handed[h].call();
      if (k >= 0) each[k] = (timing_now() - from) / CALLS;
    }
    printf("%s %.2f\n", handed[h].name, 1e9 * timing_median(each, repeats));
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int repeats = argc == 2 ? atoi(argv[1]) : 0;
  if (repeats < 1 || repeats > MOST_REPEATS) {
    fprintf(stderr, "usage: dropin REPEATS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  hand(repeats);
  puts("done"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
