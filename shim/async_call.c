/* async_call.c - the arguments of a non-blocking collective as a struct: performing, copying,
 * freeing (async.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "async.h"

#include <stdlib.h>
#include <string.h>

answer async_serve(shim_function function, const async_call *c) {
  switch (function) {
    case SHIM_Iallreduce: return serve_allreduce(c->src, c->dst, c->count, c->type, c->op, c->comm);
    case SHIM_Ireduce:
      return serve_reduce(c->src, c->dst, c->count, c->type, c->op, c->root, c->comm);
    case SHIM_Ireduce_scatter:
      return serve_reduce_scatter_(c->src, c->dst, c->counts, c->type, c->op, c->comm);
    case SHIM_Ireduce_scatter_block:
      return serve_reduce_scatter_block(c->src, c->dst, c->count, c->type, c->op, c->comm);
    case SHIM_Iallgather:
      return serve_allgather(c->src, c->nsrc, c->srctype, c->dst, c->count, c->type, c->comm);
    case SHIM_Iallgatherv:
      return serve_allgatherv_(c->src, c->nsrc, c->srctype, c->dst, c->counts, c->displs, c->type,
                               c->comm);
    case SHIM_Igather:
      return serve_gather(c->src, c->nsrc, c->srctype, c->dst, c->count, c->type, c->root, c->comm);
    case SHIM_Igatherv:
      return serve_gatherv_(c->src, c->nsrc, c->srctype, c->dst, c->counts, c->displs, c->type,
                            c->root, c->comm);
    case SHIM_Iscatter:
      return serve_scatter(c->src, c->nsrc, c->srctype, c->dst, c->count, c->type, c->root,
                           c->comm);
    case SHIM_Iscatterv:
      return serve_scatterv_(c->src, c->counts, c->displs, c->srctype, c->dst, c->count, c->type,
                             c->root, c->comm);
    case SHIM_Ialltoall:
      return serve_alltoall(c->src, c->nsrc, c->srctype, c->dst, c->count, c->type, c->comm);
    case SHIM_Ialltoallv:
      return serve_alltoallv_(c->src, c->nsrc_each, c->srcdispls, c->srctype, c->dst, c->counts,
                              c->displs, c->type, c->comm);
    case SHIM_Iscan: return serve_scan(c->src, c->dst, c->count, c->type, c->op, c->comm);
    case SHIM_Iexscan: return serve_exscan(c->src, c->dst, c->count, c->type, c->op, c->comm);
    case SHIM_Ibcast: return serve_bcast(c->dst, c->count, c->type, c->root, c->comm);
    default: return serve_barrier(c->comm);
  }
}

/* Replaces an array of the program by a copy. Returns false if out of memory. */
static bool copy_numbers(numbers *n, int ranks) {
  if (!n->at) return true; /* the collective does not use it, or the MPI rejects the call */
  const size_t bytes = (size_t)ranks * (n->wide ? sizeof(MPI_Aint) : sizeof(int));
  void *copy = malloc(bytes);
  if (copy) memcpy(copy, n->at, bytes);
  n->at = copy;
  return copy;
}

/* MPI ignores some arrays on some ranks, and these may be invalid pointers. They are the arrays for the root on all other
 * ranks, and the send arrays of an in-place call. */
bool async_copy_arrays(shim_function function, async_call *c, const state *s) {
  const bool at_root = function == SHIM_Igatherv || function == SHIM_Iscatterv;
  if (at_root && c->root != s->rank) c->counts.at = c->displs.at = NULL;
  if (c->src == MPI_IN_PLACE) c->nsrc_each.at = c->srcdispls.at = NULL;
  numbers *all[] = {&c->counts, &c->displs, &c->nsrc_each, &c->srcdispls};
  bool copied = true;
  for (int i = 0; i < 4; i++) copied &= copy_numbers(all[i], s->ranks);
  return copied;
}

void async_free_arrays(async_call *c) {
  const numbers all[] = {c->counts, c->displs, c->nsrc_each, c->srcdispls};
  for (int i = 0; i < 4; i++) free((void *)(uintptr_t)all[i].at);
}
