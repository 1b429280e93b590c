/* allreduce.c - simulated time of one allreduce: tutti's, or the one that is built into SMPI.
 *
 *   allreduce [-b | -k SLICES] [-t float|int32] [-s] BYTES ...
 *     -b  SMPI's own allreduce, which --cfg=smpi/allreduce:NAME selects. Without -b: tutti's
 *         choice, or the plan in SIM_PLAN (smpirun splits arguments at blanks)
 *     -k  cut vectors into SLICES
 *     -s  use vectors that are not real (SMPI_SHARED_MALLOC), and do not check them
 *
 * Idea       all ranks begin at one simulated instant, and the time lasts until the last rank
 *            is done. An operation before it has made everything that is made only once.
 * Prints     per size: bytes, seconds, predicted seconds, ok | WRONG | unchecked, and the plan
 *            that ran.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tutti_mpi.h>

enum { NAME = 256 };

static int rank, ranks, builtin, shared, integers;
static tutti_comm *comm;

enum { CALM = 100 }; /* s */

/* The reports shall not share links with what is measured. */
static double latest(double x) {
  const struct timespec calm = {CALM, 0};
  nanosleep(&calm, NULL);
  double y;
  MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Bcast(&y, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return y;
}

/* A barrier lets ranks go one after another: wait for a common instant, after the report of the latest rank. */
static double line_up(void) {
  const double start = floor(latest(MPI_Wtime()) + CALM) + 2;
  for (double left; (left = start - MPI_Wtime()) > 1e-12;) {
    const struct timespec t = {(time_t)left, (long)((left - floor(left)) * 1e9) + 1};
    nanosleep(&t, NULL);
  }
  return MPI_Wtime();
}

/* Memory that is not real is one for all ranks. Short scratch is real: what ranks tell each other about
 * themselves passes through it. */
enum { REAL = 1 << 20, UNREAL = 64 };
static void *unreal[UNREAL];

static void *take(size_t bytes) {
  int i = 0;
  while (i < UNREAL && unreal[i]) i++;
  if (!shared || bytes < REAL || i == UNREAL) return malloc(bytes);
  return unreal[i] = SMPI_SHARED_MALLOC(bytes);
}
static void give(void *memory) {
  int i = 0;
  while (i < UNREAL && (!memory || unreal[i] != memory)) i++;
  if (i == UNREAL) {
    free(memory);
    return;
  }
  unreal[i] = NULL;
  SMPI_SHARED_FREE(memory);
}

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

/* Call it on one rank only, because every rank that calls it builds all ranks' schedules. */
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
  void *in = take(bytes + 4), *out = take(bytes + 4);
  fill(in, out, n);
  int failed = run(in, out, builtin && n > 4096 ? 4096 : n);
  fill(in, out, n);
  const double start = line_up();
  failed |= run(in, out, n);
  const double took = latest(MPI_Wtime()) - start, wrong = latest(failed || !is_right(out, n));
  const double predicted = predict(n, plan);
  if (rank == 0) {
    printf("%zu %.9f %.9f %s %s\n", bytes, took, predicted,
           wrong > 0 ? "WRONG"
           : shared  ? "unchecked"
                     : "ok",
           plan);
    fflush(stdout);
  }
  give(in);
  give(out);
  return failed;
}

static void say(void *unused, int level, const char *line) {
  (void)unused;
  if (rank == 0) fprintf(stderr, "%s %s\n", level ? "tutti:" : "tutti warns:", line);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int at = 1, failed = 0, slices = 0;
  const char *algo = getenv("SIM_PLAN");
  for (; at < argc && argv[at][0] == '-'; at++) {
    if (argv[at][1] == 'b') builtin = 1;
    if (argv[at][1] == 's') shared = 1;
    if (argv[at][1] == 'k') slices = atoi(argv[++at]);
    if (argv[at][1] == 't') integers = strcmp(argv[++at], "int32") == 0;
  }
  if (!builtin) {
    tutti_log_set(say, NULL);
    if (shared) tutti_scratch_set(take, give);
    failed = tutti_comm_from_mpi(MPI_COMM_WORLD, &comm);
    if (!failed && algo) failed = tutti_comm_set_algo(comm, algo);
    if (!failed && slices) failed = tutti_comm_set_slices(comm, slices);
    if (failed) fprintf(stderr, "rank %d: %s\n", rank, tutti_error());
  }
  for (; at < argc && !failed; at++) failed = measure(strtoull(argv[at], NULL, 10));
  tutti_comm_free(comm);
  MPI_Finalize();
  return failed;
}
