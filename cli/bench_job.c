/* bench_job.c - the ranks of a command that measures: one communicator to measure, and one to
 * exchange results.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"
#include "ranked.h"

tutti_status bench_join(bench_job *job) {
  *job = (bench_job){NULL, NULL, 0, 1, 1, NULL};
  tutti_status status = job_join(&job->comm);
  if (!status) status = tutti_comm_dup(job->comm, &job->talk);
  if (status) return status;
  job->rank = tutti_comm_rank(job->comm);
  job->size = job->data = tutti_comm_size(job->comm);
  return TUTTI_OK;
}

void bench_leave(bench_job *job) {
  tutti_comm_free(job->talk);
  tutti_comm_free(job->comm);
  job_leave();
}
