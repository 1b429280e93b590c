/* hosts.c - several hosts: tutti beside MPI's own allreduce, and the figures of the network.
 *
 *   mpirun ... hosts loop|cycle FIRST LAST BUDGET ROUNDS
 *   mpirun ... hosts fit
 *
 * The first: float sum in place, both in turn on the same ranks, the one that begins
 * changing from round to round. Both results are checked, once per size. A line per size:
 * bytes, MPI's us, tutti's us (medians over the rounds, of the slowest rank), the median of
 * the rounds' ratios MPI / tutti, and the plan that tutti ran.
 *
 * The second prints figures as TUTTI_PROFILE reads them; others stay as built in.
 * Both end with a line `done`, before MPI_Finalize: there MPICH 4.0 over UCX can hang.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <unistd.h>

#include "timing.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

static int rank, ranks;
static tutti_comm *comm;

/* The other ranks may be waiting for this one: all end. */
static void check(int good, const char *what, const char *why) {
  if (good) return;
  fprintf(stderr, "hosts: rank %d: %s: %s\n", rank, what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/* ---- side by side ---- */

enum { NATIVE, TUTTI, SIDES };
static const char *const side_name[] = {"MPI_Allreduce", "tutti_allreduce"};

static void call(int side, float *x, size_t n) {
  if (side == NATIVE)
    MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM))
    check(0, side_name[side], tutti_error());
}

/* Whole numbers, so that the sum is the same in any order. */
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

/* Of two in the middle, the one that is worse for tutti. */
static double lower_median(double *each, int n) {
  timing_median(each, n);
  return each[(n - 1) / 2];
}

static void size(const timing_plan *plan, size_t bytes) {
  const size_t n = bytes / sizeof(float);
  double each[SIDES][MOST_REPEATS], ratio[MOST_REPEATS];
  long iterations[SIDES];
  char name[96] = "-";
  float *x = malloc(bytes);
  check(x != NULL, "malloc", "out of memory");
  for (int s = 0; s < SIDES; s++) check_sum(s, x, n);
  memset(x, 0, bytes);
  for (int s = 0; s < SIDES; s++) iterations[s] = settle(plan, s, x, n);
  for (int k = 0; k < plan->repeats; k++) {
    for (int turn = 0; turn < SIDES; turn++) {
      const int s = (k + turn) % SIDES;
      const double without = plan->cycle ? timed(s, x, n, iterations[s], 1, 0) : 0;
      each[s][k] = slowest(timed(s, x, n, iterations[s], plan->cycle, 1) - without);
    }
    ratio[k] = each[NATIVE][k] / each[TUTTI][k];
  }
  tutti_comm_plan(comm, TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name);
  if (rank == 0) {
    printf("%zu %.2f %.2f %.4f %s\n", bytes, 1e6 * timing_median(each[NATIVE], plan->repeats),
           1e6 * timing_median(each[TUTTI], plan->repeats), lower_median(ratio, plan->repeats),
           name);
    fflush(stdout);
  }
  free(x);
}

static void beside(const timing_plan *plan) {
  if (tutti_comm_from_mpi(MPI_COMM_WORLD, &comm)) check(0, "tutti_comm_from_mpi", tutti_error());
  for (size_t b = plan->first; b <= plan->last; b *= 4) size(plan, b);
  tutti_comm_free(comm);
}

/* ---- the figures of the network ----
 *
 * A message to the next host, while one comes from the host before, is what a step of a
 * schedule is. One to every other host at once takes longer by what a message more takes: of
 * a port, alpha; or, where hosts share processors (and here they do), of a core at either
 * end, processor. That they do is seen by two hosts that play alone, the others asleep. What
 * the first takes besides is delay: the way, and turns of the scheduler. The other ranks of
 * a host sleep, and keep out of its link: price shares it out.
 *
 * The stream is of messages below the size from which MPIs ask first whether they may
 * send (64 KiB in Open MPI over TCP): beta. After a rest a shaped link lets more through: burst. */

enum { SMALL = 4, PIECE = 32768, WINDOW = 4, PIECES = 32, FITS = 9, MOST_HOSTS = 64 };

typedef struct figures_run {
  MPI_Comm line; /* one rank of each host */
  int at, of;
  char *out, *in;
} figures_run;

/* PIECES messages to the next host, at most WINDOW of them on their way. */
static void stream(const figures_run *f) {
  MPI_Request r[WINDOW][2];
  MPI_Status status[2];
  for (int i = 0; i < PIECES + WINDOW; i++) {
    const int w = i % WINDOW;
    if (i >= WINDOW) MPI_Waitall(2, r[w], status);
    if (i >= PIECES) continue;
    MPI_Irecv(f->in + w * PIECE, PIECE, MPI_BYTE, (f->at + f->of - 1) % f->of, 0, f->line,
              &r[w][0]);
    MPI_Isend(f->out + w * PIECE, PIECE, MPI_BYTE, (f->at + 1) % f->of, 0, f->line, &r[w][1]);
  }
}

