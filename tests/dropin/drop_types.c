/* drop_types.c - ranks that describe the same data by different types, MPI_BOTTOM, zero elements,
 * and gaps in receive buffers.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { MOST = 4000, RANKS = 16 };
static int a[MOST * 2], b[MOST * RANKS], want[MOST * RANKS];

static int value(int rank, size_t i) {
  return (int)(drop_mix((unsigned)rank, (unsigned)i, 9) % 100000);
}

/* The root sends every other int, the others receive a contiguous block with the same type signature. */
static bool bcast_mixed(int root, int n) {
  MPI_Datatype vector;
  bool good = true;
  MPI_Type_vector(n, 1, 2, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  for (int i = 0; i < n; i++) {
    a[2 * i] = drop_rank == root ? value(root, (size_t)i) : -1;
    a[2 * i + 1] = -5;
    b[i] = -1;
    want[i] = value(root, (size_t)i);
  }
  if (drop_rank == root)
    good &= DROP_CALL(MPI_Bcast(a, 1, vector, root, MPI_COMM_WORLD));
  else if (drop_rank % 2)
    good &= DROP_CALL(MPI_Bcast(b, n, MPI_INT, root, MPI_COMM_WORLD)) &&
            drop_same("bcast", b, want, (size_t)n);
  else
    good &= DROP_CALL(MPI_Bcast(a, 1, vector, root, MPI_COMM_WORLD));
  for (int i = 0; i < n && drop_rank % 2 == 0; i++) {
    good &= drop_same("bcast of a vector", &a[2 * i], &want[i], 1);
    good &= DROP_CHECK(a[2 * i + 1] == -5);
  }
  MPI_Type_free(&vector);
  return good;
}

/* Pairs on some ranks, single ints on others. */
static bool bcast_counts(int root, int n) {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 2 * n; i++) {
    b[i] = drop_rank == root ? value(root, (size_t)i) : -1;
    want[i] = value(root, (size_t)i);
  }
  const bool odd = (drop_rank + root) % 2;
  bool good = DROP_CALL(MPI_Bcast(b, odd ? n : 2 * n, odd ? pair : MPI_INT, root, MPI_COMM_WORLD));
  good &= drop_same("bcast of pairs", b, want, 2 * (size_t)n);
  MPI_Type_free(&pair);
  return good;
}

/* Odd ranks send a vector type and even ranks ints; all receive ints, or pairs. */
static bool allgather_mixed(int n) {
  MPI_Datatype vector, pair;
  MPI_Type_vector(2 * n, 1, 2, MPI_INT, &vector);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&vector);
  MPI_Type_commit(&pair);
  const bool odd = drop_rank % 2;
  for (int i = 0; i < 2 * n; i++) a[odd ? 2 * i : i] = value(drop_rank, (size_t)i);
  for (int r = 0; r < drop_ranks; r++)
    for (int i = 0; i < 2 * n; i++) want[r * 2 * n + i] = value(r, (size_t)i);
  memset(b, 0, sizeof b);
  bool good = DROP_CALL(MPI_Allgather(a, odd ? 1 : 2 * n, odd ? vector : MPI_INT, b,
                                      odd ? 2 * n : n, odd ? MPI_INT : pair, MPI_COMM_WORLD));
  good &= drop_same("allgather", b, want, (size_t)(2 * n * drop_ranks));
  MPI_Type_free(&vector);
  MPI_Type_free(&pair);
  return good;
}

/* Rank r sends r % 3 + n ints, or none. They are received with gaps, in rank order or in
 * reverse. */
static bool allgatherv(int n, bool backwards, bool in_place) {
  int counts[RANKS], places[RANKS], at = 1;
  for (int k = 0; k < drop_ranks; k++) {
    const int r = backwards ? drop_ranks - 1 - k : k;
    counts[r] = r % 3 == 1 ? 0 : r % 3 + n;
    places[r] = at;
    at += counts[r] + 2;
  }
  for (int i = 0; i < at; i++) b[i] = want[i] = -3;
  for (int r = 0; r < drop_ranks; r++)
    for (int i = 0; i < counts[r]; i++) want[places[r] + i] = value(r, (size_t)i);
  for (int i = 0; i < counts[drop_rank]; i++)
    a[i] = b[places[drop_rank] + i] = value(drop_rank, (size_t)i);
  return DROP_CALL(MPI_Allgatherv(in_place ? MPI_IN_PLACE : a, counts[drop_rank], MPI_INT, b,
                                  counts, places, MPI_INT, MPI_COMM_WORLD)) &&
         drop_same("allgatherv", b, want, (size_t)at);
}

