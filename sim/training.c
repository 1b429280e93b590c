/* training.c - measures the simulated time of a step of data-parallel training: layers finish one after the other,
 * and tutti sums their gradients over all ranks.
 *
 *   training [-w WAY] [-b BYTES] [-k SLICES] [-p SECONDS] [-f SECONDS] [-s] TABLE
 *     -w  buckets: tutti_buckets, while later gradients are computed; tensors: a non-blocking
 *         allreduce for each tensor when it is ready; one: a single allreduce of all at the end
 *     -b  bytes of a bucket; 0: the library's choice
 *     -k  cut vectors into SLICES
 *     -p  while the rank computes, advance the sums at this interval in seconds, like a progress thread; 0: sums
 *         advance only when a tensor is ready
 *     -f  seconds of the forward pass
 *     -s  use gradients without physical memory (SMPI_SHARED_MALLOC), and do not check them
 *   TABLE has a line for each tensor, in the order of completion: floats, and seconds of computation before it.
 *   SIM_PLAN names the plan of all sums.
 *
 * Idea       A computation only lets simulated time pass, as on an accelerator, where no core is busy. A step ends
 *            when the last rank has all sums. The first step, without computation, is a warm-up; in the second one,
 *            which is timed, all ranks begin at the same instant.
 * Prints     seconds of the step, seconds of computation, buckets, bytes of all gradients, ok | WRONG | unchecked,
 *            and the plan of the largest bucket.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti_mpi.h>

#include "simulated.h"
#include "tutti_plan.h"

enum { MOST = 1000, NAME = 256 };
typedef enum way { BUCKETS, TENSORS, ONE, WAYS } way;
static const char *const way_names[WAYS] = {"buckets", "tensors", "one"};

static int rank, ranks, shared, computes;
static way how = BUCKETS;
static double look, forward;                  /* in s */
static size_t n, counts[MOST], total, oldest; /* oldest: the first tensor that is not summed yet */
static double before[MOST];                   /* in s, time of the computation before each tensor */
static float *whole, *at[MOST];
static tutti_comm *comm;
static tutti_buckets *buckets;
static tutti_request *requests[MOST];

/* ---- the table, and memory ---- */

static int read_table(const char *path) {
  FILE *f = fopen(path, "r");
  while (f && n < MOST && fscanf(f, "%zu %lf", &counts[n], &before[n]) == 2) total += counts[n++];
  const int whole_file = f && feof(f);
  if (f) fclose(f);
  if (!whole_file || !n) fprintf(stderr, "%s: no table of at most %d tensors\n", path, MOST);
  return !whole_file || !n;
}

static tutti_status make_buckets(size_t bytes) {
  const tutti_buckets_config config = {.size = sizeof config, .bytes = bytes, .sum = 1};
  tutti_tensor tensors[MOST];
  for (size_t i = 0; i < n; i++) tensors[i] = (tutti_tensor){NULL, counts[i], TUTTI_FLOAT};
  const tutti_status status = tutti_buckets_create(comm, n, tensors, &config, &buckets);
  for (size_t i = 0; i < n && !status; i++) at[i] = tutti_bucket_data(buckets, i);
  return status;
}