/* A small message to each of the next `peers` hosts. */
static void exchange(const figures_run *f, int peers) {
  MPI_Request r[2 * MOST_HOSTS];
  MPI_Status status[2 * MOST_HOSTS];
  for (int k = 1; k <= peers; k++) {
    const int to = (f->at + k) % f->of, from = (f->at + f->of - k) % f->of;
    MPI_Irecv(f->in + k * SMALL, SMALL, MPI_BYTE, from, 0, f->line, &r[2 * k - 2]);
    MPI_Isend(f->out, SMALL, MPI_BYTE, to, 0, f->line, &r[2 * k - 1]);
  }
  MPI_Waitall(2 * peers, r, status);
}

static double seconds_of(const figures_run *f, int peers, long n) {
  MPI_Barrier(f->line);
  const double from = timing_now();
  for (long i = 0; i < n; i++) {
    if (peers)
      exchange(f, peers);
    else
      stream(f);
  }
  double took = (timing_now() - from) / (double)n;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, f->line);
  return took;
}

/* Median s of an exchange with so many peers; of a stream, for none. */
static double seconds(const figures_run *f, int peers) {
  double each[FITS], once = 1e-2;
  for (int k = -2; k < FITS; k++) {
    once = seconds_of(f, peers, timing_fit(0.1, once));
    if (k >= 0) each[k] = once;
  }
  return timing_median(each, FITS);
}

/* Median s of one stream after a rest. */
static double rested(const figures_run *f) {
  double each[FITS];
  for (int k = 0; k < FITS; k++) {
    usleep(50000);
    each[k] = seconds_of(f, 0, 1);
  }
  return timing_median(each, FITS);
}

/* Until all are here, asleep. */
static void sleep_until_all(MPI_Comm of) {
  MPI_Request r;
  int here = 0;
  MPI_Ibarrier(of, &r);
  while (MPI_Test(&r, &here, MPI_STATUS_IGNORE), !here) usleep(5000);
}

static double alone(const figures_run *f) {
  figures_run two = *f;
  two.of = 2;
  double alpha = 0;
  MPI_Comm_split(f->line, f->at < 2 ? 0 : MPI_UNDEFINED, f->at, &two.line);
  if (f->at >= 2) return 0;
  alpha = seconds(&two, 1);
  MPI_Comm_free(&two.line);
  return alpha;
}

static double above(double a, double b) {
  return a > b ? a - b : 0;
}

static void print_figures(const figures_run *f, double alone_, double one, double all, double many,
                          double once) {
  const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN), bytes = (double)PIECES * PIECE;
  const int shared = one > 1.5 * alone_;
  const double more = f->of > 2 ? above(all, one) / (f->of - 2) : one; /* of one more message */
  const double alpha = shared ? 0 : more, processor = shared ? more * cores / (2 * f->of) : 0;
  const double delay = above(one, more), burst = above(bytes, once * bytes / many);
  printf(
      "# %d hosts, all of which send and receive at once\n"
      "# a message of %d B: %.4g s; all hosts one each: %.4g; one to each other host: %.4g\n"
      "alpha = %.4g  # s: of a port, for a message more at once, where hosts have their own cores\n"
      "processor = %.4g  # s: of a core, for one at either end, where they share them\n"
      "delay = %.4g  # s: what a message takes besides\n"
      "beta = %.4g  # s/B: a stream of messages of %d B\n"
      "burst = %.0f  # B: what the stream had saved after a rest\n",
      f->of, SMALL, alone_, one, all, alpha, processor, delay, many / bytes, PIECE,
      burst >= PIECE ? burst : 0);
}

static void fit(void) {
  static char out[WINDOW * PIECE], in[WINDOW * PIECE];
  figures_run f = {.out = out, .in = in};
  MPI_Comm node;
  int on_node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &on_node);
  MPI_Comm_split(MPI_COMM_WORLD, on_node ? MPI_UNDEFINED : 0, rank, &f.line);
  if (on_node == 0) {
    MPI_Comm_rank(f.line, &f.at);
    MPI_Comm_size(f.line, &f.of);
    check(f.of > 1 && f.of <= MOST_HOSTS, "fit", "needs ranks on 2 to 64 hosts");
    const double two = alone(&f);
    sleep_until_all(f.line);
    const double one = seconds(&f, 1), all = seconds(&f, f.of - 1), many = seconds(&f, 0),
                 once = rested(&f);
    if (rank == 0) print_figures(&f, two, one, all, many, once);
    MPI_Comm_free(&f.line);
  }
  sleep_until_all(MPI_COMM_WORLD);
  MPI_Comm_free(&node);
}

int main(int argc, char **argv) {
  timing_plan plan;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 2 && strcmp(argv[1], "fit") == 0)
    fit();
  else if (timing_parse(&plan, argc - 1, argv + 1))
    beside(&plan);
  else
    check(0, "usage", "hosts fit, or hosts " TIMING_USAGE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("done"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
