/* tutti_fault.h - recovery after a failure. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Create a communicator of the surviving ranks of `comm`, in the same order.
 *
 *  comm    may have failed (TUTTI_ERR_PEER_LOST, _ABORTED, _TIMEOUT, _MISMATCH). If it has not,
 *          `out` is the same as from tutti_comm_dup. comm is unchanged: wait for its requests and free
 *          it as usual.
 *  out     inherits the settings of comm: contract, algorithm, slices, and the surviving helpers. If comm
 *          failed because its aggregator was lost, `out` has the same ranks and does not use an aggregator.
 *  Collective over the surviving ranks of comm: the call waits until all have made it. A rank
 *  that dies during the call is excluded, and all ranks that return agree on the ranks of `out`. If a rank
 *  dies later, `out` loses it like any communicator; you can then shrink `out`, or shrink comm again.
 *  If a rank waits in another communicator for a rank that waits here, both wait forever: abort that
 *  communicator first (tutti_comm_abort).
 *  Ranks that are threads do not die individually; they use this call after an abort or a timeout.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _STATE; TUTTI_ERR_MEMORY (on all ranks; or the other ranks get an
 *          unusable `out`, whose calls return an error); TUTTI_ERR_TIMEOUT (on all ranks, and for every
 *          later call with comm: a live rank did not make the call within TUTTI_TIMEOUT; if that is not
 *          set, there is only a warning after 10 s); TUTTI_ERR_UNSUPPORTED (over an MPI, or over a network
 *          without `pick`: tutti_net.h). Over UCX also TUTTI_ERR_PEER_LOST (the others have lost contact
 *          with this rank and continue without it) and TUTTI_ERR_STATE (another thread created a
 *          communicator during this call). */
TUTTI_API tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out);

/** Like tutti_comm_shrink, but also adds joiners: processes that `tutti run --respawn` started to
 *  replace dead ranks. They wait in tutti_comm_from_env, which returns the same new communicator to them.
 *
 *  comm    may have failed; its dead ranks are excluded.
 *  least   number of joiners to wait for, up to TUTTI_CONNECT_TIMEOUT (120 s); all that are waiting are
 *          added. 0: do not wait; possibly none joins. If ranks pass different numbers, the smallest
 *          applies. A rank that calls tutti_comm_shrink instead counts as less than 0.
 *  out     the surviving ranks of comm, in order, then the joiners, then the helpers, which remain the
 *          last ranks. It inherits the settings of comm; a joiner's own settings are ignored.
 *          tutti_comm_newcomers(out) tells whether ranks joined, tutti_comm_size(out) whether ranks left.
 *  Collective over the surviving ranks of comm. They all get the same result or the same failure, even if
 *  ranks or joiners die during the call. A joiner has none of the program's data: send it what it needs
 *  (tutti_broadcast). Not available over an MPI. Between hosts, `tutti run --hosts --respawn` starts the joiners.
 *  Returns the statuses of tutti_comm_shrink, and TUTTI_ERR_TIMEOUT if too few joiners arrived;
 *          TUTTI_ERR_STATE if fewer than `least` can still arrive; TUTTI_ERR_UNSUPPORTED if joiners are
 *          impossible (no --respawn). After these three, comm is unchanged. */
TUTTI_API tutti_status tutti_comm_grow(tutti_comm *comm, int least, tutti_comm **out);

/** Return the number of ranks that joined when tutti_comm_grow created this communicator, or -1 if comm is NULL. */
TUTTI_API int tutti_comm_newcomers(const tutti_comm *comm);

/** Return 1 if this process is to join a running job (TUTTI_NEWCOMER is in its environment), otherwise 0. In such a process,
 *  tutti_comm_from_env waits until the running ranks call tutti_comm_grow. It waits as long as one of them is alive, or for
 *  TUTTI_CONNECT_TIMEOUT if that is set. */
TUTTI_API int tutti_newcomer(void);

#ifdef __cplusplus
}
#endif
#endif
