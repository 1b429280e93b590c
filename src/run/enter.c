/* enter.c - lets a thread enter a communicator, and leave it.
 *
 * Idea       One thread at a time is inside: the caller, or a thread that drives this communicator while it waits for
 *            something else. The thread inside sends an abort that another thread requests.
 * Invariant  A caller that finds another caller inside gets an error immediately. It never waits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "flight.h"

/* each busy, abort: order: seq_cst, a lock of one process (check-tsan) */

bool tt_comm_hold_for_caller(tutti_comm *comm) {
  for (int held; !tt_comm_hold(comm, TT_CALLER, &held);) {
    if (held & TT_CALLER) return false;
    sched_yield();
  }
  return true;
}

/* Enters a communicator, even a failed one if `failed` is true. */
static tutti_status enter_with_care(tutti_comm *comm, const char *function, bool failed) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm) return tt_fail(TUTTI_ERR_ARG, "%s: comm is NULL", function);
  if (!tt_comm_hold_for_caller(comm))
    return tt_fail(TUTTI_ERR_STATE,
                   "%s: another thread is inside a call on this communicator; use one "
                   "communicator per thread (tutti_comm_dup)",
                   function);
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

/* Leaves a communicator with a network. Only one thread at a time may call the network, so the thread inside sends an abort that
 * another thread requested. After `busy` is released, the communicator must not be accessed, because its owner may free it. */
static void leave_net(tutti_comm *comm) {
  for (int held = atomic_load(&comm->busy);
       !atomic_compare_exchange_strong(&comm->busy, &held, TT_FREE);
       held = atomic_load(&comm->busy)) {
    if (!(held & TT_ASKED)) continue;
    atomic_fetch_and(&comm->busy, ~(int)TT_ASKED);
    tt_comm_send_abort(comm);
  }
}

void tt_comm_ask_abort(tutti_comm *comm) {
  int held;
  while (!tt_comm_hold(comm, TT_DRIVER, &held))
    if (held && atomic_compare_exchange_strong(&comm->busy, &held, held | TT_ASKED)) return;
  tt_comm_send_abort(comm);
  leave_net(comm);
}

void tt_comm_leave(tutti_comm *comm) {
  if (comm->net)
    leave_net(comm);
  else
    tt_comm_leave_simply(comm);
}
