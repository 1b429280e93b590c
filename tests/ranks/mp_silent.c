/* mp_silent.c - the host of rank 1 stops responding, and the others report it after the keepalive timeout
 * TUTTI_SILENCE. Or rank 1 is stopped for longer than that, and no rank is lost. Or, on hosts with two ranks
 * each, the process that watches for the first host is killed beforehand, and the other one takes over.
 *
 * Usage      mp_silent flight|idle|stop|heir COMMAND
 *            COMMAND cuts the link of rank 1's host, with much data in flight to it, or none.
 *            Run by tests/sh/silence.sh on separate hosts; does nothing when run by itself.
 * Prints a line of TAP on each rank. Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "start.h"

enum { MOST = 100000, BEFORE = 50, AFTER = 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Applies `way` to rank 1: cuts its host's link, or stops it; returns when rank 1 runs again. */
static void befall(const char *way, const char *command, int silence) {
  if (strcmp(way, "idle") == 0) sleep(1); /* the others' messages have arrived; they wait */
  if (strcmp(way, "stop") != 0) {
    if (system(command)) printf("not ok - %s\n", command);
    return;
  }
  if (fork() == 0) {
    sleep((unsigned)silence * 2);
    kill(getppid(), SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

/* Does this process hold the lock of ucx_board.c? */
static bool watches(void) {
  FILE *locks = fopen("/proc/locks", "r");
  char line[200];
  int pid, found = 0;
  while (locks && fgets(line, sizeof line, locks))
    found += sscanf(line, "%*d: POSIX ADVISORY WRITE %d", &pid) == 1 && pid == (int)getpid();
  if (locks) fclose(locks);
  return found > 0;
}

/* The watcher of the first host dies, and the others continue without it. Afterwards rank 1 is on the second
 * host. */
static tutti_comm *without_watcher(tutti_comm *comm, float *x) {
  tutti_comm *rest = NULL;
  tutti_status status = TUTTI_OK;
  sleep(1);
  if (tutti_comm_rank(comm) < 2 && watches()) raise(SIGKILL);
  for (int i = 0; !status && i < 1000; i++, usleep(10000))
    status = tutti_allreduce(comm, x, x, 1, TUTTI_FLOAT, TUTTI_SUM);
  if (status != TUTTI_ERR_PEER_LOST || tutti_comm_shrink(comm, &rest) ||
      tutti_comm_size(rest) != 5) {
    printf("not ok - no rank of the first host watches, or the others do not recover: %s\n",
           tutti_error());
    exit(1);
  }
  tutti_comm_free(comm);
  for (int i = 0; i < 100; i++, usleep(20000))
    tutti_allreduce(rest, x, x, 1, TUTTI_FLOAT, TUTTI_SUM);
  return rest;
}

int main(int argc, char **argv) {
  static float x[MOST];
  tutti_comm *comm;
  if (argc < 3) return puts("ok - nothing to do\n1..1") < 0;
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const bool heir = strcmp(argv[1], "heir") == 0;
  if (heir) comm = without_watcher(comm, x);
  const int rank = tutti_comm_rank(comm), silence = atoi(getenv("TUTTI_SILENCE"));
  const bool idle = strcmp(argv[1], "idle") == 0, stop = strcmp(argv[1], "stop") == 0;
  tutti_status status = TUTTI_OK;
  double called = now();
  for (int i = 0; !status && i < BEFORE + AFTER; i++) {
    const bool waits = idle && i >= BEFORE && i < BEFORE + AFTER - 1; /* for rank 1 only */
    if (i == BEFORE) called = now();
    if (rank == 1 && i == BEFORE) befall(argv[1], argv[2], silence);
    status = waits ? tutti_broadcast(comm, x, x, MOST, TUTTI_FLOAT, 1)
                   : tutti_allreduce(comm, x, x, MOST, TUTTI_FLOAT, TUTTI_SUM);
  }
  const double took = now() - called;
  const int lost = status == TUTTI_ERR_PEER_LOST && took > silence - 1 && took < silence + 10 &&
                   strstr(tutti_error(), "has been silent for") &&
                   (rank == 1 || heir || strstr(tutti_error(), "rank 1 (pid"));
  printf("%s - rank %d after %.1f s: %s\n", (stop ? !status : lost) ? "ok" : "not ok", rank, took,
         status ? tutti_error() : "nobody is lost");
  fflush(stdout);
  tutti_comm_free(comm);
  return 0;
}
