/* tutti.h - allreduce and the other collectives, for the processes of a job.
 *
 * The nouns     A *communicator* is a group of P ranks (processes, or threads
 *               of one process). A *collective* is one operation that all of
 *               them call in the same order. A *request* is a collective that
 *               was started and has not completed. A *plan* is the schedule
 *               that executes it; tutti chooses it and can report it.
 * Sizes         are in elements, unless a name contains "bytes".
 * Buffers       belong to the caller and are aligned for their type. They may be in ordinary memory or in GPU memory. The
 *               library reads `src` and writes `dst` until the call returns, or until the wait of a started call returns.
 * Errors        Every call returns a tutti_status, 0 or negative. tutti_error() returns a sentence
 *               that says what failed, where, and what to do. If an operation fails after it has started,
 *               `src` is unchanged, `dst` is undefined (in place: the buffer is undefined), and every
 *               later call on the communicator returns an error. The library never exits or aborts the
 *               process, and prints only its log.
 * Threads       Only one thread may use a communicator at a time. Different threads may use different
 *               communicators simultaneously.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_H
#define TUTTI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_VERSION_MAJOR 0 /* the version of this header */
#define TUTTI_VERSION_MINOR 2 /* its second number */
#define TUTTI_VERSION_PATCH 0 /* its third number */

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

/* ------------------------------------------------------------- status --- */

/** The status that a call returns: 0 on success, or a negative number that identifies the error. */
typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_ERR_ARG = -1,          /* an argument is NULL, out of range, or too large */
  TUTTI_ERR_TYPE = -2,         /* unknown type */
  TUTTI_ERR_OP = -3,           /* unknown op, or an op that is not defined for the type */
  TUTTI_ERR_OVERLAP = -4,      /* src and dst overlap, but are not equal */
  TUTTI_ERR_MEMORY = -5,       /* out of memory or descriptors; nothing was touched */
  TUTTI_ERR_MISMATCH = -6,     /* another rank made a different call */
  TUTTI_ERR_PEER_LOST = -7,    /* another rank died, or the connection to the aggregator was lost */
  TUTTI_ERR_TIMEOUT = -8,      /* a rank has waited longer than TUTTI_TIMEOUT */
  TUTTI_ERR_ABORTED = -9,      /* a rank called tutti_comm_abort */
  TUTTI_ERR_STATE = -10,       /* called after tutti_finalize or fork, or the object is in use */
  TUTTI_ERR_SYSTEM = -11,      /* the operating system, MPI or a device failed */
  TUTTI_ERR_SCHEDULE = -12,    /* a schedule is malformed, or the prover rejects it */
  TUTTI_ERR_UNSUPPORTED = -13, /* valid arguments, but no plan supports them */
  TUTTI_ERR_INTERRUPTED = -14  /* the function set by tutti_interrupt_set ended the wait */
} tutti_status;

/** Return a short description of a status. The result is never NULL, even if the number is not a status. */
TUTTI_API const char *tutti_strerror(tutti_status status);

/** Return a sentence about the last error in this thread. It says what failed, where, and what to do. The result is never
 *  NULL, and is valid until this thread's next call. */
TUTTI_API const char *tutti_error(void);

/** Return the library's version as text, such as "0.1.0", and store its numbers in `major`, `minor` and `patch`. Each pointer
 *  may be NULL. */
TUTTI_API const char *tutti_version(int *major, int *minor, int *patch);

/** Send log messages to `fn`, for example that a rank is late or that a setting is invalid. `fn` receives `ctx`, a level (0
 *  warning, 1 information, 2 debug) and a line without a newline. With NULL, the default, messages go where TUTTI_LOG says
 *  (docs/reference/variables.md). Call this before other threads use the library. */
typedef void tutti_log_fn(void *ctx, int level, const char *line);
TUTTI_API void tutti_log_set(tutti_log_fn *fn, void *ctx);

/* ------------------------------------------------------ types and ops --- */

