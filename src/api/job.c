/* job.c - what a launcher needs to start ranks on this machine, and what a rank hears from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm.h"

struct tutti_job {
  int ranks, newcomers, fd;
  tt_segment *segment; /* NULL until a rank has ended */
  char text[64];
};

static tutti_status make(const char *name, int n, int newcomers, long launcher, tutti_job **job) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!job) return tt_fail(TUTTI_ERR_ARG, "%s: job is NULL", name);
  if (n < 1 || n > 65536 || newcomers < 0 || newcomers > 65536)
    return tt_fail(TUTTI_ERR_ARG, "%s: %d %s; %d to 65536 are possible", name,
                   n < 1 || n > 65536 ? n : newcomers, n < 1 || n > 65536 ? "ranks" : "newcomers",
                   n < 1 || n > 65536);
  tutti_job *j = calloc(1, sizeof *j);
  if (!j) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", name);
  j->ranks = n;
  j->newcomers = newcomers;
  if ((status = tt_segment_create_for(n, newcomers, launcher, &j->fd))) {
    free(j);
    return status;
  }
  *job = j;
  return TUTTI_OK;
}

tutti_status tutti_job_create(int n, tutti_job **job) {
  return make("tutti_job_create", n, 0, 0, job);
}

tutti_status tutti_job_create_watched(int n, int newcomers, tutti_job **job) {
  return make("tutti_job_create_watched", n, newcomers, (long)getpid(), job);
}

static const char *entry(tutti_job *job, int rank, int newcomer, int i) {
  switch (i) {
    case 0: snprintf(job->text, sizeof job->text, "TUTTI_RANK=%d", rank); break;
    case 1: snprintf(job->text, sizeof job->text, "TUTTI_SIZE=%d", job->ranks); break;
    case 2: snprintf(job->text, sizeof job->text, "TUTTI_SHM_FD=%d", job->fd); break;
    case 3: snprintf(job->text, sizeof job->text, "TUTTI_NEWCOMER=%d", newcomer); break;
    default: return NULL;
  }
  return job->text;
}

const char *tutti_job_env(tutti_job *job, int rank, int i) {
  return job && rank >= 0 && rank < job->ranks ? entry(job, rank, 0, i) : NULL;
}

const char *tutti_job_newcomer_env(tutti_job *job, int rank, int newcomer, int i) {
  if (!job || rank < 0 || rank >= job->ranks || newcomer < 0 || newcomer >= job->newcomers)
    return NULL;
  return entry(job, rank, newcomer + 1, i);
}

int tutti_job_fd(const tutti_job *job) {
  return job ? job->fd : -1;
}

tutti_status tutti_job_ended(tutti_job *job, int rank, int status) {
  if (!job || rank < 0 || rank >= job->ranks + job->newcomers)
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

int tutti_newcomer(void) {
  return tt_env_int("TUTTI_NEWCOMER", 0, 65536, 0) > 0;
}
