/* tutti.h - allreduce and the other collectives, for the processes of a job.
 *
 * The nouns     A *communicator* is a group of P ranks (processes, or threads
 *               of one process). A *collective* is one operation that all of
 *               them call in the same order. A *request* is a collective that
 *               was started and has not completed. A *plan* is the schedule
 *               that carries it out; tutti chooses it and can say which.
 * Sizes         are elements, never bytes, unless a name says bytes.
 * Buffers       belong to the caller, are aligned as their type, and may be ordinary memory, or a GPU's. The library
 *               reads `src` and writes `dst` from the call (or the start) until it returns (or the wait does).
 * Errors        Every call returns a tutti_status, 0 or negative. tutti_error()
 *               is a sentence that says what failed, where, and what to do. After
 *               an error in flight `src` is unchanged, `dst` is undefined (in
 *               place: the buffer is undefined), and the communicator refuses
 *               further work. The library never exits or aborts, and prints only its log.
 * Threads       One call at a time per communicator; threads may use different ones simultaneously.
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

/** What a call returns: 0, or a negative number that says what failed. */
typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_ERR_ARG = -1,         /* an argument is NULL, out of range, or too large */
  TUTTI_ERR_TYPE = -2,        /* no such type */
  TUTTI_ERR_OP = -3,          /* no such op, or the type does not have it */
  TUTTI_ERR_OVERLAP = -4,     /* src and dst overlap without being in place */
  TUTTI_ERR_MEMORY = -5,      /* out of memory or descriptors; nothing was touched */
  TUTTI_ERR_MISMATCH = -6,    /* another rank made another call */
  TUTTI_ERR_PEER_LOST = -7,   /* another rank died, or the aggregator is lost */
  TUTTI_ERR_TIMEOUT = -8,     /* TUTTI_TIMEOUT passed */
  TUTTI_ERR_ABORTED = -9,     /* some rank called tutti_comm_abort */
  TUTTI_ERR_STATE = -10,      /* after finalize or fork, or the object is busy */
  TUTTI_ERR_SYSTEM = -11,     /* the operating system refused */
  TUTTI_ERR_SCHEDULE = -12,   /* a schedule is malformed, or the prover refuses it */
  TUTTI_ERR_UNSUPPORTED = -13, /* legal, but no plan can do it */
  TUTTI_ERR_INTERRUPTED = -14 /* the function of tutti_interrupt_set ended the wait */
} tutti_status;

/** A status in a few words; never NULL, even for a number that is not a status. */
TUTTI_API const char *tutti_strerror(tutti_status status);

/** A sentence about this thread's last error: what failed, where, and what to do. Valid until its next call; never NULL. */
TUTTI_API const char *tutti_error(void);

/** The library's version as text, "0.1.0", and as numbers in `major`, `minor` and `patch`; each may be NULL. */
TUTTI_API const char *tutti_version(int *major, int *minor, int *patch);

/** Send the log (a rank is late, a setting makes no sense) to `fn`. It receives `ctx`, a level (0 warning, 1 information,
 *  2 debug) and a line without its newline. NULL, the default: as TUTTI_LOG says (docs/reference/variables.md). Set it
 *  before threads use the library. */
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
  TUTTI_FLOAT = TUTTI_FLOAT32, /* as C names them */
  TUTTI_DOUBLE = TUTTI_FLOAT64
} tutti_type;

/* Integer sums wrap. Floating point results are the same bits on all ranks, and every NaN result is
 * the canonical quiet NaN. min and max propagate NaN and order -0 below +0. Floats of 8
 * and 16 bits are computed in float and rounded to nearest even. avg is the sum divided once by the
 * number of ranks with data (integers truncate towards zero). Logical ops give 0 or 1. minloc and
 * maxloc prefer the lower index on a tie. A single value (P = 1, one rank with data, the first rank
 * of a scan) keeps its bits, a NaN too, except under logical ops, factors other than 1, and exact sums. */
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
  TUTTI_OP_USER = 1000, /* the least number that tutti_op_create returns */
  TUTTI_OP_USER_END = 2000
} tutti_op;

