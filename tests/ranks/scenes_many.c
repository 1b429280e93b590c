/* scenes_many.c - many requests on many communicators, in any order.
 *
 * Invariant  a tag that all ranks of a communicator share determines the operations
 *            and their data; each rank completes them in its own order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"
#include "scenes.h"
#include "tutti_plan.h"

typedef struct job {
  tutti_comm *comm;
  tutti_request *request;
  uint64_t tag, seed; /* of the data; of the counts */
  tutti_coll coll;
  size_t count;
  int root;
  uint32_t *src, *dst;
} job;

static uint32_t value(uint64_t tag, int rank, size_t i) {
  return (uint32_t)cover_mix(tag + (uint64_t)rank * 0x10001 + i);
}

static cover_case case_of(const job *j, bool persistent) {
  cover_case c = {.coll = j->coll, .type = TUTTI_UINT32, .op = TUTTI_SUM, .count = j->count};
  c.ranks = tutti_comm_size(j->comm);
  c.root = j->root;
  c.manner = persistent ? COVER_PERSISTENT : COVER_WAIT;
  c.spread = (int)(j->seed >> 50) % COVER_SPREADS;
  c.seed = j->seed;
  return c;
}

static bool make_job(job *j, tutti_comm *comm, uint64_t tag) {
  static const size_t counts[] = {0, 1, 5, 24, 25, 100, 1000, 4099, 30000};
  uint64_t u = cover_mix(tag);
  *j = (job){.comm = comm, .tag = tag, .seed = tag};
  j->coll = (tutti_coll)(u % TUTTI_COLL_COUNT);
  j->count = counts[u >> 8 & 7] + (u >> 20) % 5;
  if ((u >> 30) % 16 == 0) j->count = counts[8];
  j->root = (int)((u >> 40) % (uint64_t)tutti_comm_size(comm));
  const cover_case c = case_of(j, false);
  j->src = calloc(cover_whole(&c) + 1, sizeof *j->src);
  j->dst = calloc(cover_whole(&c) + 1, sizeof *j->dst);
  return CHECK(j->src && j->dst);
}

static void fill(const job *j) {
  const cover_case c = case_of(j, false);
  const int me = tutti_comm_rank(j->comm);
  const cover_part src = cover_src(&c, me);
  for (size_t i = 0; i < src.n; i++) j->src[i] = value(j->tag, me, src.from + i);
  memset(j->dst, 0xee, cover_whole(&c) * sizeof *j->dst);
}

static tutti_status begin(job *j, bool persistent) {
  static const cover_ops ops = {.user = TUTTI_SUM, .ordered = TUTTI_SUM};
  const cover_case c = case_of(j, persistent);
  fill(j);
  return cover_start(j->comm, &ops, &c, j->src, j->dst, &j->request);
}

static bool right(const job *j) {
  const cover_case c = case_of(j, false);
  const int me = tutti_comm_rank(j->comm), ranks = cover_summed(&c, me);
  const cover_part dst = cover_dst(&c, me);
  size_t at = 0, run = 0;
  int of = 0;
  for (size_t i = 0; i < dst.n; i++, at++, run--) {
    uint32_t want = 0;
    for (int r = 0; r < ranks; r++) want += value(j->tag, r, dst.from + i);
    if (!cover_reduces(j->coll)) {
      if (!run) of = cover_origin(&c, me, dst.from + i, &at, &run);
      want = value(j->tag, of, at);
    }
    if (j->dst[i] != want) {
      printf("# %s of %zu, tag %llu: element %zu is wrong\n", tutti_coll_name(j->coll), j->count,
             (unsigned long long)j->tag, i);
      return false;
    }
  }
  return true;
}

static void drop_job(job *j) {
  free(j->src);
  free(j->dst);
}

