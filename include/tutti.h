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

/** A sentence about this thread's last error: what failed, where, and what to do.
 *  Valid until the thread's next call; never NULL. */
TUTTI_API const char *tutti_error(void);

/** The library's version as text, "0.1.0", and as numbers in `major`, `minor` and `patch`; each may be NULL. */
TUTTI_API const char *tutti_version(int *major, int *minor, int *patch);

/** Send the log (a rank is late, a setting makes no sense) to `fn`. It receives `ctx`, a level
 *  (0 warning, 1 information, 2 debug) and a line without its newline. NULL, the default:
 *  as TUTTI_LOG says (docs/reference/variables.md). Set it before threads use the library. */
typedef void tutti_log_fn(void *ctx, int level, const char *line);
TUTTI_API void tutti_log_set(tutti_log_fn *fn, void *ctx);

/** Allocate scratch memory of message-passing communicators with `take` and `give`: partial
 *  sums, received messages, and the memory that tutti_mem_alloc returns there. `take` returns NULL
 *  if it has no memory; `give` frees. NULL, the default: malloc and free. Meant for simulators,
 *  where such memory need not be real. Set it before the first communicator is made. */
TUTTI_API void tutti_scratch_set(void *(*take)(size_t bytes), void (*give)(void *memory));

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
/** "float", "bf16", ...; "?" for an unknown type. */
TUTTI_API const char *tutti_type_name(tutti_type type);
/** "sum", "minloc", ..., "user", "scaled"; "?" for an unknown op. */
TUTTI_API const char *tutti_op_name(tutti_op op);
/** 1 if `op` is defined for `type`, else 0; an op of tutti_op_create counts as defined for all. */
TUTTI_API int tutti_type_has_op(tutti_type type, tutti_op op);

/** dst[i] = a[i] op b[i] for i < count; dst may equal a or b. Must be
 *  associative. If it is not commutative, `a` comes from lower ranks than `b`. */
typedef void tutti_op_fn(const void *a, const void *b, void *dst, size_t count,
                         tutti_type type, void *ctx);

/** Register your own op. Every rank must register it.
 *  fn           combines elements; it receives `ctx`. Any thread that sums may call it.
 *  commutative  0: only plans that keep the ranks' order may run.
 *  op           receives the handle; free it with tutti_op_free when no call
 *               uses it any more.
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 are in use). */
TUTTI_API tutti_status tutti_op_create(tutti_op_fn *fn, void *ctx, int commutative, tutti_op *op);

/** Register a weighted sum: the sum over r of factor_r * x_r, added as by TUTTI_SUM.
 *  Every rank must register it.
 *
 *  factor       of this rank; finite. The factor and the product are rounded to the
 *               type (fp16, bf16: to float). Ranks may have different factors.
 *  Types        floating point and complex (both parts are multiplied). Integers
 *               do not have this op: TUTTI_ERR_OP.
 *  The multiplication happens in the copy that sends src to the peers. Where peers
 *  read src directly (tutti_mem_alloc), it takes one additional pass, into dst.
 *  Out of place, src is not written.
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 ops are in use). */
TUTTI_API tutti_status tutti_op_create_scaled(double factor, tutti_op *op);
TUTTI_API tutti_status tutti_op_free(tutti_op op); /* free an op that no call uses any more */

/** dst[i] = a[i] op b[i], with the library's own kernels (avg and scaled ops only add). dst may
 *  equal a or b. Local. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP. */
TUTTI_API tutti_status tutti_reduce_local(const void *a, const void *b, void *dst, size_t count,
                                          tutti_type type, tutti_op op);

/* ------------------------------------------------------- communicators --- */

typedef struct tutti_comm tutti_comm; /* a communicator */

/** The communicator of all ranks that `tutti run` started; without `tutti run`, of
 *  one rank. Collective. Each call makes another, independent communicator.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM (the
 *  environment variables do not match the job); TUTTI_ERR_TIMEOUT. */
TUTTI_API tutti_status tutti_comm_from_env(tutti_comm **comm);

/** Make `n` >= 1 communicators for `n` threads of this process; comms[r] is rank r's.
 *  One thread makes this call; then each rank's thread uses its own communicator. */
TUTTI_API tutti_status tutti_comm_from_threads(int n, tutti_comm **comms);

/** Split into groups of equal `color` (>= 0), ranked by (`key`, old rank).
 *  A rank with a negative color must call too, and receives NULL. Collective over `comm`. */
