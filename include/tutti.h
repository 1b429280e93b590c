/* tutti.h - allreduce and its family for the processes of a job.
 *
 * The nouns     A *communicator* is a group of P ranks (processes, or threads
 *               of one process). A *collective* is one operation that all of
 *               them call in the same order. A *request* is a collective that
 *               was started and not yet waited for. A *plan* is the schedule
 *               that carries it out; tutti chooses it and can say which.
 * Sizes         are elements, never bytes, unless a name says bytes.
 * Buffers       belong to the caller, are aligned as their type, and may be
 *               ordinary memory. The library reads `src` and writes `dst` from
 *               the call (or the start) until it returns (or the wait does).
 * Errors        every call returns a tutti_status, 0 or negative; tutti_error()
 *               is a sentence that says what, where, and what to do. After an
 *               error in flight `src` is as it was and `dst` is undefined
 *               (in place: the buffer is undefined), and the communicator
 *               refuses further work. The library never exits, aborts; it prints its log only.
 * Threads       one call at a time per communicator; several may be used by several threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_H
#define TUTTI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

/* ------------------------------------------------------------- status --- */

typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_ERR_ARG = -1,         /* an argument is NULL, out of range, or too large */
  TUTTI_ERR_TYPE = -2,        /* no such type */
  TUTTI_ERR_OP = -3,          /* no such op, or the type does not have it */
  TUTTI_ERR_OVERLAP = -4,     /* src and dst overlap without being in place */
  TUTTI_ERR_MEMORY = -5,      /* out of memory or descriptors; nothing was touched */
  TUTTI_ERR_MISMATCH = -6,    /* another rank made another call */
  TUTTI_ERR_PEER_LOST = -7,   /* another rank died */
  TUTTI_ERR_TIMEOUT = -8,     /* TUTTI_TIMEOUT passed */
  TUTTI_ERR_ABORTED = -9,     /* some rank called tutti_comm_abort */
  TUTTI_ERR_STATE = -10,      /* after finalize or fork, or the object is busy */
  TUTTI_ERR_SYSTEM = -11,     /* the operating system refused */
  TUTTI_ERR_SCHEDULE = -12,   /* a schedule is malformed, or the prover refuses it */
  TUTTI_ERR_UNSUPPORTED = -13, /* legal, but no plan can do it */
  TUTTI_ERR_INTERRUPTED = -14 /* tutti_interrupt_set: the caller waits no longer */
} tutti_status;

/** A status in a few words; never NULL, also for numbers that are no status. */
TUTTI_API const char *tutti_strerror(tutti_status status);

/** The sentence that belongs to the last error of this thread: what, where,
 *  what to do. Valid until the thread's next call; never NULL. */
TUTTI_API const char *tutti_error(void);

/** "0.1.0"; and the same as numbers, any of which may be NULL. */
TUTTI_API const char *tutti_version(int *major, int *minor, int *patch);

/** Where warnings go (a rank that is late, a setting that makes no sense).
 *  `fn` gets `ctx`, a level (0 warning, 1 information, 2 more of it) and a line without newline.
 *  NULL (the default): see TUTTI_LOG in README.md. Set it before threads use the library. */
typedef void tutti_log_fn(void *ctx, int level, const char *line);
TUTTI_API void tutti_log_set(tutti_log_fn *fn, void *ctx);

/** Where communicators over messages take memory for parts of vectors from: partial sums,
 *  messages that have come, and what tutti_mem_alloc hands out there. `take` returns NULL if
 *  there is none, and `give` takes it back. NULL (the default): malloc's. For simulators, where
 *  such memory need not be real. Set it before the first communicator is made. */
TUTTI_API void tutti_scratch_set(void *(*take)(size_t bytes), void (*give)(void *memory));

/* ------------------------------------------------------ types and ops --- */