/** The type of an element. */
typedef enum tutti_type {
  TUTTI_INT8,
  TUTTI_UINT8,
  TUTTI_INT16,
  TUTTI_UINT16,
  TUTTI_INT32,
  TUTTI_UINT32,
  TUTTI_INT64,
  TUTTI_UINT64,
  TUTTI_FLOAT16,  /* IEEE binary16, as uint16_t */
  TUTTI_BFLOAT16, /* bfloat16, as uint16_t */
  TUTTI_FLOAT32,
  TUTTI_FLOAT64,
  TUTTI_COMPLEX_FLOAT,  /* float[2]: real, imaginary */
  TUTTI_COMPLEX_DOUBLE, /* double[2] */
  TUTTI_FLOAT_INT,      /* struct { float v; int i; }; the pairs for minloc and maxloc */
  TUTTI_DOUBLE_INT,
  TUTTI_LONG_INT,
  TUTTI_INT_INT,
  TUTTI_SHORT_INT,
  TUTTI_FP8_E4M3,
  TUTTI_FP8_E5M2, /* OFP8, as uint8_t; e4m3 has no infinities */
  TUTTI_TYPE_COUNT,
  TUTTI_FLOAT = TUTTI_FLOAT32, /* the names used in C */
  TUTTI_DOUBLE = TUTTI_FLOAT64
} tutti_type;

/** The operation of a collective that reduces.
 *
 *  Integers  Sums wrap around.
 *  Floats    The result has the same bits on all ranks. Every NaN result is the canonical quiet NaN. Types of 8 and 16 bits
 *            are computed in float and rounded to nearest even.
 *  min, max          propagate NaN, and order -0 below +0.
 *  avg               is the sum, divided once by the number of ranks with data. Integers truncate towards zero.
 *  land, lor, lxor   return 0 or 1.
 *  minloc, maxloc    return the lower index if two values are equal.
 *
 *  If only one rank contributes to a result, as on the first rank of a scan, the result has the bits of its value, even
 *  those of a NaN. Exceptions are logical ops, exact sums, and scaled ops with a factor other than 1. */
typedef enum tutti_op {
  TUTTI_SUM,
  TUTTI_PROD,
  TUTTI_MIN,
  TUTTI_MAX,
  TUTTI_AVG,
  TUTTI_BAND,
  TUTTI_BOR,
  TUTTI_BXOR,
  TUTTI_LAND,
  TUTTI_LOR,
  TUTTI_LXOR,
  TUTTI_MINLOC,
  TUTTI_MAXLOC,
  TUTTI_OP_COUNT,
  TUTTI_OP_USER = 1000, /* the smallest number that tutti_op_create returns */
  TUTTI_OP_USER_END = 2000
} tutti_op;

/** Size of one element in bytes; 0 for an unknown type. */
TUTTI_API size_t tutti_type_size(tutti_type type);

/* ------------------------------------------------------- communicators --- */

typedef struct tutti_comm tutti_comm; /* a communicator */

/** Create a communicator of all ranks that `tutti run`, torchrun or Slurm started. In a process started otherwise, it
 *  contains only this process. All ranks must call this. Each call creates another, independent communicator. Returns
 *  TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM (the launcher's environment variables do not match the job);
 *  TUTTI_ERR_TIMEOUT. */
TUTTI_API tutti_status tutti_comm_from_env(tutti_comm **comm);

/** Create a communicator whose ranks are `n` >= 1 threads of this process. One thread calls this. The thread that is rank r
 *  then uses comms[r]. */
TUTTI_API tutti_status tutti_comm_from_threads(int n, tutti_comm **comms);

/** Split a communicator into groups of ranks with equal `color` (>= 0). In a new communicator, ranks are ordered by `key`,
 *  then by their rank in `comm`. All ranks of `comm` must call this. A rank with a negative color receives NULL. */
TUTTI_API tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out);
/** Create a communicator with the same ranks as another one, but with separate resources. All ranks must call this. */
TUTTI_API tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out);