/* Completes one of n jobs, by wait or by a few tests; false on errors. */
static bool finish_some(job *jobs, int n, uint64_t u) {
  int i = (int)(u % (uint64_t)n), done = 0;
  while (!jobs[i].request) i = (i + 1) % n;
  if (u >> 40 & 1) {
    if (!CHECK(tutti_request_wait(&jobs[i].request) == TUTTI_OK)) return false;
  } else {
    for (int look = 0; look < 20 && !done; look++)
      if (!CHECK(tutti_request_test(&jobs[i].request, &done) == TUTTI_OK)) return false;
    if (!done) return true;
  }
  return CHECK(!jobs[i].request) && CHECK(right(&jobs[i]));
}

enum { COMMS = 4, EACH = 40 };

static bool play_storm(tutti_comm **comms, uint64_t seed) {
  static const uint64_t odd = 0x9e3779b97f4a7c15u;
  const int n = COMMS * EACH;
  job *jobs = calloc((size_t)n, sizeof *jobs);
  uint64_t mine = seed ^ (uint64_t)(tutti_comm_rank(comms[0]) + 1) * odd;
  bool ok = CHECK(jobs != NULL);
  int made = 0, open = 0;
  for (int k = 0; ok && k < EACH; k++)
    for (int c = 0; ok && c < COMMS; c++) {
      if (!comms[c]) continue;
      ok = make_job(&jobs[made], comms[c], cover_mix(seed + (uint64_t)(k * COMMS + c))) &&
           CHECK(begin(&jobs[made++], false) == TUTTI_OK);
    }
  for (open = made; ok && open;) {
    ok = finish_some(jobs, made, mine = cover_mix(mine + odd));
    open = 0;
    for (int i = 0; i < made; i++) open += jobs[i].request != NULL;
  }
  for (int i = 0; i < made && ok; i++) drop_job(&jobs[i]);
  free(jobs);
  return ok;
}

/* 40 requests in flight on each of several communicators with different ranks. */
bool scene_storm(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comms[COMMS] = {NULL};
  bool ok = CHECK(tutti_comm_dup(base, &comms[0]) == TUTTI_OK) &&
            CHECK(tutti_comm_split(base, 0, -me, &comms[1]) == TUTTI_OK) &&
            CHECK(tutti_comm_split(base, me % 2, me, &comms[2]) == TUTTI_OK) &&
            CHECK(tutti_comm_split(base, me == 0 ? -1 : 7, 3, &comms[3]) == TUTTI_OK);
  if (!ok) return false;
  ok =
      CHECK(tutti_comm_rank(comms[1]) == P - 1 - me) &&
      CHECK(tutti_comm_rank(comms[2]) == me / 2) && CHECK((comms[3] == NULL) == (me == 0)) &&
      CHECK(me == 0 || (tutti_comm_rank(comms[3]) == me - 1 && tutti_comm_size(comms[3]) == P - 1));
  ok = play_storm(comms, seed) && ok;
  for (int c = 0; c < COMMS; c++) ok = CHECK(tutti_comm_free(comms[c]) == TUTTI_OK) && ok;
  return ok;
}

/* Persistent requests on two communicators, more than fit in a window, run many times with new data
 * each time. */
bool scene_persistent(tutti_comm *base, uint64_t seed) {
  enum { N = 12, ROUNDS = 30 };
  tutti_comm *comms[2];
  job jobs[N];
  int done;
  if (!CHECK(!tutti_comm_dup(base, &comms[0])) || !CHECK(!tutti_comm_dup(base, &comms[1])))
    return false;
  bool ok = true;
  for (int i = 0; i < N && ok; i++)
    ok = make_job(&jobs[i], comms[i % 2], cover_mix(seed + (uint64_t)i)) &&
         CHECK(begin(&jobs[i], true) == TUTTI_OK) &&
         CHECK(tutti_request_wait(&jobs[i].request) == TUTTI_OK) && CHECK(jobs[i].request != NULL);
  for (int round = 0; round < ROUNDS && ok; round++) {
    for (int i = 0; i < N && ok; i++) {
      jobs[i].tag = cover_mix(jobs[i].tag + 1);
      fill(&jobs[i]);
      ok = CHECK(tutti_request_start(jobs[i].request) == TUTTI_OK);
    }
    for (int i = N - 1; i >= 0 && ok; i--) {
      if (i % 3 == 0)
        ok = CHECK(tutti_request_wait(&jobs[i].request) == TUTTI_OK);
      else
        for (done = 0; ok && !done;)
          ok = CHECK(tutti_request_test(&jobs[i].request, &done) == TUTTI_OK);
      ok = ok && CHECK(jobs[i].request != NULL) && CHECK(right(&jobs[i]));
    }
  }
  for (int i = 0; i < N && ok; i++) {
    ok = CHECK(tutti_request_free(&jobs[i].request) == TUTTI_OK) && CHECK(!jobs[i].request);
    drop_job(&jobs[i]);
  }
  return CHECK(!tutti_comm_free(comms[0])) && CHECK(!tutti_comm_free(comms[1])) && ok;
}

