/* mpi_beside.c - a program that uses MPI and tutti together: messages, communicators, computing.
 *
 * Usage      mpi_beside [LEVEL]   of threads, as MPI names it: single (the default),
 *            funneled, serialized, multiple.
 * Idea       neither may receive the other's messages, and a rank that waits in tutti lets
 *            MPI progress: a program that is correct without tutti is also correct with it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scenes.h"
#include "tutti_mpi.h"

static int me, ranks, level;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- collectives whose result is known ---- */

typedef struct job {
  tutti_comm *comm;
  tutti_request *request;
  uint32_t *x;
  size_t n;
  int tag;
} job;

static uint32_t value(int tag, int rank, size_t i) {
  return (uint32_t)(tag + 1) * 2654435761u + (uint32_t)(rank + 1) * 40503u + (uint32_t)i;
}

/* An allreduce, in place. */
static bool job_start(job *j, tutti_comm *comm, int tag, size_t n) {
  *j = (job){.comm = comm, .tag = tag, .n = n, .x = malloc(n * sizeof *j->x + 1)};
  if (!CHECK(j->x)) return false;
  for (size_t i = 0; i < n; i++) j->x[i] = value(tag, tutti_comm_rank(comm), i);
  return ERROR(tutti_allreduce_start(comm, j->x, j->x, n, TUTTI_UINT32, TUTTI_SUM, &j->request),
               TUTTI_OK, "");
}

static bool job_end(job *j) {
  const int n = tutti_comm_size(j->comm);
  bool good = ERROR(tutti_request_wait(&j->request), TUTTI_OK, "");
  for (size_t i = 0; i < j->n && good; i++) {
    uint32_t sum = 0;
    for (int r = 0; r < n; r++) sum += value(j->tag, r, i);
    good = CHECK(j->x[i] == sum);
  }
  free(j->x);
  return good;
}

static bool job_run(tutti_comm *comm, int tag, size_t n) {
  job j;
  return job_start(&j, comm, tag, n) && job_end(&j);
}

/* ---- the program's own messages ---- */

/* While tutti communicates, a probe for any message finds nothing. */
static bool play_probe(tutti_comm *comm, uint64_t seed) {
  static const size_t sizes[] = {1, 1000, 300000};
  bool good = true;
  (void)seed;
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    job j;
    int done = 0, is = 0;
    good &= job_start(&j, comm, (int)s, sizes[s]);
    while (!done && good) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is, MPI_STATUS_IGNORE);
      good &= CHECK(!is);
      good &= ERROR(tutti_request_test(&j.request, &done), TUTTI_OK, "");
    }
    if (done)
      free(j.x);
    else
      good &= job_end(&j);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return good;
}

