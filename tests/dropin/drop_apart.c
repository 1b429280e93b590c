/* drop_apart.c - ranks that start different collectives. An MPI need not detect that; tutti does, and MPI_Wait
 * returns an error with a message on all ranks. Run with tutti only. With an argument: with fatal errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "drop.h"

int main(int argc, char **argv) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int x[3] = {1, 2, 3}, y[3], n = 0, class = MPI_SUCCESS;
  MPI_Request q;
  drop_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  if (argc > 1) MPI_Allreduce(x, y, drop_rank ? 3 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPI 4: for calls without a communicator */
  bool good =
      DROP_CALL(MPI_Iallreduce(x, y, drop_rank ? 3 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q));
  const int code = MPI_Wait(&q, MPI_STATUS_IGNORE);
  good &= DROP_CHECK(code != MPI_SUCCESS) && DROP_CALL(MPI_Error_string(code, text, &n));
  good &= DROP_CALL(MPI_Error_class(code, &class)) && DROP_CHECK(class != MPI_ERR_UNKNOWN);
  good &= DROP_CHECK(strstr(text, "tutti: ") != NULL);
  if (!good) printf("# rank %d: error %d, class %d: %s\n", drop_rank, code, class, text);
  drop_tell("an error with a sentence", good);
  return drop_end();
}
