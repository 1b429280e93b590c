/* next.h - the MPI's own functions, which the functions of the shim replace.
 *
 * Idea       The shim's functions have the names of MPI's functions, so it never calls one by name. All functions that it
 *            calls are in a table. The shim is not linked with an MPI: find.c looks them up by name in the program's MPI.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_NEXT_H
#define SHIM_NEXT_H

#include <mpi.h>
#include <stdatomic.h>

#include "calls.h"

/* The names of persistent collectives are those of MPI 4, except in Open MPI 4.1, where they have the prefix of an
 * extension. */
#ifdef OMPI_MAJOR_VERSION
#define EXTENDED 1
#else
#define EXTENDED 0
#endif
#if MPI_VERSION >= 4
#define HAS_LARGE 1
#else
#define HAS_LARGE 0
#endif

/* The MPI functions that the shim calls but does not define. */
/* clang-format off */
#define NEXT_OTHERS(N) \
  N(Init) N(Init_thread) N(Finalize) N(Comm_free) N(Comm_disconnect) N(Comm_call_errhandler) \
  N(Comm_get_errhandler) N(Comm_get_attr) N(Comm_create_group) N(Errhandler_free) N(Sendrecv) \
  N(Add_error_class) N(Add_error_code) N(Add_error_string) N(Type_size_x) N(Type_get_extent) \
  N(Type_get_true_extent) N(Type_get_envelope) N(Type_get_contents) N(Type_free) \
  N(Type_create_hindexed) N(Type_commit) N(Pack) N(Unpack) N(Reduce_local) N(Op_commutative) \
  N(Op_free) N(Grequest_start) N(Grequest_complete) N(Status_set_elements) \
  N(Status_set_cancelled) N(Start) N(Startall) N(Request_free) N(Request_get_status) N(Waitall) \
  N(Waitany) N(Waitsome) N(Test) N(Testall) N(Testany) N(Comm_group) N(Group_free) N(Group_incl) \
  N(Group_translate_ranks) N(Win_test)
/* clang-format on */

typedef struct next_calls {
  mpi_calls net; /* the calls of tutti's network over MPI */
#define N(name) __typeof__(&PMPI_##name) name;
  NEXT_OTHERS(N)
#define PLAIN(name, lower, parameters, arguments) N(name) N(I##lower) N(name##_init)
#if HAS_LARGE
#define X(name, lower, parameters, arguments) \
  PLAIN(name, lower, parameters, arguments) N(name##_c) N(I##lower##_c) N(name##_init_c)
#else
#define X PLAIN
#endif
#include "collectives.def"
#undef N
} next_calls;

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
/* For source files that define MPI functions. Makes PMPI_name an alias of each of them. */
#define ALSO_PMPI(name) __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));

extern next_calls next_table;
extern atomic_int next_filled;
void next_fill(void);
/* Fills in the table of MPI functions. If two MPIs are loaded, uses the one that the code at this address calls. */
void next_fill_for(const void *caller);

/* Returns the table, which is filled at the first call. */
static inline const next_calls *next(void) {
  if (!atomic_load_explicit(&next_filled, memory_order_acquire)) next_fill();
  return &next_table;
}

#endif
