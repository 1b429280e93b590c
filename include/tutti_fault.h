/* tutti_fault.h - recovery after a failure. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Make a communicator of the surviving ranks of `comm`, in the same order.
 *
 *  comm    may have failed (TUTTI_ERR_PEER_LOST, _ABORTED, _TIMEOUT, _MISMATCH). If it has not,
 *          `out` is as from tutti_comm_dup. comm is unchanged: its requests are waited for, and
 *          it is freed, as usual.
 *  out     inherits what was set on comm: contract, algorithm, slices, and the surviving helpers. If comm has failed because
 *          its aggregator was lost, `out` has the same ranks, and uses none.
 *  Collective over the surviving ranks of comm: it waits until they all have called it. A rank
 *  that dies during the call is left out, and all ranks that return agree on the ranks of `out`. A rank
 *  that dies later is lost to `out` as to any communicator; `out` can be shrunk in turn, and comm again.
 *  A rank that waits in another communicator for a rank that waits here would wait for ever: abort
 *  that communicator first (tutti_comm_abort).
 *  Ranks that are threads do not die alone; for them this call serves after an abort or a timeout.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _STATE; TUTTI_ERR_MEMORY (on all ranks; or the other ranks get
 *          an `out` that is of no use, and its calls say so); TUTTI_ERR_TIMEOUT (on all ranks, as
 *          for every later call with comm: a live rank did not call it within TUTTI_TIMEOUT; if that
 *          is not set, there is a warning after 10 s); TUTTI_ERR_UNSUPPORTED (over an MPI, or over a
 *          network without `pick`: tutti_net.h). Over UCX also: TUTTI_ERR_PEER_LOST: the others
 *          have lost this rank and continue without it; TUTTI_ERR_STATE: another thread made a
 *          communicator during this call. */
TUTTI_API tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out);

/** As tutti_comm_shrink, and joiners are added: processes that `tutti run --respawn` started in place
 *  of dead ranks. They wait in tutti_comm_from_env, which returns the same new communicator to them.
 *
 *  comm    may have failed; its dead ranks are left out.
 *  least   wait for at least this many joiners, up to TUTTI_CONNECT_TIMEOUT (120 s); all that wait are
 *          added. 0: do not wait; perhaps none joins. If ranks ask for different numbers, the smallest
 *          counts. A rank that calls tutti_comm_shrink instead counts as less than 0.
 *  out     the surviving ranks of comm, in order, then the joiners, then the helpers, which stay the
 *          last ranks. It inherits what was set on comm; a joiner's own settings do not count.
 *          tutti_comm_newcomers(out) tells whether ranks joined, tutti_comm_size(out) whether ranks left.
 *  Collective over the surviving ranks of comm, all or none: they all get the same result or the same
 *  failure, even if ranks or joiners die during the call. A joiner has no data of the program: send it what
 *  it needs (tutti_broadcast). Not over an MPI. Between hosts `tutti run --hosts --respawn` starts the joiners.
 *  Returns as tutti_comm_shrink, and TUTTI_ERR_TIMEOUT: too few joiners came; TUTTI_ERR_STATE: fewer than
 *          `least` can still come; TUTTI_ERR_UNSUPPORTED: none could ever come (no --respawn). After
 *          these three, comm is as before. */
TUTTI_API tutti_status tutti_comm_grow(tutti_comm *comm, int least, tutti_comm **out);

/** The number of ranks that joined when tutti_comm_grow made this communicator; -1: comm is NULL. */
TUTTI_API int tutti_comm_newcomers(const tutti_comm *comm);

/** 1: this process is a joiner of a running job (TUTTI_NEWCOMER is in its environment); else 0.
 *  In a joiner, tutti_comm_from_env waits for the others' tutti_comm_grow as long as one of them lives,
 *  or for TUTTI_CONNECT_TIMEOUT if that is set. */
TUTTI_API int tutti_newcomer(void);

#ifdef __cplusplus
}
#endif
#endif
