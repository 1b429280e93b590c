/* hello.c - adds the numbers of all ranks. Every rank gets the sum.
 * Try: tutti run -n 4 build/examples/hello
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <tutti.h>

int main(void) {
  tutti_comm *comm = NULL;
  if (tutti_comm_from_env(&comm) != TUTTI_OK) return fprintf(stderr, "%s\n", tutti_error()), 1;
  int mine = tutti_comm_rank(comm), sum = 0;
  if (tutti_allreduce(comm, &mine, &sum, 1, TUTTI_INT32, TUTTI_SUM) != TUTTI_OK)
    return fprintf(stderr, "%s\n", tutti_error()), 1;
  printf("rank %d of %d: the ranks' sum is %d\n", mine, tutti_comm_size(comm), sum);
  tutti_comm_free(comm);
  return tutti_finalize() == TUTTI_OK ? 0 : 1;
}
