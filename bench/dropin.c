/* dropin.c - the cost of the library between a program and its MPI.
 *
 *   mpirun ... dropin hand REPEATS                      with and without the library preloaded
 *   mpirun ... dropin shim FIRST LAST BUDGET REPEATS    MPI_Allreduce, the library preloaded
 *   mpirun ... dropin own FIRST LAST BUDGET REPEATS     tutti_allreduce, nothing preloaded
 *
 * hand: calls that are passed on, on one rank, so that the MPI's own part is short: a line each,
 * name and median ns. The cost of passing on is the difference of two runs, which bench/dropin.py
 * computes. shim, own: float sum in place, call after call: bytes, median us and least, of rank 0.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>

#include "timing.h"
#include "tutti_mpi.h"

enum { CALLS = 20000 };

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "dropin: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- calls passed on ---- */

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
    for (int k = -1; k < repeats; k++) { /* the first call does not count */
      const double from = timing_now();
      for (int i = 0; i < CALLS; i++) handed[h].call();
      if (k >= 0) each[k] = (timing_now() - from) / CALLS;
    }
    printf("%s %.2f\n", handed[h].name, 1e9 * timing_median(each, repeats));
  }
}

/* ---- calls served ---- */

static tutti_comm *comm; /* NULL: through MPI */

static void sum(float *x, size_t n) {
  if (comm)
    check(!tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM), tutti_error());
  else
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double timed(float *x, size_t n, long iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) sum(x, n);
  return (timing_now() - from) / (double)iterations;
}

/* All ranks make as many calls as rank 0 decides. */
static long settle(const timing_plan *plan, float *x, size_t n) {
  double once = timed(x, n, LEAST_ITERATIONS);
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    long trial = timing_trial(plan->budget, once);
    MPI_Bcast(&trial, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    const double again = timed(x, n, trial);
    settled = timing_settled(once, again);
    MPI_Bcast(&settled, 1, MPI_INT, 0, MPI_COMM_WORLD);
    once = again;
  }
  long fit = timing_fit(plan->budget, once);
  MPI_Bcast(&fit, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return fit;
}

static void served(const timing_plan *plan, int rank) {
  static double each[MOST_REPEATS];
  for (size_t b = plan->first; b <= plan->last; b *= 4) {
    const size_t n = b / sizeof(float);
    float *x = calloc(n, sizeof *x);
    check(x != NULL, "out of memory");
    const long iterations = settle(plan, x, n);
    for (int k = 0; k < plan->repeats; k++) each[k] = timed(x, n, iterations);
    timing_median(each, plan->repeats);
    if (rank == 0) timing_show(b, each, plan->repeats);
    free(x);
  }
}

int main(int argc, char **argv) {
  char loop[] = "loop", *rest[] = {loop, argc > 2 ? argv[2] : loop, argc > 3 ? argv[3] : loop,
                                   argc > 4 ? argv[4] : loop, argc > 5 ? argv[5] : loop};
  timing_plan plan = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int repeats = argc == 3 && strcmp(argv[1], "hand") == 0 ? atoi(argv[2]) : 0;
  const int own = argc == 6 && strcmp(argv[1], "own") == 0;
  if (repeats > 0 && repeats <= MOST_REPEATS) {
    hand(repeats);
  } else {
    check(argc == 6 && (own || strcmp(argv[1], "shim") == 0) && timing_parse(&plan, 5, rest),
          "usage: dropin hand REPEATS, or dropin shim|own FIRST LAST BUDGET REPEATS");
    if (own) check(!tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), tutti_error());
    served(&plan, rank);
    if (own) tutti_comm_free(comm);
  }
  if (rank == 0) puts("done"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
