/* scenes_wrong.c - calls that must be refused, and mismatches between ranks that must be detected.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "cover.h"
#include "scenes.h"
#include "seconds.h"
#include "tutti_plan.h"

const scene scenes[] = {
    {"40 requests on each of four communicators", scene_storm},
    {"persistent requests, 30 rounds", scene_persistent},
    {"tests alone drive a request", scene_polling},
    {"three threads of each rank, a communicator each", scene_threads},
    {"what may not be freed or started", scene_refusals},
    {"a user op's handle used again for another op", scene_ops},
    {"two threads on one communicator", scene_busy},
    {"an abort ends all who wait", scene_abort},
    {"different calls are named", scene_mismatch},
    {"a rank that does not come is named", scene_timeout},
    {"a rank that tests has not waited since an earlier test", scene_tests_again},
    {"a root far ahead", scene_runaway},
    {"freed by some while others still wait", scene_freed},
    {"late helpers are waited for", scene_late_helpers},
    {"two groups with the same helpers", scene_shared_helpers},
    {"helpers that are none", scene_wrong_helpers},
    {"lists of buffers, in every manner", scene_lists},
    {"lists of every type and op", scene_list_types},
    {"lists that differ", scene_list_mismatch},
    {"groups", scene_groups},
    {"groups that are refused", scene_wrong_groups},
    {"several requests", scene_several},
    {"several requests that fail", scene_several_fail},
    {"an algorithm of one call", scene_own_algorithm},
    {"tensors in buckets, ready in any order", scene_buckets},
    {"buckets that travel as bf16", scene_bucket_bf16},
    {"buckets with a helper, in the shared heap", scene_bucket_helper},
    {"buckets that differ, and refused calls", scene_bucket_wrong},
    {"messages around the ring, both ways", scene_ring},
    {"messages between all pairs of ranks, during collectives", scene_many_messages},
    {"persistent messages; one whose sender has gone", scene_messages_of_one},
    {"messages to oneself", scene_oneself},
    {"messages with tags", scene_tags},
    {"messages from any rank, with any tag", scene_any},
    {"messages that go wrong", scene_wrong_messages},
    {"calls are measured before they run", scene_measure},
    {"ops of the user's are not called with made up numbers", scene_measure_ops},
    {"wisdom that some ranks have", scene_wisdom},
    {"shrinking though all live, in order and after an abort", scene_shrink},
    {"a rank that does not come to shrink", scene_shrink_late},
    {NULL, NULL},
};

bool scene_check(bool ok, const char *file, int line, const char *text) {
  if (!ok) printf("# %s:%d: %s (%s)\n", file, line, text, tutti_error());
  fflush(stdout);
  return ok;
}

bool scene_error(tutti_status got, tutti_status want, const char *words, const char *file,
                 int line) {
  char copy[400], *save = NULL;
  const char *sentence = tutti_error();
  snprintf(copy, sizeof copy, "%s", words);
  bool ok = got == want;
  for (char *w = strtok_r(copy, "|", &save); w && ok; w = strtok_r(NULL, "|", &save))
    ok = strstr(sentence, w) != NULL;
  if (!ok)
    printf("# %s:%d: expected %s with '%s', got %s: %s\n", file, line, tutti_strerror(want), words,
           tutti_strerror(got), got ? sentence : "");
  fflush(stdout);
  return ok;
}

bool scene_refusals(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  tutti_request *r = NULL, *keep = NULL;
  uint32_t x = (uint32_t)me, y = 0;
  (void)seed;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!tutti_barrier(base));
  if (me == 0) usleep(50000);
  ok = ok && CHECK(!tutti_allreduce_start(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_MAX, &r)) &&
       ERROR(tutti_comm_free(comm), TUTTI_ERR_STATE, "1 request|not waited for") &&
       ERROR(tutti_request_start(r), TUTTI_ERR_STATE, "not persistent") &&
       CHECK(!tutti_request_wait(&r)) && CHECK(r == NULL) && CHECK((int)y == P - 1) &&
       CHECK(!tutti_request_wait(&r));
  ok = ok &&
       CHECK(!tutti_call_init(
           comm,
           CALL(ALLREDUCE, .src = &x, .dst = &y, .count = 1, .type = TUTTI_UINT32, .op = TUTTI_SUM),
           &keep)) &&
       ERROR(tutti_comm_free(comm), TUTTI_ERR_STATE, "1 request") && CHECK(!tutti_barrier(base));
  /* Rank 0 starts only after the others have checked their requests, which therefore are still running. */
  if (me == 0) ok = CHECK(!tutti_barrier(base)) && ok;
  ok = ok && CHECK(!tutti_request_start(keep));
  if (me > 0) {
    ok = ok && ERROR(tutti_request_start(keep), TUTTI_ERR_STATE, "running") &&
         ERROR(tutti_request_free(&keep), TUTTI_ERR_STATE, "running") &&
         ERROR(comm_set_algorithm(comm, "naive"), TUTTI_ERR_STATE, "in flight");
    ok = CHECK(!tutti_barrier(base)) && ok;
  }
  return ok && CHECK(!tutti_request_wait(&keep)) && CHECK(keep != NULL) &&
         CHECK(!tutti_request_free(&keep)) && CHECK(!tutti_comm_free(comm));
}

