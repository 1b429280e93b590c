/* mp_crossed.c - two ranks in calls on different communicators: each is a leaf of a reduce, and the root never
 * calls. Then both free their communicators. The free returns, or fails within the time limit with an error
 * that names the reduce.
 *
 * Usage      TUTTI_TIMEOUT=1 tutti run -n 2 mp_crossed COUNT; does nothing when run by itself.
 * Prints     a line for each call: "reduce" or "free", and its result.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "start.h"
#include "tutti.h"

static void told(const char *what, tutti_status status) {
  printf("%s: %s\n", what, status ? tutti_error() : "returned");
}

int main(int argc, char **argv) {
  tutti_comm *world, *pair[2];
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&world) || tutti_comm_dup(world, &pair[0]) || tutti_comm_dup(world, &pair[1]))
    return 2;
  const size_t n = strtoull(argv[1], NULL, 10);
  const int me = tutti_comm_rank(world);
  double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
  if (!x || !y) return 2;
  told("reduce", tutti_reduce(pair[me], x, y, n, TUTTI_DOUBLE, TUTTI_SUM, !me));
  for (int k = 0; k < 2; k++) {
    const tutti_status status = tutti_comm_free(pair[k]);
    told("free", status);
    if (status) told("free again", tutti_comm_free(pair[k]));
  }
  told("free", tutti_comm_free(world));
  free(x);
  free(y);
  return start_end();
}
