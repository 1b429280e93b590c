/* run_guard.h - declarations shared by the parts of a guard, run_guard.c and run_again.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

#include <stdint.h>

#include "run.h"
#include "tutti_launch.h"

typedef enum phase { PHASE_RUN, PHASE_LINGER, PHASE_TERM, PHASE_KILL } phase;

typedef struct rank_state {
  pid_t pid;
  bool alive, refused;
  int cpu;      /* the core that the rank is bound to, or -1 */
  int newcomer; /* joiner number, from 0; -1 for the rank's first process */
  int next;     /* joiner number of the process that is to replace it */
  int status;   /* exit status, if the rank is to be restarted */
  double due;   /* when to restart the rank; 0 for never */
  double began, pause;
} rank_state;

typedef struct guard {
  const run_options *o;
  const run_origin *origin;
  tutti_job *job;
  rank_state *ranks;
  int alive;          /* number of ranks that were started and not reaped */
  int respawned;      /* number of ranks that were restarted or are due to be */
  int newcomers;      /* number of ranks that were restarted */
  int status;         /* exit status of the job: that of the first failure */
  bool failed;        /* `status` is that of a failure */
  bool front_gone;    /* the front has died */
  bool children_gone; /* this process has no descendants */
  bool lost_output;   /* the loss of output was reported */
  bool gave_up;       /* a process cannot be killed */
  bool said_interrupted;
  phase phase;
  double deadline;  /* when the phase ends; 0 for never */
  double time_over; /* when --timeout ends the job; 0 for never */
  double impatient; /* time since which interrupts are counted */
  int interrupts;
  uint64_t asked; /* signals that the front reported, one bit each */
  struct rlimit files;
  int orders, signals, report[2]; /* -1 if closed */
  run_pids told;                  /* processes that were sent SIGTERM */
  run_relay *relay;
  struct pollfd *polls;
} guard;

/* ---- run_guard.c ---- */

/* Prints a line of the guard itself. */
void run_guard_say(guard *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the name of a process of this guard, for messages. */
const char *run_guard_name(const guard *g, int rank, char name[272]);
/* Sets the exit status of the job, unless an earlier failure has already set it. */
void run_guard_fail(guard *g, int status);
/* Prints how the process of a rank ended, according to its wait status, and what will happen next. */
void run_explain_death(guard *g, int rank, pid_t pid, int status);
/* Returns the exit status that corresponds to a wait status. */
int run_status_of(int status);
/* Returns true if the rank was ended by a signal that was sent to the whole job, for example by Ctrl-C. */
bool run_interrupted(guard *g, int status);
/* newcomer is the joiner's number, from 0, or -1 for one of the first ranks. */
void run_start_rank(guard *g, int rank, int cpu, int newcomer);

/* ---- restarting ranks (run_again.c) ---- */

/* Called after the process of a rank has ended. If another process will replace it, prints a message and returns true. */
bool run_plan_again(guard *g, int rank, pid_t pid, int status);
/* Returns true if no rank is alive on this host, but a rank is due to be restarted and can join the ranks on other hosts. */
bool run_waits_for_due(const guard *g);
/* Called when no rank is alive here. */
void run_forget_again(guard *g);
/* Restarts the ranks that are due. */
void run_start_again(guard *g);

#endif