/** Bytes of one element; 0 for an unknown type. */
TUTTI_API size_t tutti_type_size(tutti_type type);

/* ------------------------------------------------------- communicators --- */

typedef struct tutti_comm tutti_comm; /* a communicator */

/** The communicator of all ranks that `tutti run` started; without `tutti run`, of one rank. Collective. Each call makes
 *  another, independent communicator. Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM (the environment
 *  variables do not match the job); TUTTI_ERR_TIMEOUT. */
TUTTI_API tutti_status tutti_comm_from_env(tutti_comm **comm);

/** Make `n` >= 1 communicators for `n` threads of this process; comms[r] is rank r's.
 *  One thread makes this call; then each rank's thread uses its own communicator. */
TUTTI_API tutti_status tutti_comm_from_threads(int n, tutti_comm **comms);

/** Split into groups of equal `color` (>= 0), ranked by (`key`, old rank). Collective over `comm`; a rank with a negative
 *  color must call too, and receives NULL. */
TUTTI_API tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out);
/** A new communicator of the same group, with its own resources. Collective. */
TUTTI_API tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out);

/** Free a communicator; NULL is legal. Local; over a network it waits until peers have taken what was sent. TUTTI_ERR_STATE:
 *  a request is in flight. TUTTI_ERR_TIMEOUT: it has failed for all ranks; a second call frees it. */
TUTTI_API tutti_status tutti_comm_free(tutti_comm *comm);
TUTTI_API int tutti_comm_rank(const tutti_comm *comm); /* this rank, from 0 to P-1; -1 for NULL */
TUTTI_API int tutti_comm_size(const tutti_comm *comm); /* the number of ranks, P; -1 for NULL */

/** Abort: every pending and later call on this communicator, on all ranks, returns TUTTI_ERR_ABORTED with `reason` (may be
 *  NULL; cut at 100 bytes). Any thread may call it at any time. */
TUTTI_API tutti_status tutti_comm_abort(tutti_comm *comm, const char *reason);

/** How the communicator fares, without waiting and without a call of other ranks: TUTTI_OK; the error that every call on it
 *  returns; or TUTTI_ERR_PEER_LOST: a rank is gone. Any thread may ask; while another thread is inside a call, which returns
 *  failures itself, the answer is TUTTI_OK. */
TUTTI_API tutti_status tutti_comm_async_error(tutti_comm *comm);

/** End this process's use of tutti; free all communicators first. Local. Every later call returns TUTTI_ERR_STATE. */
TUTTI_API tutti_status tutti_finalize(void);

/** Allocate memory that every rank of the job on this machine can read directly, so that collectives need not copy it first.
 *  64-byte aligned, zeroed, owned by the caller until tutti_mem_free. `bytes` 0 gives NULL. Local. */
TUTTI_API tutti_status tutti_mem_alloc(tutti_comm *comm, size_t bytes, void **memory);
TUTTI_API tutti_status tutti_mem_free(tutti_comm *comm, void *memory); /* free `memory` of tutti_mem_alloc; NULL is legal */

/** Let peers on this machine map `bytes` of the caller's private memory, such as malloc's, so that collectives need not copy it
 *  first; what it holds stays. Whole pages are registered: no other thread may write to them during these two calls, and neither a
 *  device nor a network card may use them. Call tutti_comm_deregister before the memory is freed. Local; takes as much shared
 *  memory. TUTTI_ERR_UNSUPPORTED: it belongs to a file or to a stack. */
TUTTI_API tutti_status tutti_comm_register(tutti_comm *comm, void *memory, size_t bytes);
TUTTI_API tutti_status tutti_comm_deregister(tutti_comm *comm,
                                             void *memory); /* of tutti_comm_register */