/* Wildcard receives posted before tutti communicates match messages that the program sends afterwards. */
static bool play_wildcards(tutti_comm *comm, uint64_t seed) {
  enum { N = 20000 };
  MPI_Comm on[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Request in[2], out[2];
  MPI_Status status;
  static int got[2][N], sent[2][N];
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  bool good = true;
  (void)seed;
  MPI_Comm_dup(MPI_COMM_WORLD, &on[1]);
  for (int round = 0; round < 6; round++) {
    const int n = round % 2 ? N : 1 + round;
    for (int c = 0; c < 2; c++)
      MPI_Irecv(got[c], N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, on[c], &in[c]);
    good &= job_run(comm, round, 10) && job_run(comm, round, 60000);
    for (int c = 0; c < 2; c++) {
      for (int i = 0; i < n; i++) sent[c][i] = 1000 * me + 10 * round + c + i;
      MPI_Isend(sent[c], n, MPI_INT, next, 60 + round, on[c], &out[c]);
    }
    good &= job_run(comm, round, 60001);
    for (int c = 0; c < 2; c++) {
      int count = -1;
      MPI_Wait(&in[c], &status);
      MPI_Wait(&out[c], MPI_STATUS_IGNORE);
      MPI_Get_count(&status, MPI_INT, &count);
      good &= CHECK(status.MPI_SOURCE == before && status.MPI_TAG == 60 + round && count == n);
      for (int i = 0; i < n && good; i++)
        good = CHECK(got[c][i] == 1000 * before + 10 * round + c + i);
    }
  }
  MPI_Comm_free(&on[1]);
  return good;
}

/* ---- waiting in tutti lets MPI progress ---- */

enum wait { ALLREDUCE, BARRIER, REQUEST, TESTS, MESSAGE, WAITS };

/* Returns after the partner has called it, too. */
static bool meet(tutti_comm *comm, enum wait how, int partner) {
  job j;
  uint32_t theirs = 0, mine = (uint32_t)me;
  int done = 0;
  bool good = true;
  switch (how) {
    case ALLREDUCE: return job_run(comm, 1, 3);
    case BARRIER: return ERROR(tutti_barrier(comm), TUTTI_OK, "");
    case REQUEST: return job_start(&j, comm, 2, 5000) && job_end(&j);
    case TESTS:
      good = job_start(&j, comm, 3, 70000);
      while (good && !done) good = ERROR(tutti_request_test(&j.request, &done), TUTTI_OK, "");
      free(j.x);
      return good;
    default:
      if (partner >= ranks) return true;
      if (me < partner)
        return ERROR(tutti_recv(comm, &theirs, 1, TUTTI_UINT32, partner, 0, NULL), TUTTI_OK, "") &&
               CHECK(theirs == (uint32_t)partner);
      return ERROR(tutti_send(comm, &mine, 1, TUTTI_UINT32, partner, 0), TUTTI_OK, "");
  }
}

/* The lower rank of a pair starts a large send and then waits in tutti; the partner enters tutti after it has
 * received. */
static bool play_large(tutti_comm *comm, uint64_t seed) {
  const int partner = me ^ 1, n = 4 << 20;
  const bool sends = me < partner;
  char *bytes = malloc((size_t)n);
  bool good = CHECK(bytes);
  (void)seed;
  for (enum wait how = 0; how < WAITS && good; how++) {
    MPI_Request request = MPI_REQUEST_NULL;
    memset(bytes, sends ? 7 + (int)how : 0, (size_t)n);
    if (partner < ranks && sends)
      MPI_Isend(bytes, n, MPI_BYTE, partner, 5, MPI_COMM_WORLD, &request);
    else if (partner < ranks)
      MPI_Recv(bytes, n, MPI_BYTE, partner, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    good &= meet(comm, how, partner);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    good &= CHECK(partner >= ranks || (bytes[0] == 7 + (int)how && bytes[n - 1] == bytes[0]));
  }
  free(bytes);
  return good;
}

/* The reverse: the receiver, which has posted its receive, waits in tutti; the sender waits in MPI. */
static bool play_late_send(tutti_comm *comm, uint64_t seed) {
  const int partner = me ^ 1, n = 4 << 20;
  const bool receives = me < partner;
  char *bytes = calloc(1, (size_t)n);
  bool good = CHECK(bytes);
  (void)seed;
  for (enum wait how = 0; how < WAITS && good; how++) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (partner < ranks && receives)
      MPI_Irecv(bytes, n, MPI_BYTE, partner, 6, MPI_COMM_WORLD, &request);
    else if (partner < ranks)
      MPI_Ssend(bytes, n, MPI_BYTE, partner, 6, MPI_COMM_WORLD);
    good &= meet(comm, how, partner);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(bytes);
  return good;
}

/* A large allreduce completes although no rank waits for it: all ranks compute and test. */
static bool play_computing(tutti_comm *comm, uint64_t seed) {
  job j;
  int done = 0;
  long tests = 0;
  volatile double x = 1;
  const double from = seconds();
  (void)seed;
  bool good = job_start(&j, comm, 9, 1 << 20);
  while (good && !done && seconds() - from < 60) {
    for (int i = 0; i < 20000; i++) x = x * 1.0000001 + 1e-9;
    good = ERROR(tutti_request_test(&j.request, &done), TUTTI_OK, "");
    tests++;
  }
  good &= CHECK(done);
  for (size_t i = 0; i < j.n && good; i += 997) {
    uint32_t sum = 0;
    for (int r = 0; r < ranks; r++) sum += value(9, r, i);
    good = CHECK(j.x[i] == sum);
  }
  if (me == 0) printf("# complete after %ld tests\n", tests);
  free(j.x);
  return good;
}

/* ---- many communicators ---- */

enum { MANY = 12, EACH = 3 };

/* Are tutti's ranks in MPI's order? */
static bool check_order(tutti_comm *comm, MPI_Comm mpi) {
  int theirs[64], ours[64];
  MPI_Allgather(&me, 1, MPI_INT, theirs, 1, MPI_INT, mpi);
  int rank, size;
  MPI_Comm_rank(mpi, &rank);
  MPI_Comm_size(mpi, &size);
  return CHECK(tutti_comm_rank(comm) == rank && tutti_comm_size(comm) == size) &&
         ERROR(tutti_allgather(comm, &me, ours, 1, TUTTI_INT32), TUTTI_OK, "") &&
         CHECK(memcmp(ours, theirs, (size_t)size * sizeof *ours) == 0);
}

static int make_many(tutti_comm *base, tutti_comm **all, bool *good) {
  MPI_Comm mpi[4];
  int n = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &mpi[0]);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &mpi[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &mpi[2]);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 1, me, &mpi[3]);
  for (int c = 0; c < 4; c++) {
    if (mpi[c] == MPI_COMM_NULL) continue;
    *good &= ERROR(tutti_comm_from_mpi(mpi[c], &all[n]), TUTTI_OK, "");
    if (!*good) return n;
    *good &= check_order(all[n++], mpi[c]);
    MPI_Comm_free(&mpi[c]); /* tutti has its own copy */
  }
  const int made = n;
  for (int c = 0; c < made && *good; c++) {
    const int rank = tutti_comm_rank(all[c]);
    *good &= ERROR(tutti_comm_split(all[c], rank % 3 == 2 ? -1 : rank % 3, -rank, &all[n]), TUTTI_OK, "");
    n += *good && all[n] != NULL;
  }
  *good &= ERROR(tutti_comm_dup(base, &all[n]), TUTTI_OK, "");
  return n + *good;
}

