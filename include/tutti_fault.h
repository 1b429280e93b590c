/* tutti_fault.h - going on after a failure. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A communicator of those ranks of `comm` that live, in the order of their ranks.
 *
 *  comm    may have failed (TUTTI_ERR_PEER_LOST, _ABORTED, _TIMEOUT, _MISMATCH), or be in order:
 *          then `out` is as of tutti_comm_dup. It stays as it is, and is freed as ever; requests
 *          of it are waited for as ever.
 *  out     has what was set on comm: contract, algorithm, slices, and those helpers that live.
 *  Collective over the ranks of comm that live: it waits for each of them to call it. Who dies
 *  meanwhile is left out, and all that return have the same ranks in `out`. Who dies later is
 *  lost to `out` as to any other communicator, which can be shrunk in turn; so can comm once more.
 *  Who waits in another communicator for a rank that waits here does so for ever: abort that one
 *  first (tutti_comm_abort).
 *  Ranks that are threads do not die alone: there it serves after an abort or a timeout.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _STATE; TUTTI_ERR_MEMORY (on all ranks alike, or `out` is
 *          of no use to the others, who hear it there); TUTTI_ERR_TIMEOUT (on all ranks, and of
 *          each later call for comm: one that lives did not call it within TUTTI_TIMEOUT;
 *          without that, there is a warning after 10 s); TUTTI_ERR_UNSUPPORTED (over an MPI or another network). */
TUTTI_API tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out);

/** For launchers: rank `rank`'s process has ended, with this status of waitpid; the others then
 *  know at once that it has, and can say how. Without it they find out that it is gone.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_ended(tutti_job *job, int rank, int status);

#ifdef __cplusplus
}
#endif
#endif
