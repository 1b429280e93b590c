/* goes_on.c - MPI's own messages move while a rank waits in tutti over another network.
 *
 * Idea       a program has begun to send, or its MPI keeps parts of what a collective sends for
 *            the next call (Open MPI over UCX does), and a peer waits for that before it comes
 *            to tutti. Over MPI's messages tutti's waits are calls of MPI; over another network
 *            they are none: so whoever waits there looks, now and then, for a message that nobody
 *            sends, from itself to itself. (MPICH moves nothing when it looks on MPI_COMM_SELF.)
 * Threads    as in net.c, whose lock it is: what the level that MPI was initialized for allows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

enum { NOBODYS = 32767 }; /* a tag, the highest that every MPI has */

static _Atomic(const mpi_calls *) calls;
static _Atomic int level, world; /* of threads; the own rank there */

static void idle(void) {
  const mpi_calls *mpi = calls;
  int is = 0;
  mpi->Finalized(&is);
  if (is || !net_enter(mpi, level, 0)) return;
  mpi->Iprobe(world, NOBODYS, MPI_COMM_WORLD, &is, MPI_STATUS_IGNORE);
  net_leave(level);
}

tutti_status mpi_goes_on(const mpi_calls *mpi) {
  int threads = MPI_THREAD_SINGLE, rank = 0;
  int error = mpi->Query_thread(&threads);
  if (!error) error = mpi->Comm_rank(MPI_COMM_WORLD, &rank);
  if (error) return mpi_failed(mpi, "tell for which threads it was initialized", error);
  level = threads;
  world = rank;
  calls = mpi;
  tutti_idle_set(idle);
  return TUTTI_OK;
}
