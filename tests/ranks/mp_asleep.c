/* mp_asleep.c - a waiting rank sleeps until there is work: while rank 0 is half a second late, the others wake
 * up at most a thousand times, on any core.
 * Ranks: 2 5
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "start.h"

enum { LATE_MS = 500, MOST = 1000 };

static long sleeps(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_nvcsw;
}

int main(void) {
  tutti_comm *comm;
  float x = 1, most;
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const int rank = tutti_comm_rank(comm);
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < 20 && !status; i++)
    status = tutti_allreduce(comm, &x, &x, 1, TUTTI_FLOAT, TUTTI_MAX);
  const long before = sleeps();
  if (rank == 0) usleep(1000 * LATE_MS);
  if (!status) status = tutti_allreduce(comm, &x, &x, 1, TUTTI_FLOAT, TUTTI_MAX);
  const float slept = rank ? (float)(sleeps() - before) : 0;
  if (!status) status = tutti_allreduce(comm, &slept, &most, 1, TUTTI_FLOAT, TUTTI_MAX);
  if (rank == 0)
    printf("%s - who waited for %d ms woke up %g times at most\n1..1\n",
           !status && most < MOST ? "ok" : "not ok", LATE_MS, (double)most);
  tutti_comm_free(comm);
  return status != TUTTI_OK;
}
