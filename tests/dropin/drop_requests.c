/* drop_requests.c - non-blocking and persistent requests of collectives and messages, mixed in
 * every completion call, with blocking collectives in between.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { MOST = 4000, RANKS = 16, MANY = 6 };
static int x[MANY][MOST], y[MANY][MOST], all[MOST * RANKS], in[MOST], out[MOST];

static int sum_of(int i) {
  int sum = 0;
  for (int r = 0; r < drop_ranks; r++) sum += r * 3 + i;
  return sum;
}

/* Starts MANY requests of several kinds over n ints, in the same order on all ranks. */
static bool begin(MPI_Comm comm, int n, MPI_Request *q) {
  const int next = (drop_rank + 1) % drop_ranks, before = (drop_rank + drop_ranks - 1) % drop_ranks;
  for (int k = 0; k < MANY; k++)
    for (int i = 0; i < n; i++) x[k][i] = drop_rank * 3 + i, y[k][i] = -1;
  for (int i = 0; i < n; i++) out[i] = drop_rank * 1000 + i;
  bool good = DROP_CALL(MPI_Iallreduce(x[0], y[0], n, MPI_INT, MPI_SUM, comm, &q[0]));
  good &= DROP_CALL(MPI_Irecv(in, n, MPI_INT, before, 8, comm, &q[1]));
  good &= DROP_CALL(MPI_Ibcast(x[2], n, MPI_INT, drop_ranks - 1, comm, &q[2]));
  good &= DROP_CALL(MPI_Isend(out, n, MPI_INT, next, 8, comm, &q[3]));
  good &= DROP_CALL(MPI_Iallgather(x[4], n, MPI_INT, all, n, MPI_INT, comm, &q[4]));
  return good && DROP_CALL(MPI_Ibarrier(comm, &q[5]));
}

static bool complete(const MPI_Request *q, int n) {
  const int before = (drop_rank + drop_ranks - 1) % drop_ranks;
  bool good = true;
  for (int k = 0; k < MANY; k++) good &= DROP_CHECK(q[k] == MPI_REQUEST_NULL);
  for (int i = 0; i < n; i++)
    good &=
        y[0][i] == sum_of(i) && in[i] == before * 1000 + i && x[2][i] == (drop_ranks - 1) * 3 + i;
  for (int r = 0; r < drop_ranks; r++)
    for (int i = 0; i < n; i++) good &= all[r * n + i] == r * 3 + i;
  return DROP_CHECK(good);
}

/* Blocking collectives on the same communicator while the requests are under way. */
static bool between(MPI_Comm comm, int k) {
  int one = 1 + k, sum = 0;
  return DROP_CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm)) &&
         DROP_CHECK(sum == drop_ranks * (1 + k)) && DROP_CALL(MPI_Barrier(comm));
}

static bool testsome(MPI_Request *q) {
  int done = 0, n = 0, which[MANY];
  MPI_Status status[MANY];
  while (done < MANY) {
    if (!DROP_CALL(MPI_Testsome(MANY, q, &n, which, status))) return false;
    if (n != MPI_UNDEFINED) done += n;
  }
  return DROP_CALL(MPI_Testsome(MANY, q, &n, which, status)) && DROP_CHECK(n == MPI_UNDEFINED);
}

static bool waitsome(MPI_Request *q) {
  int done = 0, n = 0, which[MANY];
  while (done < MANY) {
    if (!DROP_CALL(MPI_Waitsome(MANY, q, &n, which, MPI_STATUSES_IGNORE))) return false;
    done += n;
  }
  return true;
}

static bool one_by_one(MPI_Request *q) {
  for (int k = 0; k < MANY; k++) {
    int done = 0, which = -1;
    if (k % 2) {
      if (!DROP_CALL(MPI_Waitany(MANY, q, &which, MPI_STATUS_IGNORE))) return false;
      continue;
    }
    while (!done)
      if (!DROP_CALL(MPI_Testany(MANY, q, &which, &done, MPI_STATUS_IGNORE))) return false;
  }
  return true;
}

