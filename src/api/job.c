/* job.c - what a launcher needs to start ranks on this machine.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm.h"

struct tutti_job {
  int ranks, fd;
  tt_segment *segment; /* NULL until a rank has ended */
  char text[64];
};

tutti_status tutti_job_create(int n, tutti_job **job) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!job) return tt_fail(TUTTI_ERR_ARG, "tutti_job_create: job is NULL");
  if (n < 1 || n > 65536)
    return tt_fail(TUTTI_ERR_ARG, "tutti_job_create: %d ranks; 1 to 65536 are possible", n);
  tutti_job *j = calloc(1, sizeof *j);
  if (!j) return tt_fail(TUTTI_ERR_MEMORY, "tutti_job_create: out of memory");
  j->ranks = n;
  if ((status = tt_segment_create(n, &j->fd))) {
    free(j);
    return status;
  }
  *job = j;
  return TUTTI_OK;
}

const char *tutti_job_env(tutti_job *job, int rank, int i) {
  if (!job || rank < 0 || rank >= job->ranks) return NULL;
  switch (i) {
    case 0: snprintf(job->text, sizeof job->text, "TUTTI_RANK=%d", rank); break;
    case 1: snprintf(job->text, sizeof job->text, "TUTTI_SIZE=%d", job->ranks); break;
    case 2: snprintf(job->text, sizeof job->text, "TUTTI_SHM_FD=%d", job->fd); break;
    default: return NULL;
  }
  return job->text;
}

int tutti_job_fd(const tutti_job *job) {
  return job ? job->fd : -1;
}

tutti_status tutti_job_ended(tutti_job *job, int rank, int status) {
  if (!job || rank < 0 || rank >= job->ranks)
    return tt_fail(TUTTI_ERR_ARG, "tutti_job_ended: %s", job ? "no such rank" : "job is NULL");
  tutti_status made = job->segment ? TUTTI_OK : tt_segment_map(job->fd, job->ranks, &job->segment);
  if (!made) tt_fate_tell(tt_heap_head(job->segment, rank), status);
  return made;
}

void tutti_job_free(tutti_job *job) {
  if (!job) return;
  tt_segment_release(job->segment);
  close(job->fd);
  free(job);
}
