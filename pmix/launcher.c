/* launcher.c - support for ranks started by a launcher with PMIx (mpirun of Open MPI, prun, srun).
 *
 * Idea       A gather uses PMIx's business card exchange: each rank puts its bytes, all ranks enter
 *            a fence, and each gets the bytes of all.
 * Invariant  The wait for a fence is bounded by `seconds`; PMIx's own wait would be unbounded.
 * Source     The PMIx standard 4, sections on Put, Commit, Fence_nb, Get.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tutti_net.h"

typedef struct fence {
  pthread_mutex_t lock;
  pthread_cond_t over;
  int done, left; /* left: the waiter has given up, so the callback frees the fence */
  pmix_status_t status;
} fence;

typedef struct self {
  pmix_proc_t me;
  uint32_t ranks;
  double seconds;
  int (*interrupted)(void);
  int round;
} self;

static const double SLICE = 0.02; /* seconds between two checks for an interrupt */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fence_over(pmix_status_t status, void *data) {
  fence *f = data;
  pthread_mutex_lock(&f->lock);
  f->done = 1;
  f->status = status;
  pthread_cond_signal(&f->over);
  const int left = f->left;
  pthread_mutex_unlock(&f->lock);
  if (left) free(f);
}

/* Waits in a fence. Returns 0 once all ranks have reached it. */
static int meet(const self *s) {
  fence *f = calloc(1, sizeof *f);
  pmix_proc_t all;
  pmix_info_t collect;
  bool yes = true;
  if (!f) return 1;
  pthread_mutex_init(&f->lock, NULL);
  pthread_cond_init(&f->over, NULL);
  const double until = now() + s->seconds;
  PMIX_PROC_LOAD(&all, s->me.nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  pmix_status_t status = PMIx_Fence_nb(&all, 1, &collect, 1, fence_over, f);
  if (status == PMIX_OPERATION_SUCCEEDED || status != PMIX_SUCCESS) {
    free(f);
    return status != PMIX_OPERATION_SUCCEEDED;
  }
  pthread_mutex_lock(&f->lock);
  for (double next; !f->done && (next = now()) < until && !s->interrupted();) {
    next = next + SLICE < until ? next + SLICE : until;
    const struct timespec slice = {(time_t)next, (long)(1e9 * (next - (double)(time_t)next))};
    pthread_cond_timedwait(&f->over, &f->lock, &slice);
  }
  const int done = f->done;
  status = f->status;
  f->left = !done;
  pthread_mutex_unlock(&f->lock);
  if (done) free(f);
  return !done || status != PMIX_SUCCESS;
}

static int get(const self *s, uint32_t rank, const char *key, void *to, size_t bytes) {
  pmix_proc_t who;
  pmix_value_t *value = NULL;
  PMIX_PROC_LOAD(&who, s->me.nspace, rank);
  if (PMIx_Get(&who, key, NULL, 0, &value) != PMIX_SUCCESS || !value) return 1;
  const int right = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == bytes;
  if (right) memcpy(to, value->data.bo.bytes, bytes);
  PMIX_VALUE_RELEASE(value);
  return !right;
}

static int gather(void *ctx, const void *mine, size_t bytes, void *all) {
  self *s = ctx;
  char key[32];
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
  snprintf(key, sizeof key, "tutti.%d", s->round++);
  value.data.bo.bytes = malloc(bytes);
  value.data.bo.size = bytes;
  if (!value.data.bo.bytes) return 1;
  memcpy(value.data.bo.bytes, mine, bytes);
  int failed = PMIx_Put(PMIX_GLOBAL, key, &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS;
  free(value.data.bo.bytes);
  if (!failed) failed = meet(s);
  for (uint32_t r = 0; r < s->ranks && !failed; r++)
    failed = get(s, r, key, (char *)all + r * bytes, bytes);
  return failed;
}

/* Launchers require a call of PMIx_Finalize. If an MPI in this process also uses PMIx, PMIx stays initialized for that MPI. */
static void end(void *ctx) {
  PMIx_Finalize(NULL, 0);
  free(ctx);
}

TUTTI_API int tutti_launcher_of(tutti_launcher *l, double seconds, char *why, size_t size);

int tutti_launcher_of(tutti_launcher *l, double seconds, char *why, size_t size) {
  self *s = calloc(1, sizeof *s);
  pmix_value_t *value = NULL;
  pmix_proc_t job;
  if (!s) {
    snprintf(why, size, "out of memory");
    return 1;
  }
  s->seconds = seconds;
  s->interrupted = l->interrupted;
  pmix_status_t status = PMIx_Init(&s->me, NULL, 0);
  if (status == PMIX_SUCCESS) {
    PMIX_PROC_LOAD(&job, s->me.nspace, PMIX_RANK_WILDCARD);
    status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
  }
  if (status == PMIX_SUCCESS && value && value->type == PMIX_UINT32) {
    s->ranks = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    *l = (tutti_launcher){.size = sizeof *l,
                          .rank = (int)s->me.rank,
                          .ranks = (int)s->ranks,
                          .ctx = s,
                          .gather = gather,
                          .end = end};
    return 0;
  }
  snprintf(why, size, "PMIx: %s", PMIx_Error_string(status));
  free(s);
  return 1;
}
