/* drop_traffic.c - collectives of changing sizes with messages in between: MPI_ANY_SOURCE receives, probes,
 * late ranks, large sends in flight, windows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drop.h"

enum { MOST = 300000, RANKS = 16 };
static int x[MOST], y[MOST];

static bool allreduce(int n) {
  int sum = 0;
  for (int r = 0; r < drop_ranks; r++) sum += r;
  for (int i = 0; i < n; i++) x[i] = drop_rank + i;
  if (!DROP_CALL(MPI_Allreduce(x, y, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD))) return false;
  for (int i = 0; i < n; i++)
    if (y[i] != sum + drop_ranks * i) return DROP_CHECK(!"a wrong sum");
  return true;
}

/* Every rank sends to every rank; receivers take any message, from any source, with any tag. */
static bool anyone(int k) {
  MPI_Request q[RANKS];
  MPI_Status status;
  int mine[2] = {drop_rank, k}, got[2], seen = 0, flag;
  bool good = true;
  for (int r = 0; r < drop_ranks; r++)
    good &= DROP_CALL(MPI_Isend(mine, 2, MPI_INT, r, 100 + k, MPI_COMM_WORLD, &q[r]));
  good &= allreduce(1 + k);
  for (int r = 0; r < drop_ranks; r++) {
    good &=
        DROP_CALL(MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    good &= DROP_CHECK(got[0] == status.MPI_SOURCE && got[1] == k && status.MPI_TAG == 100 + k);
    seen |= 1 << got[0];
  }
  good &= DROP_CALL(MPI_Waitall(drop_ranks, q, MPI_STATUSES_IGNORE));
  good &= DROP_CHECK(seen == (1 << drop_ranks) - 1) && DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  return good && DROP_CHECK(!flag) && DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
}

static bool sizes(void) {
  bool good = true;
  for (unsigned k = 0; k < 60; k++)
    good &= allreduce((int)(drop_mix(k, 1, 1) % (k % 10 ? 3000 : MOST)));
  return good;
}

/* A large message begins before collectives and ends after them. */
static bool under_way(void) {
  static int out[MOST], in[MOST];
  MPI_Request q[2];
  const int next = (drop_rank + 1) % drop_ranks, before = (drop_rank + drop_ranks - 1) % drop_ranks;
  for (int i = 0; i < MOST; i++) out[i] = drop_rank + i;
  bool good = DROP_CALL(MPI_Irecv(in, MOST, MPI_INT, before, 1, MPI_COMM_WORLD, &q[0])) &&
              DROP_CALL(MPI_Isend(out, MOST, MPI_INT, next, 1, MPI_COMM_WORLD, &q[1]));
  for (int k = 0; k < 10; k++) good &= allreduce(100 * k);
  good &= DROP_CALL(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
  for (int i = 0; i < MOST; i++) good &= in[i] == before + i;
  return DROP_CHECK(good);
}

/* Rank 0 sends, then enters a collective; rank 1 receives before it enters. A rank that waits in a collective
 * must progress the messages that it has started. */
static bool first_the_other(void) {
  static int big[MOST];
  MPI_Request q = MPI_REQUEST_NULL;
  bool good = true;
  if (drop_ranks < 2) return true;
  if (drop_rank == 0) good &= DROP_CALL(MPI_Isend(big, MOST, MPI_INT, 1, 2, MPI_COMM_WORLD, &q));
  if (drop_rank == 1)
    good &= DROP_CALL(MPI_Recv(big, MOST, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  good &= allreduce(17); /* rank 0 is here while rank 1 still receives */
  return good && DROP_CALL(MPI_Wait(&q, MPI_STATUS_IGNORE));
}

/* A rank that owes data to a late rank must not wait for it. */
static bool late(void) {
  bool good = true;
  for (int k = 0; k < 4; k++) {
    if (drop_rank == k % drop_ranks) usleep(20000);
    good &= allreduce(k * 50);
    if (drop_rank == (k + 1) % drop_ranks) usleep(10000);
    good &= DROP_CALL(MPI_Bcast(x, 10, MPI_INT, k % drop_ranks, MPI_COMM_WORLD));
    good &= DROP_CALL(MPI_Reduce(x, y, 10, MPI_INT, MPI_SUM, k % drop_ranks, MPI_COMM_WORLD));
  }
  return good;
}

/* By this machine's clock: MPI_Wtime may differ between ranks. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* No rank leaves a barrier before all have entered. */
static bool barrier(void) {
  double here, left, latest, earliest;
  if (drop_rank == drop_ranks - 1) usleep(50000);
  here = seconds();
  bool good = DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
  left = seconds();
  good &= DROP_CALL(MPI_Allreduce(&here, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Allreduce(&left, &earliest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
  return good && DROP_CHECK(earliest >= latest);
}

#ifndef OPEN_MPI /* Open MPI 4.1 has windows on some machines only */
/* If rank 0 calls MPI_Win_complete before a barrier, MPI_Win_test sees it after the barrier. */
static bool window(void) {
  static int memory[4];
  static const int zero = 0;
  MPI_Win win;
  MPI_Group all, some;
  bool good = DROP_CALL(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL,
                                       MPI_COMM_WORLD, &win)) &&
              DROP_CALL(MPI_Comm_group(MPI_COMM_WORLD, &all));
  good &= DROP_CALL(drop_rank ? MPI_Group_incl(all, 1, &zero, &some)
                              : MPI_Group_excl(all, 1, &zero, &some));
  for (int k = 0, done = 1; k < 10 && good; k++) {
    good &= drop_rank ? DROP_CALL(MPI_Win_post(some, 0, win)) && DROP_CALL(MPI_Win_test(win, &done))
                      : DROP_CALL(MPI_Win_start(some, 0, win));
    good &= DROP_CHECK(drop_rank == 0 || !done) && DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
    good &= drop_rank > 0 || DROP_CALL(MPI_Win_complete(win));
    good &= DROP_CALL(MPI_Barrier(MPI_COMM_WORLD));
    good &= drop_rank == 0 || (DROP_CALL(MPI_Win_test(win, &done)) && DROP_CHECK(done));
  }
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return DROP_CALL(MPI_Win_free(&win)) && good;
}
#endif

int main(int argc, char **argv) {
  bool any = true;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int k = 0; k < 10; k++) any &= anyone(k);
  drop_tell("receives from anyone, probes", any);
  drop_tell("sizes up and down", sizes());
  drop_tell("a large message under way", under_way());
  drop_tell("a send makes progress while its sender is in a collective", first_the_other());
  drop_tell("ranks that come late", late());
  drop_tell("a barrier", barrier());
#ifndef OPEN_MPI
  drop_tell("an exposure epoch", window());
#endif
  return drop_end();
}
