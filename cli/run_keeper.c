/* run_keeper.c - a process between front and guard. If any two of the three processes are killed
 * simultaneously, the third ends the ranks.
 *
 * Idea       it is a subreaper that only waits. It has its own name, so that it survives if all
 *            processes named tutti are killed. The orphans then become its children.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"

static const char name[] = "job-keeper";

/* Overwrites the command line of this process, whose words are contiguous in memory. No code reads them after this. */
static void take_name(char **argv) {
  char *begin = argv[0], *end = begin;
  for (char **word = argv; *word == end; word++) end += strlen(*word) + 1;
  memset(begin, 0, (size_t)(end - begin));
  if (end - begin > (long)sizeof name) memcpy(begin, name, sizeof name);
  prctl(PR_SET_NAME, name);
}

/* Waits until the guard has ended, and reaps its orphans. */
static int attend(pid_t guard) {
  for (int status;;) {
    const pid_t got = waitpid(-1, &status, 0);
    if (got == guard) return status;
    if (got < 0 && errno != EINTR) return 0;
  }
}

int run_keeper(const run_options *options, const run_origin *origin, int orders, char **argv) {
  sigset_t all;
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t guard = fork();
  if (guard < 0) return cli_fail(CLI_FAILED, "run", "fork: %s", strerror(errno));
  if (guard == 0) return run_guard(options, origin, orders);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  close(orders);
  take_name(argv);
  const int status = attend(guard);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  cli_fail(0, "run", "the guard process was killed by SIG%s; ending all ranks",
           sigabbrev_np(WTERMSIG(status)));
  if (!run_tree_kill(5)) cli_fail(0, "run", "some processes of the job could not be killed");
  return 128 + WTERMSIG(status);
}
