/* job.c - functions for a launcher that starts ranks on this machine and reports their exit statuses.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process_state.h"
#include "tutti_launch.h"

struct tutti_job {
  int ranks, joiners, fd;
  tt_segment *segment; /* NULL until a rank has exited */
  char text[64];
};

static tutti_status create_for_launcher(const char *name, int n, int joiners, long launcher,
                                        tutti_job **job) {
  tutti_status status = tt_args_given(name, "job", job, NULL, NULL);
  if (status) return status;
  if (n < 1 || n > 65536 || joiners < 0 || joiners > 65536)
    return tt_fail(TUTTI_ERR_ARG, "%s: %d %s; %d to 65536 are possible", name,
                   n < 1 || n > 65536 ? n : joiners, n < 1 || n > 65536 ? "ranks" : "joiners",
                   n < 1 || n > 65536);
  tutti_job *j = calloc(1, sizeof *j);
  if (!j) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", name);
  j->ranks = n;
  j->joiners = joiners;
  if ((status = tt_segment_create(n, joiners, launcher, tt_random(), &j->fd))) {
    free(j);
    return status;
  }
  fcntl(j->fd, F_SETFD, 0); /* so that ranks inherit it */
  *job = j;
  return TUTTI_OK;
}

tutti_status tutti_job_create(int n, tutti_job **job) {
  return create_for_launcher("tutti_job_create", n, 0, TT_UNWATCHED, job);
}

tutti_status tutti_job_create_watched(int n, int joiners, tutti_job **job) {
  return create_for_launcher("tutti_job_create_watched", n, joiners, (long)getpid(), job);
}

static const char *entry(tutti_job *job, int rank, int joiner, int i) {
  static const char *const names[] = {"TUTTI_RANK", "TUTTI_SIZE", "TUTTI_SHM_FD", "TUTTI_NEWCOMER"};
  const int values[] = {rank, job->ranks, job->fd, joiner};
  if (i < 0 || i >= 4) return NULL;
  snprintf(job->text, sizeof job->text, "%s=%d", names[i], values[i]);
  return job->text;
}

const char *tutti_job_env(tutti_job *job, int rank, int i) {
  return job && rank >= 0 && rank < job->ranks ? entry(job, rank, 0, i) : NULL;
}

const char *tutti_job_newcomer_env(tutti_job *job, int rank, int joiner, int i) {
  if (!job || rank < 0 || rank >= job->ranks || joiner < 0 || joiner >= job->joiners) return NULL;
  return entry(job, rank, joiner + 1, i);
}

int tutti_job_fd(const tutti_job *job) {
  return job ? job->fd : -1;
}

tutti_status tutti_job_ended(tutti_job *job, int rank, int status) {
  if (!job || rank < 0 || rank >= job->ranks + job->joiners)
    return tt_fail(TUTTI_ERR_ARG, "tutti_job_ended: %s", job ? "no such rank" : "job is NULL");
  tutti_status made = job->segment ? TUTTI_OK : tt_segment_map(job->fd, job->ranks, &job->segment);
  if (!made) tt_exit_publish(tt_heap_intro(job->segment, rank), status);
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
