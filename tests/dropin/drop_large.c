/* drop_large.c - large vectors, types that turn many elements into few, and the large-count
 * functions (_c) if the MPI has them. With an argument: beyond 2^31 bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { MANY = 5000000 };

static bool vector(size_t n) {
  int32_t *x = malloc(n * sizeof *x);
  bool good = DROP_CHECK(x != NULL);
  for (size_t i = 0; i < n; i++) x[i] = (int32_t)(i % 1000) * (drop_rank + 1);
  good &= DROP_CALL(MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD));
  const int32_t times = drop_ranks * (drop_ranks + 1) / 2;
  for (size_t i = 0; i < n && good; i++) good = x[i] == (int32_t)(i % 1000) * times;
  good &= DROP_CALL(MPI_Bcast(x, (int)n, MPI_INT32_T, drop_ranks - 1, MPI_COMM_WORLD));
  free(x);
  return DROP_CHECK(good);
}

/* A few large elements. */
static bool blocks(int count, int each) {
  MPI_Datatype block;
  const size_t n = (size_t)count * (size_t)each;
  uint8_t *x = malloc(n);
  MPI_Type_contiguous(each, MPI_BYTE, &block);
  MPI_Type_commit(&block);
  for (size_t i = 0; i < n; i++) x[i] = drop_rank == 0 ? (uint8_t)(i % 251) : 1;
  bool good = DROP_CALL(MPI_Bcast(x, count, block, 0, MPI_COMM_WORLD));
  for (size_t i = 0; i < n && good; i++) good = x[i] == (uint8_t)(i % 251);
  MPI_Type_free(&block);
  free(x);
  return DROP_CHECK(good);
}

/* One element of more than 2^31 bytes, with a hole. */
static bool one_element(size_t half) {
  MPI_Datatype two;
  const int lengths[2] = {(int)(half >> 20), (int)(half >> 20)};
  const MPI_Aint at[2] = {0, (MPI_Aint)half + 8};
  MPI_Datatype block, blocks[2];
  char *x = malloc(2 * half + 8);
  bool good = DROP_CHECK(x != NULL);
  MPI_Type_contiguous(1 << 20, MPI_BYTE, &block);
  blocks[0] = blocks[1] = block;
  MPI_Type_create_struct(2, lengths, at, blocks, &two);
  MPI_Type_commit(&two);
  memset(x, drop_rank ? 1 : 2, 2 * half + 8);
  good &= DROP_CALL(MPI_Bcast(x, 1, two, 0, MPI_COMM_WORLD));
  const char hole = drop_rank ? 1 : 2;
  for (size_t i = 0; i < 2 * half + 8 && good; i++)
    good = x[i] == (i < half || i >= half + 8 ? 2 : hole);
  MPI_Type_free(&two);
  MPI_Type_free(&block);
  free(x);
  return DROP_CHECK(good);
}

#if MPI_VERSION >= 4
static bool large_counts(void) {
  int x[4] = {1, 2, 3, drop_rank}, y[4], all[64], counts_sum = 0;
  MPI_Count counts[16];
  MPI_Aint places[16];
  for (int r = 0; r < drop_ranks; r++) counts[r] = 1, places[r] = r, counts_sum += r;
  bool good = DROP_CALL(MPI_Allreduce_c(x, y, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  good &= y[0] == drop_ranks && y[3] == counts_sum;
  good &= DROP_CALL(MPI_Reduce_c(x, y, 4, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD));
  good &= drop_rank || y[3] == drop_ranks - 1;
  good &= DROP_CALL(MPI_Bcast_c(x, 4, MPI_INT, drop_ranks - 1, MPI_COMM_WORLD)) &&
          x[3] == drop_ranks - 1;
  x[3] = drop_rank;
  good &= DROP_CALL(MPI_Allgather_c(&x[3], 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < drop_ranks; r++) good &= all[r] == r;
  memset(all, 0, sizeof all);
  good &=
      DROP_CALL(MPI_Allgatherv_c(&x[3], 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < drop_ranks; r++) good &= all[r] == r;
  good &= DROP_CALL(MPI_Reduce_scatter_block_c(all, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) &&
          y[0] == drop_rank * drop_ranks;
  good &= DROP_CALL(MPI_Reduce_scatter_c(all, y, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) &&
          y[0] == drop_rank * drop_ranks;
  return DROP_CHECK(good);
}

static bool beyond(void) {
  const size_t n = ((size_t)1 << 31) + 9;
  int8_t *x = malloc(n);
  bool good = DROP_CHECK(x != NULL);
  for (size_t i = 0; i < n; i++) x[i] = (int8_t)(i % 13);
  good &= DROP_CALL(
      MPI_Allreduce_c(MPI_IN_PLACE, x, (MPI_Count)n, MPI_INT8_T, MPI_SUM, MPI_COMM_WORLD));
  for (size_t i = 0; i < n && good; i++) good = x[i] == (int8_t)(i % 13 * (size_t)drop_ranks);
  free(x);
  return DROP_CHECK(good);
}
#endif

int main(int argc, char **argv) {
  const bool beyond_int = argc > 1;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  drop_tell("vectors of 20 MB", vector(MANY));
  drop_tell("elements of a megabyte", blocks(7, 1 << 20));
  if (beyond_int) drop_tell("one element of 2.2 GiB", one_element((size_t)1100 << 20));
  if (beyond_int) drop_tell("2305 elements of a megabyte", blocks(2305, 1 << 20));
#if MPI_VERSION >= 4
  drop_tell("large counts", large_counts());
  if (beyond_int) drop_tell("2^31 + 9 elements", beyond());
#endif
  return drop_end();
}
