/* mpi_late.c - tutti_comm_from_mpi with a late rank: rank 0 waits, and rank 1 calls it only after rank 0 has
 * warned.
 *
 * Idea       The doctor's report of this process, and the log, are checked when the wait warns: in the log's callback, which
 *            then sends the message that rank 1 waits for. A second passes in 20 ms (pass_time.h).
 * Cases      The call succeeds as soon as all ranks have made it. It ends by TUTTI_CONNECT_TIMEOUT, or by an interrupt, and
 *            succeeds when it is repeated. It runs on 2 ranks and more.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass_time.h"
#include "scenes.h"
#include "tutti_launch.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

typedef enum way { LATE, LIMIT, INTERRUPT } way;
static const struct row {
  const char *name;
  tutti_status status; /* on rank 0 */
  const char *limit;   /* TUTTI_CONNECT_TIMEOUT, s */
} rows[] = {[LATE] = {"a rank is late", TUTTI_OK, NULL},
            [LIMIT] = {"the time limit", TUTTI_ERR_TIMEOUT, "15"},
            [INTERRUPT] = {"an interrupt", TUTTI_ERR_INTERRUPTED, NULL}};

static int me, ranks;
static way played;
static bool warned, shown;

static void release_others(void) {
  for (int r = 1; r < ranks; r++) MPI_Send(NULL, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD);
}

static void hear(void *ctx, int level, const char *line) {
  char *report = NULL;
  (void)ctx;
  if (level != 0 || !strstr(line, "tutti_comm_from_mpi has waited 1") || warned) return;
  warned = true;
  fly_on();
  shown = !tutti_job_report((long)getpid(), 0, &report) &&
          strstr(report, "tutti_comm_from_mpi waits for ranks that have not called it");
  tutti_text_free(report);
  if (played == LATE) release_others();
}

static int interrupts(void *ctx) {
  (void)ctx;
  return warned;
}

static bool sum_is_right(tutti_comm *comm) {
  const int one = 1;
  int all = 0;
  return ERROR(tutti_allreduce(comm, &one, &all, 1, TUTTI_INT32, TUTTI_SUM), TUTTI_OK, "") &&
         CHECK(all == ranks) && ERROR(tutti_comm_free(comm), TUTTI_OK, "");
}

static bool wait_for_others(const struct row *row) {
  tutti_comm *comm = NULL;
  if (played == INTERRUPT) tutti_interrupt_set(interrupts, NULL);
  if (row->limit) setenv("TUTTI_CONNECT_TIMEOUT", row->limit, 1);
  fly_time_for(12);
  const tutti_status status = tutti_comm_from_mpi(MPI_COMM_WORLD, &comm);
  stop_time_flying();
  tutti_interrupt_set(NULL, NULL);
  unsetenv("TUTTI_CONNECT_TIMEOUT");
  bool good = ERROR(status, row->status, row->status ? "tutti_comm_from_mpi" : "") & CHECK(warned) &
              CHECK(shown) & CHECK(!status == !!comm);
  if (status) {
    release_others();
    good &= ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), TUTTI_OK, "");
  }
  return good && sum_is_right(comm);
}

static bool come_late(void) {
  tutti_comm *comm = NULL;
  MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), TUTTI_OK, "") && sum_is_right(comm);
}

int main(int argc, char **argv) {
  static const int n = sizeof rows / sizeof *rows;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tutti_log_set(hear, NULL);
  for (int i = 0; i < n; i++) {
    played = (way)i;
    warned = shown = false;
    const bool good = me == 0 ? wait_for_others(&rows[i]) : come_late();
    if (me == 0) printf("%s %d - %s\n", good ? "ok" : "not ok", i + 1, rows[i].name);
  }
  if (me == 0) printf("1..%d\n", n);
  MPI_Finalize();
  return 0;
}
