/* job_look.h - inspects the ranks of a job from outside: copies of the state in its shared memory, and the
 * conclusions from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_JOB_LOOK_H
#define TT_JOB_LOOK_H

#include "long_wait.h"
#include "schedule.h"
#include "shm_ctrl.h"
#include "tutti_launch.h"

/* What is known about a rank in one of its communicators. */
typedef struct tt_look_comm {
  uint64_t home; /* identifies the communicator; the same on all its ranks on this node */
  int number;    /* number of the communicator within the job, starting at 1 */
  int ranks, rank;
  uint64_t newest, over; /* all operations with smaller numbers were called; have ended */
  tt_record calls[TT_RECORDS];
  int ncalls;
  tutti_status aborted;
  char reason[TT_REASON];
  tt_shown shown;  /* a copy that does not change */
  bool waits;      /* if false, the wait in `shown` is not valid, nor is `waited` */
  uint64_t waited; /* duration of the wait, in us */
} tt_look_comm;

/* What is known about a rank, or about a process that is joining the job. Its index is the number of its heap. */
typedef struct tt_look_rank {
  int name;    /* its rank in the largest communicator that it belongs to */
  int pid;     /* 0 if it has not attached yet */
  char state;  /* state of its process (tt_process_state) */
  bool hidden; /* its process is in another PID namespace, so its state is unknown */
  bool dead, stopped; /* its process is dead; is stopped */
  char exit[48];      /* if dead under `tutti run`: ", it exited with status 3"; otherwise empty */
  bool left; /* it has released everything: it waits for no rank, and no rank waits for it */
  bool hides;         /* it may have more communicators than these */
  int ncomms;
  tt_look_comm *comms;
  const tt_look_comm *wait; /* communicator of its longest wait; NULL: no wait, or a short one */
} tt_look_rank;

/* A process that waits, but not in an operation (long_wait.h). */
typedef struct tt_look_wait {
  long pid;
  double seconds;
  char words[TT_WAIT_WORDS];
} tt_look_wait;

typedef struct tt_look {
  int ranks; /* number of heaps: founders, then joining ranks that have attached */
  bool used; /* any rank has attached */
  tt_look_rank *rank;
  uint64_t *homes; /* `home` of each communicator, ascending */
  int nhomes;
} tt_look;

enum { TT_LOOK_JOBS = 16, TT_LOOK_WAITS = 256 }; /* maximum numbers that are shown */

/* The shared memory segments and the waits that were found in a process and its descendants. */
typedef struct tt_found {
  int fd[TT_LOOK_JOBS], fds; /* descriptors of segments, which the caller closes */
  tt_look_wait wait[TT_LOOK_WAITS];
  int waits;
} tt_found;

/* Searches a process and its descendants. Returns TUTTI_ERR_ARG if the process does not exist. Returns TUTTI_ERR_SYSTEM if the
 * process belongs to another user, or if neither a segment nor a wait was found. */
tutti_status tt_job_find(long pid, tt_found *found);

/* Copies and inspects the memory of a job. Returns TUTTI_ERR_SYSTEM if the memory does not belong to a job of this version, or
 * TUTTI_ERR_MEMORY. Call tt_look_free even after an error. */
tutti_status tt_job_look(int fd, tt_look *look);
void tt_look_free(tt_look *look);
/* Returns the call that a communicator made as operation `seq`, or NULL if no record contains it. */
const tt_record *tt_look_call(const tt_look_comm *comm, uint64_t seq);

/* ---- conclusions (job_findings.c) ---- */

/* tt_look_add_call appends a call, such as "allreduce of 3 float, sum (operation 7)". tt_look_add_waiting appends what a rank
 * waits in, which is a call or "a message, to receive 10 double with tag 3". */
void tt_look_add_call(tt_text *t, const tt_look_comm *comm, uint64_t seq);
void tt_look_add_waiting(tt_text *t, const tt_look_comm *comm);
/* Appends what is wrong in the job, one sentence per line. */
void tt_look_findings(tt_text *t, const tt_look *v);

#endif
