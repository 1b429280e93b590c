/* run_tree.c - finds and signals every descendant of this process.
 *
 * Idea      A subreaper adopts its orphaned descendants, so they never leave it. One pass over /proc
 *           finds all descendants by their parents, and waitpid fails with ECHILD when all have
 *           ended.
 * Source    prctl(2), PR_SET_CHILD_SUBREAPER.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"

typedef struct process {
  pid_t pid, parent;
  bool below, dead;
  char name[32];
} process;

/* Fills in *p from /proc/PID/stat, which has the form "pid (name) state parent ...". */
static bool look(const char *pid, process *p) {
  char path[300], text[512];
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return false;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  char *open = strchr(text, '('), *close = strrchr(text, ')');
  char state;
  int parent;
  if (!open || !close || sscanf(close + 1, " %c %d", &state, &parent) != 2) return false;
  *close = 0;
  *p = (process){.pid = (pid_t)atol(pid), .parent = parent, .dead = state == 'Z' || state == 'X'};
  snprintf(p->name, sizeof p->name, "%.31s", open + 1);
  return true;
}

/* Returns NULL if /proc cannot be read, or if it belongs to another PID namespace, where pids refer to other processes. */
static process *all_processes(size_t *count) {
  char self[20] = "";
  if (readlink("/proc/self", self, sizeof self - 1) < 0 || atol(self) != (long)getpid())
    return NULL;
  DIR *dir = opendir("/proc");
  if (!dir) return NULL;
  size_t n = 0, room = 256;
  process *list = malloc(room * sizeof *list);
  for (struct dirent *e; list && (e = readdir(dir));) {
    if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
    if (n == room) {
      process *more = realloc(list, 2 * room * sizeof *list);
      if (!more) break;
      list = more;
      room *= 2;
    }
    n += look(e->d_name, &list[n]);
  }
  closedir(dir);
  *count = n;
  return list;
}

/* Returns true the first time a pid is seen. */
static bool first_time(run_pids *once, pid_t pid) {
  for (size_t i = 0; i < once->n; i++)
    if (once->pid[i] == pid) return false;
  pid_t *more = realloc(once->pid, (once->n + 1) * sizeof *more);
  if (!more) return true;
  once->pid = more;
  once->pid[once->n++] = pid;
  return true;
}

int run_tree_signal(int signal, run_pids *once, pid_t *pid, char name[32]) {
  size_t n = 0;
  process *list = all_processes(&n);
  if (!list || n == 0) {
    free(list);
    return -1;
  }
  pid_t self = getpid();
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; !list[i].below && j < n; j++)
        if (list[i].parent == self || (list[j].below && list[i].parent == list[j].pid))
          grew = list[i].below = true;
  }
  int count = 0;
  for (size_t i = 0; i < n; i++) {
    if (!list[i].below || list[i].dead) continue;
    count++;
    if (pid) *pid = list[i].pid;
    if (name) memcpy(name, list[i].name, sizeof list[i].name);
    if (signal == 0 || (once && !first_time(once, list[i].pid))) continue;
    kill(list[i].pid, signal);
    if (signal == SIGTERM) kill(list[i].pid, SIGCONT); /* it may be stopped */
  }
  free(list);
  return count;
}

bool run_tree_kill(double seconds) {
  for (double end = cli_now() + seconds;;) {
    run_tree_signal(SIGKILL, NULL, NULL, NULL);
    pid_t got;
    while ((got = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    if (got < 0 && errno == ECHILD) return true;
    if (cli_now() > end) return false;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
}
