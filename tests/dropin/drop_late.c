/* drop_late.c - the last rank is late for the first collective on a communicator. With the drop-in, the other
 * ranks wait in tutti; the log warns of that wait, and `tutti doctor` shows it.
 *
 * Usage      drop_late FILE: the last rank waits until a file of that name exists. dropin.sh creates it after rank 0's warning.
 *            Rank 0 prints its pid. A second of its waits passes in 20 ms (pass_time.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "drop.h"
#include "pass_time.h"

int main(int argc, char **argv) {
  MPI_Comm own;
  int one = 1, sum = 0;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  bool good = DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &own));
  if (drop_rank == 0) printf("# pid %ld\n", (long)getpid());
  fflush(stdout);
  if (drop_rank == 0) fly_time();
  if (drop_rank == drop_ranks - 1 && argc > 1)
    while (access(argv[1], F_OK)) usleep(10000);
  good &= DROP_CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own)) &&
          DROP_CHECK(sum == drop_ranks) && DROP_CALL(MPI_Comm_free(&own));
  if (drop_rank == 0) stop_time_flying();
  drop_tell("a rank is late for a communicator's first collective", good);
  return drop_end();
}
