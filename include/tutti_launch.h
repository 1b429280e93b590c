/* tutti_launch.h - for launchers and services: the ranks of a machine, joiners, aggregators, and the state of a running job.
 * Programs do not need it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_LAUNCH_H
#define TUTTI_LAUNCH_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------- ranks of one machine --- */

typedef struct tutti_job tutti_job; /* the ranks of one machine that are started together */
/** Create the shared memory of a job with `n` ranks on this machine. It is a sealed, anonymous memfd, which disappears when
 *  the last process that holds it ends. Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create(int n, tutti_job **job);
/** Return the i-th environment entry ("NAME=value") for starting rank `rank`, or NULL if there are no more. The
 *  string is valid until the next call. */
TUTTI_API const char *tutti_job_env(tutti_job *job, int rank, int i);
/** Return the file descriptor that every rank of the job must inherit. It is not close-on-exec. */
TUTTI_API int tutti_job_fd(const tutti_job *job);
TUTTI_API void tutti_job_free(tutti_job *job); /* close the launcher's end; the ranks keep theirs */

/** For launchers: create a job, as tutti_job_create does, for `n` ranks and up to `newcomers` processes that join later. The
 *  ranks stop when the calling process has ended. Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create_watched(int n, int newcomers, tutti_job **job);
/** Return the i-th environment entry with which joiner number `newcomer` (from 0) must be started, or NULL if there are no
 *  more. The joiner replaces rank `rank`. The string is valid until the next call. */
TUTTI_API const char *tutti_job_newcomer_env(tutti_job *job, int rank, int newcomer, int i);

/** For launchers: report that the process of rank `rank` has ended with this waitpid status. The other ranks are then
 *  notified immediately, and can report how that process ended. Without this call, they detect its end later. Joiner number i
 *  counts as rank n + i. Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_ended(tutti_job *job, int rank, int status);

/* ------------------------------------------------------------ several hosts --- */

/** Create an id, as tutti_unique_id does, that can be used for any number of communicators of the same ranks, one after
 *  another, as long as this process lives. For launchers whose ranks run several programs in sequence. */
TUTTI_API tutti_status tutti_unique_id_lasting(tutti_id *id);

/** For launchers on several hosts: like tutti_unique_id_lasting, for `ranks` ranks. In addition, up to `newcomers` joiners (1
 *  to 1000) may wait at the same id until tutti_comm_grow adds them. A joiner has TUTTI_ID, TUTTI_RANK and TUTTI_SIZE of the
 *  rank that it replaces, and its number in TUTTI_NEWCOMER; the first ranks have TUTTI_NEWCOMER=0. Returns TUTTI_OK;
 *  TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_unique_id_growing(int ranks, int newcomers, tutti_id *id);

/** A report from a launcher to the process that opened the id. A part is the group of ranks that one launcher started on a
 *  host. The number of a part is that of its first rank. The comment of each field says which value means that it is
 *  not used. */
typedef struct tutti_newcomer_news {
  size_t size;    /* size of this struct */
  int part;       /* number of the reporting part */
  int rank;       /* one of the first ranks, which has ended; -1 if none */
  int newcomer;   /* number of a joiner whose process has ended; 0 if none */
  int lost_ranks; /* if the part is lost: how many of the first ranks it had; its joiners are lost,
                     too. Otherwise 0 */
  int wants;      /* number of joiners that this part wants to start */
} tutti_newcomer_news;

/** For launchers, in any process: report which processes have ended, and request numbers for joiners to start. A joiner waits
 *  only while a rank that may add it is alive, and tutti_comm_grow waits only for joiners that can still arrive; both are
 *  determined from these reports.
 *  first   receives the first number, from 1; the others follow.
 *  n       receives how many numbers were granted: fewer than requested if the id's newcomers are used up.
 *  Waits up to 10 s for the answer.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_UNSUPPORTED if the id is not from
 *          tutti_unique_id_growing; TUTTI_ERR_SYSTEM or TUTTI_ERR_TIMEOUT if that process cannot be reached. */
TUTTI_API tutti_status tutti_newcomer_ask(const tutti_id *id, const tutti_newcomer_news *news, int *first, int *n);

/* --------------------------------------------------------------- aggregator --- */

/** The settings of an aggregator, which is a process outside the jobs that sums the vectors of their hosts. Each host's link
 *  then carries a vector only once in each direction (docs/aggregator.md). */
typedef struct tutti_aggregator {
  size_t size;     /* size of this struct */
  int port;        /* port to listen on; 0: any free port */
  int jobs;        /* maximum number of simultaneous sessions; 0: 64 */
  size_t memory;   /* maximum memory for sessions, in bytes; 0: 256 MiB */
  const char *key; /* a secret that jobs must have in TUTTI_KEY; NULL: this process's TUTTI_KEY */
  void (*ready)(void *ctx, int port); /* called once the aggregator is listening; may be NULL */
  void *ctx;                          /* passed to ready */
  const char *above; /* "HOST" or "HOST:PORT" of the aggregator that sums the results of the racks'
                        aggregators; NULL: none */
} tutti_aggregator;

/** Serve as an aggregator in this thread, until the function that the thread has set with tutti_interrupt_set returns a
 *  nonzero value.
 *  aggregator  the settings, read only at the start. The key is copied; the string `above` is not, and must remain valid.
 *  Returns TUTTI_OK if that function ended it; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is in use, ...). */
TUTTI_API tutti_status tutti_aggregator_serve(const tutti_aggregator *aggregator);

/* --------------------------------------------------------------- doctor --- */

/** Report the state of a running or hanging job on this machine: each rank's process, its call, and
 *  the rank that it is waiting for; then the findings, one sentence per line. The job is not
 *  disturbed.
 *
 *  pid      of any rank, or of the launcher (`tutti run`, mpirun). It must belong to the caller,
 *           unless the caller is root.
 *  json     1: write the same as one JSON object.
 *  *text    free it with tutti_text_free.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG if no process has this pid; TUTTI_ERR_SYSTEM if the process belongs to
 *           another user, or the job has no ranks that share memory, or uses another version of tutti;
 *           TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_report(long pid, int json, char **text);

#ifdef __cplusplus
}
#endif
#endif
