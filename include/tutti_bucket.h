/* tutti_bucket.h - a list of tensors, summed over all ranks while the next ones are computed.
 * A part of tutti.h, which includes it.
 *
 * The nouns     A *tensor* is a vector of this rank that is to become the mean over all ranks, as a
 *               gradient. A *bucket* is some of them, of one type, summed by one operation: short
 *               ones are fused, in the order in which they were registered. A *step* begins with
 *               the first tensor that is ready, and ends with tutti_buckets_wait.
 * Order         Buckets are started in the registered order on all ranks: each as soon as all its
 *               tensors are ready and those before it were started. So ranks may be ready in
 *               different orders, need not talk about it, and cannot deadlock; register the
 *               tensor that is ready first, first.
 * Progress      Sums advance inside these calls, and inside any other wait; with config.thread in a
 *               thread, which sleeps while nothing is in flight.
 * Threads       one call at a time per object, by any thread. The object has communicators of its
 *               own: between its calls others may use `comm`, for anything.
 * Failures      After an error in flight (TUTTI_ERR_PEER_LOST, ...) the tensors are undefined,
 * every call returns that status, and the object is good for tutti_buckets_free only. What is
 * refused (TUTTI_ERR_ARG, _STATE) changes nothing. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_BUCKET_H
#define TUTTI_BUCKET_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_tensor {
  void *data;   /* the caller's, aligned as its type; summed in place */
  size_t count; /* elements, the same on all ranks; may be 0 */
  tutti_type type;
} tutti_tensor;

/* All 0, but for the size: means of the tensors' own type, in buckets as the prices have it. */
typedef struct tutti_buckets_config {
  size_t size;  /* sizeof(tutti_buckets_config), set by the caller */
  size_t bytes; /* a bucket that has so many is closed; 0: what the prices say (docs/buckets.md) */
  int sum;      /* 1: sums; 0: means, divided once by the number of ranks, in the last addition */
  int learn;    /* 1: after the first step the order in which rank 0's tensors were ready takes
                   the registered order's place (one broadcast) */
  int bf16;     /* 1: tensors of TUTTI_FLOAT travel as bf16, half the bytes; the summands are added
                   in float, in rank order, and the result is rounded once to bf16, the same bits
                   on all ranks. What rounding takes from an element is kept, here 4 bytes and a
                   share, and added in the next step (error feedback) */
  int thread;   /* 1: a thread of tutti's drives what is in flight, as TUTTI_PROGRESS_THREAD=1;
                   of this rank alone, need not be the same on all */
} tutti_buckets_config;

typedef struct tutti_buckets tutti_buckets;

/** Register tensors, in the order in which a step makes them.
 *
 *  comm      of all who call; may be freed before the buckets.
 *  n         tensors; 0 is legal. The array is copied; the tensors' memory is the caller's, and
 *            must stay where it is until tutti_buckets_free. None may overlap another.
 *  config    the same on all ranks, but for `thread`; NULL: as all 0.
 *  Collective: it returns the same on all ranks, or who has made a mistake hears which, and the
 *  others that.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _OVERLAP, _MEMORY; TUTTI_ERR_MISMATCH: other
 *            ranks have other tensors, or were refused theirs; TUTTI_ERR_UNSUPPORTED (bf16 with
 *            helpers or under the contract exact); what tutti_comm_dup returns. */
TUTTI_API tutti_status tutti_buckets_create(tutti_comm *comm, size_t n, const tutti_tensor *tensors,
                                            const tutti_buckets_config *config,
                                            tutti_buckets **buckets);

/** Tensor `i` has this rank's summand: it is the library's until it was waited for. Starts what can
 *  be started, and blocks nowhere. Every tensor once in every step, in any order.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: there is no such tensor; TUTTI_ERR_STATE: it is ready already
 *  in this step; those of a collective. */
TUTTI_API tutti_status tutti_bucket_ready(tutti_buckets *buckets, size_t i);

/** Wait until tensor `i` is summed. It is the caller's from then on; the step goes on.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_STATE: it, or one that must start before it, is not
 *  ready: it would wait for ever; those of a collective. */
TUTTI_API tutti_status tutti_bucket_wait(tutti_buckets *buckets, size_t i);

/** Drive what is in flight once, without blocking; *done: tensor `i` is summed. Between steps
 *  it is, as it is for tutti_bucket_wait. */
TUTTI_API tutti_status tutti_bucket_test(tutti_buckets *buckets, size_t i, int *done);

/** Wait until all tensors are summed; the step is over.
 *  Returns TUTTI_OK, also between steps; TUTTI_ERR_STATE: one is not ready (the sentence says
 *  which); those of a collective. */
TUTTI_API tutti_status tutti_buckets_wait(tutti_buckets *buckets);

/** Free the object, and what it keeps; NULL is legal. Amid a step only if that has failed;
 *  unless a peer was lost, the others' step then ends with TUTTI_ERR_ABORTED.
 *  Returns TUTTI_OK; TUTTI_ERR_STATE: sums are in flight. */
TUTTI_API tutti_status tutti_buckets_free(tutti_buckets *buckets);

/** How many buckets there are; in which one tensor `i` is, counted in the order of starts; from
 *  how many bytes on one is closed. 0 for NULL and for what is no tensor. */
TUTTI_API size_t tutti_buckets_count(const tutti_buckets *buckets);
TUTTI_API size_t tutti_bucket_of(const tutti_buckets *buckets, size_t i);
TUTTI_API size_t tutti_buckets_bytes(const tutti_buckets *buckets);

/** The communicator that the sums are made on, the object's: for tutti_comm_abort, which ends a
 *  step on all ranks, and for tutti_comm_plan. NULL for NULL. */
TUTTI_API tutti_comm *tutti_buckets_comm(const tutti_buckets *buckets);

#ifdef __cplusplus
}
#endif
#endif
