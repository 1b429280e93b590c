/* serve.h - MPI's collectives, performed by tutti.
 *
 * Idea       Each function checks whether tutti can perform the call. If so, it performs the call,
 *            and `code` is the program's result. If not, `why` is the reason, nothing has happened,
 *            and the MPI performs the call.
 * Invariant  The decision depends only on values that MPI requires to be the same on all ranks, or
 *            on a rank's arguments that the MPI rejects before it communicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_SERVE_H
#define SHIM_SERVE_H

#include "reduction.h"
#include "state.h"

typedef struct answer {
  shim_why why; /* WHY_SERVED if tutti performed the call */
  int code;
  turn *turn; /* if not NULL, the call is being timed, and turn_end must be called */
} answer;

/* An array of counts or displacements, whose elements are int, or MPI_Count and MPI_Aint. */
typedef struct numbers {
  const void *at;
  bool wide;
} numbers;
#define NUMBERS_OF(array) ((numbers){array, sizeof *(array) > sizeof(int)})
static inline MPI_Aint number(numbers n, int i) {
  return n.wide ? ((const MPI_Aint *)n.at)[i] : ((const int *)n.at)[i];
}

answer serve_allreduce(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm);
answer serve_reduce(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm);
answer serve_reduce_scatter_block(const void *src, void *dst, MPI_Aint count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm);
answer serve_reduce_scatter_(const void *src, void *dst, numbers counts, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm);
answer serve_allgather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                       MPI_Aint ndst, MPI_Datatype dsttype, MPI_Comm comm);
answer serve_allgatherv_(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                         numbers counts, numbers displs, MPI_Datatype dsttype, MPI_Comm comm);
answer serve_gather(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst, MPI_Aint ndst,
                    MPI_Datatype dsttype, int root, MPI_Comm comm);
answer serve_gatherv_(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                      numbers counts, numbers displs, MPI_Datatype dsttype, int root,
                      MPI_Comm comm);
answer serve_scatter(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst, MPI_Aint ndst,
                     MPI_Datatype dsttype, int root, MPI_Comm comm);
answer serve_scatterv_(const void *src, numbers counts, numbers displs, MPI_Datatype srctype,
                       void *dst, MPI_Aint ndst, MPI_Datatype dsttype, int root, MPI_Comm comm);
answer serve_alltoall(const void *src, MPI_Aint nsrc, MPI_Datatype srctype, void *dst,
                      MPI_Aint ndst, MPI_Datatype dsttype, MPI_Comm comm);
answer serve_alltoallv_(const void *src, numbers nsrc, numbers srcdispls, MPI_Datatype srctype,
                        void *dst, numbers ndst, numbers dstdispls, MPI_Datatype dsttype,
                        MPI_Comm comm);
answer serve_scan(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
answer serve_exscan(const void *src, void *dst, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm);
answer serve_bcast(void *buffer, MPI_Aint count, MPI_Datatype type, int root, MPI_Comm comm);
answer serve_barrier(MPI_Comm comm);

#define serve_reduce_scatter(src, dst, counts, type, op, comm) \
  serve_reduce_scatter_(src, dst, NUMBERS_OF(counts), type, op, comm)
#define serve_allgatherv(src, nsrc, srctype, dst, counts, displs, dsttype, comm) \
  serve_allgatherv_(src, nsrc, srctype, dst, NUMBERS_OF(counts), NUMBERS_OF(displs), dsttype, comm)
#define serve_gatherv(src, nsrc, srctype, dst, counts, displs, dsttype, root, comm)              \
  serve_gatherv_(src, nsrc, srctype, dst, NUMBERS_OF(counts), NUMBERS_OF(displs), dsttype, root, \
                 comm)
#define serve_scatterv(src, counts, displs, srctype, dst, ndst, dsttype, root, comm)              \
  serve_scatterv_(src, NUMBERS_OF(counts), NUMBERS_OF(displs), srctype, dst, ndst, dsttype, root, \
                  comm)
#define serve_alltoallv(src, nsrc, from, srctype, dst, ndst, to, dsttype, comm)             \
  serve_alltoallv_(src, NUMBERS_OF(nsrc), NUMBERS_OF(from), srctype, dst, NUMBERS_OF(ndst), \
                   NUMBERS_OF(to), dsttype, comm)

/* ---- for the serving functions (perform.c) ---- */

static inline answer hand_on(shim_why why) {
  return (answer){why, MPI_SUCCESS, NULL};
}

/* MPICH rejects a buffer that is both input and output unless MPI_IN_PLACE is given; Open MPI does
 * so only at the root of MPI_Reduce. With the standard ABI, the MPI may be either one. Calls that
 * only one of them rejects are served, because if the MPI started a call that was passed to it, the
 * other ranks would wait in tutti. */
static inline bool refused_alias(const void *src, const void *dst, size_t bytes, bool rooted) {
#ifdef MPICH_VERSION
  (void)rooted;
  return src == dst && bytes;
#else
  return src == dst && bytes && rooted;
#endif
}
/* Returns true if the MPI rejects an MPI_Allreduce with equal buffers. Open MPI checks this only for two or more elements. */
static inline bool refused_alias_of_all(const void *src, const void *dst, size_t count) {
#ifdef MPICH_VERSION
  return src == dst && count;
#else
  return src == dst && count > 1;
#endif
}

/* A call of a tutti collective. The sizes in bytes count the data that the call reads and writes on this rank. */
typedef struct work {
  shim_function function;
  tutti_coll coll;
  const void *src;
  void *dst;
  size_t count;
  const size_t *counts;      /* used instead of count if not NULL */
  const size_t *recv_counts; /* for an all-to-all with counts */
  size_t src_bytes, dst_bytes;
  tutti_type type;
  tutti_op op;
  int root;
} work;

/* Performs a call of a tutti collective. If the call fails, calls the error handler of the program. If the result is
 * WHY_NO_PLAN, nothing has been done on any rank. */
answer serve_run(state *s, const work *w);
/* Makes a call fail on all ranks, because this rank cannot do its part. */
answer serve_fail(state *s, const char *sentence);
/* Makes a call fail on all ranks, because the MPI failed to pack or unpack data on this rank. */
answer serve_fail_mpi(state *s, int error);

#endif
