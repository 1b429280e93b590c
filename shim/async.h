/* async.h - non-blocking collectives, on threads of the shim's own.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_ASYNC_H
#define SHIM_ASYNC_H

#include "serve.h"

/* A collective with its arguments; each takes those that it has. */
typedef struct async_call {
  const void *src;
  void *dst;
  MPI_Aint count, nsrc;
  MPI_Datatype type, srctype;
  numbers counts, displs;
  MPI_Op op;
  int root;
  MPI_Comm comm;
} async_call;

/* Is there a thread that can make progress? After MPI_Init, and before MPI_Finalize. */
void async_begin(void);
void async_end(void);
/* Begin, as `function` (SHIM_Iallreduce ...). *request is one of MPI's own, complete when
 * this is. If not WHY_SERVED, nothing has happened, on no rank. */
answer async_start(shim_function function, const async_call *call, MPI_Request *request);
/* An op or a type that the program frees while something that is under way, or prepared, needs
 * it is freed later. */
bool async_keeps_op(MPI_Op *op);
bool async_keeps_type(MPI_Datatype *type);
/* The same once more for every start, until it is freed: a persistent request. */
answer async_init(shim_function function, const async_call *call, MPI_Request *request);
/* The request that stands for it now, which is MPI_REQUEST_NULL if it is not active; NULL if it
 * is none of these. */
MPI_Request *async_active(MPI_Request request);
/* Is there any? */
extern atomic_int async_persistent;
/* Is anything that was begun not over, on any communicator? */
bool async_under_way(void);
/* Start it again; free it. */
int async_restart(MPI_Request request);
void async_free(MPI_Request request);
/* Wait until what was begun on a communicator is over. */
void async_drain(state *s);
/* The communicator goes: its thread ends, after what was begun. */
void async_stop(state *s);

/* What each collective's arguments are. */
#define CALL_allreduce(s, d, n, t, o, c) \
  ((async_call){.src = s, .dst = d, .count = n, .type = t, .op = o, .comm = c})
#define CALL_reduce_scatter_block CALL_allreduce
#define CALL_reduce(s, d, n, t, o, r, c) \
  ((async_call){.src = s, .dst = d, .count = n, .type = t, .op = o, .root = r, .comm = c})
#define CALL_reduce_scatter(s, d, n, t, o, c) \
  ((async_call){.src = s, .dst = d, .counts = NUMBERS_OF(n), .type = t, .op = o, .comm = c})
#define CALL_allgather(s, n, u, d, m, t, c) \
  ((async_call){.src = s, .nsrc = n, .srctype = u, .dst = d, .count = m, .type = t, .comm = c})
#define CALL_allgatherv(s, n, u, d, m, p, t, c) \
  ((async_call){.src = s,                       \
                .nsrc = n,                      \
                .srctype = u,                   \
                .dst = d,                       \
                .counts = NUMBERS_OF(m),        \
                .displs = NUMBERS_OF(p),        \
                .type = t,                      \
                .comm = c})
#define CALL_bcast(b, n, t, r, c) \
  ((async_call){.dst = b, .count = n, .type = t, .root = r, .comm = c})
#define CALL_barrier(c) ((async_call){.comm = c})

#endif
