/* run_spawn.c - starts a rank, from fork to exec.
 *
 * Invariant  Between fork and exec, the child dies with the guard (the check of getppid closes the
 *            race). If it cannot execute its program, it reports this through the report pipe
 *            before it exits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"
#include "run.h"
#include "tutti_launch.h"

char **run_job_env(const run_options *o, tutti_job *job, int rank, int newcomer) {
  enum { MOST = 16 };
  char **env = calloc(MOST + 1, sizeof *env);
  if (env && o->total) {
    if (asprintf(&env[0], "TUTTI_RANK=%d", o->first + rank) < 0 ||
        asprintf(&env[1], "TUTTI_SIZE=%d", o->total) < 0 || !(env[2] = strdup("TUTTI_SHM_FD=")))
      return NULL;
    if (o->respawns && asprintf(&env[3], "TUTTI_NEWCOMER=%d", newcomer + 1) < 0) return NULL;
    return env;
  }
  for (int i = 0; env && i < MOST; i++) {
    const char *entry =
        newcomer < 0 ? tutti_job_env(job, rank, i) : tutti_job_newcomer_env(job, rank, newcomer, i);
    if (!entry) break;
    env[i] = strdup(entry);
    if (!env[i]) return NULL; /* the guard is about to end */
  }
  return env;
}

void run_free_env(char **env) {
  for (char **e = env; e && *e; e++) free(*e);
  free(env);
}

static void refuse(const run_spawn *s, run_stage stage, int status) {
  run_refusal refusal = {s->rank, stage, errno};
  if (write(s->report, &refusal, sizeof refusal) < 0) _exit(status);
  _exit(status);
}

static void set_entry(const char *entry) {
  char *copy = strdup(entry);
  char *equals = copy ? strchr(copy, '=') : NULL;
  if (!equals) return;
  *equals = 0;
  setenv(copy, equals + 1, 1);
  free(copy);
}

static void become(const run_spawn *s, pid_t guard) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(1);
  setpgid(0, s->origin->group); /* fails only if the front has died; then the guard kills us */
  if (s->rank > 0) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0) refuse(s, STAGE_FILES, 125);
  }
  if (s->out >= 0 && dup2(s->out, 1) < 0) refuse(s, STAGE_FILES, 125);
  if (s->err >= 0 && dup2(s->err, 2) < 0) refuse(s, STAGE_FILES, 125);
  if (s->cpu >= 0 && cpus_keep_to(s->cpu)) refuse(s, STAGE_BIND, 125);
  for (int i = 0; i < s->options->envs; i++) set_entry(s->options->env[i]);
  for (char **e = s->job_env; *e; e++) set_entry(*e);
  setrlimit(RLIMIT_NOFILE, &s->files);
  sigprocmask(SIG_SETMASK, &s->origin->mask, NULL);
  if (s->options->hosts) _exit(run_carry(s->options, s->rank));
  cli_exec(s->options->argv);
  refuse(s, STAGE_EXEC, errno == ENOENT ? 127 : 126);
}

pid_t run_spawn_rank(const run_spawn *spawn) {
  pid_t guard = getpid();
  pid_t pid = fork();
  if (pid == 0) become(spawn, guard);
  return pid;
}
