/* calls.h - MPI's functions as a table: a layer between a program and its MPI passes its own table.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_CALLS_H
#define TUTTI_MPI_CALLS_H

#include <mpi.h>

#define MPI_CALLS(X)                                                                         \
  X(Initialized)                                                                             \
  X(Finalized) X(Query_thread) X(Is_thread_main) X(Get_library_version) X(Error_string)      \
      X(Comm_test_inter) X(Comm_compare) X(Comm_rank) X(Comm_size) X(Comm_dup) X(Comm_split) \
          X(Comm_split_type) X(Comm_free) X(Comm_set_errhandler) X(Comm_create_keyval)       \
              X(Comm_free_keyval) X(Comm_set_attr) X(Get_count) X(Bcast) X(Allgather) \
                  X(Isend) X(Issend) X(Irecv) X(Iprobe) X(Testsome) X(Waitsome) X(Cancel) X(Wait)

typedef struct mpi_calls {
#define MPI_ENTRY(name) __typeof__(&PMPI_##name) name;
  MPI_CALLS(MPI_ENTRY)
#undef MPI_ENTRY
} mpi_calls;

/* MPI's functions, called by name (net.c). */
extern const mpi_calls mpi_by_name;

#endif
