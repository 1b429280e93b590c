/* blocks.c - addresses and sizes of blocks (blocks.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "blocks.h"

MPI_Aint blocks_count(const blocks *b, int rank) {
  return b->counts.at ? number(b->counts, rank) : b->count;
}

char *blocks_place(const blocks *b, int rank) {
  const MPI_Aint elements = b->displs.at ? number(b->displs, rank) : b->count * rank;
  return b->at + elements * b->layout.extent;
}

bool blocks_measure(blocks *b) {
  const state *s = b->s;
  b->in_a_row = b->layout.plain;
  b->even = true;
  b->all = 0;
  for (int r = 0; r < s->ranks; r++) {
    if (blocks_count(b, r) < 0) return false;
    b->bytes[r] = (size_t)blocks_count(b, r) * b->layout.size;
    if (b->bytes[r] && blocks_place(b, r) != b->at + b->all) b->in_a_row = false;
    if (b->bytes[r] != b->bytes[0]) b->even = false;
    if (r == s->rank) b->before = b->all;
    b->all += b->bytes[r];
  }
  b->own = b->bytes[s->rank];
  return true;
}

int blocks_spread(const blocks *b, char *bytes, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  for (int r = 0; r < b->s->ranks && !error; bytes += b->bytes[r++])
    error = datatype_unpack(bytes, blocks_place(b, r), (size_t)blocks_count(b, r), b->type,
                            &b->layout, comm);
  return error;
}

int blocks_collect(const blocks *b, char *bytes, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  for (int r = 0; r < b->s->ranks && !error; bytes += b->bytes[r++])
    error = datatype_pack(blocks_place(b, r), (size_t)blocks_count(b, r), b->type, &b->layout,
                          bytes, comm);
  return error;
}