/** Free a communicator. NULL is allowed. Other ranks need not call this. Over a network, it waits until peers have received
 *  everything that this rank sent to them. If this takes longer than TUTTI_TIMEOUT, it returns TUTTI_ERR_TIMEOUT. The
 *  communicator has then failed on all ranks, and a second call frees it. Returns TUTTI_ERR_STATE if a request has not been
 *  waited for or freed. */
TUTTI_API tutti_status tutti_comm_free(tutti_comm *comm);
TUTTI_API int tutti_comm_rank(const tutti_comm *comm); /* this rank, from 0 to P-1; -1 for NULL */
TUTTI_API int tutti_comm_size(const tutti_comm *comm); /* the number of ranks, P; -1 for NULL */

/** Abort a communicator. Every pending and later call on it, on all ranks, returns TUTTI_ERR_ABORTED. tutti_error() then
 *  returns `reason`, which may be NULL and is truncated to 100 bytes. Any thread may call this at any time. */
TUTTI_API tutti_status tutti_comm_abort(tutti_comm *comm, const char *reason);

/** Check whether a communicator has failed, without waiting. Other ranks need not call this. Returns TUTTI_OK, or the error
 *  that every call on the communicator returns, or TUTTI_ERR_PEER_LOST if a rank has died. Any thread may call this. While
 *  another thread is inside a call on the communicator, it returns TUTTI_OK, because that call reports failures itself. */
TUTTI_API tutti_status tutti_comm_async_error(tutti_comm *comm);

/** End this process's use of tutti. Free all communicators first. Other ranks need not call this. Every later call in this
 *  process returns TUTTI_ERR_STATE. */
TUTTI_API tutti_status tutti_finalize(void);

/** Allocate memory that every rank of the job on this machine can access directly, so that collectives need not copy vectors
 *  in it. The memory is zeroed and aligned to 64 bytes. It belongs to the caller until tutti_mem_free. If `bytes` is 0,
 *  *memory is NULL. Other ranks need not call this. */
TUTTI_API tutti_status tutti_mem_alloc(tutti_comm *comm, size_t bytes, void **memory);
/** Free memory from tutti_mem_alloc. NULL is allowed. */
TUTTI_API tutti_status tutti_mem_free(tutti_comm *comm, void *memory);

/** Let peers on this machine access `bytes` of existing memory, for example from malloc, so that collectives need not copy
 *  vectors in it. The address and the contents do not change. All pages that contain the memory are moved to shared memory,
 *  which must have room for them. During this call and tutti_comm_deregister, no other thread may write to these pages.
 *  Devices and network cards must not use them. Call tutti_comm_deregister before freeing the memory. Other ranks need not
 *  call this. Returns TUTTI_ERR_UNSUPPORTED if the memory belongs to a file or to a stack. */
TUTTI_API tutti_status tutti_comm_register(tutti_comm *comm, void *memory, size_t bytes);
TUTTI_API tutti_status tutti_comm_deregister(tutti_comm *comm,
                                             void *memory); /* the same address as for
                                                               tutti_comm_register */

/* ---------------------------------------------------------- collectives --- */

/** A collective. */
typedef enum tutti_coll {
  TUTTI_ALLREDUCE,
  TUTTI_REDUCE_SCATTER,
  TUTTI_ALLGATHER,
  TUTTI_BROADCAST,
  TUTTI_REDUCE,
  TUTTI_BARRIER,
  TUTTI_SCAN,
  TUTTI_EXSCAN,
  TUTTI_GATHER,
  TUTTI_SCATTER,
  TUTTI_ALLTOALL,
  TUTTI_COLL_COUNT
} tutti_coll;

typedef struct tutti_request tutti_request; /* a request */

/** Sum (or min, max, ...) `count` elements over all ranks. Every rank receives the whole result.
 *
 *  src, dst  `count` elements of `type`, aligned for that type. Equal pointers mean an in-place call. A partial overlap is
 *            TUTTI_ERR_OVERLAP.
 *  count     number of elements, not bytes; the same on all ranks; may be 0.
 *
 *  Returns TUTTI_OK when dst is ready. After TUTTI_ERR_ARG, _TYPE, _OP, _OVERLAP, _MEMORY or _STATE, nothing has changed.
 *  After TUTTI_ERR_MISMATCH, _PEER_LOST, _TIMEOUT or _ABORTED, dst is undefined. */
