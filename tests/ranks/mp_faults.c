/* mp_faults.c - ranks that fail, for faults.sh; does nothing when run by
 * itself.
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

/* The last rank does `what`; the others call an allreduce, or wait for a message from it. */
static void fault(tutti_comm *comm, const char *what) {
  if (tutti_comm_rank(comm) != tutti_comm_size(comm) - 1) return;
  if (strcmp(what, "exit") == 0) _exit(7);
  if (strcmp(what, "quiet") == 0) _exit(0);
  if (strcmp(what, "kill") == 0) raise(SIGKILL);
  if (strcmp(what, "segv") == 0) raise(SIGSEGV);
  if (strcmp(what, "late") == 0) sleep(4);
  if (strcmp(what, "slow") == 0) sleep(11);
  if (strcmp(what, "abort") == 0) tutti_comm_abort(comm, "no more");
}

static void say(void *ctx, int level, const char *line) {
  (void)ctx;
  fprintf(stderr, "level %d: %s\n", level, line);
}

int main(int argc, char **argv) {
  static double x[100000], y[100000];
  tutti_comm *comm, *meeting; /* a fast rank may free comm while others create `meeting` */
  tutti_request *r = NULL;
  alarm(50);
  tutti_log_set(say, NULL);
  if (argc < 2) return printf("ok - nothing to do\n1..1\n") < 0;
  if (start_comm(&comm) || start_comm(&meeting)) {
    fprintf(stderr, "no communicator: %s\n", tutti_error());
    return 1;
  }
  if (tutti_barrier(meeting)) return 1;
  if (argc > 2) usleep(1000 * (useconds_t)atoi(argv[2]));
  fault(comm, argv[1]);
  tutti_status status = TUTTI_OK;
  int done = 0;
  if (argc > 3 && strcmp(argv[3], "recv") == 0) {
    status = tutti_recv(comm, x, 1, TUTTI_DOUBLE, tutti_comm_size(comm) - 1, 0, NULL);
  } else if (argc > 3) { /* only test, never wait */
    status = tutti_allreduce_start(comm, x, y, 100000, TUTTI_DOUBLE, TUTTI_SUM, &r);
    while (!status && !done) status = tutti_request_test(&r, &done);
  } else {
    status = tutti_allreduce(comm, x, y, 100000, TUTTI_DOUBLE, TUTTI_SUM);
  }
  fprintf(stderr, "rank %d: %s: %s\n", tutti_comm_rank(comm), tutti_strerror(status),
          status ? tutti_error() : "");
  if (tutti_comm_free(comm) || start_end()) return 9;
  return status ? 3 : 0;
}
