/* meet_mpi.c - creates a communicator of the ranks of an MPI's mpirun, or of those of `tutti run`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <string.h>

#include "ranked.h"
#include "tutti_mpi.h"

#ifdef OMPI_MAJOR_VERSION
const char *const job_family = "ompi";
#else
const char *const job_family = "mpich";
#endif

tutti_status job_join(tutti_comm **comm) {
  MPI_Init(NULL, NULL); /* MPI ends the job if it fails */
  return tutti_comm_from_mpi(MPI_COMM_WORLD, comm);
}

void job_leave(void) {
  tutti_finalize();
  MPI_Finalize();
}
