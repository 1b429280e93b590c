/* mp_secret.c - sums vectors that contain a known text, for a test that captures the network traffic.
 *
 * Usage      mp_secret TEXT      rank 0's vector repeats TEXT, and the others' are zero, so the sum is that of rank 0
 * Prints a line of TAP on each rank. Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"

enum { MOST = 1 << 20, CALLS = 4 };

int main(int argc, char **argv) {
  static char mine[MOST], sum[MOST], wanted[MOST];
  tutti_comm *comm;
  if (argc < 2) return puts("ok - nothing to do\n1..1") < 0;
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const size_t length = strlen(argv[1]);
  for (size_t i = 0; i < MOST; i++) wanted[i] = argv[1][i % length];
  const int rank = tutti_comm_rank(comm);
  if (rank == 0) memcpy(mine, wanted, MOST);
  int right = 1;
  for (int call = 0; call < CALLS && right; call++) {
    const size_t n = call % 2 ? MOST : 1000;
    right = !tutti_allreduce(comm, mine, sum, n, TUTTI_UINT8, TUTTI_SUM) && !memcmp(sum, wanted, n);
  }
  printf("%s - rank %d: the sums are right %s\n", right ? "ok" : "not ok", rank, right ? "" : tutti_error());
  tutti_comm_free(comm);
  return start_end() != TUTTI_OK || !right;
}
