/* mp_lost.c - rank 1 is killed during allreduces. The others name it, long before the keepalive timeout of its
 * host (TUTTI_SILENCE).
 *
 * Run by tests/sh/over_ucx.sh, over networks, on three ranks; mp_deaths covers shared memory.
 * Prints a line of TAP on each of the others. Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "start.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
  enum { MOST = 100000, LIMIT = 10 };
  static float x[MOST];
  tutti_comm *comm;
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const int rank = tutti_comm_rank(comm);
  if (tutti_comm_size(comm) < 2)
    return puts("ok - rank 1 is lost # SKIP it takes others to miss one\n1..1") < 0;
  tutti_status status = TUTTI_OK;
  double called = 0;
  for (int i = 0; !status && i < 100000; i++) {
    if (rank == 1 && i == 100) raise(SIGKILL);
    called = now();
    status = tutti_allreduce(comm, x, x, i % 2 ? 4 : MOST, TUTTI_FLOAT, TUTTI_SUM);
  }
  const double took = now() - called;
  const int good =
      status == TUTTI_ERR_PEER_LOST && took < LIMIT && strstr(tutti_error(), "rank 1 (pid");
  printf("%s - rank %d after %.3f s: %s\n", good ? "ok" : "not ok", rank, took, tutti_error());
  fflush(stdout);
  /* no rank leaves before all have named it: else one that left first may be named */
  tutti_comm *rest = NULL;
  if (tutti_comm_shrink(comm, &rest)) printf("not ok - rank %d: %s\n", rank, tutti_error());
  tutti_comm_free(rest);
  tutti_comm_free(comm);
  return !good;
}