/* A freed handle is reused for an op of another kind, and remembered plans must not be. A persistent request
 * with an op that was freed fails, and does not hang. */
bool scene_ops(tutti_comm *base, uint64_t seed) {
  enum { N = 40 };
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static tutti_op user, ordered; /* of the process: ranks that are threads share them */
  static int made, freed;
  cover_case c = {.ranks = P, .type = TUTTI_UINT32, .op = COVER_USER, .count = N, .seed = seed};
  uint32_t x[N], y[N], z[N];
  tutti_comm *comm;
  tutti_request *r = NULL;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_algorithm(comm, "fold(ring)"));
  pthread_mutex_lock(&lock);
  if (made++ == 0) ok = CHECK(!tutti_op_create(cover_user_op, NULL, 1, &user)) && ok;
  pthread_mutex_unlock(&lock);
  cover_fill(&c, me, x, N);
  cover_reduce(&c, P, z, N, NULL);
  ok = ok && CHECK(!tutti_barrier(base)) &&
       CHECK(!tutti_allreduce(comm, x, y, N, TUTTI_UINT32, user)) && CHECK(!memcmp(y, z, sizeof y));
  ok = ok && CHECK(!tutti_barrier(base));
  pthread_mutex_lock(&lock);
  if (freed++ == 0)
    ok = CHECK(!tutti_op_free(user)) &&
         CHECK(!tutti_op_create(cover_ordered_op, NULL, 0, &ordered)) && CHECK(user == ordered) &&
         ok;
  pthread_mutex_unlock(&lock);
  c.op = COVER_ORDERED;
  cover_reduce(&c, P, z, N, NULL);
  ok = ok && CHECK(!tutti_barrier(base)) &&
       CHECK(!tutti_allreduce(comm, x, y, N, TUTTI_UINT32, ordered)) &&
       CHECK(!memcmp(y, z, sizeof y)) &&
       CHECK(!tutti_call_init(
           comm,
           CALL(ALLREDUCE, .src = x, .dst = y, .count = N, .type = TUTTI_UINT32, .op = ordered),
           &r)) &&
       CHECK(!tutti_barrier(base));
  pthread_mutex_lock(&lock);
  if (--made == 0) ok = CHECK(!tutti_op_free(ordered)) && ok;
  if (made == 0) freed = 0;
  pthread_mutex_unlock(&lock);
  ok = ok && CHECK(!tutti_barrier(base));
  tutti_status status = ok ? tutti_request_start(r) : TUTTI_OK;
  if (!status) status = tutti_request_wait(&r);
  return ok && ERROR(status, TUTTI_ERR_OP, "op") && CHECK(!tutti_request_free(&r)) &&
         CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm));
}

/* ---- two threads on one communicator ---- */

typedef struct intruder {
  tutti_comm *comm;
  tutti_status status;
  char words[200];
} intruder;

static void *intrude(void *arg) {
  intruder *i = arg;
  char name[40];
  usleep(30000);
  i->status =
      tutti_comm_plan(i->comm, TUTTI_ALLREDUCE, 1, TUTTI_INT32, TUTTI_SUM, name, sizeof name);
  snprintf(i->words, sizeof i->words, "%s", tutti_error());
  return NULL;
}

