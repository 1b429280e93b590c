/* hosts.c - several hosts: tutti, over MPI and over UCX, compared with MPI's own allreduce and
 * gloo's.
 *
 *   mpirun ... hosts loop|cycle FIRST LAST BUDGET ROUNDS [SIDES]     SIDES: mpi,ucx,gloo
 *
 * Float sum in place, all in turn on the same ranks; the first one changes
 * from round to round. All results are checked, once per size. A line per size:
 * bytes, MPI's us (medians over the rounds, of the slowest rank); then, after a bar each, for
 * tutti over this MPI (mpi), over UCX (ucx), and gloo: its name, us, the medians of the rounds'
 * ratios of MPI's time to its own, and of gloo's time to its own (0: none), and the plan that ran.
 *
 * HOSTS_UCX_PROFILE takes TUTTI_PROFILE's role for UCX. The last line is `done`, before
 * MPI_Finalize, in which MPICH 4.0 over UCX can hang.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ftw.h>
#include <mpi.h>
#include <unistd.h>

#include "hosts_gloo.h"
#include "timing.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

static int rank, ranks;
static tutti_comm *comm, *ucx_comm; /* over this MPI; over UCX, or NULL */

/* On an error all ranks end, because others may be waiting for this one. */
static void check(int good, const char *what, const char *why) {
  if (good) return;
  fprintf(stderr, "hosts: rank %d: %s: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* ---- in turn ---- */

enum { NATIVE, TUTTI, UCX, GLOO, SIDES };
static const char *const side_name[] = {"MPI_Allreduce", "mpi", "ucx", "gloo"};
static int plays[SIDES] = {1, 1, 0, 0};

static void call(int side, float *x, size_t n) {
  if (side == NATIVE)
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
#ifdef WITH_GLOO
  else if (side == GLOO)
    check(!hosts_gloo_sum(x, n), side_name[side], "it failed");
#endif
  else if (tutti_allreduce(side == UCX ? ucx_comm : comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM))
    check(0, side_name[side], tutti_error());
}

/* Integers, so that the sum is the same in any order. */
static void check_sum(int side, float *x, size_t n) {
  const size_t p = (size_t)ranks;
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) x[i] = (float)((size_t)rank + i % 7);
  call(side, x, n);
  for (size_t i = 0; i < n; i++) wrong += x[i] != (float)(p * (p - 1) / 2 + p * (i % 7));
  check(!wrong, side_name[side], "the sum is wrong");
}

static double timed(int side, float *x, size_t n, long iterations, int touch, int with) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) {
    if (touch) timing_write(x, n, i);
    if (with) call(side, x, n);
    if (touch) timing_read(x, n);
  }
  return (timing_now() - from) / (double)iterations;
}

static long settle(const timing_plan *plan, int side, float *x, size_t n) {
  double once = slowest(timed(side, x, n, LEAST_ITERATIONS, plan->cycle, 1));
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    const long trial = timing_trial(plan->budget, once);
    const double again = slowest(timed(side, x, n, trial, plan->cycle, 1));
    settled = timing_settled(once, again);
    once = again;
  }
  return timing_fit(plan->budget, once);
}

/* Of the two in the middle, the one that is worse for tutti. */
static double lower_median(double *each, int n) {
  timing_median(each, n);
  return each[(n - 1) / 2];
}

typedef double rounds[MOST_REPEATS];

/* The median of a's times over b's, round by round; 0 if one of them does not run. */
static double ratio(const rounds *each, int a, int b, int n) {
  double ratios[MOST_REPEATS];
  for (int k = 0; k < n; k++) ratios[k] = each[a][k] / each[b][k];
  return plays[a] && plays[b] ? lower_median(ratios, n) : 0;
}

