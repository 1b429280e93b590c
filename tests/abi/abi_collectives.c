/* abi_collectives.c - collectives of the test's libmpi_abi, in all their forms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "translate.h"

#define BEGIN(name, ...)                            \
  MPI_Request begun = MPI_REQUEST_NULL;             \
  const int code = CALL(name, __VA_ARGS__, &begun); \
  if (code == ABI_SUCCESS) *request = from(begun);  \
  return code

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define ARGUMENTS(a)             WITHOUT_PARENTHESES a
#define BLOCKING(name, a, ...)       \
  ENTRY(name, __VA_ARGS__) {         \
    return CALL(name, ARGUMENTS(a)); \
  }
#define STARTED(name, a, ...)                      \
  ENTRY(name, __VA_ARGS__, ABI_Request *request) { \
    BEGIN(name, ARGUMENTS(a));                     \
  }
#define PREPARED(name, a, ...)                                    \
  ENTRY(name, __VA_ARGS__, ABI_Info info, ABI_Request *request) { \
    BEGIN(name, ARGUMENTS(a), to(info));                          \
  }
#define FORMS(name, lower, parameters, a)                   \
  BLOCKING(name, a, parameters(int, int))                   \
  BLOCKING(name##_c, a, parameters(ABI_Count, ABI_Aint))    \
  STARTED(I##lower, a, parameters(int, int))                \
  STARTED(I##lower##_c, a, parameters(ABI_Count, ABI_Aint)) \
  PREPARED(name##_init, a, parameters(int, int))            \
  PREPARED(name##_init_c, a, parameters(ABI_Count, ABI_Aint))

#define REDUCES(N, D) \
  const void *src, void *dst, N count, ABI_Datatype type, ABI_Op op, ABI_Comm comm
#define REDUCES_A (to_buffer(src), to_buffer(dst), count, to(type), to(op), to(comm))
#define ROOTED(N, D) \
  const void *src, void *dst, N count, ABI_Datatype type, ABI_Op op, int root, ABI_Comm comm
#define ROOTED_A (to_buffer(src), to_buffer(dst), count, to(type), to(op), to_rank(root), to(comm))
#define SCATTERS(N, D) \
  const void *src, void *dst, const N counts[], ABI_Datatype type, ABI_Op op, ABI_Comm comm
#define SCATTERS_A (to_buffer(src), to_buffer(dst), counts, to(type), to(op), to(comm))
#define GATHERS(N, D)                                                                     \
  const void *src, N nsrc, ABI_Datatype srctype, void *dst, N ndst, ABI_Datatype dsttype, \
      ABI_Comm comm
#define GATHERS_A (to_buffer(src), nsrc, to(srctype), to_buffer(dst), ndst, to(dsttype), to(comm))
#define GATHERS_V(N, D)                                                                         \
  const void *src, N nsrc, ABI_Datatype srctype, void *dst, const N counts[], const D displs[], \
      ABI_Datatype dsttype, ABI_Comm comm
#define GATHERS_V_A \
  (to_buffer(src), nsrc, to(srctype), to_buffer(dst), counts, displs, to(dsttype), to(comm))
#define SENDS(N, D) void *buffer, N count, ABI_Datatype type, int root, ABI_Comm comm
#define SENDS_A     (to_buffer(buffer), count, to(type), to_rank(root), to(comm))
#define MOVES(N, D)                                                                       \
  const void *src, N nsrc, ABI_Datatype srctype, void *dst, N ndst, ABI_Datatype dsttype, \
      int root, ABI_Comm comm
#define MOVES_A \
  (to_buffer(src), nsrc, to(srctype), to_buffer(dst), ndst, to(dsttype), to_rank(root), to(comm))
#define TO_ROOT(N, D)                                                                           \
  const void *src, N nsrc, ABI_Datatype srctype, void *dst, const N counts[], const D displs[], \
      ABI_Datatype dsttype, int root, ABI_Comm comm
#define TO_ROOT_A                                                                                 \
  (to_buffer(src), nsrc, to(srctype), to_buffer(dst), counts, displs, to(dsttype), to_rank(root), \
   to(comm))
#define FROM_ROOT(N, D)                                                                         \
  const void *src, const N counts[], const D displs[], ABI_Datatype srctype, void *dst, N ndst, \
      ABI_Datatype dsttype, int root, ABI_Comm comm
#define FROM_ROOT_A                                                                               \
  (to_buffer(src), counts, displs, to(srctype), to_buffer(dst), ndst, to(dsttype), to_rank(root), \
   to(comm))
#define PAIRS(N, D)                                                                  \
  const void *src, const N nsrc[], const D srcat[], ABI_Datatype srctype, void *dst, \
      const N ndst[], const D dstat[], ABI_Datatype dsttype, ABI_Comm comm
#define PAIRS_A \
  (to_buffer(src), nsrc, srcat, to(srctype), to_buffer(dst), ndst, dstat, to(dsttype), to(comm))

FORMS(Allreduce, allreduce, REDUCES, REDUCES_A)
FORMS(Reduce, reduce, ROOTED, ROOTED_A)
FORMS(Reduce_scatter, reduce_scatter, SCATTERS, SCATTERS_A)
FORMS(Reduce_scatter_block, reduce_scatter_block, REDUCES, REDUCES_A)
FORMS(Allgather, allgather, GATHERS, GATHERS_A)
FORMS(Allgatherv, allgatherv, GATHERS_V, GATHERS_V_A)
FORMS(Gather, gather, MOVES, MOVES_A)
FORMS(Gatherv, gatherv, TO_ROOT, TO_ROOT_A)
FORMS(Scatter, scatter, MOVES, MOVES_A)
FORMS(Scatterv, scatterv, FROM_ROOT, FROM_ROOT_A)
FORMS(Alltoall, alltoall, GATHERS, GATHERS_A)
FORMS(Alltoallv, alltoallv, PAIRS, PAIRS_A)
FORMS(Scan, scan, REDUCES, REDUCES_A)
FORMS(Exscan, exscan, REDUCES, REDUCES_A)
FORMS(Bcast, bcast, SENDS, SENDS_A)
BLOCKING(Barrier, (to(comm)), ABI_Comm comm)
STARTED(Ibarrier, (to(comm)), ABI_Comm comm)
PREPARED(Barrier_init, (to(comm)), ABI_Comm comm)
/* MPICH copies the arrays of types, as tutti's drop-in does. */
ENTRY(Ialltoallw, const void *src, const int nsrc[], const int srcat[],
      const ABI_Datatype srctypes[], void *dst, const int ndst[], const int dstat[],
      const ABI_Datatype dsttypes[], ABI_Comm comm, ABI_Request *request) {
  MPI_Request begun = MPI_REQUEST_NULL;
  int ranks = 0;
  THEIRS(Comm_size)(to(comm), &ranks);
  const int in_place = src == ABI_IN_PLACE;
  MPI_Datatype *sends = in_place ? NULL : to_types(ranks, srctypes);
  MPI_Datatype *receives = to_types(ranks, dsttypes);
  const int code = CALL(Ialltoallw, to_buffer(src), nsrc, srcat, sends, dst, ndst, dstat, receives,
                        to(comm), &begun);
  *request = from(begun);
  free(sends);
  free(receives);
  return code;
}
