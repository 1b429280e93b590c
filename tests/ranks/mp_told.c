/* mp_told.c - how quickly ranks are notified that a communicator has ended: the last rank aborts it, is
 * interrupted, or is stopped, while the others send long vectors to each other.
 *
 * Usage      mp_told MANNER ROUNDS: abort, interrupt, or stop; without: each of them
 * Idea       each round has its own communicator. In at least one round even the slowest rank is notified quickly
 *            (other processes may delay the other rounds), and in no round does a rank hang. If no
 *            round was fast enough, more rounds follow.
 * Ranks: 3
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "seconds.h"
#include "start.h"

enum { MOST = 300000, ROUNDS = 32, MORE = 8 };
typedef enum manner { ABORT, INTERRUPT, STOP, MANNERS } manner;
static const char *const words[MANNERS] = {"abort", "interrupt", "stop"};
static const double limit = 0.8;               /* s: the time limit while a rank is stopped */
static const double bound = 0.7, forever = 20; /* s: until notified, in a good round and in any */
static double x[MOST], y[MOST], waits_since;
static int64_t pids[64];

static int is_over(void *ctx) {
  (void)ctx;
  return seconds() - waits_since > 0.05;
}

/* The last rank's action while the others wait for it. Returns the status of the others' call, or
 * of the action. */
static tutti_status act(tutti_comm *comm, manner m) {
  const int rank = tutti_comm_rank(comm), last = tutti_comm_size(comm) - 1;
  if (rank == last && m == ABORT) {
    usleep(50000);
    tutti_comm_abort(comm, "no more");
    return TUTTI_ERR_ABORTED;
  }
  if (rank == last && m == STOP) raise(SIGSTOP);
  waits_since = seconds();
  if (rank == last && m == INTERRUPT) {
    tutti_interrupt_set(is_over, NULL);
    const tutti_status status = tutti_recv(comm, x, 1, TUTTI_DOUBLE, 0, 0, NULL);
    tutti_interrupt_set(NULL, NULL);
    return status;
  }
  return tutti_allreduce(comm, x, y, MOST, TUTTI_DOUBLE, TUTTI_SUM);
}

/* How long the slowest rank took beyond the required wait; -1: a rank got another error. */
static double play(tutti_comm *base, manner m) {
  const int rank = tutti_comm_rank(base), last = tutti_comm_size(base) - 1;
  tutti_comm *comm;
  if (tutti_comm_dup(base, &comm)) return -1;
  comm_set_timeout(comm, m == STOP ? limit : 100);
  tutti_barrier(comm);
  const double since = seconds();
  const tutti_status status = act(comm, m);
  double took = seconds() - since - (m == STOP ? limit : 0.05), most = 0;
  const tutti_status right = m == STOP                        ? TUTTI_ERR_TIMEOUT
                             : m == INTERRUPT && rank == last ? TUTTI_ERR_INTERRUPTED
                                                              : TUTTI_ERR_ABORTED;
  if (m == STOP && rank == last) took = 0;
  if (status != right) {
    printf("# rank %d, %s: %s: %s\n", rank, words[m], tutti_strerror(status), tutti_error());
    took = 1e9;
  }
  if (m == STOP && rank == 0) {
    usleep(100000);
    kill((pid_t)pids[last], SIGCONT);
  }
  if (tutti_allreduce(base, &took, &most, 1, TUTTI_DOUBLE, TUTTI_MAX)) most = 1e9;
  return tutti_comm_free(comm) || most > 1e8 ? -1 : most;
}

static int ascending(const void *a, const void *b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

static bool soon(tutti_comm *base, manner m, int rounds) {
  double took[ROUNDS + MORE], best = forever;
  bool well = true;
  int n = 0;
  for (; n < rounds || (well && best >= bound && n < rounds + MORE); n++) {
    took[n] = play(base, m); /* the same number on all ranks */
    well &= took[n] > -1 && took[n] < forever;
    if (took[n] < best) best = took[n];
  }
  qsort(took, (size_t)n, sizeof *took, ascending);
  const bool good = well && best < bound;
  if (tutti_comm_rank(base) == 0)
    printf("%s - %s: the slowest rank gets the error after %.3f s (median; %.3f to %.3f)\n",
           good ? "ok" : "not ok", words[m], took[n / 2], took[0], took[n - 1]);
  fflush(stdout);
  return good;
}

int main(int argc, char **argv) {
  tutti_comm *base;
  if (start_comm(&base)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const int64_t mine = getpid();
  if (tutti_comm_size(base) > 64 || tutti_allgather(base, &mine, pids, 1, TUTTI_INT64)) return 1;
  if (tutti_comm_size(base) < 2) return puts("ok - told # SKIP it takes others to tell\n1..1") < 0;
  bool good = true;
  int n = 0;
  const int rounds = argc > 2 ? atoi(argv[2]) : 3;
  if (rounds < 1 || rounds > ROUNDS) return 2;
  for (manner m = ABORT; m < MANNERS; m++) {
    if (argc > 1 && strcmp(argv[1], words[m])) continue;
    good = soon(base, m, rounds) && good;
    n++;
  }
  if (tutti_comm_rank(base) == 0) printf("1..%d\n", n);
  return tutti_comm_free(base) || start_end() || !good;
}