static bool looked_at(MPI_Request *q) {
  for (int k = MANY - 1; k >= 0; k--) {
    int done = 0;
    while (!done)
      if (!DROP_CALL(MPI_Request_get_status(q[k], &done, MPI_STATUS_IGNORE))) return false;
    if (!DROP_CHECK(q[k] != MPI_REQUEST_NULL) ||
        !DROP_CALL(MPI_Test(&q[k], &done, MPI_STATUS_IGNORE)) || !DROP_CHECK(done))
      return false;
  }
  return true;
}

static bool testall(MPI_Request *q) {
  MPI_Status status[MANY];
  int done = 0;
  while (!done)
    if (!DROP_CALL(MPI_Testall(MANY, q, &done, status))) return false;
  return DROP_CHECK(drop_ranks == 1 || status[1].MPI_TAG == 8);
}

static bool mixed(int way, int n) {
  MPI_Request q[MANY];
  MPI_Comm comm;
  bool good =
      DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm)) && begin(comm, n, q) && between(comm, way);
  switch (way) {
    case 0: good &= DROP_CALL(MPI_Waitall(MANY, q, MPI_STATUSES_IGNORE)); break;
    case 1: good &= testsome(q); break;
    case 2: good &= waitsome(q); break;
    case 3: good &= one_by_one(q); break;
    case 4: good &= looked_at(q); break;
    case 5: good &= testall(q); break;
    default:
      for (int k = 0; k < MANY; k++)
        good &= DROP_CALL(MPI_Wait(&q[(k + way) % MANY], MPI_STATUS_IGNORE));
  }
  good &= complete(q, n) && between(comm, 9);
  return DROP_CALL(MPI_Comm_free(&comm)) && good;
}

/* Persistent requests, started several times, together with persistent messages. */
static bool persistent(int n) {
  const int next = (drop_rank + 1) % drop_ranks, before = (drop_rank + drop_ranks - 1) % drop_ranks;
  MPI_Request q[4];
  bool good = DROP_CALL(
      ALLREDUCE_INIT(x[0], y[0], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]));
  good &= DROP_CALL(MPI_Send_init(out, n, MPI_INT, next, 9, MPI_COMM_WORLD, &q[1]));
  good &= DROP_CALL(BCAST_INIT(x[2], n, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &q[2]));
  good &= DROP_CALL(MPI_Recv_init(in, n, MPI_INT, before, 9, MPI_COMM_WORLD, &q[3]));
  for (int k = 0; k < 4 && good; k++) {
    for (int i = 0; i < n; i++) {
      x[0][i] = drop_rank * 3 + i + k;
      out[i] = drop_rank + i * k;
      x[2][i] = drop_rank ? -1 : i + k;
    }
    if (k % 2) {
      good &= DROP_CALL(MPI_Startall(4, q));
    } else {
      for (int r = 0; r < 4; r++) good &= DROP_CALL(MPI_Start(&q[r]));
    }
    good &= between(MPI_COMM_WORLD, k) && DROP_CALL(MPI_Waitall(4, q, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++)
      good &= y[0][i] == sum_of(i + k) && in[i] == before + i * k && x[2][i] == i + k;
    good = DROP_CHECK(good && q[0] != MPI_REQUEST_NULL);
  }
  for (int r = 0; r < 4; r++)
    good &= DROP_CALL(MPI_Request_free(&q[r])) && DROP_CHECK(q[r] == MPI_REQUEST_NULL);
  return good;
}

/* In-place reductions of all shapes. */
static bool shapes(int n) {
  MPI_Request q[3];
  static int block[MOST * RANKS];
  int counts[RANKS];
  for (int r = 0; r < drop_ranks; r++) counts[r] = n;
  for (int i = 0; i < n * drop_ranks; i++) all[i] = block[i] = drop_rank * 3 + i;
  for (int i = 0; i < n; i++) x[0][i] = drop_rank * 3 + i;
  bool good = DROP_CALL(MPI_Ireduce(drop_rank ? x[0] : MPI_IN_PLACE, x[0], n, MPI_INT, MPI_SUM, 0,
                                    MPI_COMM_WORLD, &q[0]));
  good &=
      DROP_CALL(MPI_Ireduce_scatter(all, y[1], counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[1]));
  good &=
      DROP_CALL(MPI_Ireduce_scatter_block(block, y[2], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[2]));
  good &= between(MPI_COMM_WORLD, 3) && DROP_CALL(MPI_Waitall(3, q, MPI_STATUSES_IGNORE));
  for (int i = 0; i < n && good; i++) {
    good &= drop_rank || x[0][i] == sum_of(i);
    good &= y[1][i] == sum_of(drop_rank * n + i) && y[2][i] == sum_of(drop_rank * n + i);
  }
  return DROP_CHECK(good);
}

