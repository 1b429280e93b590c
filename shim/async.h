/* async.h - non-blocking collectives, on separate threads of the shim.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_ASYNC_H
#define SHIM_ASYNC_H

#include "serve.h"

/* A collective and its arguments. Each collective uses only some of the fields. */
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

/* Performs the collective that `function` names (async_call.c). */
answer async_serve(shim_function function, const async_call *c);
/* async_copy_arrays replaces the arrays of a collective by copies, and returns false if out of memory. async_free_arrays
 * frees these copies. */
bool async_copy_arrays(shim_function function, async_call *c, const state *s);
void async_free_arrays(async_call *c);

/* begin determines whether threads can make progress; call it after MPI_Init. Call end when
 * MPI_Finalize begins. */
void async_begin(void);
void async_end(void);
/* Starts a nonblocking collective, such as SHIM_Iallreduce. *request receives an MPI request that completes together with the
 * collective. If the result is not WHY_SERVED, nothing has been started on any rank. */
answer async_start(shim_function function, const async_call *call, MPI_Request *request);
/* Creates a persistent request for a collective. The request can be started repeatedly until it is freed. */
answer async_init(shim_function function, const async_call *call, MPI_Request *request);
/* Returns a pointer to the request of the started collective within a persistent request. That request is MPI_REQUEST_NULL if
 * the collective is not active. Returns NULL if the request is not persistent. */
MPI_Request *async_active(MPI_Request request);
/* Number of persistent requests. */
extern atomic_int async_persistent;
/* Number of nonblocking collectives that the program has not yet completed with MPI_Wait or MPI_Test. */
extern atomic_int async_unwaited;
/* Returns true if a nonblocking collective is in progress on any communicator. */
bool async_under_way(void);
/* Returns true if the request belongs to a collective in progress. The program must not free such a request (MPI 5.0,
 * 6.12). */
bool async_in_progress(MPI_Request request);
/* Yields the core to other threads. The longer the program has tested without success (`vain` times), the longer this may
 * take: a moment, or until a collective in progress has completed. */
void async_nap(int vain);
/* Start a persistent request again, and free it. */
int async_restart(MPI_Request request);
void async_free(MPI_Request request);
/* Waits until all collectives in progress on a communicator have completed. */
void async_drain(state *s);
/* Performs the collectives of these requests in the calling thread, and before them those that are ahead of them in their
 * queues. Skips collectives that another thread has started. For a program that waits for all these requests. */
void async_perform(int n, const MPI_Request *requests);
/* Ends the thread of a communicator that is about to be freed. Waits for the collectives in progress. */
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
