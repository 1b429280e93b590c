/* move.c - MPI's collectives that move data: broadcast, allgather, barrier.
 *
 * Idea       They move bytes. Ranks may describe the same bytes by different types, so this rank's
 *            type determines only the source and target of its bytes. Data of a type with holes, or
 *            with elements in another order, are packed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "serve.h"

answer serve_barrier(MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  return serve_run(s, &(work){.function = SHIM_Barrier, .coll = TUTTI_BARRIER});
}

answer serve_bcast(void *buffer, MPI_Aint count, MPI_Datatype type, int root, MPI_Comm comm) {
  shim_why why;
  layout l;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  if (count < 0 || root < 0 || root >= s->ranks || buffer == MPI_IN_PLACE ||
      !datatype_layout(type, &l))
    return hand_on(WHY_REFUSED);
  if (state_only_asks()) return hand_on(WHY_SERVED);
  const size_t bytes = (size_t)count * l.size;
  const bool is_root = root == s->rank;
  char *at = l.plain ? datatype_start(buffer, &l) : NULL;
  if (!l.plain && !(at = state_scratch(s, bytes)))
    return serve_fail(s, "out of memory to pack the data of MPI_Bcast");
  if (bytes && !at) return hand_on(WHY_REFUSED);
  if (!l.plain && is_root) {
    const int error = datatype_pack(buffer, (size_t)count, type, &l, at, comm);
    if (error) return serve_fail_mpi(s, error);
  }
  const answer a = serve_run(s, &(work){.function = SHIM_Bcast,
                                        .coll = TUTTI_BROADCAST,
                                        .src = is_root ? at : NULL,
                                        .dst = at,
                                        .count = bytes,
                                        .src_bytes = is_root ? bytes : 0,
                                        .dst_bytes = bytes,
                                        .type = TUTTI_UINT8,
                                        .root = root});
  if (l.plain || is_root || a.why != WHY_SERVED || a.code != MPI_SUCCESS) return a;
  const int error = datatype_unpack(at, buffer, (size_t)count, type, &l, comm);
  return error ? serve_fail_mpi(s, error) : a;
}

/* ---- allgather: the blocks of all ranks, at their places in dst ---- */

typedef struct blocks {
  state *s;
  char *dst;
  MPI_Datatype type;
  layout layout;
  numbers counts, displs; /* .at NULL: all have `count`, consecutively */
  MPI_Aint count;
  size_t all, own, before; /* bytes */
  bool even, in_a_row;     /* even: blocks of one size; in_a_row: laid out in dst as tutti needs
                              them */
} blocks;

static MPI_Aint count_of(const blocks *b, int rank) {
  return b->counts.at ? number(b->counts, rank) : b->count;
}

static char *place_of(const blocks *b, int rank) {
  const MPI_Aint elements = b->displs.at ? number(b->displs, rank) : b->count * rank;
  return b->dst + elements * b->layout.extent;
}

/* False: the MPI refuses it. Fills s->counts, in bytes. */
static bool measure(blocks *b) {
  state *s = b->s;
  b->in_a_row = b->layout.plain;
  b->even = true;
  b->all = 0;
  for (int r = 0; r < s->ranks; r++) {
    if (count_of(b, r) < 0) return false;
    s->counts[r] = (size_t)count_of(b, r) * b->layout.size;
    if (s->counts[r] && place_of(b, r) != b->dst + b->all) b->in_a_row = false;
    if (s->counts[r] != s->counts[0]) b->even = false;
    if (r == s->rank) b->before = b->all;
    b->all += s->counts[r];
  }
  b->own = s->counts[s->rank];
  return true;
}

static int spread(const blocks *b, char *bytes, MPI_Comm comm) {
  int error = MPI_SUCCESS;
  for (int r = 0; r < b->s->ranks && !error; bytes += b->s->counts[r++])
    error =
        datatype_unpack(bytes, place_of(b, r), (size_t)count_of(b, r), b->type, &b->layout, comm);
  return error;
}

typedef struct block { /* this rank's own */
  const char *at;
  size_t count;
  MPI_Datatype type;
  layout layout;
} block;

/* An own block that is already at its place in dst, in its final bytes, is gathered in place. */
static answer gather(const blocks *b, const block *mine, shim_function function, MPI_Comm comm) {
  state *s = b->s;
  if (state_only_asks()) return hand_on(WHY_SERVED);
  char *at = b->in_a_row ? datatype_start(b->dst, &b->layout) : state_scratch(s, b->all);
  if (!at && b->all)
    return b->in_a_row ? hand_on(WHY_REFUSED) : serve_fail(s, "out of memory to gather blocks");
  const char *own = datatype_start(mine->at, &mine->layout);
  const bool in_dst = mine->at == place_of(b, s->rank) && b->in_a_row;
  if (!in_dst && (!mine->layout.plain || !b->in_a_row)) {
    const int error =
        datatype_pack(mine->at, mine->count, mine->type, &mine->layout, at + b->before, comm);
    if (error) return serve_fail_mpi(s, error);
    own = at + b->before;
  }
  const answer a = serve_run(s, &(work){.function = function,
                                        .coll = TUTTI_ALLGATHER,
                                        .src = own,
                                        .dst = at,
                                        .count = b->own,
                                        .counts = b->even ? NULL : s->counts,
                                        .src_bytes = b->own,
                                        .dst_bytes = b->all,
                                        .type = TUTTI_UINT8});
  if (b->in_a_row || a.why != WHY_SERVED || a.code != MPI_SUCCESS) return a;
  const int error = spread(b, at, comm);
  return error ? serve_fail_mpi(s, error) : a;
}

static answer allgather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, blocks *b,
                        shim_function function, MPI_Comm comm) {
  block mine = {src, (size_t)nsrc, srctype, {0}};
  if ((char *)MPI_IN_PLACE == b->dst || !datatype_layout(b->type, &b->layout) || !measure(b))
    return hand_on(WHY_REFUSED);
  if (src == MPI_IN_PLACE) {
    mine = (block){place_of(b, b->s->rank), (size_t)count_of(b, b->s->rank), b->type, b->layout};
  } else if (nsrc < 0 || !datatype_layout(srctype, &mine.layout) ||
             mine.count * mine.layout.size != b->own ||
             refused_alias(src, place_of(b, b->s->rank), b->own, false)) {
    return hand_on(WHY_REFUSED);
  }
  if (b->own && mine.layout.plain && !datatype_start(mine.at, &mine.layout))
    return hand_on(WHY_REFUSED);
  return gather(b, &mine, function, comm);
}

answer serve_allgather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                       MPI_Aint ndst, MPI_Datatype dsttype, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  blocks b = {.s = s, .dst = dst, .type = dsttype, .count = ndst};
  return allgather(src, nsrc, srctype, &b, SHIM_Allgather, comm);
}

answer serve_allgatherv_(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                         numbers counts, numbers displs, MPI_Datatype dsttype, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  if (!counts.at || !displs.at) return hand_on(WHY_REFUSED);
  blocks b = {.s = s, .dst = dst, .type = dsttype, .counts = counts, .displs = displs};
  return allgather(src, nsrc, srctype, &b, SHIM_Allgatherv, comm);
}