typedef enum tutti_type {
  TUTTI_INT8,
  TUTTI_UINT8,
  TUTTI_INT16,
  TUTTI_UINT16,
  TUTTI_INT32,
  TUTTI_UINT32,
  TUTTI_INT64,
  TUTTI_UINT64,
  TUTTI_FP16,           /* IEEE binary16, as uint16_t */
  TUTTI_BF16,           /* bfloat16, as uint16_t */
  TUTTI_FLOAT,
  TUTTI_DOUBLE,
  TUTTI_COMPLEX_FLOAT,  /* float[2]: real, imaginary */
  TUTTI_COMPLEX_DOUBLE, /* double[2] */
  TUTTI_FLOAT_INT,      /* struct { float v; int i; }, and so on: pairs for minloc, maxloc */
  TUTTI_DOUBLE_INT,
  TUTTI_LONG_INT,
  TUTTI_INT_INT,
  TUTTI_SHORT_INT,
  TUTTI_TYPE_COUNT
} tutti_type;

/* Sums of integers wrap. Floating point results are the same bits on all ranks; NaN results are the
 * canonical quiet NaN; min and max hand on a NaN and order -0 below +0; fp16 and bf16 are computed
 * in float and rounded to nearest even. avg is the sum divided once by P, or by how many ranks bring
 * data (integers truncate towards zero). Logical ops give 0 or 1. minloc and maxloc prefer the lower
 * index on a tie. Values of one rank alone (the only one, the only with data, the first of a scan)
 * keep their bits, a NaN's too, but for logical ops, factors other than 1, and exact sums. */
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
  TUTTI_OP_USER = 1000, /* tutti_op_create hands out this and up */
  TUTTI_OP_USER_END = 2000
} tutti_op;

/** Bytes of one element; 0 for a number that is no type. */
TUTTI_API size_t tutti_type_size(tutti_type type);
/** "float", "bf16", ...; "?" for a number that is no type. */
TUTTI_API const char *tutti_type_name(tutti_type type);
/** "sum", "minloc", ..., "user", "scaled"; "?" for a number that is no op. */
TUTTI_API const char *tutti_op_name(tutti_op op);
/** 1 if `type` has `op`, else 0. Ops of tutti_op_create say 1 for every type. */
TUTTI_API int tutti_type_has_op(tutti_type type, tutti_op op);

/** dst[i] = a[i] op b[i] for i < count; dst may equal a or b. Must be
 *  associative. `a` comes from lower ranks than `b` if not commutative. */
typedef void tutti_op_fn(const void *a, const void *b, void *dst, size_t count,
                         tutti_type type, void *ctx);

/** Register an op of your own, on every rank alike.
 *
 *  commutative  0 asks for plans that keep the ranks' order.
 *  op           receives the handle; free it with tutti_op_free when no call
 *               uses it any more.
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 are in use). */
TUTTI_API tutti_status tutti_op_create(tutti_op_fn *fn, void *ctx, int commutative, tutti_op *op);

/** Register an op that sums what each rank has multiplied by a factor of its own:
 *  the sum over r of factor_r * x_r, as TUTTI_SUM adds it. On every rank alike.
 *
 *  factor       of this rank; finite. Rounded to the type (fp16, bf16: to float),
 *               as is the product. It need not be the same on all ranks.
 *  Types        floating point and complex (both parts are multiplied); integers
 *               have no such op: TUTTI_ERR_OP.
 *  The product is made where src is copied anyhow, on its way to the peers; where
 *  they would read src itself (tutti_mem_alloc), it is one pass more, into dst.
 *  src is not written (out of place).
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 ops are in use). */
TUTTI_API tutti_status tutti_op_create_scaled(double factor, tutti_op *op);
TUTTI_API tutti_status tutti_op_free(tutti_op op);

/** dst[i] = a[i] op b[i], as all sums here are made (avg and scaled ops only add); dst may
 *  equal a or b. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP. */
