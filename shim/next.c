/* next.c - fills the table of the MPI's own functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "next.h"

#include <pthread.h>

next_calls next_table;
atomic_int next_filled;

#define FIND(member, name) *(void **)&next_table.member = mpi_find(RTLD_NEXT, TEXT(name));

/* Duplicates a communicator without copying the attributes that the program has set, because they may have copy functions. */
static int duplicate(MPI_Comm comm, MPI_Comm *out) {
  return next_table.net.Comm_split(comm, 0, 0, out);
}

static void fill(void) {
  mpi_find_handles();
#define N(name) FIND(net.name, PMPI_##name)
  MPI_CALLS(N)
#undef N
#define N(name) FIND(name, PMPI_##name)
  NEXT_OTHERS(N)
#define PLAIN(name, lower, parameters, arguments) \
  N(name)                                         \
  N(I##lower) N(name##_init) if (!next_table.name##_init) FIND(name##_init, PMPIX_##name##_init)
#if HAS_LARGE
#define X(name, lower, parameters, arguments) \
  PLAIN(name, lower, parameters, arguments) N(name##_c) N(I##lower##_c) N(name##_init_c)
#else
#define X PLAIN
#endif
#include "collectives.def"
#undef N
  next_table.net.Comm_dup = duplicate;
}

void next_fill_for(const void *caller) {
  mpi_find_library(caller);
  next_fill();
}

void next_fill(void) {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (!atomic_load(&next_filled)) fill();
  atomic_store_explicit(&next_filled, 1, memory_order_release);
  pthread_mutex_unlock(&once);
}
