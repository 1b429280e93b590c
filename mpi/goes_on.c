/* goes_on.c - progresses MPI's own messages while a rank waits in tutti over another network.
 *
 * Idea       A program may have started a send, or its MPI may defer part of a collective's sends
 *            to the next call (Open MPI over UCX does), and a peer may wait for them before it
 *            calls tutti. Over MPI, tutti's waits are MPI calls; over another network they are not.
 *            A rank that waits there therefore probes regularly for a message from itself to itself
 *            that is never sent. (MPICH makes no progress when it probes on MPI_COMM_SELF.)
 * Threads    As in net.c, with the same lock: depends on the thread level that MPI was initialized with.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

enum { NOBODYS = 32767 }; /* a tag that no message has: the highest that every MPI supports */

static _Atomic(const mpi_calls *) calls;
static _Atomic int level, world; /* level: MPI's thread level; world: this rank in MPI_COMM_WORLD */

static void idle(void) {
  const mpi_calls *mpi = calls;
  int is = 0;
  mpi->Finalized(&is);
  if (is || !net_enter(mpi, level, 0)) return;
  mpi->Iprobe(world, NOBODYS, MPI_COMM_WORLD, &is, MPI_STATUS_IGNORE);
  net_leave();
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
