/* job_find.c - finds the shared memory of a process's job through /proc.
 *
 * Idea       Each process of a job, a rank or its launcher, holds the shared memory as a
 *            descriptor. A process without one may have started a process that has one (`tutti
 *            run`, mpirun), so its descendants are searched.
 * Invariant  Opens only descriptors that are named as tutti's, and other users' processes only as
 *            root; an opened file must be a memfd, whatever its name says.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_look.h"

enum { MOST_PROCESSES = 8192 };

static bool known(const int *fds, int n, int fd) {
  struct stat a, b;
  if (fstat(fd, &a) != 0) return true;
  for (int i = 0; i < n; i++)
    if (fstat(fds[i], &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev) return true;
  return false;
}

static void add_segment_fd(const char *path, int *fds, int most, int *n) {
  char to[64];
  struct stat st;
  const ssize_t length = readlink(path, to, sizeof to - 1);
  if (length < 0 || *n == most) return;
  to[length] = 0;
  if (strcmp(to, "/memfd:tutti (deleted)") != 0) return;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fcntl(fd, F_GET_SEALS) >= 0 &&
      !known(fds, *n, fd))
    fds[(*n)++] = fd;
  else
    close(fd);
}

/* Collect the process's segments; false, with errno, if it may not be inspected. */
static bool look_at_process(long pid, int *fds, int most, int *n) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd", pid);
  DIR *dir = opendir(path);
  if (!dir) return false;
  for (struct dirent *e; (e = readdir(dir));) {
    const int length = snprintf(path, sizeof path, "/proc/%ld/fd/%.16s", pid, e->d_name);
    if (e->d_name[0] != '.' && length < (int)sizeof path) add_segment_fd(path, fds, most, n);
  }
  closedir(dir);
  return true;
}

/* Append the children of `pid` to `all`. */
static void add_children(long pid, long *all, int *n) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
  FILE *f = fopen(path, "re");
  for (long child; f && *n < MOST_PROCESSES && fscanf(f, "%ld", &child) == 1;) all[(*n)++] = child;
  if (f) fclose(f);
}

static tutti_status may_look(long pid) {
  char path[40];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%ld", pid);
  if (pid < 1 || stat(path, &st) != 0)
    return tt_fail(TUTTI_ERR_ARG, "there is no process %ld", pid);
  if (geteuid() != 0 && st.st_uid != geteuid())
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "process %ld is of user %u; only that user and root may look into its job", pid,
                   (unsigned)st.st_uid);
  return TUTTI_OK;
}

tutti_status tt_job_find(long pid, int *fds, int most, int *n) {
  *n = 0;
  tutti_status status = may_look(pid);
  if (status) return status;
  long *all = malloc((MOST_PROCESSES + 1) * sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the processes of a job");
  int processes = 1;
  all[0] = pid;
  bool may = look_at_process(pid, fds, most, n);
  const int why = errno;
  const bool own = *n > 0; /* else search its descendants */
  if (!own) add_children(pid, all, &processes);
  for (int i = 1; i < processes && !own; i++) {
    if (!may_look(all[i])) look_at_process(all[i], fds, most, n);
    add_children(all[i], all, &processes);
  }
  free(all);
  if (*n) return TUTTI_OK;
  if (!may)
    return tt_fail(TUTTI_ERR_SYSTEM, "process %ld cannot be looked into: %s", pid, strerror(why));
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "process %ld shares no memory with ranks of a tutti job, nor does one that it has "
                 "started",
                 pid);
}
