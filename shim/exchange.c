/* exchange.c - MPI's collectives that send different data to each rank: gather, scatter,
 * all-to-all.
 *
 * Idea       These collectives move bytes. Blocks with holes, or in a different order than tutti's, are packed and
 *            unpacked. Only the root has the counts of gatherv and scatterv, so these are performed as an alltoallv with
 *            all other blocks empty.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "blocks.h"

enum { LINE = 64 };

static size_t lines(size_t bytes) {
  return (bytes + LINE - 1) / LINE * LINE;
}

/* One side of a call: the data that the call reads, or the data that it writes. This can be the blocks of all ranks, a single
 * block, or nothing. */
typedef struct side {
  blocks *all;
  block *one;
  bool in_place; /* the data is in the other side's buffer: the whole buffer, or this rank's
                    block */
  char *at;      /* the bytes that tutti accesses */
} side;

static size_t bytes_of(const side *x) {
  return x->all ? x->all->all : x->one ? x->one->count * x->one->layout.size : 0;
}

static bool is_plain(const side *x) {
  return x->all ? x->all->in_a_row : !x->one || x->one->layout.plain;
}

static char *start(const side *x) {
  if (x->all) return datatype_start(x->all->at, &x->all->layout);
  return x->one ? datatype_start(x->one->at, &x->one->layout) : NULL;
}

static int pack(const side *x, char *to, MPI_Comm comm) {
  if (x->all) return blocks_collect(x->all, to, comm);
  return datatype_pack(x->one->at, x->one->count, x->one->type, &x->one->layout, to, comm);
}

static int unpack(const side *x, MPI_Comm comm) {
  if (x->all) return blocks_spread(x->all, x->at, comm);
  return datatype_unpack(x->at, (char *)(uintptr_t)x->one->at, x->one->count, x->one->type,
                         &x->one->layout, comm);
}

/* Runs the call on the program's buffers, or on copies of them. In an in-place call, a rank's input or result is in the buffer
 * of the other side. Blocks of equal size can stay there, as in tutti's own in-place calls. With counts, the block of this
 * rank is copied. */
static answer exchange(state *s, work *w, side *from, side *to, MPI_Comm comm) {
  if (state_only_asks()) return hand_on(WHY_SERVED);
  const bool copies = from->in_place && from->one && w->counts; /* copies only this rank's block */
  const bool packs = copies || (!from->in_place && !is_plain(from));
  const bool unpacks = !to->in_place && !is_plain(to), drops = to->in_place && to->one && w->counts;
  w->src_bytes = bytes_of(from);
  w->dst_bytes = bytes_of(to);
  const size_t first = packs ? lines(w->src_bytes) : 0,
               second = unpacks || drops ? w->dst_bytes : 0;
  char *scratch = first + second ? state_scratch(s, first + second) : NULL;
  if (first + second && !scratch) return serve_fail(s, "out of memory to pack blocks");
  from->at = packs ? scratch : from->in_place ? NULL : start(from);
  to->at = unpacks || drops ? scratch + first : to->in_place ? NULL : start(to);
  if (from->in_place && !copies) from->at = to->at + (from->one ? to->all->before : 0);
  if (to->in_place && !drops) to->at = from->at + from->all->before;
  if ((w->src_bytes && !from->at) || (w->dst_bytes && !to->at)) return hand_on(WHY_REFUSED);
  int error = packs ? pack(from, from->at, comm) : MPI_SUCCESS;
  if (!error && from->in_place && !copies && unpacks) /* to where tutti reads it */
    error = from->one ? pack(from, from->at, comm) : blocks_collect(to->all, to->at, comm);
  if (error) return serve_fail_mpi(s, error);
  w->src = from->at;
  w->dst = to->at;
  w->type = TUTTI_UINT8;
  const answer a = serve_run(s, w);
  if (!unpacks || a.why != WHY_SERVED || a.code != MPI_SUCCESS) return a;
  error = unpack(to, comm);
  return error ? serve_fail_mpi(s, error) : a;
}

static bool measured(blocks *b) {
  return datatype_layout(b->type, &b->layout) && blocks_measure(b);
}

static bool laid_out(block *b, MPI_Aint count) {
  b->count = (size_t)count;
  return count >= 0 && datatype_layout(b->type, &b->layout);
}

/* Returns this rank's block among those of all ranks. */
static block own_of(const blocks *b) {
  return (block){blocks_place(b, b->s->rank), (size_t)blocks_count(b, b->s->rank), b->type,
                 b->layout};
}

/* ---- all-to-all ---- */

static answer alltoall(state *s, const void *src, blocks *from, blocks *to, work w, MPI_Comm comm) {
  const bool in_place = src == MPI_IN_PLACE;
  side reads = {.in_place = in_place, .all = in_place ? to : from}, writes = {.all = to};
  if (to->at == (char *)MPI_IN_PLACE || !measured(to) || (!in_place && !measured(from)))
    return hand_on(WHY_REFUSED);
  const blocks *sent = in_place ? to : from;
  if (sent->own != to->own || (!in_place && refused_alias(src, to->at, to->all, false)))
    return hand_on(WHY_REFUSED);
  if (!w.counts && sent->all != to->all) return hand_on(WHY_REFUSED);
  w.count = sent->own;
  if (w.counts) w.counts = sent->bytes, w.recv_counts = to->bytes;
  return exchange(s, &w, &reads, &writes, comm);
}

