/* drop_unused.c - communicators without a collective: the MPI alone makes, counts and frees them. dropin.sh
 * checks in the report that only MPI_COMM_WORLD was served.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "drop.h"

enum { MANY = 300 };

int main(int argc, char **argv) {
  static MPI_Comm kept[MANY];
  int one = 1, sum = 0;
  bool good = true;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int k = 0; k < MANY; k++) {
    MPI_Comm row;
    good &= DROP_CALL(MPI_Comm_dup(k ? kept[k - 1] : MPI_COMM_WORLD, &kept[k]));
    good &= DROP_CALL(MPI_Comm_split(kept[k], drop_rank % 2, 0, &row)) &&
            DROP_CALL(MPI_Comm_free(&row));
  }
  for (int k = 0; k < MANY; k++) good &= DROP_CALL(MPI_Comm_free(&kept[k]));
  drop_tell("communicators without a collective", good);
  good = DROP_CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  drop_tell("MPI_COMM_WORLD", good && DROP_CHECK(sum == drop_ranks));
  return drop_end();
}
