/* enter.c - a thread enters a communicator, and leaves it.
 *
 * Idea       one thread at a time is inside: the caller, or a thread that waits for something else
 *            and meanwhile drives this communicator. An abort that another thread requests is sent
 *            by the thread inside.
 * Invariant  a caller that finds another caller inside gets an error at once, and never waits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "flight.h"

/* each busy, abort: order: seq_cst, a lock of one process (check-tsan) */

/* failed: also enters a communicator that has failed. */
static tutti_status enter_with_care(tutti_comm *comm, const char *function, bool failed) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm) return tt_fail(TUTTI_ERR_ARG, "%s: comm is NULL", function);
  for (int is_free = 0; !atomic_compare_exchange_weak(&comm->busy, &is_free, 1); is_free = 0) {
    if (is_free == 1)
      return tt_fail(TUTTI_ERR_STATE,
                     "%s: another thread is inside a call on this communicator; use one "
                     "communicator per thread (tutti_comm_dup)",
                     function);
    sched_yield();
  }
  if (!comm->broken || failed) return TUTTI_OK;
  status = tt_fail(comm->broken, "%s", comm->why);
  tt_comm_leave(comm);
  return status;
}

void tt_comm_send_abort(tutti_comm *comm) {
  int asked = 2;
  if (atomic_compare_exchange_strong(&comm->flight->abort, &asked, 3))
    comm->wire->peer->abort(comm->wire, TUTTI_ERR_ABORTED, comm->flight->abort_why);
}

tutti_status tt_comm_enter(tutti_comm *comm, const char *function) {
  return tt_comm_enter_simply(comm) ? TUTTI_OK : enter_with_care(comm, function, false);
}

tutti_status tt_comm_enter_failed_too(tutti_comm *comm, const char *function) {
  return tt_comm_enter_simply(comm) ? TUTTI_OK : enter_with_care(comm, function, true);
}

/* Only one thread at a time calls a network, so the thread inside sends the abort that another
 * thread requested. A later request is seen here too, or its thread enters by itself. */
static void leave_net(tutti_comm *comm) {
  for (int is_free = 0; !is_free;) {
    tt_comm_send_abort(comm);
    atomic_store(&comm->busy, 0);
    if (atomic_load(&comm->flight->abort) != 2) return;
    if (!atomic_compare_exchange_strong(&comm->busy, &is_free, 2)) return;
  }
}

void tt_comm_leave(tutti_comm *comm) {
  if (comm->net)
    leave_net(comm);
  else
    tt_comm_leave_simply(comm);
}