TUTTI_API tutti_status tutti_reduce_local(const void *a, const void *b, void *dst, size_t count,
                                          tutti_type type, tutti_op op);

/* ------------------------------------------------------- communicators --- */

typedef struct tutti_comm tutti_comm;

/** The communicator of all ranks that `tutti run` started; without it, one of
 *  one rank. Collective: every rank calls it, and each further call makes a
 *  further, independent communicator.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_SYSTEM (the
 *  environment says things that are not so); TUTTI_ERR_TIMEOUT. */
TUTTI_API tutti_status tutti_comm_from_env(tutti_comm **comm);

/** `n` communicators for `n` threads of this process: comms[r] is rank r's.
 *  Called once, by one thread; each rank's thread then uses its own. n >= 1. */
TUTTI_API tutti_status tutti_comm_from_threads(int n, tutti_comm **comms);

/** Split into groups of equal `color` (>= 0), ranked by (`key`, old rank).
 *  A negative color takes part and receives NULL. Collective over `comm`. */
TUTTI_API tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out);
/** The same group once more, with resources of its own. Collective. */
TUTTI_API tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out);

/** Give back a communicator; NULL is legal. Local; no request may be in flight
 *  (TUTTI_ERR_STATE). */
TUTTI_API tutti_status tutti_comm_free(tutti_comm *comm);
TUTTI_API int tutti_comm_rank(const tutti_comm *comm); /* -1 for NULL */
TUTTI_API int tutti_comm_size(const tutti_comm *comm); /* -1 for NULL */

/** Make every pending and later call on this communicator, on all ranks, return
 *  TUTTI_ERR_ABORTED with `reason` (may be NULL, cut at 100 bytes). May be
 *  called by any thread at any time. */
TUTTI_API tutti_status tutti_comm_abort(tutti_comm *comm, const char *reason);

/** Which plans may run on this communicator: an algorithm with parameters, as
 *  `tutti plan list` prints them ("fold(ring)", "two-shot"), for all sizes or for
 *  some, or none of what is named, apart by semicolons:
 *    "consistent(i=2):0-64k;fold(ring):64k-"    sizes in bytes of the vector
 *    "^ring;^tree"                              no ring, and no tree at all
 *  NULL leaves it to tutti. What cannot run is said through the log callback, with
 *  the reason, and tutti chooses instead. Must be the same on all ranks. The
 *  environment variable TUTTI_ALGO sets it for every communicator.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG (no such algorithm or sizes; the sentence
 *  suggests); TUTTI_ERR_STATE (requests are in flight). */
TUTTI_API tutti_status tutti_comm_set_algo(tutti_comm *comm, const char *algo);

/** What results must have in common. Must be the same on all ranks. */
typedef enum tutti_contract {
  TUTTI_CONTRACT_SAME, /* the same bits on all ranks (default) */
  TUTTI_CONTRACT_ANY,  /* ranks may differ in how a sum was rounded: more plans can run */
  TUTTI_CONTRACT_RUN,  /* same, and from run to run: nothing that is measured decides */
  TUTTI_CONTRACT_EXACT /* the exact sum, rounded once: the same bits for every plan, every
                          place of the ranks, and every number of them */
} tutti_contract;

/** Set the contract of this communicator. The environment variable TUTTI_CONTRACT (same, any,
 *  run or exact) sets it for every communicator. docs/reproducible.md says what each holds,
 *  on what conditions, and what it costs.
 *  Under exact, sums of floating point and complex types are exact sums, rounded once to
 *  nearest even; avg is the exact mean, rounded once; a scaled op sums the rounded products.
 *  An infinity or a NaN gives what IEEE 754 says of a sum, whatever the order; finite numbers
 *  overflow only if their exact sum does. A zero has a minus only if all summands have.
 *  prod of these types, and ops of tutti_op_create, are TUTTI_ERR_UNSUPPORTED then. All else
 *  is as under run.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_STATE (requests are in flight);
 *  TUTTI_ERR_UNSUPPORTED (exact on 2097152 ranks or more). */
