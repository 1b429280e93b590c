/* tutti_fault.h - going on after a failure. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_FAULT_H
#define TUTTI_FAULT_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How long a call waits for other ranks, s: then it fails on all ranks with TUTTI_ERR_TIMEOUT, which says who is
 *  late, in which call. 0 (the default): as TUTTI_TIMEOUT says, and without that a warning after 10 s. It may
 *  differ between ranks: the shortest counts. tutti_comm_dup, _shrink and _grow hand it on. Local.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: seconds is not from 0 to 1e9. */
TUTTI_API tutti_status tutti_comm_set_timeout(tutti_comm *comm, double seconds);

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
 *          without that, there is a warning after 10 s); TUTTI_ERR_UNSUPPORTED (over an MPI, or a network
 *          that cannot make one of those who live: tutti_net.h, `pick`). Over UCX besides: TUTTI_ERR_PEER_LOST: the
 *          others have lost this rank, and go on without it; TUTTI_ERR_STATE: another thread made a communicator meanwhile. */
TUTTI_API tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out);

/** As tutti_comm_shrink, and newcomers join: processes that `tutti run --respawn` started in place of
 *  ranks that died, and that wait in tutti_comm_from_env, which gives them the same communicator.
 *
 *  comm    in order or not; who of its ranks has died is left out.
 *  least   so many newcomers at least are waited for, for TUTTI_CONNECT_TIMEOUT (120 s); all that are
 *          there are taken in. 0: nobody is waited for, and perhaps nobody joins. Where ranks ask for different
 *          numbers the smallest counts; smaller than 0 is who calls tutti_comm_shrink instead.
 *  out     has the ranks of comm that live, in order, then the newcomers (before the helpers, which
 *          stay the last ranks), with what was set on comm: a newcomer's own settings do not count.
 *          tutti_comm_newcomers(out) says whether anybody joined, tutti_comm_size(out) whether anybody left.
 *  Collective over the ranks of comm that live, all or none: what is decided, or that nothing comes of
 *  it, is the same on all of them, though ranks or newcomers die meanwhile. A newcomer comes with
 *  nothing: send it what it needs (tutti_broadcast). Not over an MPI; over UCX nobody joins.
 *  Returns as tutti_comm_shrink; and TUTTI_ERR_TIMEOUT: too few newcomers came; TUTTI_ERR_STATE: so many cannot
 *          come any more; TUTTI_ERR_UNSUPPORTED: nor ever could (no --respawn). comm is then as it was. */
TUTTI_API tutti_status tutti_comm_grow(tutti_comm *comm, int least, tutti_comm **out);

/** How many of the ranks of a communicator joined when tutti_comm_grow made it; -1: comm is NULL. */
TUTTI_API int tutti_comm_newcomers(const tutti_comm *comm);

/** 1: this process is a newcomer to a job that runs (TUTTI_NEWCOMER in its environment); else 0.
 *  tutti_comm_from_env then waits for the others' tutti_comm_grow, as long as one of them lives, or
 *  for TUTTI_CONNECT_TIMEOUT if that is set. */
TUTTI_API int tutti_newcomer(void);

/** For launchers: as tutti_job_create, for `n` ranks and up to so many newcomers later; and ranks go no
 *  further when the process that calls this is gone.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create_watched(int n, int newcomers, tutti_job **job);
/** As tutti_job_env, for the newcomer of this number (from 0), in place of rank `rank`. */
TUTTI_API const char *tutti_job_newcomer_env(tutti_job *job, int rank, int newcomer, int i);

/** For launchers: rank `rank`'s process has ended, with this status of waitpid; the others then
 *  know at once that it has, and can say how. Without it they find out that it is gone.
 *  A newcomer's number counts behind those of the ranks.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_ended(tutti_job *job, int rank, int status);

#ifdef __cplusplus
}
#endif
#endif
