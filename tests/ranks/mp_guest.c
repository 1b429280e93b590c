/* mp_guest.c - the library does not interfere with its program's signals and with the descriptors that child
 * programs inherit.
 *
 * Idea       With a progress thread and a rendezvous in this process: every thread that tutti has started blocks all
 *            signals that can be blocked, and every descriptor that tutti has opened is closed on exec.
 * Ranks: 1 2
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "tutti_create.h"

/* The signals that a thread blocks, from /proc. */
static unsigned long long blocked_by(const char *thread) {
  char path[64], line[200];
  unsigned long long set = 0;
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "SigBlk: %llx", &set);
  if (f) fclose(f);
  return set;
}

/* The number of threads other than this one; *quiet: whether all of them block these signals. */
static int others(unsigned long long signals, bool *quiet) {
  int n = 0;
  DIR *tasks = opendir("/proc/self/task");
  *quiet = true;
  for (const struct dirent *d; tasks && (d = readdir(tasks));) {
    if (d->d_name[0] == '.' || atol(d->d_name) == (long)getpid()) continue;
    n++;
    if ((blocked_by(d->d_name) & signals) != signals) *quiet = false;
  }
  if (tasks) closedir(tasks);
  return n;
}

/* The number of descriptors that an exec would keep, beyond the three of every program. */
static int inherited(void) {
  int n = 0;
  for (int fd = 3; fd < 256; fd++) {
    const int flags = fcntl(fd, F_GETFD);
    n += flags >= 0 && !(flags & FD_CLOEXEC);
  }
  return n;
}

static int verdict(bool right, const char *what) {
  printf("%s - %s\n", right ? "ok" : "not ok", what);
  return !right;
}

int main(void) {
  const int on[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGPROF, SIGHUP};
  unsigned long long signals = 0;
  for (size_t i = 0; i < sizeof on / sizeof *on; i++) signals |= 1ULL << (on[i] - 1);
  char mine[64];
  const char *job = getenv("TUTTI_SHM_FD");
  for (int fd = 3; fd < 256; fd++) /* descriptors from the start of the test */
    if (!job || fd != atoi(job)) fcntl(fd, F_SETFD, FD_CLOEXEC);
  tutti_comm *comm;
  tutti_id id;
  tutti_request *request;
  setenv("TUTTI_PROGRESS_THREAD", "1", 1);
  if (start_comm(&comm) || tutti_unique_id(&id)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  float one = 1, sum = 0;
  int bad =
      tutti_allreduce_start(comm, &one, &sum, 1, TUTTI_FLOAT, TUTTI_SUM, &request) != TUTTI_OK;
  bad = bad || tutti_request_wait(&request) != TUTTI_OK;
  bool quiet;
  const int threads = others(signals, &quiet), kept = inherited(), rank = tutti_comm_rank(comm);
  snprintf(mine, sizeof mine, "%d threads of tutti take no signal", threads);
  if (rank == 0) {
    bad |= verdict(threads >= 2 && quiet, mine);
    bad |= verdict(kept == 0, "no descriptor of tutti passes to the programs that this one starts");
    puts("1..2");
  }
  tutti_comm_free(comm);
  return start_end() != TUTTI_OK || bad;
}