TUTTI_API tutti_status tutti_allreduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, tutti_op op);

/** Sum vectors over all ranks. Rank r receives elements r*count to (r+1)*count - 1 of the sum.
 *  src    has P * count elements;  dst  has count elements. For an in-place call, dst is src + rank*count, and the rest of
 *         src is unchanged. */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_op op);

/** Every rank receives `count` elements from each rank, in rank order.
 *  src    has count elements;  dst  has P * count elements. For an in-place call, src is dst + rank*count. */
TUTTI_API tutti_status tutti_allgather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type);

/** Variants of tutti_reduce_scatter, tutti_allgather, tutti_gather and tutti_scatter for blocks of different sizes. Rank r's
 *  block has counts[r] elements. Blocks are contiguous, in rank order.
 *  counts    one count for each rank, which may be 0. The array is the same on all ranks, and is read only during the call,
 *            even by tutti_call_init.
 *  src, dst  as in those functions: one has all blocks, the other has this rank's block. For an in-place call, this rank's
 *            block is inside the other buffer, counts[0] + ... + counts[rank-1] elements from its start. */
TUTTI_API tutti_status tutti_reduce_scatterv(tutti_comm *comm, const void *src, void *dst,
                                             const size_t *counts, tutti_type type, tutti_op op);
TUTTI_API tutti_status tutti_allgatherv(tutti_comm *comm, const void *src, void *dst,
                                        const size_t *counts, tutti_type type);
TUTTI_API tutti_status tutti_gatherv(tutti_comm *comm, const void *src, void *dst,
                                     const size_t *counts, tutti_type type, int root);
TUTTI_API tutti_status tutti_scatterv(tutti_comm *comm, const void *src, void *dst,
                                      const size_t *counts, tutti_type type, int root);

/** Copy `count` elements from src on rank `root` to dst on every rank.
 *  src    is read only on the root, where it may equal dst. */
TUTTI_API tutti_status tutti_broadcast(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, int root);

/** Combine the src of all ranks as tutti_allreduce does. Only rank `root` receives the result.
 *  dst    is written only on the root, where it may equal src. It is ignored on other ranks. */
TUTTI_API tutti_status tutti_reduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op, int root);

/** Rank r receives the sum (or minimum, ...) over ranks 0 to r. The operands are combined in rank
 *  order, so user-defined ops need not commute. The op avg returns TUTTI_ERR_OP.
 *  src, dst  the buffers, as for tutti_allreduce. */
TUTTI_API tutti_status tutti_scan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                  tutti_type type, tutti_op op);

/** Rank r receives the sum (or minimum, ...) over ranks 0 to r-1, in rank order as in tutti_scan. Rank 0 receives nothing.
 *  dst    is not written on rank 0, where it may be NULL. */
TUTTI_API tutti_status tutti_exscan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op);

/** Rank `root` receives `count` elements from each rank, in rank order.
 *  src    has count elements;  dst  has P * count elements, and is ignored on other ranks. For an in-place call, src on the
 *         root is dst + root*count. */
TUTTI_API tutti_status tutti_gather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, int root);

/** Rank r receives elements r*count to (r+1)*count - 1 of src on rank `root`.
 *  src    has P * count elements, and is ignored on other ranks;  dst  has count elements. For an in-place call, dst on the
 *         root is src + root*count. */
TUTTI_API tutti_status tutti_scatter(tutti_comm *comm, const void *src, void *dst, size_t count,
                                     tutti_type type, int root);

/** Every rank sends a block of `count` elements to every rank. Block r of dst on rank s comes from block s of src on rank r.
 *  src, dst  have P * count elements. Equal pointers mean an in-place call. */
