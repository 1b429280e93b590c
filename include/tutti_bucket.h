/* tutti_bucket.h - sums a list of tensors over all ranks while the next tensors are computed. A
 * part of tutti.h, which includes it.
 *
 * The nouns     A *tensor* is a vector of this rank, such as a gradient, that is to become the mean
 *               over all ranks. A *bucket* holds tensors of one type and sums them by one operation:
 *               short tensors are fused, in the registered order. A *step* begins with the first
 *               tensor that is ready and ends with tutti_buckets_wait.
 * Order         All ranks start buckets in the registered order. A bucket starts once all its tensors
 *               are ready and all earlier buckets have started. Tensors may therefore become ready in
 *               a different order on each rank, without extra messages and without deadlock. Register
 *               first the tensors that become ready first.
 * Progress      Sums advance inside these calls and inside any other wait. With config.thread, they
 *               advance in a thread that sleeps while nothing is in flight.
 * Threads       One call at a time per object, by any thread. The object has its own
 *               communicators, so other threads may use `comm` for anything between its calls.
 * Failures      If a sum fails (TUTTI_ERR_PEER_LOST, ...), the tensors are undefined, every later call
 *               returns that status, and the object can only be freed. A rejected call (TUTTI_ERR_ARG,
 *               _STATE) changes nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_BUCKET_H
#define TUTTI_BUCKET_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A vector of this rank. */
typedef struct tutti_tensor {
  void *data;      /* owned by the caller, aligned for its type, and summed in place; NULL if tutti
                      provides the memory */
  size_t count;    /* number of elements, the same on all ranks; may be 0 */
  tutti_type type; /* type of its elements */
} tutti_tensor;

/* The settings of a tutti_buckets object. If all fields except the size are 0, tensors are averaged in their own type, in
 * buckets of a size that the cost model chooses. */
typedef struct tutti_buckets_config {
  size_t size;  /* sizeof(tutti_buckets_config), set by the caller */
  size_t bytes; /* a bucket is closed at this size; 0: the cost model chooses it
                   (docs/buckets.md) */
  int sum;      /* 1: compute sums; 0: compute means, divided once by the number of ranks, in the
                   last addition */
  int learn;    /* 1: after the first step, the order in which tensors became ready on rank 0
                   replaces the registered order (this takes one broadcast) */
  int bf16;     /* 1: send tensors of TUTTI_FLOAT as bf16, with half the bytes. The summands are
                   added in float, in rank order, and the result is rounded once to bf16, with the
                   same bits on all ranks. The rounding error of each element is stored (this takes
                   4 bytes per element and some more) and added in the next step (error feedback) */
  int thread;   /* 1: use a progress thread, as with TUTTI_PROGRESS_THREAD=1; may differ between
                   ranks */
  const char
      *compression; /* how messages between hosts may be compressed, as in tutti_config; NULL: as
                       configured for `comm`. If it allows an error, the rounding errors of
                       TUTTI_FLOAT tensors are stored (4 bytes per element, and a copy of tensors
                       that are not adjacent in memory) and added in the next step, as with bf16.
                       Not available with helpers. Copied */
} tutti_buckets_config;

typedef struct tutti_buckets tutti_buckets; /* registered tensors, and their buckets */

/** Register tensors. A step should compute them in this order.
 *
 *  comm      all its ranks make this call; it may be freed before the buckets.
 *  n         number of tensors; may be 0. The array is copied.
 *  Memory    If every tensor with elements has an address, the memory belongs to the caller and must
 *            not move or be freed until tutti_buckets_free; no two tensors may overlap. If all addresses
 *            are NULL, the memory belongs to the object: see tutti_bucket_data. The same on all ranks.
 *  config    the same on all ranks, except `thread`; NULL means all 0.
 *  Collective. If one rank's arguments are rejected, that rank gets the reason and the others
 *  TUTTI_ERR_MISMATCH; all other statuses are the same on all ranks.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG (also if only some tensors have addresses), _TYPE, _OP,
 *            _OVERLAP, _MEMORY; TUTTI_ERR_MISMATCH if other ranks have different tensors, provide memory
 *            where this one does not, or had their tensors rejected; TUTTI_ERR_UNSUPPORTED (bf16 with
 *            helpers or under the contract exact, or an error bound under it); errors of tutti_comm_dup. */
