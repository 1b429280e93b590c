/* by_name.c - tutti_comm_from_mpi, and a table of MPI's functions as the program itself would call
 * them.
 *
 * Idea      A library compiled with an MPI's own header is linked with that MPI. A library compiled with
 *           mpi/abi/mpi.h finds the MPI of its process (find.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "net.h"

#ifdef TUTTI_MPI_ABI
#define LIBRARY "libmpi_abi.so"
#elif defined OMPI_MAJOR_VERSION
#define LIBRARY "libmpi.so.40"
#else
#define LIBRARY "libmpi.so.12"
#endif

#ifdef TUTTI_MPI_LATE

static mpi_calls found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_all(void) {
  mpi_find_handles();
#define FIND(name) *(void **)&found.name = mpi_find(RTLD_DEFAULT, "PMPI_" #name);
  MPI_CALLS(FIND)
}

const mpi_calls *mpi_by_name(void) {
  pthread_once(&once, find_all);
#ifdef TUTTI_MPI_ABI
  if (!found.Abi_get_version) return NULL;
#endif
  return found.Initialized ? &found : NULL;
}

#else

#define BY_NAME(name) .name = PMPI_##name,

const mpi_calls *mpi_by_name(void) {
  static const mpi_calls calls = {MPI_CALLS(BY_NAME)};
  return &calls;
}

#endif

tutti_status tutti_comm_from_mpi_of(const char *family, const void *mpi_comm, size_t size,
                                    tutti_comm **comm) {
  const mpi_calls *mpi = mpi_by_name();
  if (mpi) return mpi_comm_from(mpi, family, mpi_comm, size, comm);
  if (comm) *comm = NULL;
  return tutti_net_refuse(TUTTI_ERR_ARG,
                          "tutti_comm_from_mpi: this process has no MPI with the binary interface "
                          "of " TUTTI_MPI_FAMILY " (" LIBRARY ")");
}
