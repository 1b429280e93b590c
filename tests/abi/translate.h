/* translate.h - a libmpi_abi.so.0 for tests: the standard ABI of MPI, translated to MPICH.
 *
 * Idea       Programs that are compiled with the ABI's mpi.h, and tutti's libraries for it, run with real ranks although
 *            no MPI here has that ABI. abi_mpi.h is mpi/abi/mpi.h with the prefix ABI_ instead of MPI_, so one file includes
 *            both ABIs and the compiler checks each translation. The function ABI_Send has the symbol MPI_Send.
 * MPICH      MPICH's functions are looked up in its library, because the same names are defined here, and come first. If MPICH
 *            calls one by name, it calls the function here, with a handle that is passed on.
 * Limits     Only the functions of mpi/abi/functions.def, and only MPICH's handles, which are int: a handle that is not
 *            predefined is passed on as the same number.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define TUTTI_DECLARE(result, name, ...)                \
  result ABI_##name(__VA_ARGS__) __asm__("MPI_" #name); \
  result PABI_##name(__VA_ARGS__) __asm__("PMPI_" #name);
#pragma GCC visibility push(default)
#include "abi_mpi.h"
#pragma GCC visibility pop

/* Begins the definition of a function of the ABI, with PMPI_name as an alias. */
#define ENTRY_OF(result, name, ...)                                     \
  result PABI_##name(__VA_ARGS__) __attribute__((alias("MPI_" #name))); \
  result ABI_##name(__VA_ARGS__)
#define ENTRY(name, ...) ENTRY_OF(int, name, __VA_ARGS__)

/* MPICH's function. */
#define THEIRS(name)                                                    \
  ({                                                                    \
    static __typeof__(&MPI_##name) function_;                           \
    if (!function_) *(void **)&function_ = theirs_named("PMPI_" #name); \
    function_;                                                          \
  })
/* Calls MPICH's function, and returns its error in the ABI's numbers. */
#define CALL(name, ...) from_error(THEIRS(name)(__VA_ARGS__))

/* A symbol of libmpich; ends the process if it is missing. */
void *theirs_named(const char *name);

/* Converts handles of all kinds to MPICH's, and from it. */
int to(const void *handle);
void *from(int handle);
/* MPICH's handles of n types; the caller frees them. Ends the process if out of memory, like all functions
 * here. */
MPI_Datatype *to_types(int n, const ABI_Datatype types[]);

int to_rank(int rank);
int from_rank(int rank);
int to_tag(int tag);
int from_tag(int tag);
int to_level(int level); /* thread levels */
int from_level(int level);
int to_error(int code);
int from_error(int code);
const int *to_weights(const int *weights);

static inline void *to_buffer(const void *buffer) {
  return buffer == ABI_IN_PLACE ? MPI_IN_PLACE : (void *)(uintptr_t)buffer;
}

void to_status(const ABI_Status *ours, MPI_Status *theirs);
void from_status(const MPI_Status *theirs, ABI_Status *ours);

/* Zeroed memory for n elements; ends the process if out of memory. */
void *room(int n, size_t size);

#endif