TUTTI_API tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out);
/** A new communicator of the same group, with its own resources. Collective. */
TUTTI_API tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out);

/** Free a communicator; NULL is legal. Local; over a network it waits until peers have taken what was sent. TUTTI_ERR_STATE:
 *  a request is in flight. TUTTI_ERR_TIMEOUT: it has failed for all ranks; a second call frees it. */
TUTTI_API tutti_status tutti_comm_free(tutti_comm *comm);
TUTTI_API int tutti_comm_rank(const tutti_comm *comm); /* this rank, from 0 to P-1; -1 for NULL */
TUTTI_API int tutti_comm_size(const tutti_comm *comm); /* the number of ranks, P; -1 for NULL */

/** Abort: every pending and later call on this communicator, on all ranks, returns
 *  TUTTI_ERR_ABORTED with `reason` (may be NULL; cut at 100 bytes). Any thread may
 *  call it at any time. */
TUTTI_API tutti_status tutti_comm_abort(tutti_comm *comm, const char *reason);

/** Restrict which plans may run on this communicator. `algo` names algorithms with
 *  their parameters, as `tutti plan list` prints them ("fold(ring)", "two-shot"); '^' excludes
 *  them, also with further parameters. Entries may have a range of sizes; semicolons separate them:
 *    "consistent(i=2):0-64k;fold(ring):64k-"    sizes in bytes of the vector
 *    "^ring;^tree"                              no ring, and no tree at all
 *  NULL, the default: tutti chooses. It also chooses where a named algorithm cannot
 *  run, and logs the reason. Must be the same on all ranks. The environment variable
 *  TUTTI_ALGO sets it for every communicator.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG (an unknown algorithm or a bad range; tutti_error()
 *  suggests one); TUTTI_ERR_STATE (requests are in flight). */
TUTTI_API tutti_status tutti_comm_set_algo(tutti_comm *comm, const char *algo);

/** What results guarantee. Must be the same on all ranks. */
typedef enum tutti_contract {
  TUTTI_CONTRACT_SAME, /* the same bits on all ranks (default) */
  TUTTI_CONTRACT_ANY,  /* ranks may round a sum differently: more plans can run */
  TUTTI_CONTRACT_RUN,  /* the same bits on all ranks and in every run: no measurement decides */
  TUTTI_CONTRACT_EXACT /* the exact sum, rounded once: the same bits for every plan, every
                          placement of the ranks, and every number of ranks */
} tutti_contract;

/** Set the contract of this communicator. The environment variable TUTTI_CONTRACT (same, any,
 *  run or exact) sets it for every communicator. docs/reproducible.md says what each contract
 *  guarantees, on what conditions, and at what cost.
 *  Under exact, sums of floating point and complex types are exact sums, rounded once to
 *  nearest even; avg is the exact mean, rounded once; a scaled op sums the rounded products.
 *  Infinities and NaNs give what IEEE 754 says of a sum, in any order. Finite numbers overflow
 *  only if their exact sum does. A zero is negative only if all summands are. prod of these
 *  types, and ops of tutti_op_create, return TUTTI_ERR_UNSUPPORTED. Everything else is as
 *  under run.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_STATE (requests are in flight);
 *  TUTTI_ERR_UNSUPPORTED (exact on 2097152 ranks or more). */
TUTTI_API tutti_status tutti_comm_set_contract(tutti_comm *comm, tutti_contract contract);

/** Cut vectors into `slices` parts (0: tutti chooses). Each part runs the same
 *  schedule, up to three at a time. Must be the same on all ranks. Applies to allreduce,
 *  reduce, broadcast, scan and exscan; the other collectives ignore it. */
TUTTI_API tutti_status tutti_comm_set_slices(tutti_comm *comm, int slices);

/** Make the last `helpers` ranks helpers: they bring no data and receive no result, but
 *  sum for the others, as the switches of a network can (`aggregate` in
 *  docs/schedules.md). From then on collectives are over the first P - helpers ranks: avg
 *  divides by their number, roots are among them, and each has a block in reduce_scatter
 *  and allgather. P, ranks and barriers stay as before. Helpers make every call that the
 *  others make, with the same count, type, op and root; their buffers are ignored and may
 *  be NULL. Collectives that no plan supports with helpers, as gather, return
 *  TUTTI_ERR_UNSUPPORTED. Same on all ranks; local.
 *
 *  helpers  from 0 (the default: all ranks bring data) to P - 1.
 *  One rank can help several groups simultaneously: split off one communicator per group, with
 *  the helpers last in each. The helpers start the collectives of all groups; waiting
 *  for one drives all.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_STATE (requests
 *           are in flight). */
