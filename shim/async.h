/* async.h - non-blocking collectives, on separate threads of the shim.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_ASYNC_H
#define SHIM_ASYNC_H

#include "serve.h"

/* A collective with its arguments; each collective uses its own subset. */
typedef struct async_call {
  const void *src;
  void *dst;
  MPI_Aint count, nsrc;
  MPI_Datatype type, srctype;
  numbers counts, displs, nsrc_each, srcdispls; /* the last two are for all-to-all */
  MPI_Op op;
  int root;
  MPI_Comm comm;
} async_call;

/* Performs the collective that `function` selects (async_call.c). */
answer async_serve(shim_function function, const async_call *c);
/* Replaces its arrays by copies, or frees these copies. Copying returns false if out of memory. */
bool async_copy_arrays(shim_function function, async_call *c, const state *s);
void async_free_arrays(async_call *c);

/* begin determines whether threads can make progress; call it after MPI_Init. Call end when
 * MPI_Finalize begins. */
void async_begin(void);
void async_end(void);
/* Starts a collective as `function` (SHIM_Iallreduce etc.). *request receives an MPI request that completes
 * with the collective. Unless the answer is WHY_SERVED, nothing has happened on any rank. */
answer async_start(shim_function function, const async_call *call, MPI_Request *request);
/* Prepares a collective that can be started repeatedly until it is freed: a persistent request. */
answer async_init(shim_function function, const async_call *call, MPI_Request *request);
/* Returns the inner request of a persistent request (MPI_REQUEST_NULL while that is inactive), or
 * NULL if the request is not persistent. */
MPI_Request *async_active(MPI_Request request);
/* Number of persistent requests. */
extern atomic_int async_persistent;
/* Number of non-blocking collectives that no MPI_Wait or MPI_Test has completed. */
extern atomic_int async_unwaited;
/* Returns true if a non-blocking collective is in progress on any communicator. */
bool async_under_way(void);
/* Returns true if this is the request of a collective in progress. Such a request must not be freed (MPI 5.0, 6.12). */
bool async_in_progress(MPI_Request request);
/* Yields the core to other threads after `vain` unsuccessful tests: for a moment, or until a collective in progress has
 * completed. */
void async_nap(int vain);
/* Start a persistent request again, and free it. */
int async_restart(MPI_Request request);
void async_free(MPI_Request request);
/* Waits until the collectives in progress on a communicator have ended. */
void async_drain(state *s);
/* Performs the collectives of these requests, and those queued before them, in the calling thread, except those that a thread
 * has started. For a program that waits for all these requests. */
void async_perform(int n, const MPI_Request *requests);
/* Releases a communicator's thread after the collectives in progress, because the communicator is being freed. */
void async_stop(state *s);

/* The arguments of each collective. */
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
#define CALL_alltoall CALL_allgather
#define CALL_alltoallv(s, n, p, u, d, m, q, t, c) \
  ((async_call){.src = s,                         \
                .nsrc_each = NUMBERS_OF(n),       \
                .srcdispls = NUMBERS_OF(p),       \
                .srctype = u,                     \
                .dst = d,                         \
                .counts = NUMBERS_OF(m),          \
                .displs = NUMBERS_OF(q),          \
                .type = t,                        \
                .comm = c})
#define CALL_gather(s, n, u, d, m, t, r, c) \
  ((async_call){                            \
      .src = s, .nsrc = n, .srctype = u, .dst = d, .count = m, .type = t, .root = r, .comm = c})
#define CALL_scatter CALL_gather
#define CALL_gatherv(s, n, u, d, m, p, t, r, c) \
  ((async_call){.src = s,                       \
                .nsrc = n,                      \
                .srctype = u,                   \
                .dst = d,                       \
                .counts = NUMBERS_OF(m),        \
                .displs = NUMBERS_OF(p),        \
                .type = t,                      \
                .root = r,                      \
                .comm = c})
#define CALL_scatterv(s, m, p, u, d, n, t, r, c) \
  ((async_call){.src = s,                        \
                .counts = NUMBERS_OF(m),         \
                .displs = NUMBERS_OF(p),         \
                .srctype = u,                    \
                .dst = d,                        \
                .count = n,                      \
                .type = t,                       \
                .root = r,                       \
                .comm = c})
#define CALL_scan   CALL_allreduce
#define CALL_exscan CALL_allreduce
#define CALL_bcast(b, n, t, r, c) \
  ((async_call){.dst = b, .count = n, .type = t, .root = r, .comm = c})
#define CALL_barrier(c) ((async_call){.comm = c})

#endif
