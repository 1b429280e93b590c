/* calls.h - MPI's functions as a table. A layer between a program and its MPI passes its own table.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_CALLS_H
#define TUTTI_MPI_CALLS_H

#include <dlfcn.h>
#include <mpi.h>

#include "tutti_mpi.h"

/* Three kinds of functions: those that only SimGrid's MPI uses, those that SimGrid's MPI lacks, and the version function of
 * the standard ABI. */
#ifdef TUTTI_MPI_SIMULATED
#define MPI_OWN_CALLS(X) X(Waitany) X(Testany)
#else
#define MPI_OWN_CALLS(X) X(Ibarrier) X(Test) X(Comm_get_attr)
#endif
/* If this library is compiled with mpi/abi/mpi.h, it is not linked with an MPI. */
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

/* Returns a table of MPI's functions, which by_name.c finds by their names, or NULL if this process has no MPI. */
const mpi_calls *mpi_by_name(void);

/* Returns the address of a symbol in the program's MPI. If no MPI is found, or if it lacks the symbol, returns dlsym(from, name).
 * For libraries that are not linked with an MPI. */
void *mpi_find(void *from, const char *name);
/* Returns the address of a variable of the program's MPI. A program that is linked with the MPI may contain the variable
 * itself (a copy relocation). */
void *mpi_find_object(const char *name);
/* Looks up Open MPI's predefined handles. This is needed in libraries compiled with mpi/abi/as_ompi.h, and does nothing in
 * other libraries. */
void mpi_find_handles(void);
/* Finds the MPI that the program uses; later calls do nothing. If several MPIs are loaded, `caller`, an address in the
 * program, determines which one is meant. Returns 0 if no MPI is loaded. */
int mpi_find_library(const void *caller);
/* Returns an error message if two MPIs with this binary interface are loaded, otherwise NULL. */
const char *mpi_two(void);
/* Returns the MPI family (see TUTTI_MPI_FAMILY) that the name of the library with this function suggests, or NULL if the name
 * is not that of an MPI library. */
const char *mpi_family_at(const void *function);

#endif