/* ---------------------------------------------------------- collectives --- */

/** The collectives. */
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

/** Sum (or min, max, ...) `count` elements over all ranks; every rank gets the whole result.
 *
 *  src, dst  `count` elements of `type`, aligned as that type; equal pointers mean in place; partial overlap is
 *            TUTTI_ERR_OVERLAP.
 *  count     elements, not bytes; the same on all ranks; 0 is legal.
 *  Blocks until dst is ready.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _OVERLAP, _MEMORY, _STATE (nothing was touched); TUTTI_ERR_MISMATCH,
 *            _PEER_LOST, _TIMEOUT, _ABORTED (see "Errors" above). */
TUTTI_API tutti_status tutti_allreduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, tutti_op op);

/** Rank r gets elements [r*count, (r+1)*count) of the sum.
 *  src    P * count elements;  dst  count elements; in place: dst is src + rank*count, and the rest of src is unchanged. */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_op op);

/** Every rank gets every rank's `count` elements, in rank order.
 *  src    count elements;  dst  P * count elements; in place: src is dst + rank*count. */
TUTTI_API tutti_status tutti_allgather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type);

/** tutti_reduce_scatter, tutti_allgather, tutti_gather and tutti_scatter with blocks of different sizes: rank r's block has
 *  counts[r] elements. Blocks are contiguous, in rank order.
 *  counts    one per rank, the same on all ranks; any may be 0. Read during the call only, also by tutti_call_init.
 *  src, dst  as in those functions: one has all blocks, the other this rank's. In place: this rank's block is inside the other
 *            buffer, counts[0] + ... + counts[rank-1] elements from its start. */
TUTTI_API tutti_status tutti_reduce_scatterv(tutti_comm *comm, const void *src, void *dst,
                                             const size_t *counts, tutti_type type, tutti_op op);
TUTTI_API tutti_status tutti_allgatherv(tutti_comm *comm, const void *src, void *dst,
                                        const size_t *counts, tutti_type type);
TUTTI_API tutti_status tutti_gatherv(tutti_comm *comm, const void *src, void *dst,
                                     const size_t *counts, tutti_type type, int root);
TUTTI_API tutti_status tutti_scatterv(tutti_comm *comm, const void *src, void *dst,
                                      const size_t *counts, tutti_type type, int root);

/** Copy `count` elements of rank `root`'s src into every rank's dst.
 *  src    read on the root only, where it may equal dst. */
TUTTI_API tutti_status tutti_broadcast(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, int root);

/** As tutti_allreduce, but only rank `root` gets the result.
 *  dst    written on the root only, where it may equal src; ignored elsewhere. */
TUTTI_API tutti_status tutti_reduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op, int root);

/** Rank r gets the sum (or minimum, ...) over ranks 0 to r. The operands are in rank
 *  order, also for your own ops that do not commute.
 *  src, dst  as for tutti_allreduce; avg is TUTTI_ERR_OP. */
TUTTI_API tutti_status tutti_scan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                  tutti_type type, tutti_op op);

/** As tutti_scan, over ranks 0 to r-1. Rank 0 gets nothing.
 *  dst    not written on rank 0, where it may be NULL. */
TUTTI_API tutti_status tutti_exscan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op);

/** Rank `root` gets every rank's `count` elements, in rank order.
 *  src    count elements;  dst  P * count elements, ignored on other ranks; in place, on the root: src is dst + root*count. */
TUTTI_API tutti_status tutti_gather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, int root);

/** Rank r gets elements [r*count, (r+1)*count) of rank `root`'s src.
 *  src    P * count elements, ignored on other ranks;  dst  count elements; in place, on the root: dst is src + root*count. */
TUTTI_API tutti_status tutti_scatter(tutti_comm *comm, const void *src, void *dst, size_t count,
                                     tutti_type type, int root);

