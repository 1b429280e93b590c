/* run.h - the parts of `tutti run`, and its processes.
 *
 * front  the process that the user sees (cmd_run.c). It forwards signals and waits.
 * keeper the front's child (run_keeper.c). It only waits. It has its own process group and another
 *        name, so that neither Ctrl-C nor the end of the front ends it.
 * guard  the keeper's child (run_guard.c). It starts the ranks, reads their output, reaps them and
 *        ends them. It is a subreaper: all processes that ranks start, including daemons, remain
 *        its descendants, so it can end all of them.
 * ranks  children of the guard in the front's process group, so that the terminal's Ctrl-C, Ctrl-Z
 *        and input work as for any program.
 *
 * If the front is killed, a pipe closes and the guard kills all its descendants. If the guard is
 * killed, the ranks die with it (PR_SET_PDEATHSIG). The keeper is also a subreaper: it adopts the
 * remaining processes and kills them. If the keeper is killed, the front does this. Any two of the
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
  int ranks, first; /* first: rank in the job of its first process */
  int newcomer;     /* number of its first joiner; 0 if its ranks are the first ranks */
  int to;           /* index in the list of the host on which its ranks are to be started */
} run_host;

typedef struct run_options {
  const char *command; /* the tutti command that starts ranks: "run" or another one */
  int ranks;          /* processes that this guard starts; with hosts, one per host */
  bool bind, label, verbose, keep_going;
  int respawns;   /* number of restarts of failed ranks, in total */
  double timeout; /* in seconds; 0 for no limit */
  char **env;     /* entries K=V for the ranks */
  int envs;
  char **argv; /* program and arguments, NULL-terminated */
  run_host *hosts; /* from --hosts, or NULL */
  int nhosts;
  bool bind_there, label_there;
  const char *agent; /* command that starts a process on a host; NULL for ssh */
  int first, total;  /* first rank here; ranks of the job, or 0 if this is not a part */
  int newcomer;      /* the number of this part's first joiner; 0 if it has none */
  int leash;         /* for a part: the job ends when this descriptor closes */
} run_options;

/* The signal mask and process group that the front process had when it was started. The ranks get the same ones. */
typedef struct run_origin {
  sigset_t mask;
  pid_t group;
} run_origin;

/* Runs the keeper process, whose child runs the guard. Returns an exit status. `argv` must be the original argument
 * vector of the process, because the keeper overwrites it to change the process's name. */
int run_keeper(const run_options *options, const run_origin *origin, int orders, char **argv);

/* Runs the guard, and returns the exit status of the job. `orders` is the reading end of a pipe from the front
 * process, over which run_order records arrive. End of file means that the front process has died. */
int run_guard(const run_options *options, const run_origin *origin, int orders);

typedef struct run_order {
  unsigned char signal;
  unsigned char deliver; /* 0 if the terminal has already sent the signal to the ranks */
} run_order;

/* The signals that the front passes on (cmd_run.c). */
void run_passed_on(sigset_t *set);

/* ---- starting one rank (run_spawn.c) ---- */

typedef enum run_stage { STAGE_EXEC, STAGE_BIND, STAGE_FILES } run_stage;

/* What a child process writes to the pipe `report` if it could not execute its program. */
typedef struct run_refusal {
  int rank;
  run_stage stage;
  int error;
} run_refusal;

typedef struct run_spawn {
  const run_options *options;
  const run_origin *origin;
  struct rlimit files; /* the limit on descriptors that the rank gets back */
  char **job_env;      /* variables of this rank, NULL-terminated */
  int rank;
  int cpu;      /* the core to bind to, or -1 */
  int out, err; /* become descriptors 1 and 2; -1 to inherit */
  int report;   /* close-on-exec pipe for a run_refusal */
} run_spawn;

/* Returns the environment entries for a rank as a NULL-terminated list, or NULL if out of memory. newcomer is the
 * number of the joiner, or -1 if the rank is not a joiner. */
