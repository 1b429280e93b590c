/* start_mpi.c - starts ranks under an MPI.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "start.h"
#include "tutti_mpi.h"

tutti_status start_comm(tutti_comm **comm) {
  int is = 0;
  MPI_Initialized(&is);
  if (!is && MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &is) != MPI_SUCCESS)
    return TUTTI_ERR_SYSTEM;
  return tutti_comm_from_mpi(MPI_COMM_WORLD, comm);
}

tutti_status start_end(void) {
  return MPI_Finalize() == MPI_SUCCESS ? tutti_finalize() : TUTTI_ERR_SYSTEM;
}
