/* run.h - the parts of `tutti run`, and its processes.
 *
 * front  the process the user sees (cmd_run.c). It forwards signals and waits.
 * keeper its child (run_keeper.c), in a separate process group and with another name, so that
 *        neither Ctrl-C nor the end of the front ends it. It waits.
 * guard  the keeper's child (run_guard.c). It starts the ranks, reads their output, reaps them and
 *        ends them. It is a subreaper: all processes that ranks start, daemons too, remain its
 *        descendants, so it can end all of them.
 * ranks  children of the guard in the front's process group, so that the terminal's Ctrl-C, Ctrl-Z
 *        and input work as for any program.
 *
 * If the front is killed, a pipe closes and the guard kills all its descendants. If the guard is
 * killed, the ranks die with it (PR_SET_PDEATHSIG). The keeper is also a subreaper: it adopts the
 * remaining processes and kills them; if the keeper is killed, the front does so. Any two of the
 * three processes may be killed simultaneously. If all three are killed, the library detects it in
 * ranks that wrapper scripts have started.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_H
#define RUN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "tutti.h"
#include "tutti_launch.h"

typedef struct run_host {
  char name[256];
  int ranks, first; /* first: its first rank's number in the job */
  int newcomer;     /* its ranks are joiners, with numbers from this; 0: they are the first ranks */
  int to;           /* the host, as a place in the list, on which they are to start */
} run_host;

typedef struct run_options {
  const char *command; /* the tutti command that starts ranks: "run", or another */
  int ranks;          /* processes that this guard starts; with hosts, one per host */
  bool bind, label, verbose, keep_going;
  int respawns;   /* how many dead ranks are restarted, in all */
  double timeout; /* seconds; 0: none */
  char **env;     /* K=V, for the ranks */
  int envs;
  char **argv; /* program and arguments, NULL-terminated */
  run_host *hosts; /* --hosts; or NULL */
  int nhosts;
  bool bind_there, label_there;
  const char *agent; /* command that starts a process on a host; NULL: ssh */
  int first, total;  /* the ranks' first number, and all ranks of the job; total 0: no part */
  int newcomer;      /* of a part whose ranks are joiners: the first one's number; or 0 */
  int leash;         /* of a part: when it closes, the job ends */
} run_options;

/* The original signal mask and process group of the front, for the ranks. */
typedef struct run_origin {
  sigset_t mask;
  pid_t group;
} run_origin;

/* The keeper's whole life, and in its child the guard's; returns an exit status. `argv` is the
 * command line in its original memory. */
int run_keeper(const run_options *options, const run_origin *origin, int orders, char **argv);

/* The guard's whole life; returns the exit status of the job. `orders` is the
 * reading end of the front's pipe: run_order records, end of file = front died. */
int run_guard(const run_options *options, const run_origin *origin, int orders);

typedef struct run_order {
  unsigned char signal;
  unsigned char deliver; /* 0: the ranks have it already, from the terminal */
} run_order;

/* The signals that the front passes on (cmd_run.c). */
void run_passed_on(sigset_t *set);

/* ---- starting one rank (run_spawn.c) ---- */

typedef enum run_stage { STAGE_EXEC, STAGE_BIND, STAGE_FILES } run_stage;

/* A child that could not exec its program writes this into `report`. */
typedef struct run_refusal {
  int rank;
  run_stage stage;
  int error;
} run_refusal;

typedef struct run_spawn {
  const run_options *options;
  const run_origin *origin;
  struct rlimit files; /* the limit of descriptors the ranks get back */
  char **job_env;      /* of this rank, NULL-terminated */
  int rank;
  int cpu;      /* bind to it; -1: leave */
  int out, err; /* become descriptors 1 and 2; -1: inherit */
  int report;   /* close-on-exec pipe for a run_refusal */
} run_spawn;

/* A rank's environment entries, NULL-terminated; NULL: out of memory. newcomer -1: not a joiner. */
char **run_job_env(const run_options *o, tutti_job *job, int rank, int newcomer);
void run_free_env(char **env);
/* The pid, or -1 with errno. */
pid_t run_spawn_rank(const run_spawn *spawn);

/* ---- several hosts (run_hosts.c) ---- */

/* Options: 0, or an exit status after a complaint. */
int run_hosts_read(run_options *o, const char *list);
int run_part_read(run_options *o, const char *text);
/* Open the rendezvous in this process; NULL, or why it failed. */
const char *run_hosts_open(const run_options *o);
/* The whole life of the local process that represents a host; an exit status. */
int run_carry(const run_options *o, int host);
/* A part reads the id from its input, and ends when the input closes. */
int run_part_begin(run_options *o);
int run_part_hold(const run_options *o);

/* ---- joiners between hosts (run_joiners.c) ---- */

/* Does the rendezvous of the job admit joiners? Then a guard notifies it when a rank ends. */
bool run_joins(const run_options *o);
/* Process `rank` of this guard has ended: joiner `newcomer`, or one of the first ranks if that is -1. If `again` is set,
 * returns the number, less 1, of the joiner that replaces it; -1: no joiner may be started. */
int run_joiner_ended(const run_options *o, int rank, int newcomer, bool again);
/* The part on host h has ended. If `again` is set, its ranks may be started again as joiners on host hosts[h].to, the one
 * with the fewest ranks; returns whether any may. run_host_move then replaces h by that host in the list. lives[h]: a part
 * runs on host h. */
bool run_host_lost(const run_options *o, int h, bool again, const bool *lives);
void run_host_move(const run_options *o, int h);

/* ---- the tree of processes below this one (run_tree.c) ---- */

/* Processes that were sent a signal once. */
typedef struct run_pids {
  pid_t *pid;
  size_t n;
} run_pids;

/* Send `signal` (0: only count) to all living descendants of this process, and
 * with `once` only to those not yet in it. Returns their number and stores
 * one of them in `pid`, `name`; -1 if /proc cannot be read. */
int run_tree_signal(int signal, run_pids *once, pid_t *pid, char name[32]);

/* Kill everything below this process and reap it; gives up after `seconds`.
 * Returns true if no process is left. */
bool run_tree_kill(double seconds);


/* ---- output of the ranks, line by line (run_relay.c) ---- */

typedef struct run_relay run_relay;

/* NULL: out of memory. label false: it writes only the guard's own lines. */
run_relay *run_relay_make(int processes, bool label);
void run_relay_free(run_relay *relay);
/* Take ownership of the reading ends of a rank's pipes. */
void run_relay_add(run_relay *relay, int rank, int out, int err);
/* Queue a line of our own for stderr. */
void run_relay_say(run_relay *relay, const char *line);
/* Append the descriptors to wait for to fds (at least run_relay_most entries); returns
 * their number. After poll, pass the same entries to run_relay_serve. */
size_t run_relay_most(const run_relay *relay);
size_t run_relay_fill(run_relay *relay, struct pollfd *fds);
void run_relay_serve(run_relay *relay, const struct pollfd *fds, size_t n);
/* All pipes at their end and all lines written. */
bool run_relay_idle(const run_relay *relay);
/* The error that kept lines from being written; 0 if none. */
int run_relay_error(const run_relay *relay);
/* All our lines written (pipes may be open). */
bool run_relay_flushed(const run_relay *relay);

#endif
