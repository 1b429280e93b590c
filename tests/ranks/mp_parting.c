/* mp_parting.c - ranks that exit while a message is in flight that no rank will receive: after mismatched
 * calls, rank 1 exits late. For tests/sh/hosts.sh, over networks.
 *
 * Ranks: 2
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "start.h"

int main(void) {
  enum { MOST = 20000 }; /* beyond a network's eager limit */
  static float x[MOST], y[MOST];
  tutti_comm *comm;
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const int rank = tutti_comm_rank(comm), ranks = tutti_comm_size(comm);
  const size_t n = rank == 1 ? 7 : MOST;
  const tutti_op op = rank == 1 ? TUTTI_MAX : TUTTI_SUM;
  tutti_status status = comm_set_algorithm(comm, "doubling");
  if (!status) status = tutti_allreduce(comm, x, y, n, TUTTI_FLOAT, op);
  int good = ranks < 2 || status == TUTTI_ERR_MISMATCH;
  if (rank == 1) sleep(3);
  good = !tutti_comm_free(comm) && !start_end() && good;
  printf("%s - rank %d of %d has ended in order\n", good ? "ok" : "not ok", rank, ranks);
  if (rank == 0) printf("1..%d\n", ranks);
  return !good;
}