answer serve_alltoall(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                      MPI_Aint ndst, MPI_Datatype dsttype, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  blocks from = {
      .s = s, .bytes = s->counts, .at = (char *)(uintptr_t)src, .type = srctype, .count = nsrc};
  blocks to = {.s = s, .bytes = s->counts + s->ranks, .at = dst, .type = dsttype, .count = ndst};
  const work w = {.function = SHIM_Alltoall, .coll = TUTTI_ALLTOALL};
  return alltoall(s, src, &from, &to, w, comm);
}

answer serve_alltoallv_(const void *src, numbers nsrc, numbers srcdispls, MPI_Datatype srctype,
                        void *dst, numbers ndst, numbers dstdispls, MPI_Datatype dsttype,
                        MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  const bool in_place = src == MPI_IN_PLACE;
  if (!ndst.at || !dstdispls.at || (!in_place && (!nsrc.at || !srcdispls.at)))
    return hand_on(WHY_REFUSED);
  blocks from = {.s = s,
                 .bytes = s->counts,
                 .at = (char *)(uintptr_t)src,
                 .type = srctype,
                 .counts = nsrc,
                 .displs = srcdispls};
  blocks to = {.s = s,
               .bytes = s->counts + s->ranks,
               .at = dst,
               .type = dsttype,
               .counts = ndst,
               .displs = dstdispls};
  const work w = {.function = SHIM_Alltoallv, .coll = TUTTI_ALLTOALL, .counts = s->counts};
  return alltoall(s, src, &from, &to, w, comm);
}

/* ---- gather and scatter ---- */

/* Sets up the counts of an alltoallv in which only the root exchanges data with all ranks. The root's list has the sizes of
 * all blocks; another rank's list has only the size of its block. */
static void set_counts(state *s, work *w, bool gathers, size_t own) {
  size_t *sent = s->counts, *got = s->counts + s->ranks;
  size_t *mine = gathers ? sent : got, *roots = gathers ? got : sent;
  for (int r = 0; r < s->ranks; r++) {
    mine[r] = r == w->root ? own : 0;
    if (s->rank != w->root) roots[r] = 0;
  }
  w->counts = sent;
  w->recv_counts = got;
}

/* all: the root's blocks; mine: this rank's block, of `count` elements. */
static answer with_root(blocks *all, block *mine, MPI_Aint count, work w, bool varied,
                        MPI_Comm comm) {
  state *s = all->s;
  const bool gathers = w.function == SHIM_Gather || w.function == SHIM_Gatherv;
  const bool is_root = w.root == s->rank, in_place = mine->at == MPI_IN_PLACE;
  if (w.root < 0 || w.root >= s->ranks || (in_place && !is_root)) return hand_on(WHY_REFUSED);
  if (is_root && (all->at == (char *)MPI_IN_PLACE || !measured(all))) return hand_on(WHY_REFUSED);
  if (in_place)
    *mine = own_of(all);
  else if (!laid_out(mine, count))
    return hand_on(WHY_REFUSED);
  const size_t own = mine->count * mine->layout.size;
  if (is_root && (own != all->own ||
                  (!in_place && refused_alias(mine->at, blocks_place(all, s->rank), own, false))))
    return hand_on(WHY_REFUSED);
  side one = {.one = mine, .in_place = in_place}, roots = {.all = is_root ? all : NULL};
  w.count = own;
  if (varied) set_counts(s, &w, gathers, own);
  return exchange(s, &w, gathers ? &one : &roots, gathers ? &roots : &one, comm);
}

answer serve_gather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst, MPI_Aint ndst,
                    MPI_Datatype dsttype, int root, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  blocks all = {.s = s, .bytes = s->counts, .at = dst, .type = dsttype, .count = ndst};
  block mine = {.at = src, .type = srctype};
  const work w = {.function = SHIM_Gather, .coll = TUTTI_GATHER, .root = root};
  return with_root(&all, &mine, nsrc, w, false, comm);
}

answer serve_gatherv_(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                      numbers counts, numbers displs, MPI_Datatype dsttype, int root,
                      MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  if (root == s->rank && (!counts.at || !displs.at)) return hand_on(WHY_REFUSED);
  blocks all = {.s = s,
                .bytes = s->counts + s->ranks,
                .at = dst,
                .type = dsttype,
                .counts = counts,
                .displs = displs};
  block mine = {.at = src, .type = srctype};
  const work w = {.function = SHIM_Gatherv, .coll = TUTTI_ALLTOALL, .root = root};
  return with_root(&all, &mine, nsrc, w, true, comm);
}

answer serve_scatter(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst, MPI_Aint ndst,
                     MPI_Datatype dsttype, int root, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  blocks all = {
      .s = s, .bytes = s->counts, .at = (char *)(uintptr_t)src, .type = srctype, .count = nsrc};
  block mine = {.at = dst, .type = dsttype};
  const work w = {.function = SHIM_Scatter, .coll = TUTTI_SCATTER, .root = root};
  return with_root(&all, &mine, ndst, w, false, comm);
}

answer serve_scatterv_(const void *src, numbers counts, numbers displs, MPI_Datatype srctype,
                       void *dst, MPI_Aint ndst, MPI_Datatype dsttype, int root, MPI_Comm comm) {
  shim_why why;
  state *s = state_find(comm, &why);
  if (!s) return hand_on(why);
  if (root == s->rank && (!counts.at || !displs.at)) return hand_on(WHY_REFUSED);
  blocks all = {.s = s,
                .bytes = s->counts,
                .at = (char *)(uintptr_t)src,
                .type = srctype,
                .counts = counts,
                .displs = displs};
  block mine = {.at = dst, .type = dsttype};
  const work w = {.function = SHIM_Scatterv, .coll = TUTTI_ALLTOALL, .root = root};
  return with_root(&all, &mine, ndst, w, true, comm);
}