static tutti_status make_vector(void) {
  whole = simulated_take(total * sizeof *whole);
  for (size_t i = 0, from = 0; whole && i < n; from += counts[i++]) at[i] = whole + from;
  return whole ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* ---- a step ---- */

/* Polls the sums in flight, in order, up to the first that has not finished. Returns true if a sum is in flight. `ready` is
 * the number of tensors that are ready. */
static int advance(size_t ready, tutti_status *status) {
  for (int done = 1; done && oldest < ready && !*status; oldest += done != 0)
    *status = how == BUCKETS   ? tutti_bucket_test(buckets, oldest, &done)
              : how == TENSORS ? tutti_request_test(&requests[oldest], &done)
                               : TUTTI_OK;
  return how != ONE && oldest < ready;
}

static tutti_status compute(double seconds, size_t ready) {
  tutti_status status = TUTTI_OK;
  while (computes && seconds > 0 && !status) {
    const double part = look > 0 && look < seconds && advance(ready, &status) ? look : seconds;
    simulated_sleep(part);
    seconds -= part;
  }
  return status;
}

static tutti_status is_ready(size_t i) {
  if (how == BUCKETS) return tutti_bucket_ready(buckets, i);
  if (how == ONE || !counts[i]) return TUTTI_OK;
  return tutti_allreduce_start(comm, at[i], at[i], counts[i], TUTTI_FLOAT, TUTTI_SUM, &requests[i]);
}

static tutti_status step(void) {
  oldest = 0;
  tutti_status status = compute(forward, 0);
  for (size_t i = 0; i < n && !status; i++) {
    status = compute(before[i], i);
    for (size_t k = 0; k < counts[i] && !shared; k++) at[i][k] = (float)(rank + 1 + (int)(k % 7));
    if (!status) status = is_ready(i);
  }
  if (how == BUCKETS && !status) status = tutti_buckets_wait(buckets);
  if (how == ONE && !status)
    status = tutti_allreduce(comm, whole, whole, total, TUTTI_FLOAT, TUTTI_SUM);
  for (size_t i = 0; how == TENSORS && i < n && !status; i++)
    status = tutti_request_wait(&requests[i]);
  return status;
}

static int is_right(void) {
  for (size_t i = 0; i < n && !shared; i++)
    for (size_t k = 0; k < counts[i]; k++) {
      const int sum = ranks * (ranks + 1) / 2 + ranks * (int)(k % 7);
      if (at[i][k] != (float)sum) return 0;
    }
  return 1;
}

/* ---- the report ---- */

/* Returns the number of elements in the longest operation, which is a bucket, a tensor or the whole vector. */
static size_t longest(void) {
  size_t sum[MOST] = {0}, most = 0;
  for (size_t i = 0; i < n; i++) {
    size_t *of = &sum[how == BUCKETS ? tutti_bucket_of(buckets, i) : how == ONE ? 0 : i];
    *of += counts[i];
    if (*of > most) most = *of;
  }
  return most;
}

static void report(double took, int wrong) {
  char plan[NAME] = "";
  tutti_comm_plan(how == BUCKETS ? tutti_buckets_comm(buckets) : comm, TUTTI_ALLREDUCE, longest(),
                  TUTTI_FLOAT, TUTTI_SUM, plan, NAME);
  double computed = forward;
  for (size_t i = 0; i < n; i++) computed += before[i];
  const size_t operations = how == BUCKETS ? tutti_buckets_count(buckets) : how == ONE ? 1 : n;
  printf("%.9f %.9f %zu %zu %s %s\n", took, computed, operations, total * sizeof(float),
         wrong    ? "WRONG"
         : shared ? "unchecked"
                  : "ok",
         plan);
  fflush(stdout);
}

static int measure(void) {
  tutti_status status = step();
  computes = 1;
  const double start = simulated_line_up();
  if (!status) status = step();
  const double took = simulated_latest(MPI_Wtime()) - start;
  if (status) fprintf(stderr, "rank %d: %s\n", rank, tutti_error());
  const double wrong = simulated_latest(status || !is_right());
  if (rank == 0) report(took, wrong > 0);
  return status != TUTTI_OK;
}

static way way_of(const char *name) {
  way w = BUCKETS;
  while (w < WAYS && strcmp(name, way_names[w]) != 0) w++;
  return w;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *plan = getenv("SIM_PLAN");
  size_t bytes = 0;
  int i = 1, slices = 0;
  int unknown = 0;
  for (; i < argc && argv[i][0] == '-'; i++) switch (argv[i][1]) {
      case 's': shared = 1; break;
      case 'w': how = way_of(argv[++i]); break;
      case 'b': bytes = strtoull(argv[++i], NULL, 10); break;
      case 'k': slices = atoi(argv[++i]); break;
      case 'p': look = strtod(argv[++i], NULL); break;
      case 'f': forward = strtod(argv[++i], NULL); break;
      default: unknown = 1;
    }
  int failed = unknown || how == WAYS || i >= argc || read_table(argv[i]);
  if (shared) simulated_unreal();
  tutti_log_set(simulated_log, &rank);
  if (!failed) {
    failed = tutti_comm_from_mpi(MPI_COMM_WORLD, &comm);
    const tutti_config config = {.size = sizeof config, .algorithm = plan, .slices = slices};
    if (!failed) failed = tutti_comm_configure(comm, &config);
    if (!failed) failed = how == BUCKETS ? make_buckets(bytes) : make_vector();
    if (failed) fprintf(stderr, "rank %d: %s\n", rank, tutti_error());
  }
  if (!failed) failed = measure();
  tutti_buckets_free(buckets);
  if (whole) simulated_give(whole);
  tutti_comm_free(comm);
  MPI_Finalize();
  return failed;
}
