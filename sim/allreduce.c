/* allreduce.c - measures the simulated time of an allreduce, either tutti's or the one built into
 * SMPI.
 *
 *   allreduce [-b | -k SLICES] [-t float|int32] [-s] [-d FILE] BYTES ...
 *     -b  SMPI's own allreduce, which --cfg=smpi/allreduce:NAME selects. Without -b: tutti's
 *         choice, or the plan in SIM_PLAN (smpirun splits arguments at blanks)
 *     -k  cut vectors into SLICES
 *     -s  use vectors without physical memory (SMPI_SHARED_MALLOC), and do not check them
 *     -d  delay ranks by the seconds in the file, one number per rank. The time is then measured
 *         from the arrival of the latest rank
 *
 * Idea       all ranks begin at the same simulated instant, and the time ends when the last rank is
 *            done. An earlier operation creates everything that is created only once. Ranks that
 *            are given the plan's name do not need it, because their initialization takes no
 *            simulated time.
 * Prints     for each size: bytes, seconds, predicted seconds, ok | WRONG | unchecked, and the plan
 *            that ran.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti_mpi.h>

#include "simulated.h"
#include "tutti_plan.h"

enum { NAME = 256 };

static int rank, ranks, builtin, named, shared, integers; /* named: the plan is given */
static double delay, longest; /* in s, of this rank and of the latest one */
static tutti_comm *comm;

static int run(const void *in, void *out, size_t n) {
  if (builtin)
    return MPI_Allreduce(in, out, (int)n, integers ? MPI_INT : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const tutti_status status =
      tutti_allreduce(comm, in, out, n, integers ? TUTTI_INT32 : TUTTI_FLOAT, TUTTI_SUM);
  if (status) fprintf(stderr, "rank %d: %s\n", rank, tutti_error());
  return status;
}

static int value_of(size_t i, int r) {
  return r + 1 + (int)(i % 7);
}

static void fill(void *in, void *out, size_t n) {
  for (size_t i = 0; i < n && !shared; i++) {
    if (integers)
      ((int *)in)[i] = value_of(i, rank), ((int *)out)[i] = -1;
    else
      ((float *)in)[i] = (float)value_of(i, rank), ((float *)out)[i] = -1;
  }
}

static int is_right(const void *out, size_t n) {
  for (size_t i = 0; i < n && !shared; i++) {
    const int want = ranks * (ranks + 1) / 2 + ranks * (int)(i % 7);
    if (integers ? ((const int *)out)[i] != want : ((const float *)out)[i] != (float)want) return 0;
  }
  return 1;
}

/* Returns the predicted time in seconds. Only rank 0 computes it, because each caller builds the schedules of all ranks. */
static double predict(size_t n, char *plan) {
  const tutti_type type = integers ? TUTTI_INT32 : TUTTI_FLOAT;
  double seconds = 0;
  if (builtin || rank) return 0;
  tutti_comm_plan(comm, TUTTI_ALLREDUCE, n, type, TUTTI_SUM, plan, NAME);
  tutti_comm_price(comm, TUTTI_ALLREDUCE, n, type, TUTTI_SUM, &seconds);
  return seconds;
}

static int measure(size_t bytes) {
  const size_t n = bytes / 4;
  char plan[NAME] = "built-in";
  void *in = simulated_take(bytes + 4), *out = simulated_take(bytes + 4);
  fill(in, out, n);
  int failed = named ? 0 : run(in, out, builtin && n > 4096 ? 4096 : n);
  fill(in, out, n);
  const double start = simulated_line_up() + longest;
  if (delay > 0) simulated_sleep(delay);
  failed |= run(in, out, n);
  const double took = simulated_latest(MPI_Wtime()) - start;
  const double wrong = simulated_latest(failed || !is_right(out, n));
  const double predicted = predict(n, plan);
  if (rank == 0) {
    printf("%zu %.9f %.9f %s %s\n", bytes, took, predicted,
           wrong > 0 ? "WRONG"
           : shared  ? "unchecked"
                     : "ok",
           plan);
    fflush(stdout);
  }
  simulated_give(in);
  simulated_give(out);
  return failed;
}

/* Reads this rank's delay from a file that has one delay per rank. Returns 0 on success. */
static int read_delay(const char *path) {
  FILE *f = fopen(path, "r");
  double each = 0;
  int n = 0;
  while (f && n < ranks && fscanf(f, "%lf", &each) == 1) {
    if (n++ == rank) delay = each;
    if (each > longest) longest = each;
  }
  if (f) fclose(f);
  if (n < ranks && rank == 0) fprintf(stderr, "%s: %d delays for %d ranks\n", path, n, ranks);
  return n < ranks;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int at = 1, failed = 0, slices = 0;
  const char *algo = getenv("SIM_PLAN");
  for (; at < argc && argv[at][0] == '-'; at++) switch (argv[at][1]) {
      case 'b': builtin = 1; break;
      case 's': shared = 1; break;
      case 'k': slices = atoi(argv[++at]); break;
      case 'd': failed |= read_delay(argv[++at]); break;
      case 't': integers = strcmp(argv[++at], "int32") == 0; break;
      default: failed = 1;
    }
  named = algo && slices;
  if (shared) simulated_unreal();
  if (!builtin && !failed) {
    tutti_log_set(simulated_log, &rank);
    failed = tutti_comm_from_mpi(MPI_COMM_WORLD, &comm);
    const tutti_config config = {.size = sizeof config, .algorithm = algo, .slices = slices};
    if (!failed) failed = tutti_comm_configure(comm, &config);
    if (failed) fprintf(stderr, "rank %d: %s\n", rank, tutti_error());
  }
  for (; at < argc && !failed; at++) failed = measure(strtoull(argv[at], NULL, 10));
  tutti_comm_free(comm);
  MPI_Finalize();
  return failed;
}