TUTTI_API tutti_status tutti_comm_set_contract(tutti_comm *comm, tutti_contract contract);

/** Cut vectors in `slices` parts (0: tutti's own choice), each running the same
 *  schedule, up to three in flight. Same on all ranks. allreduce, reduce,
 *  broadcast, scan and exscan only; the others ignore it. */
TUTTI_API tutti_status tutti_comm_set_slices(tutti_comm *comm, int slices);

/** The last `helpers` ranks bring no data and get none: they sum for the others, as
 *  the switches of a network can (`aggregate` in docs/schedules.md). From then on
 *  allreduce and reduce are over the first P - helpers ranks, by whose number avg
 *  divides; roots are among these; P, ranks and barriers are as before. Helpers
 *  make every call that the others make, with the same count, type, op and root;
 *  buffers, which may be NULL, are not looked at. Collectives that no plan can do
 *  so, such as all_gather, return TUTTI_ERR_UNSUPPORTED. Same on all ranks; local.
 *
 *  helpers  from 0 (the default: all ranks bring data) to P - 1.
 *  One rank can help several groups at once: split one communicator per group off
 *  the whole, the helpers being last in each, and let them start the collectives
 *  of all groups; waiting for one drives all.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY; TUTTI_ERR_STATE (requests
 *           are in flight). */
TUTTI_API tutti_status tutti_comm_set_helpers(tutti_comm *comm, int helpers);
TUTTI_API int tutti_comm_helpers(const tutti_comm *comm); /* -1 for NULL */

/** End of the process's use of tutti. Collective over nothing; every later call
 *  returns TUTTI_ERR_STATE. Free communicators before. */
TUTTI_API tutti_status tutti_finalize(void);

/** Memory that every rank of the job on this machine can read directly: what is
 *  allocated here travels without being copied first. 64-byte aligned, owned by
 *  the caller, zeroed. `bytes` 0 gives NULL. Local. */
TUTTI_API tutti_status tutti_mem_alloc(tutti_comm *comm, size_t bytes, void **memory);
TUTTI_API tutti_status tutti_mem_free(tutti_comm *comm, void *memory);

/* ---------------------------------------------------------- collectives --- */

typedef struct tutti_request tutti_request;

/** Sum (or min, max, ...) `count` elements over all ranks; every rank gets all.
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

/** As tutti_allreduce on each of `n` buffers, as one operation: what a list of short
 *  ones costs is what one call on all of them costs, and long ones are not copied.
 *
 *  srcs, dsts, counts  of n each; buffer i is counts[i] elements at srcs[i] and
 *            dsts[i], which may be equal (in place). No dst may overlap another buffer
 *            of the list. The lists are copied, and the caller's again at once.
 *  n, counts may be 0; all the same on all ranks. */
TUTTI_API tutti_status tutti_allreduce_many(tutti_comm *comm, size_t n, const void *const *srcs,
                                            void *const *dsts, const size_t *counts,
                                            tutti_type type, tutti_op op);

/** Rank r gets elements [r*count, (r+1)*count) of the sum.
 *  src    P * count elements;  dst  count elements; in place: dst is
 *         src + rank*count, and the rest of src is left as it was. */
TUTTI_API tutti_status tutti_reduce_scatter(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_op op);

/** Every rank's `count` elements, in rank order, on every rank.
 *  src    count elements;  dst  P * count elements; in place: src is
 *         dst + rank*count. */
TUTTI_API tutti_status tutti_all_gather(tutti_comm *comm, const void *src, void *dst,
                                        size_t count, tutti_type type);

