/* tutti_mpi.h - creates communicators from MPI communicators.
 *
 *   MPI_Init(&argc, &argv);
 *   tutti_comm *comm;
 *   if (tutti_comm_from_mpi(MPI_COMM_WORLD, &comm)) ...   then as with any other
 *   tutti_allreduce(comm, src, dst, n, TUTTI_FLOAT, TUTTI_SUM);
 *   tutti_comm_free(comm);
 *   MPI_Finalize();
 *
 * Link with libtutti and with the library for your MPI, libtutti_mpi_ompi or
 * libtutti_mpi_mpich: pkg-config --libs tutti-ompi, or tutti-mpich. A program compiled for
 * the standard ABI of MPI 5.0 (for example by mpicc_abi) needs libtutti_mpi_abi, or tutti-abi.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_H
#define TUTTI_MPI_H

#include <mpi.h>

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the MPI that this header is compiled for. */
#if defined(SMPI_VERSION_MAJOR) || defined(SIMGRID_SMPI_H) || defined(SMPI_H)
#define TUTTI_MPI_FAMILY "SMPI"
#define TUTTI_MPI_SIMULATED
#elif defined(OMPI_MAJOR_VERSION)
#define TUTTI_MPI_FAMILY "Open MPI"
#elif defined(MPICH_VERSION)
#define TUTTI_MPI_FAMILY "MPICH"
#elif defined(MPI_ABI_VERSION)
/* The mpi.h of the standard ABI does not tell which MPI is used. This case comes last, because the mpi.h of a particular MPI
 * may define MPI_ABI_VERSION, too. */
#define TUTTI_MPI_FAMILY "the MPI ABI"
#define TUTTI_MPI_ABI
#else
#define TUTTI_MPI_FAMILY "an unknown MPI" /* the name of the MPI that this header is compiled for */
#endif

/** The function that tutti_comm_from_mpi calls. `mpi_comm` points to an MPI communicator handle of `size` bytes. `family`
 *  lets a library that was made for another MPI reject the call. */
TUTTI_API tutti_status tutti_comm_from_mpi_of(const char *family, const void *mpi_comm, size_t size,
                                              tutti_comm **comm);

/** Create a communicator of the same ranks, in the same order, as an MPI intracommunicator.
 *
 *  Collective over mpi_comm, between MPI_Init and MPI_Finalize; after MPI_Finalize the communicator can only be freed. It
 *  uses a duplicate of mpi_comm, so messages of the program and of tutti never match. Ranks of one node
 *  (MPI_Comm_split_type) use shared memory, all others use MPI. TUTTI_TOPO adds placement information that MPI does not
 *  provide (docs/mpi.md). Under `tutti run`, each process is the only one in its MPI_COMM_WORLD; for that communicator, this
 *  function returns the communicator of tutti_comm_from_env.
 *  Threads: MPI_Init or MPI_THREAD_FUNNELED is enough if only MPI's main thread creates, splits, uses and frees
 *  communicators (if all ranks share a node, any thread may use them). Other threads need MPI_THREAD_SERIALIZED if no other
 *  code calls MPI at the same time (tutti then calls MPI from one thread at a time), and MPI_THREAD_MULTIPLE if the program
 *  calls MPI, too.
 *  mpi_comm  an intracommunicator; the program keeps ownership.
 *  comm      receives the communicator; free it with tutti_comm_free.
 *  Returns the same on all ranks: TUTTI_OK; TUTTI_ERR_STATE (MPI is not initialized, or already finalized),
 *  TUTTI_ERR_ARG (MPI_COMM_NULL, an intercommunicator, a topology that does not match, a library for another MPI),
 *  TUTTI_ERR_SYSTEM (MPI failed), TUTTI_ERR_MEMORY. */
static inline tutti_status tutti_comm_from_mpi(MPI_Comm mpi_comm, tutti_comm **comm) {
  return tutti_comm_from_mpi_of(TUTTI_MPI_FAMILY, &mpi_comm, sizeof mpi_comm, comm);
}

#ifdef __cplusplus
}
#endif
#endif