char **run_job_env(const run_options *o, tutti_job *job, int rank, int newcomer);
void run_free_env(char **env);
/* Returns the pid, or -1 with errno set. */
pid_t run_spawn_rank(const run_spawn *spawn);

/* ---- several hosts (run_hosts.c) ---- */

/* Parse the options that name hosts. Return 0, or an exit status after an error message. */
int run_hosts_read(run_options *o, const char *list);
int run_part_read(run_options *o, const char *text);
/* Opens the job's rendezvous in this process. Returns NULL, or the reason why it could not be opened. */
const char *run_hosts_open(const run_options *o);
/* Runs the carrier, the local process that represents a remote host. Returns an exit status. */
int run_carry(const run_options *o, int host);
/* Used by the process that runs one host's part of a job. It reads the job's id from standard input, and ends at end of file. */
int run_part_begin(run_options *o);
int run_part_hold(const run_options *o);

/* ---- joiners between hosts (run_joiners.c) ---- */

/* Returns true if the job's rendezvous admits joiners. The guard must then notify the rendezvous whenever a rank ends. */
bool run_joins(const run_options *o);
/* Tells the rendezvous that process `rank` of this guard has ended. newcomer is the number of the joiner that ran in
 * this process, or -1 for one of the first ranks. If `again` is set, returns the number of the joiner that replaces
 * the process, minus 1. Returns -1 if no joiner may be started. */
int run_joiner_ended(const run_options *o, int rank, int newcomer, bool again);
/* run_host_lost tells the rendezvous that the part on host h has ended. lives[i] is true if a part is running on
 * host i. If `again` is set, the ranks may be restarted as joiners on host hosts[h].to, which has the fewest ranks.
 * Returns true if any of the ranks may be restarted. run_host_move then replaces h by that host in the list. */
bool run_host_lost(const run_options *o, int h, bool again, const bool *lives);
void run_host_move(const run_options *o, int h);

/* ---- the descendants of this process (run_tree.c) ---- */

/* Processes that have been sent a signal. */
typedef struct run_pids {
  pid_t *pid;
  size_t n;
} run_pids;

/* Sends `signal` to all living descendants of this process, or only counts them if `signal` is 0. If `once` is not
 * NULL, processes in that list are skipped. Returns the number of processes, and stores the pid and name of one of
 * them. Returns -1 if /proc cannot be read. */
int run_tree_signal(int signal, run_pids *once, pid_t *pid, char name[32]);

/* Kills and reaps all descendants of this process. Gives up after `seconds`. Returns true if no descendant is left. */
bool run_tree_kill(double seconds);


/* ---- output of the ranks, line by line (run_relay.c) ---- */

typedef struct run_relay run_relay;

/* Creates a relay for output. If `label` is false, it writes only the guard's lines. Returns NULL if out of memory. */
run_relay *run_relay_make(int processes, bool label);
void run_relay_free(run_relay *relay);
/* Takes ownership of the reading ends of a rank's pipes. */
void run_relay_add(run_relay *relay, int rank, int out, int err);
/* Queues a line of the guard itself for stderr. */
void run_relay_say(run_relay *relay, const char *line);
/* run_relay_fill writes the descriptors for poll to fds and returns their number. fds must have space for
 * run_relay_most entries. After poll, the same entries are passed to run_relay_serve. */
size_t run_relay_most(const run_relay *relay);
size_t run_relay_fill(run_relay *relay, struct pollfd *fds);
void run_relay_serve(run_relay *relay, const struct pollfd *fds, size_t n);
/* Returns true if all pipes have reached end of file and all lines have been written. */
bool run_relay_idle(const run_relay *relay);
/* Returns the errno value of the error that prevented output from being written, or 0 if no error has occurred. */
int run_relay_error(const run_relay *relay);
/* Returns true if all lines of the guard have been written, even if pipes are still open. */
bool run_relay_flushed(const run_relay *relay);

#endif
