/* tutti_mpi.h - communicators made of MPI's.
 *
 *   MPI_Init(&argc, &argv);
 *   tutti_comm *comm;
 *   if (tutti_comm_from_mpi(MPI_COMM_WORLD, &comm)) ...   then as with any other
 *   tutti_allreduce(comm, src, dst, n, TUTTI_FLOAT, TUTTI_SUM);
 *   tutti_comm_free(comm);
 *   MPI_Finalize();
 *
 * Link with the one of libtutti_mpi_ompi and libtutti_mpi_mpich that belongs to the MPI,
 * and with libtutti: pkg-config --libs tutti-ompi, or tutti-mpich.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_H
#define TUTTI_MPI_H

#include <mpi.h>

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The MPI that this header is compiled for. */
#if defined(SMPI_VERSION_MAJOR) || defined(SIMGRID_SMPI_H) || defined(SMPI_H)
#define TUTTI_MPI_FAMILY "SMPI"
#define TUTTI_MPI_SIMULATED
#elif defined(OMPI_MAJOR_VERSION)
#define TUTTI_MPI_FAMILY "Open MPI"
#elif defined(MPICH_VERSION)
#define TUTTI_MPI_FAMILY "MPICH"
#else
#define TUTTI_MPI_FAMILY "an unknown MPI"
#endif

/* What tutti_comm_from_mpi calls, so that a library for another MPI notices. */
TUTTI_API tutti_status tutti_comm_from_mpi_of(const char *family, const void *mpi_comm,
                                              size_t size, tutti_comm **comm);

/* A communicator of the same ranks in the same order as an MPI intracommunicator.
 *
 * Collective over mpi_comm, between MPI_Init and MPI_Finalize, after which it can only be
 * freed. It works on a duplicate: messages of the program and of tutti never meet. Ranks
 * of one node (MPI_Comm_split_type) use shared memory, the others MPI; TUTTI_TOPO says
 * more of where ranks sit (docs/mpi.md). Started by `tutti run`, where each process is
 * MPI's only one, MPI_COMM_WORLD gives what tutti_comm_from_env does.
 * Threads: MPI_Init is enough, or MPI_THREAD_FUNNELED, if MPI's main thread alone makes, splits,
 * uses and frees communicators (where all ranks share a node, any thread may use them). For
 * other threads MPI_THREAD_SERIALIZED, if nobody else calls MPI at the same time: tutti's calls
 * of MPI are then one at a time. MPI_THREAD_MULTIPLE if the program calls MPI, too.
 * comm: freed by tutti_comm_free.
 * Errors, on all ranks: TUTTI_ERR_STATE (MPI not initialized, or finalized already),
 * TUTTI_ERR_ARG (MPI_COMM_NULL, an intercommunicator, a topology that does not match, a
 * library for another MPI), TUTTI_ERR_SYSTEM (MPI fails), TUTTI_ERR_MEMORY. */
static inline tutti_status tutti_comm_from_mpi(MPI_Comm mpi_comm, tutti_comm **comm) {
  return tutti_comm_from_mpi_of(TUTTI_MPI_FAMILY, &mpi_comm, sizeof mpi_comm, comm);
}

#ifdef __cplusplus
}
#endif
#endif
