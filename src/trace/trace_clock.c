/* trace_clock.c - the difference between the first rank's clock and those of other machines.
 *
 * Idea       ranks of one machine read the same clock. The others ask the first rank for its
 *            time, in some rounds each, one rank after the other. The quickest round counts; half
 *            of it bounds the error of the difference.
 * Cost       ROUNDS round trips per rank on another machine, when a communicator over a
 *            network is made and a trace is asked for; else nothing.
 * Source     Cristian, Distributed Computing 3, 1989.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "request.h"
#include "tracing.h"

enum { ROUNDS = 16 };

typedef struct clock_sample { /* of a rank */
  uint64_t job;
  uint8_t far;
} clock_sample;

static tutti_status exchange(tutti_comm *comm, bool sends, uint64_t *time, int peer) {
  const tt_p2p_message m = {
      .peer = peer, .sends = sends, .type = TUTTI_UINT64, .count = 1, .at = time};
  return tt_message_run(comm, "TUTTI_TRACE", &m);
}

static tutti_status measure_clock_offset(tutti_comm *comm, int64_t *offset, int64_t *error) {
  *error = INT64_MAX;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t theirs = 0;
    const uint64_t begin = tt_trace_ns();
    tutti_status status = exchange(comm, true, &theirs, 0);
    if (!status) status = exchange(comm, false, &theirs, 0);
    if (status) return status;
    const uint64_t end = tt_trace_ns();
    if ((int64_t)((end - begin) / 2) >= *error) continue;
    *error = (int64_t)((end - begin) / 2);
    *offset = (int64_t)(theirs - (begin + (end - begin) / 2));
  }
  return TUTTI_OK;
}

static tutti_status answer_clock_queries(tutti_comm *comm, int rank) {
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < ROUNDS && !status; i++) {
    uint64_t mine;
    status = exchange(comm, false, &mine, rank);
    mine = tt_trace_ns();
    if (!status) status = exchange(comm, true, &mine, rank);
  }
  return status;
}

tutti_status tt_trace_join(tutti_comm *comm, const char *path, bool near) {
  if (!path || !*path) return TUTTI_OK;
  clock_sample *all = malloc((size_t)comm->ranks * sizeof *all);
  const clock_sample mine = {.job = tt_mix(tt_trace_ns() ^ (uintptr_t)comm), .far = !near};
  int64_t offset = 0, error = 0;
  tutti_status status =
      all ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d clocks", comm->ranks);
  if (!status) status = tt_gather(comm, "TUTTI_TRACE", &mine, all, sizeof mine);
  if (!status && !near) status = measure_clock_offset(comm, &offset, &error);
  for (int r = 1; comm->rank == 0 && r < comm->ranks && !status; r++)
    if (all[r].far) status = answer_clock_queries(comm, r);
  if (!status) tt_trace_root(comm, path, all[0].job, offset, error);
  free(all);
  return status;
}
