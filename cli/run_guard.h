/* run_guard.h - what the parts of a guard share: run_guard.c and run_again.c. SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_GUARD_H
#define RUN_GUARD_H

#include <stdint.h>

#include "run.h"
#include "tutti_launch.h"

typedef enum phase { PHASE_RUN, PHASE_LINGER, PHASE_TERM, PHASE_KILL } phase;

typedef struct rank_state {
  pid_t pid;
  bool alive, refused;
  int cpu;      /* the core that it is bound to, or -1 */
  int newcomer; /* joiner number, from 0; -1: the rank's first process */
  int next;     /* of the process that is to replace it */
  int status;   /* exit status, if it is to be restarted */
  double due;   /* when to restart it; 0: never */
  double began, pause;
} rank_state;

typedef struct guard {
  const run_options *o;
  const run_origin *origin;
  tutti_job *job;
  rank_state *ranks;
  int alive;          /* ranks that were started and not reaped */
  int respawned;      /* ranks that were restarted, or are due to be */
  int newcomers;      /* ranks that were restarted */
  int status;         /* of the job: the first failure's */
  bool failed;        /* status is set by a failure */
  bool front_gone;    /* the front has died */
  bool children_gone; /* no process is left below us */
  bool lost_output;   /* lost output was reported */
  bool gave_up;       /* a process cannot be killed */
  bool said_interrupted;
  phase phase;
  double deadline;  /* when the phase ends; 0: never */
  double time_over; /* of --timeout; 0: never */
  double impatient; /* since when interrupts are counted */
  int interrupts;
  uint64_t asked; /* signals that the front reported, as bits */
  struct rlimit files;
  int orders, signals, report[2]; /* -1: closed */
  run_pids told;                  /* processes that were sent SIGTERM */
  run_relay *relay;
  struct pollfd *polls;
} guard;

/* ---- run_guard.c ---- */

/* A line of tutti's own. */
void run_guard_say(guard *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The name of a process of this guard, for messages. */
const char *run_guard_name(const guard *g, int rank, char name[272]);
/* The job's status, unless there was a failure before. */
void run_guard_fail(guard *g, int status);
/* Says how a rank's process ended, by its status of waitpid, and what happens now. */
void run_explain_death(guard *g, int rank, pid_t pid, int status);
/* The exit status that stands for one of waitpid. */
int run_status_of(int status);
/* Did the rank end by a signal that was sent to the whole job, as by Ctrl-C? */
bool run_interrupted(guard *g, int status);
/* newcomer: the joiner's number, from 0; -1: one of the first ranks. */
void run_start_rank(guard *g, int rank, int cpu, int newcomer);

/* ---- ranks that are started again (run_again.c) ---- */

/* A rank's process has ended; returns whether another one will take its place, and says so. */
bool run_plan_again(guard *g, int rank, pid_t pid, int status);
/* Is nothing left here, but a rank due to start that ranks of other hosts may take in? */
bool run_waits_for_due(const guard *g);
/* No rank is alive here. */
void run_forget_again(guard *g);
/* Start those whose time has come. */
void run_start_again(guard *g);

#endif
