/* mp_many.c - very many allreduces of one number, each sum checked: operation numbers pass 2^32 on the way.
 *
 * Usage      mp_many OPERATIONS; `make check-many` runs it. Does nothing when run by itself.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "seconds.h"
#include "start.h"
#include "tutti.h"

int main(int argc, char **argv) {
  tutti_comm *comm;
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&comm)) return 2;
  const uint64_t n = strtoull(argv[1], NULL, 10), me = (uint64_t)tutti_comm_rank(comm),
                 P = (uint64_t)tutti_comm_size(comm);
  const double since = seconds();
  uint64_t wrong = 0, i = 0;
  for (; i < n && !wrong; i++) {
    uint64_t x = i * (me + 1), sum = 0;
    wrong = tutti_allreduce(comm, &x, &sum, 1, TUTTI_UINT64, TUTTI_SUM) != TUTTI_OK ||
            sum != i * (P * (P + 1) / 2);
  }
  if (wrong) printf("rank %d: operation %llu: %s\n", (int)me, (unsigned long long)i, tutti_error());
  if (me == 0)
    printf("%s - %llu allreduces in %.0f s\n1..1\n", wrong ? "not ok" : "ok", (unsigned long long)i,
           seconds() - since);
  tutti_comm_free(comm);
  return start_end() || wrong;
}
