/* bucket.h - internal to the API: tensors in buckets (bucket.c), the division of tensors among buckets
 * (bucket_create.c), their memory (bucket_memory.c), buckets sent as bf16 (bucket_half.c), and buckets with coded
 * messages (bucket_coded.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BUCKET_H
#define TT_BUCKET_H

#include "code.h"
#include "comm_view.h"

typedef enum tt_bucket_state { TT_WAITING, TT_FIRST, TT_SECOND, TT_SUMMED } tt_bucket_state;

/* Additional state for a bucket of floats that is sent as bf16. */
typedef struct tt_half {
  size_t piece;       /* number of elements that one rank sums; the last piece may be padded */
  uint16_t *out, *in; /* a piece per rank; out: to send, later all results; in: received data */
  float *owed;        /* rounding errors of the results in this rank's piece */
} tt_half;

/* Additional state for a bucket of floats whose messages may be compressed with loss. */
typedef struct tt_lighter {
  float *vector; /* the tensors in contiguous memory: their own memory, or `copy` */
  float *copy;   /* may be NULL */
  float *owed; /* rounding error of each number on this rank; NULL: the bucket has no such state */
} tt_lighter;

typedef struct tt_bucket {
  tutti_type type;
  size_t n, elements;    /* number of tensors, and of all their elements */
  const size_t *members; /* indices of its tensors, in bucket order */
  size_t left;           /* tensors that are not yet ready in this step */
  tt_bucket_state state;
  tutti_request *sum;    /* the whole sum, or the exchange of pieces */
  tutti_request *gather; /* gathers the results of the pieces; NULL: `sum` does everything */
  tt_half half;
  tt_lighter lighter;
} tt_bucket;

struct tutti_buckets {
  tutti_comm *comm;    /* for all sums */
  tutti_comm *results; /* for gathering results; NULL: no bucket uses bf16 */
  tutti_buckets_config config;
  size_t n, bytes; /* number of tensors; size that closes a bucket, in bytes */
  tutti_tensor *tensors;
  size_t *order;        /* tensors in bucket order; its allocation includes the other five */
  size_t *members, *of; /* the tensors of all buckets; the bucket of each tensor */
  size_t *seen, nready; /* tensors that are ready in this step, the earliest first */
  bool *ready;
  size_t *place;                      /* index of each tensor's first element in `residual` */
  size_t *offset;                     /* offset of each tensor in `memory`, in bytes */
  void *memory;  /* memory of all tensors; NULL: the caller provides it, or this rank is a helper */
  bool provides; /* the library provides the tensors' memory */
  float *residual; /* rounding error of each element; NULL: errors are not kept */
  size_t nbuckets, started, gathered; /* counts of buckets: all; started; second half started */
  tt_bucket *buckets;
  tt_code_wish wish; /* code of all sums */
  bool learned, has_thread;
  tutti_status failed;
  char why[TT_WHY];
};

/* Divides the tensors among buckets, in the order given by b->order. */
tutti_status tt_bucket_cut(tutti_buckets *b);
/* Creates the requests and buffers of all buckets. Makes collective calls, so all ranks must call it in the same order. */
tutti_status tt_bucket_requests(tutti_buckets *b);
void tt_bucket_drop(tutti_buckets *b);
/* Assigns an offset to each tensor after the first division into buckets. Allocates the memory if the library provides it. */
tutti_status tt_bucket_memory(tutti_buckets *b);
/* Returns true if, on every rank, tensor `next` immediately follows tensor `i` in memory. */
bool tt_bucket_adjoin(const tutti_buckets *b, size_t i, size_t next);

/* Returns true if the bucket is sent as bf16. */
static inline bool tt_bucket_is_bf16(const tutti_buckets *b, const tt_bucket *k) {
  return b->config.bf16 && k->type == TUTTI_FLOAT && k->elements;
}
static inline bool tt_bucket_is_lighter(const tutti_buckets *b, const tt_bucket *k) {
  return tt_code_lossy(b->wish.code) && !b->config.bf16 && k->type == TUTTI_FLOAT && k->elements &&
         !tt_comm_helpers(b->comm);
}
tutti_status tt_lighter_open(tutti_buckets *b, tt_bucket *k);
void tt_lighter_close(tutti_buckets *b, tt_bucket *k);
/* Copy the tensors of a bucket to contiguous memory, and back. If the tensors are contiguous already, neither function copies. */
void tt_lighter_pack(tutti_buckets *b, tt_bucket *k);
void tt_lighter_unpack(tutti_buckets *b, tt_bucket *k);
tutti_status tt_half_open(tutti_buckets *b, tt_bucket *k);
void tt_half_close(tutti_buckets *b, tt_bucket *k);
void tt_half_pack(tutti_buckets *b, tt_bucket *k);
void tt_half_sum(tutti_buckets *b, tt_bucket *k);
void tt_half_unpack(tutti_buckets *b, tt_bucket *k);

#endif