/* A thread that is too early or too late on a busy machine is refused in a later round. */
bool scene_busy(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  pthread_t thread;
  (void)seed;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  uint32_t refused = P == 1;
  for (int round = 0; round < 50 && !refused; round++) {
    uint32_t mine = 0;
    if (me == 1) {
      intruder i = {comm, TUTTI_OK, ""};
      pthread_create(&thread, NULL, intrude, &i);
      ok = CHECK(!tutti_barrier(comm)) && ok;
      pthread_join(thread, NULL);
      mine = i.status == TUTTI_ERR_STATE;
      ok = CHECK(mine || !i.status) && CHECK(!mine || strstr(i.words, "another thread")) && ok;
    } else {
      if (me == 0) usleep(100000);
      ok = CHECK(!tutti_barrier(comm)) && ok;
    }
    ok = CHECK(!tutti_allreduce(base, &mine, &refused, 1, TUTTI_UINT32, TUTTI_MAX)) && ok;
  }
  return CHECK(refused) && CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- between ranks ---- */

bool scene_abort(tutti_comm *base, uint64_t seed) {
  enum { N = 12 };
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  tutti_request *r[N];
  uint32_t x[N] = {0}, y[N];
  char words[60];
  (void)seed;
  snprintf(words, sizeof words, "rank %d aborted|had enough", P - 1);
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && /* the first estimate takes time */
            CHECK(!tutti_allreduce(comm, x, y, 1, TUTTI_UINT32, TUTTI_SUM)) &&
            CHECK(!tutti_barrier(base));
  if (ok && me == P - 1) {
    usleep(300000);
    ok = CHECK(!tutti_comm_abort(comm, "had enough"));
  } else if (ok) {
    double since = seconds();
    for (int i = 0; i < N; i++) /* more than a window: some are queued */
      ok = CHECK(!tutti_allreduce_start(comm, &x[i], &y[i], 1, TUTTI_UINT32, TUTTI_SUM, &r[i])) &&
           ok;
    for (int i = N - 1; i >= 0 && ok; i--)
      ok = ERROR(tutti_request_wait(&r[i]), TUTTI_ERR_ABORTED, words) && CHECK(!r[i]);
    ok = CHECK(seconds() - since < 20) && ok;
  }
  ok = ok && ERROR(tutti_barrier(comm), TUTTI_ERR_ABORTED, words);
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* One of several ranks passes a larger block for another rank, or a larger total, or calls a
 * collective without counts. */
static tutti_status varied_call(tutti_comm *comm, int way, bool other, uint64_t *x, uint64_t *y) {
  size_t counts[64], all = 0;
  for (int r = 0; r < tutti_comm_size(comm); r++) all += counts[r] = 2;
  if (other && way == 0) counts[0]++, counts[1]--;
  if (other && way == 1) counts[1] = 3;
  if (way == 0) return tutti_reduce_scatterv(comm, x, y, counts, TUTTI_INT64, TUTTI_SUM);
  if (!other || way == 1) return tutti_allgatherv(comm, x, y, counts, TUTTI_INT64);
  return tutti_allgather(comm, x, y, all, TUTTI_INT64);
}

/* The call that rank `other` makes differently, in its n-th variant. */
static tutti_status one_call(tutti_comm *comm, int way, bool other, uint64_t *x, uint64_t *y) {
  const int root = tutti_comm_size(comm) - 1;
  switch (way) {
    case 0: return tutti_allreduce(comm, x, y, other ? 11 : 10, TUTTI_INT64, TUTTI_SUM);
    case 1: return tutti_allreduce(comm, x, y, 10, other ? TUTTI_DOUBLE : TUTTI_INT64, TUTTI_SUM);
    case 2: return tutti_allreduce(comm, x, y, 10, TUTTI_INT64, other ? TUTTI_MAX : TUTTI_SUM);
    case 3: return tutti_reduce(comm, x, y, 10, TUTTI_INT64, TUTTI_SUM, other ? 0 : root);
    case 4: return tutti_broadcast(comm, x, y, 10, TUTTI_INT64, other ? 0 : root);
    case 5:
      return other ? tutti_barrier(comm) : tutti_allreduce(comm, x, y, 10, TUTTI_INT64, TUTTI_SUM);
    case 6: return tutti_allreduce(comm, x, y, other ? 0 : 10, TUTTI_INT64, TUTTI_SUM);
    case 7: return tutti_allreduce(comm, x, y, other ? 10 : 0, TUTTI_INT64, TUTTI_SUM);
    case 8: return tutti_allgather(comm, x, y, other ? 3 : 2, TUTTI_INT64);
    case 9:
      return other ? tutti_allgather(comm, x, y, 2, TUTTI_INT64)
                   : tutti_reduce_scatter(comm, x, y, 2, TUTTI_INT64, TUTTI_SUM);
    default: return varied_call(comm, way - 10, other, x, y);
  }
}

static const char *const their_words[] = {
    "allreduce of 11 int64, sum|allreduce of 10 int64, sum",
    "allreduce of 10 double, sum|allreduce of 10 int64, sum",
    "allreduce of 10 int64, max|allreduce of 10 int64, sum",
    "reduce of 10 int64, sum, root ",
    "broadcast of 10 int64, root ",
    "barrier|allreduce of 10 int64, sum",
    "allreduce of 0 int64, sum|allreduce of 10 int64, sum",
    "allreduce of 10 int64, sum|allreduce of 0 int64, sum",
    "allgather of 3 int64|allgather of 2 int64",
    "allgather of 2 int64|reduce_scatter of 2 int64, sum",
    "reduce_scatterv of |int64 in all, sum (with other counts)",
    "allgatherv of |int64 in all, but rank |int64 in all",
    "allgather of |allgatherv of |int64 in all",
};
enum { WAYS = sizeof their_words / sizeof *their_words };

/* Some ranks may complete before the mismatch is detectable; their next call fails. */
bool scene_mismatch(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  bool ok = true;
  for (int way = 0; way < WAYS && P > 1; way++) {
    static const char *const algos[] = {NULL, "naive", "fold(ring)", "doubling", "two-shot"};
    uint64_t x[256] = {0}, y[256] = {0};
    char words[200];
    const int odd_one = (int)(cover_mix(seed + (uint64_t)way) % (uint64_t)P);
    tutti_comm *comm;
    if (!CHECK(!tutti_comm_dup(base, &comm))) return false;
    ok = CHECK(!comm_set_algorithm(comm, algos[seed % 5])) && ok;
    double since = seconds();
    tutti_status status = one_call(comm, way, me == odd_one, x, y);
    for (int again = 0; again < 3 && !status; again++) status = tutti_barrier(comm);
    snprintf(words, sizeof words, "rank %d|%s", odd_one, their_words[way]);
    bool good = ERROR(status, TUTTI_ERR_MISMATCH, words);
    ok = good && CHECK(seconds() - since < 30) && ok;
    if (!good) printf("# way %d, rank %d of %d, odd one %d\n", way, me, P, odd_one);
    if (!CHECK(!tutti_barrier(base)) || !CHECK(!tutti_comm_free(comm))) return false;
  }
  return ok;
}

bool scene_timeout(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  uint32_t x = 1, y;
  char words[100];
  (void)seed;
  if (P == 1) return true;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  snprintf(words, sizeof words, "for rank %d (pid|in allreduce|the timeout is 1 s", P - 1);
  if (me < P - 1)
    ok = CHECK(!comm_set_timeout(comm, 1)) &&
         ERROR(tutti_allreduce(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM), TUTTI_ERR_TIMEOUT, words);
  ok = CHECK(!tutti_barrier(base)) && ok; /* the last rank calls when the others have given up */
  if (me == P - 1) ok = ERROR(tutti_barrier(comm), TUTTI_ERR_TIMEOUT, words) && ok;
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* A test that finds nothing complete, then a wait; much later a test of the next operation, with no late peer. */
bool scene_tests_again(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  tutti_request *r;
  uint32_t x = 1, y = 0;
  int done = 0;
  (void)seed;
  if (P != 2) return true; /* more ranks add nothing but time */
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!tutti_barrier(comm));
  if (me) usleep(20000);
  ok = ok && CHECK(!tutti_allreduce_start(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, &r)) &&
       CHECK(!tutti_request_test(&r, &done)) && CHECK(!tutti_request_wait(&r)) &&
       CHECK(!tutti_barrier(base));
  usleep(me ? 3300000 : 3100000);
  ok = ok && CHECK(!comm_set_timeout(comm, 3)) &&
       CHECK(!tutti_allreduce_start(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, &r));
  for (done = 0; ok && !done;) ok = CHECK(!tutti_request_test(&r, &done));
  return CHECK(y == (uint32_t)P) && CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) &&
         ok;
}

/* Rank 0 leaves a communicator as soon as possible and reuses the memory while others still read its exported
 * data. */
bool scene_freed(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  uint32_t x = 7, y = 0;
  void *memory[64] = {NULL};
  (void)seed;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  if (ok && P > 2) ok = CHECK(!comm_set_algorithm(comm, "naive"));
  if (me == P - 1) usleep(400000);
  if (me != 0) {
    ok = ok && CHECK(!tutti_broadcast(comm, &x, &y, 1, TUTTI_UINT32, P > 2 ? P - 2 : 0)) &&
         CHECK(!tutti_reduce(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, P - 1));
  } else {
    ok = ok && CHECK(!tutti_broadcast(comm, &x, &y, 1, TUTTI_UINT32, P > 2 ? P - 2 : 0)) &&
         CHECK(!tutti_reduce(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, P - 1));
  }
  ok = CHECK(!tutti_comm_free(comm)) && ok;
  for (int i = 0; i < 64 && me == 0 && ok; i++) {
    ok = CHECK(!tutti_mem_alloc(base, 4096, &memory[i]));
    if (ok) memset(memory[i], 0xff, 4096);
  }
  ok = CHECK(!tutti_barrier(base)) && ok;
  for (int i = 0; i < 64; i++) tutti_mem_free(base, memory[i]);
  return ok;
}