/** tutti_reduce_scatter and tutti_all_gather with blocks of any size: rank r's has
 *  counts[r] elements. The blocks lie one behind another, in rank order.
 *  counts   one per rank, the same on all ranks; any of them may be 0. Looked at
 *           during the call only, also by _start and _init.
 *  src      of reduce_scatter_v all blocks, of all_gather_v this rank's; dst the
 *           other way round. In place: the block is the rank's place among all
 *           blocks, counts[0] + ... + counts[rank-1] elements from the first. */
TUTTI_API tutti_status tutti_reduce_scatter_v(tutti_comm *comm, const void *src, void *dst,
                                              const size_t *counts, tutti_type type, tutti_op op);
TUTTI_API tutti_status tutti_all_gather_v(tutti_comm *comm, const void *src, void *dst,
                                          const size_t *counts, tutti_type type);

/** `count` elements of rank `root`'s src into every rank's dst.
 *  src    looked at on the root only, where it may equal dst. */
TUTTI_API tutti_status tutti_broadcast(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, int root);

/** As tutti_allreduce, but only rank `root` gets the result.
 *  dst    looked at on the root only, where it may equal src. */
TUTTI_API tutti_status tutti_reduce(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op, int root);

/** Rank r gets the sum (or minimum, ...) over ranks 0 to r: the operands stand in rank
 *  order, also for ops of your own that do not commute.
 *  src, dst  as for tutti_allreduce; avg is TUTTI_ERR_OP. */
TUTTI_API tutti_status tutti_scan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                  tutti_type type, tutti_op op);

/** The same over ranks 0 to r-1: nothing on rank 0.
 *  dst    left alone on rank 0, where it may be NULL. */
TUTTI_API tutti_status tutti_exscan(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, tutti_op op);

/** Every rank's `count` elements, in rank order, on rank `root`.
 *  src    count elements;  dst  P * count elements, looked at on the root only; in
 *         place, on the root: src is dst + root*count. */
TUTTI_API tutti_status tutti_gather(tutti_comm *comm, const void *src, void *dst, size_t count,
                                    tutti_type type, int root);

/** Elements [r*count, (r+1)*count) of rank `root`'s src for rank r.
 *  src    P * count elements, looked at on the root only;  dst  count elements; in
 *         place, on the root: dst is src + root*count. */
TUTTI_API tutti_status tutti_scatter(tutti_comm *comm, const void *src, void *dst, size_t count,
                                     tutti_type type, int root);

/** `count` elements from every rank to every rank: dst's r-th block is what rank r's src
 *  has in the block of this rank's number.
 *  src, dst  P * count elements; equal pointers mean in place. */
TUTTI_API tutti_status tutti_all_to_all(tutti_comm *comm, const void *src, void *dst,
                                        size_t count, tutti_type type);

/** Returns on no rank before it was called on all. */
TUTTI_API tutti_status tutti_barrier(tutti_comm *comm);

