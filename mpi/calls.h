/* calls.h - MPI's functions as a table. A layer between a program and its MPI passes its own table.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_CALLS_H
#define TUTTI_MPI_CALLS_H

#include <dlfcn.h>
#include <mpi.h>

#include "tutti_mpi.h"

/* Functions that only SimGrid's MPI uses; functions that it lacks; the version function of the standard ABI. */
#ifdef TUTTI_MPI_SIMULATED
#define MPI_OWN_CALLS(X) X(Waitany) X(Testany)
#else
#define MPI_OWN_CALLS(X) X(Ibarrier) X(Test) X(Comm_get_attr)
#endif
/* A library compiled with mpi/abi/mpi.h is not linked with an MPI. */
#if defined TUTTI_MPI_ABI || defined TUTTI_FOR_OMPI || defined TUTTI_FOR_MPICH
#define TUTTI_MPI_LATE
#endif
#ifdef TUTTI_MPI_ABI
#define MPI_ABI_CALLS(X) X(Abi_get_version)
#else
#define MPI_ABI_CALLS(X)
#endif

#define MPI_CALLS(X)                                                                              \
  X(Initialized)                                                                                  \
  X(Finalized)                                                                                    \
  X(Query_thread)                                                                                 \
  X(Is_thread_main)                                                                               \
  X(Get_library_version)                                                                          \
  X(Error_string) X(Comm_test_inter) X(Comm_compare) X(Comm_rank) X(Comm_size) X(Comm_dup)        \
      X(Comm_split) X(Comm_free) X(Comm_set_errhandler) X(Comm_create_keyval) X(Comm_free_keyval) \
          X(Comm_set_attr) X(Get_count) X(Bcast) X(Allgather) X(Isend) X(Issend) X(Irecv)         \
              X(Iprobe) X(Testsome) X(Cancel) X(Wait) MPI_OWN_CALLS(X) MPI_ABI_CALLS(X)

typedef struct mpi_calls {
#define MPI_ENTRY(name) __typeof__(&PMPI_##name) name;
  MPI_CALLS(MPI_ENTRY)
#undef MPI_ENTRY
} mpi_calls;

/* Returns MPI's functions, found by name (by_name.c), or NULL if this process has no MPI. */
const mpi_calls *mpi_by_name(void);

/* For libraries that are not linked with an MPI: returns a symbol of the program's MPI, or otherwise dlsym(from, name). */
void *mpi_find(void *from, const char *name);
/* Returns an object of the program's MPI. A program linked with the MPI may contain the object itself (a copy relocation). */
void *mpi_find_object(const char *name);
/* Looks up Open MPI's predefined handles, in a library compiled with mpi/abi/as_ompi.h. Does nothing in other libraries. */
void mpi_find_handles(void);
/* Finds the program's MPI, once. `caller` is an address in the program, used if several MPIs are loaded. Returns 0 if
 * no MPI library is loaded. */
int mpi_find_library(const void *caller);
/* Returns a sentence if two MPIs with this binary interface are loaded, or NULL. */
const char *mpi_two(void);
/* Returns the MPI family, as in TUTTI_MPI_FAMILY, according to the name of the library that contains this function, or NULL
 * if the name is not an MPI's. */
const char *mpi_family_at(const void *function);

#endif
