/* tutti_launch.h - for launchers and services: the ranks of a machine, joiners, aggregators, and what a running job does.
 * Programs need none of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_LAUNCH_H
#define TUTTI_LAUNCH_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------- ranks of one machine --- */

typedef struct tutti_job tutti_job; /* the ranks of one machine that are started together */
/** Shared memory for `n` ranks on this machine: a sealed, nameless memfd, which
 *  disappears when the last process that holds it ends.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create(int n, tutti_job **job);
/** The i-th environment entry ("NAME=value") that rank `rank` must be started
 *  with; NULL past the end. The string is valid until the next call. */
TUTTI_API const char *tutti_job_env(tutti_job *job, int rank, int i);
/** The descriptor that every rank must inherit (it is not close-on-exec). */
TUTTI_API int tutti_job_fd(const tutti_job *job);
TUTTI_API void tutti_job_free(tutti_job *job); /* close the launcher's end; the ranks keep theirs */

/** For launchers: as tutti_job_create, for `n` ranks and up to `newcomers` later joiners. The ranks
 *  stop when the calling process is gone.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create_watched(int n, int newcomers, tutti_job **job);
/** As tutti_job_env, for joiner number `newcomer` (from 0), which replaces rank `rank`; `i` counts
 *  its entries. */
TUTTI_API const char *tutti_job_newcomer_env(tutti_job *job, int rank, int newcomer, int i);

/** For launchers: report that rank `rank`'s process has ended, with this status of waitpid. The other
 *  ranks then know immediately, and can say how it ended. Without this call they find out later that it is
 *  gone. Joiner number i counts as rank n + i.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_ended(tutti_job *job, int rank, int status);

/* ------------------------------------------------------------ several hosts --- */

/** As tutti_unique_id, with an `id` for any number of communicators of the same ranks, one after another,
 *  as long as this process lives. For launchers whose ranks run several programs in turn. */
TUTTI_API tutti_status tutti_unique_id_lasting(tutti_id *id);

/** For launchers on several hosts: as tutti_unique_id_lasting, for `ranks` ranks; and up to `newcomers` joiners (1 to 1000) may wait
 *  at the same id until tutti_comm_grow takes them in. A joiner has TUTTI_ID, TUTTI_RANK and TUTTI_SIZE as the rank that it
 *  replaces, and its number in TUTTI_NEWCOMER; the first ranks have TUTTI_NEWCOMER=0.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_unique_id_growing(int ranks, int newcomers, tutti_id *id);

/** What a launcher tells the process that opened the id. A part: what one launcher started on a host; its number is that of its
 *  first rank. Fields that say nothing are as tutti_newcomer_ask says. */
typedef struct tutti_newcomer_news {
  size_t size;    /* of this struct */
  int part;       /* who tells this */
  int rank;       /* this one of the first ranks has ended; -1: none */
  int newcomer;   /* this joiner's process has ended; 0: none */
  int lost_ranks; /* the part is gone: this number of the first ranks, and all its joiners; 0: it is not */
  int wants;      /* how many joiners this part wants to start */
} tutti_newcomer_news;

/** For launchers, in any process: tell who has ended, and ask for numbers of joiners to start. A joiner waits only while some rank
 *  lives that may take it in, and tutti_comm_grow waits only for joiners that can come: both follow from what launchers
 *  tell.
 *  first   receives the first number, from 1; the others follow.
 *  n       receives how many: fewer than wanted, if the id's newcomers are used up.
 *  Waits for the answer up to 10 s.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_UNSUPPORTED: the id is not of tutti_unique_id_growing;
 *          TUTTI_ERR_SYSTEM, TUTTI_ERR_TIMEOUT: it cannot be reached. */
TUTTI_API tutti_status tutti_newcomer_ask(const tutti_id *id, const tutti_newcomer_news *news, int *first, int *n);

/* --------------------------------------------------------------- aggregator --- */

/** An aggregator: a process outside the jobs that sums what their hosts send, so that each host's
 *  link carries a vector once each way (docs/aggregator.md). */
typedef struct tutti_aggregator {
  size_t size;     /* of this struct */
  int port;        /* where it listens; 0: any free port */
  int jobs;        /* most simultaneous sessions; 0: 64 */
  size_t memory;   /* bytes for them, at most; 0: 256 MiB */
  const char *key; /* a secret that jobs must have as TUTTI_KEY; NULL: this process's TUTTI_KEY */
  void (*ready)(void *ctx, int port); /* called once it listens; may be NULL */
  void *ctx;       /* passed on to ready */
  const char *above; /* "HOST" or "HOST:PORT" of the one that adds up what the racks' aggregators sum; NULL: none */
} tutti_aggregator;

/** Serve as an aggregator in this thread, until the function that tutti_interrupt_set gave the thread
 *  returns other than 0.
 *  aggregator  read at the start only; its key is copied, `above` is not.
 *  Returns TUTTI_OK when it was ended so; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM (the port is taken, ...). */
TUTTI_API tutti_status tutti_aggregator_serve(const tutti_aggregator *aggregator);

/* --------------------------------------------------------------- doctor --- */

/** Report what the ranks of a running or hanging job on this machine do: each rank's process, its
 *  call, and the rank that it waits for; then the findings, one sentence a line. The job is not
 *  touched.
 *
 *  pid      of any rank, or of the launcher (`tutti run`, mpirun). It must belong to the caller,
 *           unless the caller is root.
 *  json     1: the same as one JSON object.
 *  *text    free it with tutti_text_free.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG: no process has this pid; TUTTI_ERR_SYSTEM: it is another
 *           user's, has no ranks that share memory, or another version of tutti;
 *           TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_report(long pid, int json, char **text);

#ifdef __cplusplus
}
#endif
#endif