static void show(rounds *each, size_t bytes, int n) {
  tutti_comm *const comms[] = {NULL, comm, ucx_comm, NULL};
  double to_native[SIDES], to_gloo[SIDES];
  for (int s = 0; s < SIDES; s++) {
    to_native[s] = ratio((const rounds *)each, NATIVE, s, n);
    to_gloo[s] = ratio((const rounds *)each, GLOO, s, n);
  }
  if (rank == 0) printf("%zu %.2f", bytes, 1e6 * timing_median(each[NATIVE], n));
  for (int s = TUTTI; s < SIDES; s++) {
    char name[96] = "-";
    if (!plays[s]) continue;
    if (comms[s])
      tutti_comm_plan(comms[s], TUTTI_ALLREDUCE, bytes / sizeof(float), TUTTI_FLOAT, TUTTI_SUM, name,
                      sizeof name);
    if (rank == 0)
      printf(" | %s %.2f %.4f %.4f %s", side_name[s], 1e6 * timing_median(each[s], n), to_native[s], to_gloo[s], name);
  }
  if (rank == 0) puts(""), fflush(stdout);
}

static void size(const timing_plan *plan, size_t bytes) {
  const size_t n = bytes / sizeof(float);
  rounds each[SIDES];
  long iterations[SIDES];
  float *x = malloc(bytes);
  check(x != NULL, "malloc", "out of memory");
  for (int s = 0; s < SIDES; s++)
    if (plays[s]) check_sum(s, x, n);
  memset(x, 0, bytes);
  for (int s = 0; s < SIDES; s++)
    if (plays[s]) iterations[s] = settle(plan, s, x, n);
  for (int k = 0; k < plan->repeats; k++)
    for (int turn = 0; turn < SIDES; turn++) {
      const int s = (k + turn) % SIDES;
      if (!plays[s]) continue;
      const double without = plan->cycle ? timed(s, x, n, iterations[s], 1, 0) : 0;
      each[s][k] = slowest(timed(s, x, n, iterations[s], plan->cycle, 1) - without);
    }
  show(each, bytes, plan->repeats);
  free(x);
}

/* A folder that all hosts see: the hosts of netns.sh have one in common. */
#ifdef WITH_GLOO
static int forget(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)type, (void)at;
  return remove(path);
}
#endif

static void open_gloo(void) {
#ifdef WITH_GLOO
  const char *temporary = getenv("TMPDIR"), *interface = getenv("HOSTS_INTERFACE");
  char folder[200];
  snprintf(folder, sizeof folder, "%s/gloo.XXXXXX", temporary ? temporary : "/tmp");
  if (rank == 0) check(mkdtemp(folder) != NULL, "mkdtemp", folder);
  MPI_Bcast(folder, sizeof folder, MPI_BYTE, 0, MPI_COMM_WORLD);
  check(!hosts_gloo_open(rank, ranks, folder, interface ? interface : "eth0"), "gloo", "it cannot be opened");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) nftw(folder, forget, 16, FTW_DEPTH | FTW_PHYS);
#else
  plays[GLOO] = 0;
#endif
}

static void beside(const timing_plan *plan) {
  if (plays[TUTTI] && tutti_comm_from_mpi(MPI_COMM_WORLD, &comm))
    check(0, "tutti_comm_from_mpi", tutti_error());
  if (plays[UCX]) {
    const char *profile = getenv("HOSTS_UCX_PROFILE");
    setenv("TUTTI_NET", "ucx", 1);
    if (profile) setenv("TUTTI_PROFILE", profile, 1);
    check(!tutti_comm_from_mpi(MPI_COMM_WORLD, &ucx_comm), "TUTTI_NET=ucx", tutti_error());
  }
  if (plays[GLOO]) open_gloo();
  for (size_t b = plan->first; b <= plan->last; b *= 4) size(plan, b);
  tutti_comm_free(ucx_comm);
  tutti_comm_free(comm);
#ifdef WITH_GLOO
  if (plays[GLOO]) hosts_gloo_close();
#endif
}

int main(int argc, char **argv) {
  timing_plan plan;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && timing_parse(&plan, argc - 1 - (argc == 7), argv + 1)) {
    for (int s = TUTTI; s < SIDES && argc == 7; s++) plays[s] = strstr(argv[6], side_name[s]) != NULL;
    beside(&plan);
  } else {
    check(0, "usage", "hosts " TIMING_USAGE " [mpi,ucx,gloo]");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("done"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
