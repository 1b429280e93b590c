/* drop_dies.c - the last rank aborts with 7, or is killed (an argument), while the others wait for
 * it in a collective. SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <unistd.h>

#include "drop.h"

int main(int argc, char **argv) {
  int one = 1, sum = 0;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  drop_tell("before", DROP_CHECK(sum == drop_ranks));
  usleep(200000);
  if (drop_rank == drop_ranks - 1) {
    if (argc > 1) raise(SIGKILL);
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  for (int k = 0; k < 10; k++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  drop_tell("after", false);
  return drop_end();
}