TUTTI_API tutti_status tutti_alltoall(tutti_comm *comm, const void *src, void *dst, size_t count,
                                      tutti_type type);

/** Variant of tutti_alltoall for blocks of different sizes, which are contiguous in src and in dst, in rank order.
 *  counts       number of elements that this rank sends to each rank; may be 0. Read only during the call.
 *  recv_counts  number of elements that this rank receives from each rank; may be 0. recv_counts[s] must equal counts[r] of
 *               rank s, if this rank is r. Otherwise this call waits, or a later call returns TUTTI_ERR_MISMATCH. Read only
 *               during the call.
 *  src, dst     equal pointers mean an in-place call, in which counts and recv_counts must be equal.
 *  Every block is sent directly, regardless of the configured algorithm. */
TUTTI_API tutti_status tutti_alltoallv(tutti_comm *comm, const void *src, const size_t *counts,
                                       void *dst, const size_t *recv_counts, tutti_type type);

/** Wait until all ranks have called this function. */
TUTTI_API tutti_status tutti_barrier(tutti_comm *comm);

/** Begin a group of calls, which tutti_group_end combines into one. Until then, blocking collectives and messages on `comm`
 *  are only checked and stored, and return immediately. A buffer that one of these calls writes must not be used by another
 *  of them. Nonblocking calls return TUTTI_ERR_STATE. */
TUTTI_API tutti_status tutti_group_begin(tutti_comm *comm);
/** End a group of calls, and start all of them as one request. If `request` is NULL, wait for them. Consecutive allreduces
 *  with the same type and op are summed together, and messages may match in any order. Returns the errors of the calls. */
TUTTI_API tutti_status tutti_group_end(tutti_comm *comm, tutti_request **request);

/* ------------------------------------------------------------- requests --- */

/** Start a persistent request. Returns TUTTI_ERR_STATE if the request is already running. */
TUTTI_API tutti_status tutti_request_start(tutti_request *request);

/** Wait until a request completes. A nonblocking request is then freed, and *request is set to NULL, even after an error. A
 *  persistent request becomes idle. Returns TUTTI_OK immediately if *request is NULL or an idle persistent request. */
TUTTI_API tutti_status tutti_request_wait(tutti_request **request);

/** Make progress on all requests in flight, without blocking. *done is set to 1 if this request has completed, and otherwise
 *  to 0. A completed request is freed or becomes idle, as after tutti_request_wait. */
TUTTI_API tutti_status tutti_request_test(tutti_request **request, int *done);

/** Wait for each of `n` requests as tutti_request_wait does. They may be NULL, and may belong to several communicators. If one
 *  fails, the function still waits for all others, and returns the status of the first one that failed. Only
 *  TUTTI_ERR_INTERRUPTED is returned immediately. */
TUTTI_API tutti_status tutti_wait_all(size_t n, tutti_request **requests);

/** Wait until one of `n` requests completes, and complete it as tutti_request_wait does. *index receives its position in the
 *  array, or n if all requests are NULL or idle. Returns the status of that request. */
TUTTI_API tutti_status tutti_wait_any(size_t n, tutti_request **requests, size_t *index);

/** Free an idle persistent request, or cancel a receive whose message has not begun to arrive, and set *request to NULL. For
 *  any other request that is running, returns TUTTI_ERR_STATE. */
TUTTI_API tutti_status tutti_request_free(tutti_request **request);

#ifdef __cplusplus
}
#endif
#include "tutti_bucket.h"    /* gradients, summed while the next ones are computed */
#include "tutti_call.h"      /* calls with more arguments: persistent, lists, on a stream */
#include "tutti_config.h"    /* a communicator's settings */
#include "tutti_create.h"    /* communicators of processes that find each other */
#include "tutti_fault.h"     /* recovery after a failure */
#include "tutti_interrupt.h" /* ending waits early, for example on Ctrl-C */
#include "tutti_message.h"   /* point-to-point messages */
#include "tutti_op.h"        /* user-defined ops, and local reductions */
#include "tutti_start.h"     /* nonblocking collectives */
#endif