TUTTI_API tutti_status tutti_buckets_create(tutti_comm *comm, size_t n, const tutti_tensor *tensors,
                                            const tutti_buckets_config *config,
                                            tutti_buckets **buckets);

/** Return the address of tensor `i`, where it is computed and summed. It stays the same until tutti_buckets_free.
 *
 *  If tutti provides the memory, it is zeroed and lies in the heap shared by the ranks of this machine,
 *  so no rank copies its values. The tensors of a bucket are adjacent and aligned for their type; each
 *  bucket begins at a multiple of 64 bytes. The memory is freed with the object.
 *  Otherwise it is the address that the caller registered.
 *  Local. Returns NULL if buckets is NULL, i is not a tensor, or this rank brings no data
 *  (`helpers` of tutti_config) and registered NULL. */
TUTTI_API void *tutti_bucket_data(const tutti_buckets *buckets, size_t i);

/** Declare that tensor `i` contains this rank's values. The library owns the tensor until a wait for
 *  it returns. Starts every bucket that can start, and never blocks. Call it once per tensor and
 *  step, in any order. Returns TUTTI_OK; TUTTI_ERR_ARG if i is not a tensor; TUTTI_ERR_STATE if it
 *  was already declared ready in this step; the statuses of a collective. */
TUTTI_API tutti_status tutti_bucket_ready(tutti_buckets *buckets, size_t i);

/** Wait until tensor `i` is summed. The caller then owns the tensor again, and the step continues. Returns TUTTI_OK;
 *  TUTTI_ERR_ARG; TUTTI_ERR_STATE if the wait would never end, because this tensor, or one that must start before it, is not
 *  ready; the statuses of a collective. */
TUTTI_API tutti_status tutti_bucket_wait(tutti_buckets *buckets, size_t i);

/** Make progress on all sums in flight, without blocking. *done is set to 1 if tensor `i` is summed. Between steps, all
 *  tensors count as summed, here and in tutti_bucket_wait. */
TUTTI_API tutti_status tutti_bucket_test(tutti_buckets *buckets, size_t i, int *done);

/** Wait until all tensors are summed, which ends the step. Between steps, returns TUTTI_OK immediately. Returns TUTTI_OK;
 *  TUTTI_ERR_STATE if a tensor is not ready (tutti_error() names it); the statuses of a collective. */
TUTTI_API tutti_status tutti_buckets_wait(tutti_buckets *buckets);

/** Free a tutti_buckets object and its rounding errors. NULL is allowed. During a step, this is possible only after the step
 *  has failed. The step then ends on the other ranks with TUTTI_ERR_ABORTED, unless a peer was lost. Returns TUTTI_OK;
 *  TUTTI_ERR_STATE if sums are in flight. */
TUTTI_API tutti_status tutti_buckets_free(tutti_buckets *buckets);

/** The number of buckets; 0 for NULL. */
TUTTI_API size_t tutti_buckets_count(const tutti_buckets *buckets);
/** Return the number of the bucket that tensor `i` is in. Buckets are numbered in starting order. Returns 0 if buckets is
 *  NULL or i is not a tensor. */
TUTTI_API size_t tutti_bucket_of(const tutti_buckets *buckets, size_t i);
/** Return the size of a full bucket, in bytes. A bucket of this size is closed. Returns 0 if buckets is NULL. */
TUTTI_API size_t tutti_buckets_bytes(const tutti_buckets *buckets);

/** Return the communicator on which the object sums, or NULL if buckets is NULL. It belongs to the object. Use it for
 *  tutti_comm_abort, which ends a step on all ranks, and for tutti_comm_plan. */
TUTTI_API tutti_comm *tutti_buckets_comm(const tutti_buckets *buckets);

#ifdef __cplusplus
}
#endif
#endif
