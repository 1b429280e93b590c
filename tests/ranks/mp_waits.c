/* mp_waits.c - one wait of the table in docs/reliability.md ("Every wait"): rank 0 waits for rank 1, which
 * never does its part; or a joining rank waits for rank 0.
 *
 * Usage      mp_waits ROW limit|interrupt: rank 0 prints whether the wait warned after 10 s, was shown by the doctor, and
 *            ended as the table says. Then all ranks pause until they are ended. A second of these waits passes in 20 ms
 *            (pass_time.h).
 * Ranks: none; tests/sh/waits.sh runs it, and tests/sh/over.sh under Open MPI
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass_time.h"
#include "seconds.h"
#include "start.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

enum { MOST = 1 << 22, LIMIT_S = 30, WARNS_S = 10, INTERRUPT_S = 5 };

static tutti_comm *comm;
static double since; /* start of the wait, by this clock */
static atomic_bool warned, shown, over;
static char x[MOST], y[MOST];

/* ---- the waits ---- */

static tutti_status sum(void) {
  return tutti_allreduce(comm, x, y, 1000, TUTTI_INT32, TUTTI_SUM);
}

static tutti_status request(void) {
  tutti_request *r;
  const tutti_status status = tutti_allreduce_start(comm, x, y, 1000, TUTTI_INT32, TUTTI_SUM, &r);
  return status ? status : tutti_request_wait(&r);
}

static tutti_status receive(void) {
  return tutti_recv(comm, x, 1, TUTTI_UINT8, 1, 0, NULL);
}

static tutti_status give(void) {
  return tutti_send(comm, x, MOST, TUTTI_UINT8, 1, 0);
}

static tutti_status duplicate(void) {
  tutti_comm *other;
  return tutti_comm_dup(comm, &other);
}

static tutti_status split(void) {
  tutti_comm *other;
  return tutti_comm_split(comm, 0, 0, &other);
}

static tutti_status shrink(void) {
  tutti_comm *other;
  return tutti_comm_shrink(comm, &other);
}

static tutti_status grow(void) {
  tutti_comm *other;
  return tutti_comm_grow(comm, 0, &other);
}

static tutti_status joiners(void) {
  tutti_comm *other;
  return tutti_comm_grow(comm, 1, &other);
}

/* Rank 1 never receives the data: Open MPI's messages wait until their receives begin. */
static tutti_status end(void) {
  const tutti_status status = tutti_reduce(comm, x, y, 1000, TUTTI_INT32, TUTTI_SUM, 1);
  return status ? status : tutti_comm_free(comm);
}

static tutti_status start(void) {
  return start_comm(&comm);
}

/* Rank 1 does not start; starts but does not call; calls as well; or is restarted and is the rank that waits. */
typedef enum part { NONE, COMES, CALLS, REPLACED } part;
static const struct row {
  const char *name;
  tutti_status (*wait)(void);
  part part;
} rows[] = {{"allreduce", sum, COMES},   {"request", request, COMES}, {"recv", receive, COMES},
            {"send", give, COMES},       {"dup", duplicate, COMES},   {"split", split, COMES},
            {"shrink", shrink, COMES},   {"grow", grow, COMES},       {"joiners", joiners, CALLS},
            {"joiner", start, REPLACED}, {"start", start, NONE}, {"free", end, COMES}};

/* ---- observation ---- */

static void hear(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == 0 && strstr(line, "has waited 1")) atomic_store(&warned, true);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_enough(void *ctx) {
  (void)ctx;
  return now() - since > INTERRUPT_S;
}

/* Polls the doctor's report on this process, from another thread. */
static void *look(void *unused) {
  (void)unused;
  while (!atomic_load(&over) && !(atomic_load(&shown) && atomic_load(&warned))) {
    char *text = NULL;
    if (!tutti_job_report((long)getpid(), 0, &text)) {
      if (strstr(text, " waits ")) atomic_store(&shown, true);
    }
    tutti_text_free(text);
    usleep(10000);
  }
  fly_on();
  return NULL;
}

static void say(bool good, const char *row, const char *what) {
  printf("%s - %s %s\n", good ? "ok" : "not ok", row, what);
}

/* On rank 0. */
static void play(const struct row *r, bool interrupt) {
  pthread_t doctor;
  since = now();
  if (interrupt) tutti_interrupt_set(is_enough, NULL);
  fly_time_for(interrupt ? INTERRUPT_S + 1 : WARNS_S + 2);
  const bool looks = !pthread_create(&doctor, NULL, look, NULL);
  const tutti_status status = r->wait();
  const double took = now() - since;
  atomic_store(&over, true);
  if (looks) pthread_join(doctor, NULL);
  stop_time_flying();
  if (interrupt) {
    say(status == TUTTI_ERR_INTERRUPTED && took < LIMIT_S - 5, r->name, "is interrupted");
  } else {
    say(status == TUTTI_ERR_TIMEOUT && took > LIMIT_S - 1, r->name, "ends at the time limit");
    say(atomic_load(&warned), r->name, "warns after 10 s");
    say(atomic_load(&shown), r->name, "is shown");
  }
  if (status != TUTTI_ERR_TIMEOUT) printf("# %d after %.1f s: %s\n", status, took, tutti_error());
  fflush(stdout);
  if (!getenv("TUTTI_RANK")) _exit(0); /* its MPI ends the other ranks */
  for (;;) pause();
}

/* All ranks pass a barrier, and rank 0 continues once rank 1 has left it: inside it, rank 1 could take the next message. */
static tutti_status leave_barrier(char number) {
  enum { RANKS = 64 };
  int32_t me = (int32_t)getpid(), pids[RANKS];
  sigset_t signal;
  sigemptyset(&signal);
  sigaddset(&signal, SIGUSR1);
  if (tutti_comm_size(comm) > RANKS) return TUTTI_ERR_ARG;
  tutti_status status = tutti_allgather(comm, &me, pids, 1, TUTTI_INT32);
  if (!status) status = tutti_barrier(comm);
  if (!status && number == '1') kill(pids[0], SIGUSR1);
  if (!status && number == '0') sigtimedwait(&signal, NULL, &(struct timespec){.tv_sec = 20});
  return status;
}

int main(int argc, char **argv) {
  sigset_t signal;
  end_after(100);
  sigemptyset(&signal);
  sigaddset(&signal, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signal, NULL); /* for leave_barrier, in all threads */
  for (size_t i = 0; i < sizeof rows / sizeof *rows && argc > 2; i++) {
    const struct row *r = &rows[i];
    const char *number = getenv("TUTTI_RANK") ? getenv("TUTTI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    if (strcmp(r->name, argv[1]) != 0 || !number) continue;
    setenv(r->part == COMES ? "TUTTI_TIMEOUT" : "TUTTI_CONNECT_TIMEOUT", "30", 0);
    tutti_log_set(hear, NULL);
    if (tutti_newcomer() && r->part == REPLACED) play(r, strcmp(argv[2], "interrupt") == 0);
    if (r->part != NONE &&
        (start_comm(&comm) || (r->part == COMES ? leave_barrier(*number) : tutti_barrier(comm))))
      return fprintf(stderr, "%s\n", tutti_error()), 1;
    if (r->part == REPLACED && *number == '1') return 1;
    if (r->part != REPLACED && *number == '0') play(r, strcmp(argv[2], "interrupt") == 0);
    if (r->part == CALLS) r->wait();
    for (;;) pause();
  }
  return 2;
}