/* Started now, finished later: arguments as above, and `request` receives what
 * tutti_request_wait or _test takes. Buffers are the library's until then. Any
 * number may be in flight, completed in any order; every rank starts them in
 * the same order per communicator. Waiting or testing for one drives them all. */
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
TUTTI_API tutti_status tutti_all_gather_start(tutti_comm *comm, const void *src, void *dst,
                                              size_t count, tutti_type type,
                                              tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatter_v_start(tutti_comm *comm, const void *src, void *dst,
                                                    const size_t *counts, tutti_type type,
                                                    tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_all_gather_v_start(tutti_comm *comm, const void *src, void *dst,
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
TUTTI_API tutti_status tutti_all_to_all_start(tutti_comm *comm, const void *src, void *dst,
                                              size_t count, tutti_type type,
                                              tutti_request **request);
TUTTI_API tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request);

/* Persistent: arguments as above, checked once; the request is made idle and is
 * run any number of times: tutti_request_start, then _wait or _test, and so on;
 * then tutti_request_free. */
TUTTI_API tutti_status tutti_allreduce_init(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_op op,
                                            tutti_request **request);
TUTTI_API tutti_status tutti_allreduce_many_init(tutti_comm *comm, size_t n,
                                                 const void *const *srcs, void *const *dsts,
                                                 const size_t *counts, tutti_type type,
                                                 tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatter_init(tutti_comm *comm, const void *src, void *dst,
                                                 size_t count, tutti_type type, tutti_op op,
                                                 tutti_request **request);
TUTTI_API tutti_status tutti_all_gather_init(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatter_v_init(tutti_comm *comm, const void *src, void *dst,
                                                   const size_t *counts, tutti_type type,
                                                   tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_all_gather_v_init(tutti_comm *comm, const void *src, void *dst,
                                               const size_t *counts, tutti_type type,
                                               tutti_request **request);
TUTTI_API tutti_status tutti_broadcast_init(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, int root,
                                            tutti_request **request);
TUTTI_API tutti_status tutti_reduce_init(tutti_comm *comm, const void *src, void *dst,
                                         size_t count, tutti_type type, tutti_op op, int root,
                                         tutti_request **request);
TUTTI_API tutti_status tutti_scan_init(tutti_comm *comm, const void *src, void *dst,
                                       size_t count, tutti_type type, tutti_op op,
                                       tutti_request **request);
TUTTI_API tutti_status tutti_exscan_init(tutti_comm *comm, const void *src, void *dst,
                                         size_t count, tutti_type type, tutti_op op,
                                         tutti_request **request);
TUTTI_API tutti_status tutti_gather_init(tutti_comm *comm, const void *src, void *dst,
                                         size_t count, tutti_type type, int root,
                                         tutti_request **request);
TUTTI_API tutti_status tutti_scatter_init(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, int root,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_all_to_all_init(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_barrier_init(tutti_comm *comm, tutti_request **request);

/* ------------------------------------------------------------- requests --- */

/** Run a persistent request once more. TUTTI_ERR_STATE if it is running. */
TUTTI_API tutti_status tutti_request_start(tutti_request *request);

/** Wait until the request is done. A started request is freed and *request set
 *  to NULL, also on errors; a persistent one becomes idle. *request NULL, or an
 *  idle persistent one, returns TUTTI_OK at once. */
TUTTI_API tutti_status tutti_request_wait(tutti_request **request);

/** Drive what is in flight once, without blocking; *done is set to 1 if this
 *  request is complete (it is then freed or idle as by wait), else to 0. */
TUTTI_API tutti_status tutti_request_test(tutti_request **request, int *done);

/** Free an idle persistent request and set *request to NULL. TUTTI_ERR_STATE,
 *  and nothing is freed, while it runs. */
TUTTI_API tutti_status tutti_request_free(tutti_request **request);

/* ------------------------------------------------------ for launchers --- */

typedef struct tutti_job tutti_job;
/** Shared memory for `n` ranks on this machine: a sealed, nameless memfd that
 *  goes when the last process that holds it goes.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_job_create(int n, tutti_job **job);
/** The i-th environment entry ("NAME=value") that rank `rank` must be started
 *  with; NULL past the end. The string is valid until the next call. */
TUTTI_API const char *tutti_job_env(tutti_job *job, int rank, int i);
/** The descriptor that every rank must inherit (it is not close-on-exec). */
TUTTI_API int tutti_job_fd(const tutti_job *job);
TUTTI_API void tutti_job_free(tutti_job *job);

/** What is possible here, a line each ("wire shm: yes"); NULL past the end.
 *  The string is valid until the thread's next call. */
TUTTI_API const char *tutti_info(int i);

#ifdef __cplusplus
}
#endif

#include "tutti_bucket.h"  /* gradients, summed while the next are computed */
#include "tutti_fault.h"   /* going on after a failure */
#include "tutti_interrupt.h" /* waits that end early */
#include "tutti_message.h" /* from one rank to another */
#include "tutti_plan.h"    /* plans, for people */
#endif