TUTTI_API tutti_status tutti_comm_set_helpers(tutti_comm *comm, int helpers);
TUTTI_API int tutti_comm_helpers(const tutti_comm *comm); /* how many ranks help; -1 for NULL */

/** End this process's use of tutti. Local. Every later call returns TUTTI_ERR_STATE.
 *  Free all communicators first. */
TUTTI_API tutti_status tutti_finalize(void);

/** Allocate memory that every rank of the job on this machine can read directly, so that
 *  collectives need not copy it first. 64-byte aligned, zeroed, owned by the caller until
 *  tutti_mem_free. `bytes` 0 gives NULL. Local. */
TUTTI_API tutti_status tutti_mem_alloc(tutti_comm *comm, size_t bytes, void **memory);
TUTTI_API tutti_status tutti_mem_free(tutti_comm *comm, void *memory); /* free `memory` of tutti_mem_alloc; NULL is legal */

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
 *  src, dst  `count` elements of `type`, aligned as that type; equal pointers
 *            mean in place; partial overlap is TUTTI_ERR_OVERLAP.
 *  count     elements, not bytes; the same on all ranks; 0 is legal.
 *  Blocks until dst is ready.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _OVERLAP, _MEMORY, _STATE
 *            (nothing was touched); TUTTI_ERR_MISMATCH, _PEER_LOST, _TIMEOUT,
 *            _ABORTED (see "Errors" above). */
TUTTI_API tutti_status tutti_allreduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, tutti_op op);

/** tutti_allreduce on each of `n` buffers, as one operation. Many short buffers cost as
 *  much as one call on all of them together; long buffers are not copied.
 *
 *  srcs, dsts, counts  n entries each. Buffer i is counts[i] elements at srcs[i] and
 *            dsts[i], which may be equal (in place). No dst may overlap another buffer
 *            of the list. The lists are copied during the call.
 *  n and counts may be 0 and must be the same on all ranks. */
TUTTI_API tutti_status tutti_allreduce_many(tutti_comm *comm, size_t n, const void *const *srcs,
                                            void *const *dsts, const size_t *counts,
                                            tutti_type type, tutti_op op);

/** Rank r gets elements [r*count, (r+1)*count) of the sum.
 *  src    P * count elements;  dst  count elements; in place: dst is
 *         src + rank*count, and the rest of src is unchanged. */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_op op);

/** Every rank gets every rank's `count` elements, in rank order.
 *  src    count elements;  dst  P * count elements; in place: src is
 *         dst + rank*count. */
TUTTI_API tutti_status tutti_allgather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type);

/** tutti_reduce_scatter and tutti_allgather with blocks of different sizes: rank r's
 *  block has counts[r] elements. Blocks are contiguous, in rank order.
 *  counts   one per rank, the same on all ranks; any may be 0. Read during the call
 *           only, also by tutti_call_init.
 *  src      all blocks for reduce_scatterv, this rank's block for allgatherv; dst
 *           the other way round. In place: this rank's block is inside the other buffer,
 *           counts[0] + ... + counts[rank-1] elements from its start. */
TUTTI_API tutti_status tutti_reduce_scatterv(tutti_comm *comm, const void *src, void *dst,
                                             const size_t *counts, tutti_type type, tutti_op op);
TUTTI_API tutti_status tutti_allgatherv(tutti_comm *comm, const void *src, void *dst,
                                        const size_t *counts, tutti_type type);

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
 *  src    count elements;  dst  P * count elements, ignored on other ranks; in
 *         place, on the root: src is dst + root*count. */
TUTTI_API tutti_status tutti_gather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, int root);

/** Rank r gets elements [r*count, (r+1)*count) of rank `root`'s src.
 *  src    P * count elements, ignored on other ranks;  dst  count elements; in
 *         place, on the root: dst is src + root*count. */
TUTTI_API tutti_status tutti_scatter(tutti_comm *comm, const void *src, void *dst, size_t count,
                                     tutti_type type, int root);