/* Work between tests: the operation completes although no rank waits. A wait for another operation also drives
 * it. */
bool scene_polling(tutti_comm *base, uint64_t seed) {
  enum { N = 100000 };
  tutti_comm *comm;
  if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
  uint32_t *x = malloc(N * sizeof *x), sum = 0;
  bool ok = CHECK(x != NULL);
  int done = 0;
  for (size_t i = 0; i < N && ok; i++) x[i] = value(seed, tutti_comm_rank(comm), i);
  tutti_request *r = NULL;
  ok = ok && CHECK(!tutti_allreduce_start(comm, x, x, N, TUTTI_UINT32, TUTTI_SUM, &r));
  while (ok && !done) ok = CHECK(!tutti_request_test(&r, &done));
  for (size_t i = 0; i < N && ok; i += 997) {
    for (int p = (int)(sum = 0); p < tutti_comm_size(comm); p++) sum += value(seed, p, i);
    ok = CHECK(x[i] == sum);
  }
  ok = ok && CHECK(!tutti_allreduce_start(comm, x, x, N, TUTTI_UINT32, TUTTI_MAX, &r)) &&
       CHECK(!tutti_barrier(base)) && CHECK(!tutti_request_wait(&r));
  free(x);
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- several threads of a rank, each with its own communicator ---- */

typedef struct worker {
  tutti_comm *comm;
  uint64_t seed;
  bool ok;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  w->ok = true;
  for (int i = 0; i < 40 && w->ok; i++) {
    job j;
    w->ok = make_job(&j, w->comm, cover_mix(w->seed + (uint64_t)i)) && CHECK(!begin(&j, false)) &&
            CHECK(!tutti_request_wait(&j.request)) && CHECK(right(&j));
    if (w->ok) drop_job(&j);
  }
  return NULL;
}

bool scene_threads(tutti_comm *base, uint64_t seed) {
  enum { N = 3 };
  worker workers[N];
  pthread_t threads[N];
  bool ok = true;
  for (int i = 0; i < N; i++) {
    workers[i].seed = seed + 1000 * (uint64_t)i;
    if (!CHECK(!tutti_comm_dup(base, &workers[i].comm))) return false;
  }
  for (int i = 0; i < N; i++) pthread_create(&threads[i], NULL, work, &workers[i]);
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    ok = CHECK(!tutti_comm_free(workers[i].comm)) && workers[i].ok && ok;
  }
  return ok;
}

/* A root far ahead of its readers. The readers must not report it as lost or as being in another call. */
bool scene_runaway(tutti_comm *base, uint64_t seed) {
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  for (int round = 0; round < 12 && ok; round++) {
    if (tutti_comm_rank(comm) == 0) usleep(99000 + (unsigned)(seed + (unsigned)round) % 2000);
    for (int i = 0; i < 24 && ok; i++) {
      uint32_t x = (uint32_t)(round * 100 + i);
      ok = CHECK(!tutti_broadcast(comm, &x, &x, 1, TUTTI_UINT32, 0)) &&
           CHECK(x == (uint32_t)(round * 100 + i));
    }
  }
  return CHECK(!tutti_comm_free(comm)) && ok;
}
