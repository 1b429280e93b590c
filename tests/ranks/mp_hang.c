/* mp_hang.c - ranks that hang until they are killed, for doctor.sh; does nothing when run by
 * itself. Each rank prints a line when it is about to hang.
 *
 * Ranks: none
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"
#include "tutti.h"

enum { N = 100000 };
static double x[N], y[N];
static tutti_comm *comm, *second;
static int me, last;

static tutti_status reduce_all(tutti_comm *on) {
  return tutti_allreduce(on, x, y, N, TUTTI_DOUBLE, TUTTI_SUM);
}

static tutti_status compute(void) {
  while (pause()) continue; /* always true */
  return TUTTI_OK;
}

static tutti_status at_work(void) {
  tutti_status status = TUTTI_OK;
  while (!status) status = reduce_all(comm);
  return status;
}

/* From here the last rank behaves differently from the others. */
static tutti_status stopped(void) {
  if (me == last) raise(SIGSTOP);
  return reduce_all(comm);
}

/* The others wait in a call with a tag, on a communicator with a name. */
static tutti_status elsewhere(void) {
  const tutti_config config = {.size = sizeof config, .name = "work"};
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .src = x,
                           .dst = y,
                           .count = N,
                           .type = TUTTI_DOUBLE,
                           .op = TUTTI_SUM,
                           .tag = "gradients"};
  tutti_request *request;
  tutti_status status = tutti_comm_configure(comm, &config);
  if (!status && me == last) return compute();
  if (!status) status = tutti_call_start(comm, &call, &request);
  return status ? status : tutti_request_wait(&request);
}

static tutti_status crossed(void) {
  return reduce_all(me == last ? second : comm);
}

static tutti_status header(void) {
  return me == last ? tutti_recv(comm, x, 7, TUTTI_DOUBLE, 0, 0, NULL) : reduce_all(comm);
}

static tutti_status differs(void) {
  return me == last ? tutti_broadcast(comm, x, y, 5, TUTTI_INT32, 0) : reduce_all(comm);
}

static tutti_status dies(void) {
  if (me == last) _exit(0);
  return TUTTI_OK;
}

static tutti_status dies_awaited(void) {
  if (me == last) _exit(0);
  return reduce_all(comm);
}

static tutti_status shrinks(void) {
  tutti_comm *out;
  return me == last ? compute() : tutti_comm_shrink(comm, &out);
}

static tutti_status leaves(void) {
  if (me != last) return TUTTI_OK;
  tutti_comm_free(comm);
  tutti_comm_free(second);
  start_end();
  return compute();
}

/* The ranks test until one gives up; the last rank does not call at all. */
static tutti_status tests(void) {
  tutti_request *r = NULL;
  int done = 0;
  tutti_status status = TUTTI_OK;
  if (me == last) return compute();
  status = tutti_allreduce_start(comm, x, y, N, TUTTI_DOUBLE, TUTTI_SUM, &r);
  while (!status && !done) status = tutti_request_test(&r, &done);
  return status;
}

static const struct manner {
  const char *name;
  tutti_status (*play)(void);
} manners[] = {
    {"computes", compute},     {"works", at_work}, {"stopped", stopped}, {"elsewhere", elsewhere},
    {"crossed", crossed},      {"letter", header}, {"differs", differs}, {"dies", dies},
    {"awaited", dies_awaited}, {"leaves", leaves}, {"tests", tests},     {"shrinks", shrinks},
};

int main(int argc, char **argv) {
  alarm(50);
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (strcmp(argv[1], "absent") == 0 && strcmp(getenv("TUTTI_RANK"), "1") == 0) {
    printf("hangs\n");
    fflush(stdout);
    return (int)compute();
  }
  if (start_comm(&comm) || tutti_comm_dup(comm, &second)) return 1;
  me = tutti_comm_rank(comm);
  last = tutti_comm_size(comm) - 1;
  /* the barrier: all ranks have completed these calls before one on comm fails */
  if (tutti_barrier(comm) || reduce_all(comm) || tutti_barrier(second)) return 1;
  printf("hangs\n");
  fflush(stdout);
  for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
    if (strcmp(manners[i].name, argv[1])) continue;
    if (manners[i].play()) fprintf(stderr, "rank %d: %s\n", me, tutti_error());
    compute();
  }
  return 2;
}