/* Operations in flight on all communicators simultaneously; each rank waits for them in a different order. */
static bool play_many(tutti_comm *comm, uint64_t seed) {
  static const size_t sizes[EACH] = {3, 5000, 70000};
  tutti_comm *all[MANY];
  job jobs[MANY * EACH];
  bool good = true;
  const int n = make_many(comm, all, &good);
  for (int round = 0; round < 3 && good; round++) {
    for (int k = 0; k < n * EACH; k++)
      good &= job_start(&jobs[k], all[k % n], k / n, sizes[(k / n + round) % EACH]);
    for (int k = 0; k < n * EACH && good; k++) {
      const int turned = me % 2 ? n * EACH - 1 - k : (k + me + (int)(seed % 5)) % (n * EACH);
      good &= job_end(&jobs[turned]);
    }
  }
  for (int c = 0; c < n; c++) good &= ERROR(tutti_comm_free(all[me % 2 ? c : n - 1 - c]), TUTTI_OK, "");
  return good;
}

/* ---- threads ---- */

typedef struct worker {
  pthread_t thread;
  tutti_comm *comm;
  bool good;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  w->good = true;
  for (int i = 0; i < 20 && w->good; i++) w->good = job_run(w->comm, i, (size_t)1 << (i % 15));
  return NULL;
}

/* Each thread of a process uses its own communicator. */
static bool play_threads(tutti_comm *comm, uint64_t seed) {
  enum { THREADS = 3 };
  worker w[THREADS];
  bool good = true;
  (void)seed;
  if (level < MPI_THREAD_SERIALIZED) return true;
  for (int i = 0; i < THREADS; i++) good &= ERROR(tutti_comm_dup(comm, &w[i].comm), TUTTI_OK, "");
  if (!good) return false;
  for (int i = 0; i < THREADS; i++) pthread_create(&w[i].thread, NULL, work, &w[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) good &= w[i].good && ERROR(tutti_comm_free(w[i].comm), TUTTI_OK, "");
  return good;
}

static void *abort_soon(void *comm) {
  usleep(50000);
  tutti_comm_abort(comm, "enough");
  return NULL;
}

/* A thread aborts a communicator on which another thread waits, and one that no thread uses. */
static bool play_abort(tutti_comm *comm, uint64_t seed) {
  bool good = true;
  (void)seed;
  for (int waits = 0; waits < 2 && ranks > 1; waits++) {
    tutti_comm *dup;
    pthread_t thread;
    int x = 0, late = me == ranks - 1 || !waits;
    if (!ERROR(tutti_comm_dup(comm, &dup), TUTTI_OK, "")) return false;
    if (me == 0 && level == MPI_THREAD_MULTIPLE) pthread_create(&thread, NULL, abort_soon, dup);
    if (me == 0 && level != MPI_THREAD_MULTIPLE) abort_soon(dup);
    if (late) usleep(200000);
    tutti_status status = TUTTI_OK; /* a late rank may have all messages already */
    for (int k = 0; k < 1000 && !status; k++)
      status = tutti_allreduce(dup, &x, &x, 1, TUTTI_INT32, TUTTI_SUM);
    good &= ERROR(status, TUTTI_ERR_ABORTED, "rank 0 aborted: enough");
    if (me == 0 && level == MPI_THREAD_MULTIPLE) pthread_join(thread, NULL);
    good &= ERROR(tutti_comm_free(dup), TUTTI_OK, "");
  }
  return good;
}

static const scene beside[] = {
    {"a look for any message finds none of tutti's", play_probe},
    {"receives from anyone get none of tutti's", play_wildcards},
    {"a large send makes progress while its sender waits in tutti", play_large},
    {"a large receive makes progress while its receiver waits in tutti", play_late_send},
    {"an allreduce makes progress while all ranks compute", play_computing},
    {"many communicators", play_many},
    {"threads", play_threads},
    {"an abort from another thread", play_abort},
};

int main(int argc, char **argv) {
  static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
  static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  int wanted = MPI_THREAD_SINGLE, provided, failed;
  tutti_comm *comm;
  alarm(120);
  for (int i = 0; argc > 1 && i < 4; i++)
    if (strcmp(argv[1], names[i]) == 0) wanted = levels[i];
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  level = provided < wanted ? provided : wanted;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), TUTTI_OK, "")) return 1;
  int now; /* tutti does not change it */
  MPI_Query_thread(&now);
  failed = !CHECK(now == provided);
  for (size_t s = 0; s < sizeof beside / sizeof *beside; s++) {
    int bad = !beside[s].play(comm, s), any = 1;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (me == 0) printf("%s - %s\n", any ? "not ok" : "ok", beside[s].name);
    fflush(stdout);
    failed += any;
  }
  failed += !ERROR(tutti_comm_free(comm), TUTTI_OK, "");
  MPI_Finalize();
  return tutti_finalize() || failed;
}