/** Every rank sends `count` elements to every rank: block r of this rank's dst is block
 *  `rank` of rank r's src, where `rank` is this rank's number.
 *  src, dst  P * count elements; equal pointers mean in place. */
TUTTI_API tutti_status tutti_alltoall(tutti_comm *comm, const void *src, void *dst, size_t count,
                                      tutti_type type);

/** Wait until all ranks have called it. */
TUTTI_API tutti_status tutti_barrier(tutti_comm *comm);

/* Nonblocking: arguments as above. `request` receives a handle for tutti_request_wait
 * or _test; until the request completes, the library owns the buffers. Any number of
 * requests may be in flight and may be completed in any order. All ranks start them in
 * the same order per communicator. Waiting for or testing one drives them all. */
TUTTI_API tutti_status tutti_allreduce_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type, tutti_op op,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_allreduce_many_start(tutti_comm *comm, size_t n,
                                                  const void *const *srcs, void *const *dsts,
                                                  const size_t *counts, tutti_type type,
                                                  tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatter_start(tutti_comm *comm, const void *src, void *dst,
                                                  size_t count, tutti_type type, tutti_op op,
                                                  tutti_request **request);
TUTTI_API tutti_status tutti_allgather_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatterv_start(tutti_comm *comm, const void *src, void *dst,
                                                   const size_t *counts, tutti_type type,
                                                   tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_allgatherv_start(tutti_comm *comm, const void *src, void *dst,
                                              const size_t *counts, tutti_type type,
                                              tutti_request **request);
TUTTI_API tutti_status tutti_broadcast_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type, int root,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, tutti_op op, int root,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_scan_start(tutti_comm *comm, const void *src, void *dst,
                                        size_t count, tutti_type type, tutti_op op,
                                        tutti_request **request);
TUTTI_API tutti_status tutti_exscan_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, tutti_op op,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_gather_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, int root,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_scatter_start(tutti_comm *comm, const void *src, void *dst,
                                           size_t count, tutti_type type, int root,
                                           tutti_request **request);
TUTTI_API tutti_status tutti_alltoall_start(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_request **request);
TUTTI_API tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request);

/* ------------------------------------------------------------- requests --- */

/** Start a persistent `request`. TUTTI_ERR_STATE if it is running. */
TUTTI_API tutti_status tutti_request_start(tutti_request *request);

/** Wait until the request completes. A nonblocking request is then freed and *request
 *  set to NULL, also after an error; a persistent one becomes idle. Returns TUTTI_OK
 *  immediately if *request is NULL or an idle persistent request. */
TUTTI_API tutti_status tutti_request_wait(tutti_request **request);

/** Make progress on all requests in flight, without blocking. *done becomes 1 if this
 *  request is complete (it is then freed or idle, as after _wait), else 0. */
TUTTI_API tutti_status tutti_request_test(tutti_request **request, int *done);

/** Free an idle persistent request and set *request to NULL. TUTTI_ERR_STATE if it is running. */
TUTTI_API tutti_status tutti_request_free(tutti_request **request);

/* ------------------------------------------------------ for launchers --- */

typedef struct tutti_job tutti_job; /* the ranks of one machine that are started together */
/** Shared memory for `n` ranks on this machine: a sealed, nameless memfd, which
 *  disappears when the last process that holds it ends.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create(int n, tutti_job **job);
/** The i-th environment entry ("NAME=value") that rank `rank` must be started
 *  with; NULL past the end. The string is valid until the next call. */
TUTTI_API const char *tutti_job_env(tutti_job *job, int rank, int i);
/** The descriptor that every rank must inherit (it is not close-on-exec). */
TUTTI_API int tutti_job_fd(const tutti_job *job);
TUTTI_API void tutti_job_free(tutti_job *job); /* close the launcher's end; the ranks keep theirs */

/** The i-th line about what this machine supports ("wire shm: yes"), valid until the thread's next call; or NULL. */
TUTTI_API const char *tutti_info(int i);

#ifdef __cplusplus
}
#endif
#include "tutti_bucket.h"    /* gradients, summed while the next are computed */
#include "tutti_call.h"      /* persistent calls, and vectors on a GPU in the order of a stream */
#include "tutti_fault.h"     /* recovery after a failure */
#include "tutti_interrupt.h" /* waits that end early, as by Ctrl-C */
#include "tutti_message.h"   /* point-to-point messages */
#include "tutti_plan.h"      /* plans: names, schedules, prices, wisdom */
#endif
