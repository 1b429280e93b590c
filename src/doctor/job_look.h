/* job_look.h - the ranks of a job seen from outside: copies of the state in its shared memory, and
 * what follows from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_JOB_LOOK_H
#define TT_JOB_LOOK_H

#include "long_wait.h"
#include "schedule.h"
#include "shm_ctrl.h"
#include "tutti_launch.h"

/* A rank in one communicator. */
typedef struct tt_look_comm {
  uint64_t home; /* the same for all ranks of it on this node */
  int number;    /* of the communicator among those of the job, from 1 */
  int ranks, rank;
  uint64_t newest, over; /* operations numbered below these: were called; are over */
  tt_record calls[TT_RECORDS];
  int ncalls;
  tutti_status aborted;
  char reason[TT_REASON];
  tt_shown shown;  /* a copy, which nothing changes any more */
  bool waits;      /* if false, what `shown` says of a wait is unused, and so is: */
  uint64_t waited; /* us */
} tt_look_comm;

/* A rank, or a joiner; its index is that of its heap. */
typedef struct tt_look_rank {
  int name;    /* its rank in the largest communicator that it belongs to */
  int pid;     /* 0: it has not attached yet */
  char state;  /* of its process (tt_process_state) */
  bool hidden; /* its process is in another PID namespace than this one: its state is not known */
  bool dead, stopped; /* its process */
  char exit[48];      /* of a dead one, with `tutti run`: ", it exited with status 3"; or empty */
  bool left;          /* it has given back all it had: it waits for no rank, and no rank for it */
  bool hides;         /* it may have more communicators than these */
  int ncomms;
  tt_look_comm *comms;
  const tt_look_comm *wait; /* the communicator of its longest wait, over all its threads; NULL: it does not
                               wait, or not for long */
} tt_look_rank;

/* What a process waits for outside an operation (long_wait.h). */
typedef struct tt_look_wait {
  long pid;
  double seconds;
  char words[TT_WAIT_WORDS];
} tt_look_wait;

typedef struct tt_look {
  int ranks; /* heaps: founders, then joiners that have attached */
  bool used; /* any rank has attached */
  tt_look_rank *rank;
  uint64_t *homes; /* of its communicators, ascending */
  int nhomes;
} tt_look;

enum { TT_LOOK_JOBS = 16, TT_LOOK_WAITS = 256 }; /* the most that are shown */

/* What is found through a process and its descendants. */
typedef struct tt_found {
  int fd[TT_LOOK_JOBS], fds; /* of segments, which the caller closes */
  tt_look_wait wait[TT_LOOK_WAITS];
  int waits;
} tt_found;

/* TUTTI_ERR_ARG: no such process; TUTTI_ERR_SYSTEM: it is another user's, or there is neither a segment nor a wait. */
tutti_status tt_job_find(long pid, tt_found *found);

/* TUTTI_ERR_SYSTEM: not a job's memory, or another version's; TUTTI_ERR_MEMORY. Call tt_look_free
 * after errors, too. */
tutti_status tt_job_look(int fd, tt_look *look);
void tt_look_free(tt_look *look);
/* The call of operation `seq` of a communicator; NULL if its records do not hold it. */
const tt_record *tt_look_call(const tt_look_comm *comm, uint64_t seq);

/* ---- what follows from it (job_findings.c) ---- */

/* Appends a call of the communicator: "allreduce of 3 float, sum (operation 7)"; and what a rank waits in: the same, or
 * "a message, to receive 10 double with tag 3". */
void tt_look_add_call(tt_text *t, const tt_look_comm *comm, uint64_t seq);
void tt_look_add_waiting(tt_text *t, const tt_look_comm *comm);
/* Appends what is wrong, a sentence on each line. */
void tt_look_findings(tt_text *t, const tt_look *v);

#endif
