/* mp_deaths.c - ranks die at random moments, the others continue. Used by shrink.sh; does nothing when run by
 * itself.
 *
 * Usage      tutti run -k -n P mp_deaths SEED DEATHS [far]
 *            far: over a network, which cannot report how a rank died
 * Idea       the seed determines which rank dies, when and how: by its own timer while it works
 *            or shrinks (SIGKILL, an exit, a crash), or killed by another rank's timer. A death is
 *            scheduled after the previous one was detected. The number of live ranks therefore tells which
 *            ranks live, and every sum, error message and communicator can be checked.
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cover.h"
#include "seconds.h"
#include "start.h"

enum { MOST = 64, LONG = 60000 };
typedef enum way { KILL, EXIT, CRASH, NEIGHBOUR, WAYS } way;
static const char *const words[WAYS] = {", killed by SIGKILL;", ", it exited with status 3;",
                                        ", killed by SIGSEGV;", ", killed by SIGKILL;"};
typedef struct death {
  int who, by; /* numbers in the first communicator */
  way way;
  bool shrinking; /* while the ranks recover from the previous death */
  long us;
  bool armed; /* by this rank */
} death;

static int me, P, deaths;
static bool far;
static death list[MOST];
static int32_t pids[MOST];
static volatile sig_atomic_t way_now;
static volatile pid_t victim;

static void strike(int signal_number) {
  (void)signal_number;
  if (way_now == EXIT) _exit(3);
  if (way_now == CRASH) {
    signal(SIGSEGV, SIG_DFL);
    kill(getpid(), SIGSEGV);
  }
  kill(victim, SIGKILL);
}

static void arm(int k) {
  death *d = &list[k];
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  if (k >= deaths || d->armed || d->by != me) return;
  d->armed = true;
  victim = pids[d->who];
  way_now = (sig_atomic_t)d->way;
  signal(SIGUSR1, strike);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1000 * d->us + 1}}, NULL);
}

static void foresee(uint64_t seed) {
  int order[MOST];
  for (int r = 0; r < P; r++) order[r] = r;
  for (int r = P - 1; r > 0; r--) {
    const int with = (int)(cover_mix(seed + (uint64_t)r) % (uint64_t)(r + 1)), keep = order[r];
    order[r] = order[with];
    order[with] = keep;
  }
  for (int k = 0; k < deaths; k++) {
    const uint64_t u = cover_mix(seed ^ (uint64_t)(k + 1) << 32);
    death *d = &list[k];
    *d = (death){.who = order[k], .way = (way)(u % WAYS), .shrinking = k && u >> 8 & 1};
    d->by =
        d->way == NEIGHBOUR ? order[deaths + (int)((u >> 16) % (uint64_t)(P - deaths))] : d->who;
    d->us = (long)(u >> 24) % (d->shrinking ? 1500 : 8000);
  }
}

static bool lives(int rank, int dead) {
  for (int k = 0; k < dead; k++)
    if (list[k].who == rank) return false;
  return true;
}

static uint64_t sum_of(int dead) {
  uint64_t sum = 0;
  for (int r = 0; r < P; r++) sum += lives(r, dead) ? (uint64_t)r + 1 : 0;
  return sum;
}

static int wrong(const char *what, const char *more) {
  printf("# rank %d: %s: %s\n", me, what, more);
  fflush(stdout);
  _exit(9);
}

/* Runs one collective of some length, or three simultaneously; returns the status. */
static tutti_status work(tutti_comm *comm, int dead, uint64_t u) {
  static uint64_t x[3][LONG], y[3][LONG];
  tutti_request *requests[3] = {NULL};
  const size_t n = 1 + (u >> 8) % (u & 1 ? 40 : LONG);
  const int several = u >> 4 & 1 ? 3 : 1;
  tutti_status status = TUTTI_OK, next;
  for (int i = 0; i < several; i++)
    for (size_t k = 0; k < n; k++) x[i][k] = ((uint64_t)me + 1) * (k + 1);
  if (several == 1) {
    status = tutti_allreduce(comm, x[0], y[0], n, TUTTI_UINT64, TUTTI_SUM);
  } else {
    for (int i = 0; i < several && !status; i++)
      status = tutti_allreduce_start(comm, x[i], y[i], n, TUTTI_UINT64, TUTTI_SUM, &requests[i]);
    for (int i = 0; i < several; i++)
      if ((next = tutti_request_wait(&requests[i])) && !status) status = next;
  }
  for (int i = 0; i < several && !status; i++)
    for (size_t k = 0; k < n; k++)
      if (y[i][k] != sum_of(dead) * (k + 1)) wrong("a sum is wrong", "");
  return status;
}

