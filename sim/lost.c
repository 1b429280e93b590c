/* lost.c - measures the simulated time from the loss of a host during an allreduce until all other
 * ranks get the error.
 *
 *   lost RANK BYTES ...      SIM_PLAN names the plan
 *
 * Idea       The lost rank begins the call, and then does nothing. SMPI cannot simulate the loss of
 *            a host, because it ends the simulation when a message to that host fails. The next
 *            rank therefore simulates detecting the loss, after half the time of an undisturbed
 *            call. It calls tutti_comm_abort, which sends the same messages as a network's report
 *            of TUTTI_NET_LOST. All other ranks wait inside the call.
 * Prints     for each size: bytes, seconds from the report until the last of the other ranks has
 *            returned, seconds of an undisturbed call, ok | WRONG (a rank got no error, or one that
 *            does not name the lost rank), and the plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti_mpi.h>

#include "simulated.h"
#include "tutti_plan.h"

enum { NAME = 256, HOUR = 3600 };

static int rank, ranks, lost;
static float *vector;
static char why[80];

static tutti_status open_comm(tutti_comm **comm) {
  const char *plan = getenv("SIM_PLAN");
  tutti_status status = tutti_comm_from_mpi(MPI_COMM_WORLD, comm);
  const tutti_config config = {.size = sizeof config, .algorithm = plan};
  return status ? status : tutti_comm_configure(*comm, &config);
}

static double undisturbed(tutti_comm *comm, size_t n, tutti_status *status) {
  *status = tutti_allreduce(comm, vector, vector, n, TUTTI_FLOAT, TUTTI_SUM);
  const double start = simulated_line_up();
  if (!*status) *status = tutti_allreduce(comm, vector, vector, n, TUTTI_FLOAT, TUTTI_SUM);
  return simulated_latest(MPI_Wtime()) - start;
}

/* Advances the call until `instant`, when the loss is to be reported, and then notifies all ranks. */
static void report_loss(tutti_comm *comm, tutti_request **request, double instant, double look) {
  for (int done = 0; MPI_Wtime() < instant && !done;) {
    simulated_sleep(look);
    if (tutti_request_test(request, &done)) return;
  }
  if (MPI_Wtime() < instant) simulated_sleep(instant - MPI_Wtime());
  tutti_comm_abort(comm, why);
}

/* Returns the time in seconds from the report until this rank gets an error that names the lost rank. Returns a negative
 * number if it gets no such error. */
static double lose(tutti_comm *comm, size_t n, double took) {
  tutti_request *request = NULL;
  const double instant = simulated_line_up() + took / 2;
  tutti_status status =
      tutti_allreduce_start(comm, vector, vector, n, TUTTI_FLOAT, TUTTI_SUM, &request);
  if (rank == lost) {
    simulated_sleep(HOUR);
    tutti_request_wait(&request);
    return 0;
  }
  if (!status && rank == (lost + 1) % ranks) report_loss(comm, &request, instant, took / 1000);
  if (!status) status = tutti_request_wait(&request);
  const double knows = MPI_Wtime() - instant;
  const int named = status == TUTTI_ERR_ABORTED && strstr(tutti_error(), why);
  if (!named) fprintf(stderr, "rank %d: %s\n", rank, status ? tutti_error() : "no error");
  return named ? knows : -1;
}

static int measure(size_t bytes) {
  tutti_comm *comm = NULL;
  char plan[NAME] = "";
  const size_t n = bytes / sizeof *vector;
  vector = calloc(n + 1, sizeof *vector);
  tutti_status status = vector ? open_comm(&comm) : TUTTI_ERR_MEMORY;
  const double took = status ? 0 : undisturbed(comm, n, &status);
  if (rank == 0 && !status)
    tutti_comm_plan(comm, TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, plan, NAME);
  const double mine = status ? -1 : lose(comm, n, took), knows = simulated_latest(mine);
  const double wrong = simulated_latest(mine < 0);
  if (rank == 0)
    printf("%zu %.9f %.9f %s %s\n", bytes, knows, took, wrong > 0 ? "WRONG" : "ok", plan);
  fflush(stdout);
  tutti_comm_free(comm);
  free(vector);
  return wrong > 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tutti_log_set(simulated_log, &rank);
  lost = argc > 1 ? atoi(argv[1]) % ranks : 0;
  snprintf(why, sizeof why, "the host of rank %d is lost", lost);
  int failed = 0;
  for (int i = 2; i < argc && !failed; i++) failed = measure(strtoull(argv[i], NULL, 10));
  MPI_Finalize();
  return failed;
}
