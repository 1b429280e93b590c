/* mpi_few.c - every collective a few times: for MPIs with ranks that spin while they wait, which makes them
 * slow with more ranks than cores.
 *
 * Idea       a rank's vector is a function of its rank and the index, so every result is
 *            known. Sizes: within a packet, just larger than one, and in several pieces.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "scenes.h"
#include "tutti_mpi.h"

enum { MOST = 30000 };

static int me, ranks;
static int64_t src[MOST], dst[MOST];

static int64_t value(int rank, size_t i) {
  return (int64_t)rank * rank + (int64_t)i;
}

static int64_t sum(size_t i) {
  int64_t all = 0;
  for (int r = 0; r < ranks; r++) all += value(r, i);
  return all;
}

static void fill(size_t n) {
  for (size_t i = 0; i < n; i++) src[i] = value(me, i), dst[i] = -1;
}

static bool few_allreduce(tutti_comm *comm, uint64_t n) {
  fill(n);
  bool good = ERROR(tutti_allreduce(comm, src, dst, n, TUTTI_INT64, TUTTI_SUM), TUTTI_OK, "");
  for (size_t i = 0; i < n && good; i++) good = CHECK(dst[i] == sum(i));
  return good;
}

static bool few_reduce(tutti_comm *comm, uint64_t n) {
  const int root = ranks - 1;
  fill(n);
  bool good = ERROR(tutti_reduce(comm, src, dst, n, TUTTI_INT64, TUTTI_MAX, root), TUTTI_OK, "");
  for (size_t i = 0; i < n && good && me == root; i++) good = CHECK(dst[i] == value(root, i));
  return good;
}

static bool few_broadcast(tutti_comm *comm, uint64_t n) {
  const int root = ranks / 2;
  fill(n);
  bool good = ERROR(tutti_broadcast(comm, src, dst, n, TUTTI_INT64, root), TUTTI_OK, "");
  for (size_t i = 0; i < n && good; i++) good = CHECK(dst[i] == value(root, i));
  return good;
}

/* Here and below, n counts the elements of the whole vector. */
static bool few_reduce_scatter(tutti_comm *comm, uint64_t n) {
  const size_t each = n / (size_t)ranks, first = each * (size_t)me;
  fill(n);
  bool good =
      ERROR(tutti_reduce_scatter(comm, src, dst, each, TUTTI_INT64, TUTTI_SUM), TUTTI_OK, "");
  for (size_t i = 0; i < each && good; i++) good = CHECK(dst[i] == sum(first + i));
  return good;
}

static bool few_allgather(tutti_comm *comm, uint64_t n) {
  const size_t each = n / (size_t)ranks;
  fill(n);
  bool good = ERROR(tutti_allgather(comm, src, dst, each, TUTTI_INT64), TUTTI_OK, "");
  for (size_t i = 0; i < each * (size_t)ranks && good; i++)
    good = CHECK(dst[i] == value((int)(i / each), i % each));
  return good;
}

static bool few_barriers(tutti_comm *comm, uint64_t n) {
  (void)n;
  return ERROR(tutti_barrier(comm), TUTTI_OK, "");
}

static const scene few[] = {
    {"allreduce", few_allreduce},  {"reduce", few_reduce},
    {"broadcast", few_broadcast},  {"reduce-scatter", few_reduce_scatter},
    {"all-gather", few_allgather}, {"barrier", few_barriers},
};

int main(int argc, char **argv) {
  static const uint64_t sizes[] = {1, 1500, MOST};
  tutti_comm *comm;
  int failed = 0;
  alarm(60);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), TUTTI_OK, "")) return 1;
  for (size_t s = 0; s < sizeof few / sizeof *few; s++) {
    bool good = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) good &= few[s].play(comm, sizes[i]);
    if (me == 0) printf("%s - %s\n", good ? "ok" : "not ok", few[s].name);
    failed += !good;
  }
  failed += !ERROR(tutti_comm_free(comm), TUTTI_OK, "");
  MPI_Finalize();
  return tutti_finalize() || failed;
}
