/* late.c - the cost of waiting: rank 0 is a second late, and the other ranks wait in an allreduce.
 * Each waiting rank measures its CPU time (user + system) in the call.
 *
 *   tutti run -n P late [SECONDS]      prints P, the maximum and mean CPU time of the waiting ranks
 *                                      in us, and how late the call returned, in us
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sys/resource.h>
#include <tutti.h>
#include <unistd.h>

#include "timing.h"

static int failed(void) {
  fprintf(stderr, "late: %s\n", tutti_error());
  return 1;
}

static double cpu_seconds(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
  const double late = argc > 1 ? strtod(argv[1], NULL) : 1;
  tutti_comm *comm;
  if (tutti_comm_from_env(&comm)) return failed();
  const int rank = tutti_comm_rank(comm), ranks = tutti_comm_size(comm);
  double x = 1;
  for (int i = 0; i < 100; i++)
    if (tutti_allreduce(comm, &x, &x, 1, TUTTI_DOUBLE, TUTTI_MAX)) return failed();
  if (tutti_barrier(comm)) return failed();
  const double from = timing_now(), before = cpu_seconds();
  if (rank == 0) usleep((useconds_t)(1e6 * late));
  const double came = timing_now() - from;
  if (tutti_allreduce(comm, &x, &x, 1, TUTTI_DOUBLE, TUTTI_MAX)) return failed();
  const double spent = cpu_seconds() - before, over = timing_now() - from - came;
  double most[2] = {rank ? spent : 0, rank ? 0 : over}, sum = rank ? spent : 0;
  if (tutti_allreduce(comm, most, most, 2, TUTTI_DOUBLE, TUTTI_MAX) ||
      tutti_allreduce(comm, &sum, &sum, 1, TUTTI_DOUBLE, TUTTI_SUM))
    return failed();
  if (rank == 0)
    printf("%d %.0f %.0f %.0f\n", ranks, 1e6 * most[0], 1e6 * sum / (ranks > 1 ? ranks - 1 : 1),
           1e6 * most[1]);
  tutti_comm_free(comm);
  return tutti_finalize() ? failed() : 0;
}