/* Checks that the error message names one of the scheduled deaths and its cause. On a busy machine the launcher
 * may not have reported the cause yet: faults.sh requires it. */
static void check_sentence(tutti_comm *comm, tutti_status status, int dead) {
  char said[400], again[60], bare[60];
  snprintf(said, sizeof said, "%s", tutti_error());
  if (status != TUTTI_ERR_PEER_LOST) wrong("another status", said);
  bool right = strstr(said, "while it reported a failure") != NULL;
  for (int k = dead; k < deaths && k < dead + 2; k++) {
    snprintf(again, sizeof again, "(pid %d) died%s", (int)pids[list[k].who],
             far ? "" : words[list[k].way]);
    snprintf(bare, sizeof bare, "(pid %d) died;", (int)pids[list[k].who]);
    right |= (strstr(said, again) || strstr(said, bare)) && strstr(said, "waited for it in all") && strstr(said, ", step ");
  }
  if (!right) wrong("the sentence", said);
  if (tutti_barrier(comm) != TUTTI_ERR_PEER_LOST || strcmp(said, tutti_error()) != 0)
    wrong("a later call", tutti_error());
}

/* Checks that the members are the live ranks, in order. Returns an error if this cannot be determined. */
static tutti_status check_members(tutti_comm *comm) {
  int32_t ranks[MOST], mine = me;
  const int n = tutti_comm_size(comm);
  tutti_status status = tutti_allgather(comm, &mine, ranks, 1, TUTTI_INT32);
  if (status) return status;
  for (int r = 0, i = 0; r < P; r++)
    if (lives(r, P - n) && ranks[i++] != r) wrong("another rank is in it", "");
  if (ranks[tutti_comm_rank(comm)] != me) wrong("its place", "");
  return TUTTI_OK;
}

static void go_on(tutti_comm *comm, uint64_t seed) {
  double longest = 0;
  tutti_comm *next;
  for (uint64_t i = 0; tutti_comm_size(comm) > P - deaths; comm = next) {
    const int dead = P - tutti_comm_size(comm);
    double last = seconds();
    tutti_status status = check_members(comm);
    arm(dead);
    while (!status) {
      last = seconds();
      status = work(comm, dead, cover_mix(seed + i++));
    }
    if (seconds() - last > longest) longest = seconds() - last;
    check_sentence(comm, status, dead);
    if (list[dead + 1].shrinking) arm(dead + 1);
    if (tutti_comm_shrink(comm, &next)) wrong("shrink", tutti_error());
    if (tutti_comm_size(next) >= tutti_comm_size(comm)) wrong("shrink", "it is as large as before");
    if (tutti_comm_free(comm)) wrong("free", tutti_error());
    i = 1000 * (uint64_t)(P - tutti_comm_size(next));
  }
  if (check_members(comm)) wrong("at the end", tutti_error());
  for (uint64_t i = 0; i < 20; i++)
    if (work(comm, deaths, cover_mix(i))) wrong("at the end", tutti_error());
  printf("survived %.0f ms\n", 1000 * longest);
  if (tutti_comm_free(comm)) wrong("free", tutti_error());
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  alarm(50);
  if (argc < 3) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&comm)) return 1;
  me = tutti_comm_rank(comm);
  P = tutti_comm_size(comm);
  deaths = atoi(argv[2]);
  far = argc > 3;
  const uint64_t seed = cover_mix(strtoull(argv[1], NULL, 10));
  const int32_t pid = (int32_t)getpid();
  if (P > MOST || deaths >= P || tutti_allgather(comm, &pid, pids, 1, TUTTI_INT32)) return 1;
  foresee(seed);
  go_on(comm, seed);
  return start_end() ? 9 : 0;
}