static bool allgather_in_place(int n) {
  for (int r = 0; r < drop_ranks; r++)
    for (int i = 0; i < n; i++) {
      want[r * n + i] = value(r, (size_t)i);
      b[r * n + i] = r == drop_rank ? want[r * n + i] : -1;
    }
  return DROP_CALL(
             MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, n, MPI_INT, MPI_COMM_WORLD)) &&
         drop_same("allgather in place", b, want, (size_t)(n * drop_ranks));
}

/* The type holds absolute addresses. */
static bool bottom(int n) {
  MPI_Aint at[2];
  MPI_Datatype both;
  const int lengths[2] = {n, n};
  MPI_Get_address(a, &at[0]);
  MPI_Get_address(b, &at[1]);
  MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both);
  MPI_Type_commit(&both);
  for (int i = 0; i < n; i++) {
    a[i] = drop_rank == 0 ? value(0, (size_t)i) : -1;
    b[i] = drop_rank == 0 ? value(1, (size_t)i) : -1;
  }
  bool good = DROP_CALL(MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD));
  for (int i = 0; i < n; i++) good &= a[i] == value(0, (size_t)i) && b[i] == value(1, (size_t)i);
  MPI_Type_free(&both);
  return DROP_CHECK(good);
}

/* A type with a negative lower bound: its first byte is before the buffer's address. */
static bool backwards(int n) {
  MPI_Datatype back, moved;
  MPI_Type_create_hvector(n, 1, -(MPI_Aint)sizeof(int), MPI_INT, &back);
  MPI_Type_create_resized(back, 0, sizeof(int), &moved);
  MPI_Type_commit(&moved);
  for (int i = 0; i < n; i++) b[i] = drop_rank == 0 ? value(2, (size_t)i) : -1;
  bool good = DROP_CALL(MPI_Bcast(b + n - 1, 1, moved, 0, MPI_COMM_WORLD));
  for (int i = 0; i < n; i++) good &= b[i] == value(2, (size_t)i);
  MPI_Type_free(&back);
  MPI_Type_free(&moved);
  return DROP_CHECK(good);
}

static bool nothing(void) {
  static int zeros[RANKS];
  int x = 42, root = drop_ranks - 1;
  bool good = DROP_CALL(MPI_Allreduce(&root, &x, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Reduce(&root, &x, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Bcast(&x, 0, MPI_INT, root, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Allgather(&root, 0, MPI_INT, &x, 0, MPI_INT, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Allgatherv(&root, 0, MPI_INT, &x, zeros, zeros, MPI_INT, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Reduce_scatter(&root, &x, zeros, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Reduce_scatter_block(&root, &x, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  good &= DROP_CALL(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return good && DROP_CHECK(x == 42);
}

int main(int argc, char **argv) {
  static const int sizes[] = {1, 3, 64, 1500};
  bool good[6] = {true, true, true, true, true, true};
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  for (int s = 0; s < 4; s++) {
    const int n = sizes[s];
    for (int root = 0; root < drop_ranks; root++)
      good[0] &= bcast_mixed(root, n) && bcast_counts(root, n);
    good[1] &= allgather_mixed(n);
    for (int k = 0; k < 4; k++) good[2] &= allgatherv(n, k & 1, k & 2);
    good[3] &= allgather_in_place(n);
    good[4] &= bottom(n);
    good[5] &= backwards(n);
  }
  drop_tell("bcast between a vector type, pairs and ints", good[0]);
  drop_tell("allgather of vectors and ints into pairs and ints", good[1]);
  drop_tell("allgatherv with gaps, none from some, in place", good[2]);
  drop_tell("allgather in place", good[3]);
  drop_tell("MPI_BOTTOM", good[4]);
  drop_tell("a type that reaches back", good[5]);
  drop_tell("no elements", nothing());
  return drop_end();
}
