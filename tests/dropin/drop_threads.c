/* drop_threads.c - thread level single, funneled, serialized or multiple (the argument): each
 * thread uses its own communicator, with messages at the same time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <string.h>

#include "drop.h"

enum { THREADS = 3, TURNS = 60, MOST = 5000 };

typedef struct worker {
  pthread_t thread;
  MPI_Comm comm;
  int number;
  bool good;
} worker;

static bool turn(const worker *w, int k, int *x, int *y) {
  const int n = 1 + (int)(drop_mix((unsigned)w->number, (unsigned)k, 1) % MOST);
  const int root = k % drop_ranks, next = (drop_rank + 1) % drop_ranks;
  const int before = (drop_rank + drop_ranks - 1) % drop_ranks;
  int got = -1, sum = 0;
  for (int r = 0; r < drop_ranks; r++) sum += r;
  for (int i = 0; i < n; i++) x[i] = drop_rank + i * w->number;
  bool good = DROP_CALL(MPI_Allreduce(x, y, n, MPI_INT, MPI_SUM, w->comm));
  for (int i = 0; i < n; i++) good &= y[i] == sum + drop_ranks * i * w->number;
  good &= DROP_CALL(MPI_Sendrecv(&drop_rank, 1, MPI_INT, next, 4, &got, 1, MPI_INT, before, 4,
                                 w->comm, MPI_STATUS_IGNORE));
  good &= DROP_CHECK(got == before) && DROP_CALL(MPI_Bcast(x, n, MPI_INT, root, w->comm));
  for (int i = 0; i < n; i++) good &= x[i] == root + i * w->number;
  return good && DROP_CALL(MPI_Barrier(w->comm));
}

static void *work(void *arg) {
  worker *w = arg;
  static _Thread_local int x[MOST], y[MOST];
  for (int k = 0; k < TURNS && w->good; k++) w->good = turn(w, k, x, y);
  return NULL;
}

/* Runs all threads simultaneously, or one after another: if only one thread may be within MPI, another rank may
 * wait for work that this rank's other threads have not done yet. */
static bool threads(bool multiple) {
  worker w[THREADS];
  bool good = true;
  for (int t = 0; t < THREADS; t++) {
    w[t] = (worker){.number = t + 1, .good = true};
    good &= DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &w[t].comm));
  }
  for (int t = 0; t < THREADS; t++) {
    pthread_create(&w[t].thread, NULL, work, &w[t]);
    if (!multiple) pthread_join(w[t].thread, NULL);
  }
  for (int t = 0; t < THREADS; t++) {
    if (multiple) pthread_join(w[t].thread, NULL);
    good &= w[t].good && DROP_CALL(MPI_Comm_free(&w[t].comm));
  }
  return good;
}

/* Each thread makes and frees its own communicators. */
static void *makes(void *arg) {
  worker *w = arg;
  for (int k = 0; k < 10 && w->good; k++) {
    MPI_Comm comm;
    int x = 1;
    w->good = DROP_CALL(MPI_Comm_dup(w->comm, &comm)) &&
              DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, comm)) &&
              DROP_CHECK(x == drop_ranks) && DROP_CALL(MPI_Comm_free(&comm));
  }
  return NULL;
}

static bool making(void) {
  worker w[THREADS];
  bool good = true;
  for (int t = 0; t < THREADS; t++) {
    w[t] = (worker){.number = t, .good = true};
    good &= DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &w[t].comm));
  }
  for (int t = 0; t < THREADS; t++) pthread_create(&w[t].thread, NULL, makes, &w[t]);
  for (int t = 0; t < THREADS; t++) {
    pthread_join(w[t].thread, NULL);
    good &= w[t].good && DROP_CALL(MPI_Comm_free(&w[t].comm));
  }
  return good;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                        MPI_THREAD_MULTIPLE};
  int level = 0, now;
  for (int i = 0; argc > 1 && i < 4; i++)
    if (strcmp(argv[1], names[i]) == 0) level = i;
  const int provided = drop_start(&argc, &argv, levels[level]);
  MPI_Query_thread(&now);
  if (drop_rank == 0) printf("# provided: %d, now %d\n", provided, now);
  worker self = {.comm = MPI_COMM_WORLD, .number = 1, .good = true};
  work(&self);
  drop_tell("the main thread", self.good);
  if (level >= 2 && provided >= levels[level])
    drop_tell("threads, a communicator each", threads(level == 3));
  if (level == 3 && provided == MPI_THREAD_MULTIPLE)
    drop_tell("threads that make communicators", making());
  return drop_end();
}
