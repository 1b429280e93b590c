/* mp_private.c - sums of vectors in private memory, checked element by element. Used by spaces.sh, which starts
 * each rank in a separate PID namespace; does nothing when run by itself.
 *
 * Usage      tutti run -n P mp_private ELEMENTS
 * Prints     "right" on rank 0, or the first wrong element.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "start.h"
#include "tutti.h"

/* Every rank r contributes r + 1 in each element. Returns false and prints the first wrong element. */
static bool sums(tutti_comm *comm, double *x, double *y, size_t n) {
  const int P = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  for (size_t i = 0; i < n; i++) x[i] = me + 1, y[i] = -1;
  if (tutti_allreduce(comm, x, y, n, TUTTI_DOUBLE, TUTTI_SUM)) return puts(tutti_error()), false;
  for (size_t i = 0; i < n; i++)
    if (y[i] != P * (P + 1) / 2) {
      printf("rank %d: element %zu of %zu is %g, not %d\n", me, i, n, y[i], P * (P + 1) / 2);
      return false;
    }
  return true;
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&comm)) return 2;
  const size_t most = strtoull(argv[1], NULL, 10);
  double *x = malloc(most * sizeof *x), *y = malloc(most * sizeof *y);
  bool right = x && y;
  for (size_t n = 1; n <= most && right; n *= 4) /* twice: the second call reuses its plan */
    right = sums(comm, x, y, n) && sums(comm, x, y, n);
  if (right && tutti_comm_rank(comm) == 0) puts("right");
  free(x);
  free(y);
  tutti_comm_free(comm);
  return start_end() || !right;
}
