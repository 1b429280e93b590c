/* job_look.h - the ranks of a job, seen from outside: copies of what stands in its shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_JOB_LOOK_H
#define TT_JOB_LOOK_H

#include "shm_ctrl.h"

/* A rank in one communicator. */
typedef struct tt_look_comm {
  uint64_t home; /* the same for all of its ranks here */
  int ranks, rank;
  uint32_t newest, over; /* operations before these were called; are over */
  tt_record calls[TT_RECORDS];
  int ncalls;
  tutti_status aborted;
  char reason[TT_REASON];
  bool waits; /* the rest: if so */
  uint32_t waits_in, waits_at, waits_for, waits_near, message, type;
  uint64_t count, since, seen;
} tt_look_comm;

typedef struct tt_look_rank {
  int pid;    /* 0: it has not come yet */
  char state; /* of its process */
  int ncomms;
  bool hides; /* there may be more */
  bool met;   /* it has had some */
  tt_look_comm *comms;
} tt_look_rank;

typedef struct tt_look {
  int ranks; /* heaps: founders, then newcomers that have come */
  tt_look_rank *rank;
} tt_look;

/* The shared memory of jobs that a process, or one that it has started, holds: descriptors,
 * which the caller closes, each of another one, at most `most`.
 * TUTTI_ERR_ARG: no such process; TUTTI_ERR_SYSTEM: another user's; or there is none. */
tutti_status tt_job_find(long pid, int *fds, int most, int *n);

/* TUTTI_ERR_SYSTEM: it is no job's, or of another version; TUTTI_ERR_MEMORY. Freed also then. */
tutti_status tt_job_look(int fd, tt_look *look);
void tt_look_free(tt_look *look);
/* What a rank called as operation `seq` of a communicator, as far as its records reach. */
const tt_record *tt_look_call(const tt_look_comm *comm, uint32_t seq);

#endif