/* Two communicators; every other rank begins operations on them in the opposite order. */
static bool crossed(int n) {
  MPI_Comm comm[2];
  MPI_Request q[2];
  const int first = drop_rank % 2;
  bool good = true;
  for (int k = 0; k < 2; k++) good &= DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]));
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < n; i++) x[k][i] = drop_rank * 3 + i + k, y[k][i] = -1;
  for (int k = first, times = 0; times < 2; times++, k = !k)
    good &= DROP_CALL(MPI_Iallreduce(x[k], y[k], n, MPI_INT, MPI_SUM, comm[k], &q[k]));
  for (int k = !first, times = 0; times < 2; times++, k = !k)
    good &= DROP_CALL(MPI_Wait(&q[k], MPI_STATUS_IGNORE));
  for (int i = 0; i < n; i++) good &= y[0][i] == sum_of(i) && y[1][i] == sum_of(i + 1);
  for (int k = 0; k < 2; k++) good &= DROP_CALL(MPI_Comm_free(&comm[k]));
  return DROP_CHECK(good);
}

static void add(void *in_, void *inout_, int *n, MPI_Datatype *type) {
  const int *from = in_;
  int *to = inout_;
  (void)type;
  for (int i = 0; i < 2 * *n; i++) to[i] += from[i];
}

/* An op and a type that are freed while a collective that uses them is in flight, or is persistent. */
static bool freed(int n, bool prepared) {
  MPI_Op op;
  MPI_Datatype pair;
  MPI_Request q;
  bool good = DROP_CALL(MPI_Op_create(add, 1, &op)) &&
              DROP_CALL(MPI_Type_contiguous(2, MPI_INT, &pair)) &&
              DROP_CALL(MPI_Type_commit(&pair));
  for (int i = 0; i < 2 * n; i++) x[0][i] = drop_rank * 3 + i, y[0][i] = -1;
  if (prepared)
    good &=
        DROP_CALL(ALLREDUCE_INIT(x[0], y[0], n, pair, op, MPI_COMM_WORLD, MPI_INFO_NULL, &q));
  else
    good &= DROP_CALL(MPI_Iallreduce(x[0], y[0], n, pair, op, MPI_COMM_WORLD, &q));
  good &= DROP_CALL(MPI_Op_free(&op)) && DROP_CHECK(op == MPI_OP_NULL);
  good &= DROP_CALL(MPI_Type_free(&pair)) && DROP_CHECK(pair == MPI_DATATYPE_NULL);
  if (prepared) good &= DROP_CALL(MPI_Start(&q));
  good &= DROP_CALL(MPI_Wait(&q, MPI_STATUS_IGNORE));
  if (prepared) good &= DROP_CALL(MPI_Request_free(&q));
  for (int i = 0; i < 2 * n; i++) good &= y[0][i] == sum_of(i);
  return DROP_CHECK(good);
}

int main(int argc, char **argv) {
  static const int sizes[] = {1, 200, MOST};
  static const char *const ways[] = {
      "Waitall", "Testsome", "Waitsome", "Waitany, Testany", "Request_get_status, Test",
      "Testall", "Wait"};
  drop_start(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  for (int w = 0; w < 7; w++) {
    bool good = true;
    for (int s = 0; s < 3; s++) good &= mixed(w, sizes[s]);
    drop_tell(ways[w], good);
  }
  drop_tell("persistent ones", persistent(1) && persistent(1000));
  drop_tell("non-blocking reductions", shapes(1) && shapes(500));
  drop_tell("in another order on each rank", crossed(1) && crossed(MOST));
  drop_tell("types and ops freed before completion", freed(1, false) && freed(MOST / 2, false));
#ifndef OPEN_MPI /* Open MPI 4.1 does not retain them, and crashes */
  drop_tell("types and ops freed between starts", freed(1, true) && freed(MOST / 2, true));
#endif
  return drop_end();
}
