/* drop_turns.c - many calls of a few kinds. The MPI and tutti serve them alternately until the faster one is
 * known. The results must be right in either case. turns.sh makes one of the two slow, and reads the report.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "drop.h"

enum { CALLS = 300, SMALL = 4, FEW = 3 };

int main(int argc, char **argv) {
  static int x[SMALL], y[SMALL];
  static float f[SMALL], g[SMALL];
  bool sums = true, casts = true, rounded = true, few = true;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int k = 0; k < CALLS; k++) {
    const int root = k % drop_ranks;
    for (int i = 0; i < SMALL; i++) x[i] = k + i + drop_rank, f[i] = 1;
    sums &= DROP_CALL(MPI_Allreduce(x, y, SMALL, MPI_INT, MPI_MAX, MPI_COMM_WORLD)) &&
            DROP_CHECK(y[1] == k + 1 + drop_ranks - 1);
    casts &= DROP_CALL(MPI_Bcast(x, SMALL, MPI_INT, root, MPI_COMM_WORLD)) &&
             DROP_CHECK(x[2] == k + 2 + root);
    rounded &= DROP_CALL(MPI_Allreduce(f, g, SMALL, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD)) &&
               DROP_CHECK(g[3] == (float)drop_ranks);
    casts &= DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (int k = 0; k < FEW; k++)
    few &= DROP_CALL(MPI_Reduce(x, y, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD));
  drop_tell("sums that are exact", sums);
  drop_tell("broadcasts and barriers", casts);
  drop_tell("sums that round", rounded);
  drop_tell("a few calls", few);
  return drop_end();
}
