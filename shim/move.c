/* move.c - MPI's collectives that copy data to all ranks: broadcast, allgather, barrier.
 *
 * Idea       These collectives move bytes. Ranks may describe the same bytes by different types, so
 *            this rank's type determines only where its bytes are read and written. Data of a type
 *            with holes, or with reordered elements, is packed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "blocks.h"

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

/* ---- allgather ---- */

/* Uses a gather in place if this rank's block is already at its position in dst and needs no conversion. */
static answer gather(const blocks *b, const block *mine, shim_function function, MPI_Comm comm) {
  state *s = b->s;
  if (state_only_asks()) return hand_on(WHY_SERVED);
  char *at = b->in_a_row ? datatype_start(b->at, &b->layout) : state_scratch(s, b->all);
  if (!at && b->all)
    return b->in_a_row ? hand_on(WHY_REFUSED) : serve_fail(s, "out of memory to gather blocks");
  const char *own = datatype_start(mine->at, &mine->layout);
  const bool in_dst = mine->at == blocks_place(b, s->rank) && b->in_a_row;
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
  const int error = blocks_spread(b, at, comm);
  return error ? serve_fail_mpi(s, error) : a;
}

static answer allgather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, blocks *b,
                        shim_function function, MPI_Comm comm) {
  block mine = {src, (size_t)nsrc, srctype, {0}};
  if ((char *)MPI_IN_PLACE == b->at || !datatype_layout(b->type, &b->layout) || !blocks_measure(b))
    return hand_on(WHY_REFUSED);
  if (src == MPI_IN_PLACE) {
    mine = (block){blocks_place(b, b->s->rank), (size_t)blocks_count(b, b->s->rank), b->type,
                   b->layout};
  } else if (nsrc < 0 || !datatype_layout(srctype, &mine.layout) ||
             mine.count * mine.layout.size != b->own ||
             refused_alias(src, blocks_place(b, b->s->rank), b->own, false)) {
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
  blocks b = {.s = s, .bytes = s->counts, .at = dst, .type = dsttype, .count = ndst};
  return allgather(src, nsrc, srctype, &b, SHIM_Allgather, comm);
}

answer serve_allgatherv_(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                         numbers counts, numbers displs, MPI_Datatype dsttype, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  if (!counts.at || !displs.at) return hand_on(WHY_REFUSED);
  blocks b = {
      .s = s, .bytes = s->counts, .at = dst, .type = dsttype, .counts = counts, .displs = displs};
  return allgather(src, nsrc, srctype, &b, SHIM_Allgatherv, comm);
}