/** Every rank sends `count` elements to every rank: block r of this rank's dst is block
 *  `rank` of rank r's src, where `rank` is this rank's number.
 *  src, dst  P * count elements; equal pointers mean in place. */
TUTTI_API tutti_status tutti_alltoall(tutti_comm *comm, const void *src, void *dst, size_t count,
                                      tutti_type type);

/** tutti_alltoall with blocks of different sizes, which are contiguous in src and in dst, in rank order.
 *  counts       elements for each rank. recv_counts: elements from each rank, which are what that rank's counts say of this
 *               one; else this call waits, or a later one returns TUTTI_ERR_MISMATCH. Each rank passes its own; any may be 0.
 *               Read during the call only.
 *  src, dst     equal pointers mean in place; counts and recv_counts are then equal.
 *  Every block is sent directly, whatever algorithm is set. */
TUTTI_API tutti_status tutti_alltoallv(tutti_comm *comm, const void *src, const size_t *counts,
                                       void *dst, const size_t *recv_counts, tutti_type type);

/** Wait until all ranks have called it. */
TUTTI_API tutti_status tutti_barrier(tutti_comm *comm);

/** Many calls as one: until tutti_group_end, blocking collectives and messages on `comm` are checked and kept, and return
 *  immediately. No buffer that one of them writes may be used by another. Nonblocking calls are TUTTI_ERR_STATE. */
TUTTI_API tutti_status tutti_group_begin(tutti_comm *comm);
/** Start what was kept, as one request; NULL: wait for it. Allreduces that follow each other with the same type and op are
 *  summed together, and messages may meet in any order. Returns as the calls. */
TUTTI_API tutti_status tutti_group_end(tutti_comm *comm, tutti_request **request);

/* ------------------------------------------------------------- requests --- */

/** Start a persistent `request`. TUTTI_ERR_STATE if it is running. */
TUTTI_API tutti_status tutti_request_start(tutti_request *request);

/** Wait until the request completes. A nonblocking request is then freed and *request
 *  set to NULL, also after an error; a persistent one becomes idle. Returns TUTTI_OK
 *  immediately if *request is NULL or an idle persistent request. */
TUTTI_API tutti_status tutti_request_wait(tutti_request **request);

/** Progress all requests in flight, without blocking. *done: 1 if this one is complete, and freed or idle as after _wait. */
TUTTI_API tutti_status tutti_request_test(tutti_request **request, int *done);

/** tutti_request_wait on each of `n` handles, which may be NULL and of several communicators. Waits for all even if one
 *  fails, and returns the status of the first that did; TUTTI_ERR_INTERRUPTED immediately. */
TUTTI_API tutti_status tutti_wait_all(size_t n, tutti_request **requests);

/** Wait until one of `n` requests completes, and retire it as tutti_request_wait does. *index: which one; n: all were NULL
 *  or idle. Returns its status. */
TUTTI_API tutti_status tutti_wait_any(size_t n, tutti_request **requests, size_t *index);

/** Free an idle persistent request, or a receive whose message has not begun to arrive, and set *request to NULL.
 *  TUTTI_ERR_STATE if it is running otherwise. */
TUTTI_API tutti_status tutti_request_free(tutti_request **request);

#ifdef __cplusplus
}
#endif
#include "tutti_bucket.h"    /* gradients, summed while the next are computed */
#include "tutti_call.h"      /* calls with more arguments: persistent, lists, on a stream */
#include "tutti_config.h"    /* a communicator's settings */
#include "tutti_create.h"    /* communicators of processes that meet by themselves */
#include "tutti_fault.h"     /* recovery after a failure */
#include "tutti_interrupt.h" /* waits that end early, as by Ctrl-C */
#include "tutti_message.h"   /* point-to-point messages */
#include "tutti_op.h"        /* user-defined ops, and local reductions */
#include "tutti_start.h"     /* nonblocking collectives */
#endif
