/* reduce.c - MPI's collectives that compute: allreduce, reduce, reduce_scatter.
 *
 * Idea       The elements have the tutti type that corresponds to the MPI type. In-place semantics are those of MPI.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "serve.h"

/* Returns the communicator's state, and fills in the reduction. If tutti cannot serve either of them, returns NULL and stores
 * the reason in r->why. */
static state *find_both(MPI_Comm comm, MPI_Datatype type, MPI_Op op, reduction *r) {
  state *s = state_find(comm, &r->why);
  if (s) *r = reduction_of(type, op);
  return s && r->why == WHY_SERVED ? s : NULL;
}

answer serve_allreduce(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  reduction r;
  state *s = find_both(comm, type, op, &r);
  if (!s) return hand_on(r.why);
  if (refused_alias_of_all(src, dst, (size_t)count)) return hand_on(WHY_REFUSED);
  if (src == MPI_IN_PLACE) src = dst;
  if (count < 0 || dst == MPI_IN_PLACE || (count && (!src || !dst))) return hand_on(WHY_REFUSED);
  const size_t bytes = (size_t)count * r.element;
  return serve_run(s, &(work){.function = SHIM_Allreduce,
                              .coll = TUTTI_ALLREDUCE,
                              .src = src,
                              .dst = dst,
                              .count = (size_t)count,
                              .src_bytes = bytes,
                              .dst_bytes = bytes,
                              .type = r.type,
                              .op = r.op});
}

static answer prefix(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, work w) {
  reduction r;
  state *s = find_both(comm, type, op, &r);
  if (!s) return hand_on(r.why);
  if (refused_alias(src, dst, (size_t)count, false)) return hand_on(WHY_REFUSED);
  if (src == MPI_IN_PLACE) src = dst;
  if (count < 0 || dst == MPI_IN_PLACE || (count && (!src || !dst))) return hand_on(WHY_REFUSED);
  w.src = src;
  w.dst = dst;
  w.count = (size_t)count;
  w.src_bytes = w.dst_bytes = (size_t)count * r.element;
  w.type = r.type;
  w.op = r.op;
  return serve_run(s, &w);
}

answer serve_scan(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return prefix(src, dst, count, type, op, comm, (work){.function = SHIM_Scan, .coll = TUTTI_SCAN});
}

answer serve_exscan(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
  return prefix(src, dst, count, type, op, comm,
                (work){.function = SHIM_Exscan, .coll = TUTTI_EXSCAN});
}

answer serve_reduce(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm) {
  reduction r;
  state *s = find_both(comm, type, op, &r);
  if (!s) return hand_on(r.why);
  const bool is_root = root == s->rank;
  if (is_root && refused_alias(src, dst, (size_t)count, true)) return hand_on(WHY_REFUSED);
  if (is_root && src == MPI_IN_PLACE) src = dst;
  if (!is_root) dst = NULL;
  if (count < 0 || root < 0 || root >= s->ranks || src == MPI_IN_PLACE || dst == MPI_IN_PLACE ||
      (count && (!src || (is_root && !dst))))
    return hand_on(WHY_REFUSED);
  const size_t bytes = (size_t)count * r.element;
  return serve_run(s, &(work){.function = SHIM_Reduce,
                              .coll = TUTTI_REDUCE,
                              .src = src,
                              .dst = dst,
                              .count = (size_t)count,
                              .src_bytes = bytes,
                              .dst_bytes = is_root ? bytes : 0,
                              .type = r.type,
                              .op = r.op,
                              .root = root});
}

/* Performs a reduce-scatter. If blocks have different sizes, s->counts has their counts. In an in-place call, dst holds the
 * input, which is longer than the result. The result is therefore first written to scratch memory. */
static answer scatter(state *s, const void *src, void *dst, work w, size_t all, size_t own) {
  const bool in_place = src == MPI_IN_PLACE;
  if (state_only_asks()) return serve_run(s, &w);
  w.coll = TUTTI_REDUCE_SCATTER;
  w.src = in_place ? dst : src;
  w.dst = in_place && own ? state_scratch(s, own) : dst;
  w.src_bytes = all;
  w.dst_bytes = own;
  if (own && !w.dst) return serve_fail(s, "out of memory for a block of MPI_Reduce_scatter");
  const answer a = serve_run(s, &w);
  if (in_place && own && a.why == WHY_SERVED && a.code == MPI_SUCCESS) memcpy(dst, w.dst, own);
  return a;
}

/* Returns true if the MPI rejects these buffers. */
static bool no_buffers(const void *src, const void *dst, size_t all, size_t own) {
  if (refused_alias(src, dst, all, false)) return true;
  if (src == MPI_IN_PLACE) src = dst;
  return dst == MPI_IN_PLACE || (all && !src) || (own && !dst);
}

answer serve_reduce_scatter_block(const void *src, void *dst, MPI_Aint count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm) {
  reduction r;
  state *s = find_both(comm, type, op, &r);
  if (!s) return hand_on(r.why);
  const size_t own = count < 0 ? 0 : (size_t)count * r.element, all = own * (size_t)s->ranks;
  if (count < 0 || no_buffers(src, dst, all, own)) return hand_on(WHY_REFUSED);
  const work w = {
      .function = SHIM_Reduce_scatter_block, .count = (size_t)count, .type = r.type, .op = r.op};
  return scatter(s, src, dst, w, all, own);
}

answer serve_reduce_scatter_(const void *src, void *dst, numbers counts, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  reduction r;
  state *s = find_both(comm, type, op, &r);
  if (!s) return hand_on(r.why);
  size_t all = 0;
  bool even = true;
  for (int i = 0; i < s->ranks; i++) {
    if (!counts.at || number(counts, i) < 0) return hand_on(WHY_REFUSED);
    s->counts[i] = (size_t)number(counts, i);
    all += s->counts[i] * r.element;
    even &= s->counts[i] == s->counts[0];
  }
  const size_t own = s->counts[s->rank] * r.element;
  if (no_buffers(src, dst, all, own)) return hand_on(WHY_REFUSED);
  const work w = {.function = SHIM_Reduce_scatter,
                  .count = s->counts[0],
                  .counts = even ? NULL : s->counts,
                  .type = r.type,
                  .op = r.op};
  return scatter(s, src, dst, w, all, own);
}
