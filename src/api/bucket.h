/* bucket.h - inside the API: tensors in buckets (bucket.c), how they are cut (bucket_cut.c), and
 * the buckets that travel as bf16 (bucket_half.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BUCKET_H
#define TT_BUCKET_H

#include "comm.h"

typedef enum tt_bucket_state { TT_WAITING, TT_FIRST, TT_SECOND, TT_SUMMED } tt_bucket_state;

/* What a bucket of floats has that travels as bf16. */
typedef struct tt_half {
  size_t piece;       /* elements that one rank sums; the last piece may be padded */
  uint16_t *out, *in; /* a piece per rank: what goes out, and all results; what comes in */
  float *owed;        /* of this rank's piece: what rounding the result took */
} tt_half;

typedef struct tt_bucket {
  tutti_type type;
  size_t n, elements;    /* tensors, and what they have together */
  const size_t *members; /* which, in the order of the buckets */
  size_t left;           /* not yet ready in this step */
  tt_bucket_state state;
  tutti_request *sum;    /* in one go, or the exchange of pieces */
  tutti_request *gather; /* of the pieces' results; NULL: it is summed in one go */
  tt_half half;
} tt_bucket;

struct tutti_buckets {
  tutti_comm *comm;    /* one order of starts for all sums ... */
  tutti_comm *results; /* ... and one for the pieces' results; NULL: none travel as bf16 */
  tutti_buckets_config config;
  size_t n, bytes; /* tensors; from how many bytes on a bucket is closed */
  tutti_tensor *tensors;
  size_t *order;        /* tensors, in the order in which buckets take them */
  size_t *members, *of; /* of all buckets; the bucket of a tensor */
  size_t *seen, nready; /* tensors in the order in which they were ready in this step */
  bool *ready;
  size_t *place;                      /* of a tensor's first element in `residual` */
  float *residual;                    /* what rounding took from each element; or NULL */
  size_t nbuckets, started, gathered; /* buckets: all; started; whose second half is too */
  tt_bucket *buckets;
  bool learned, has_thread;
  tutti_status failed;
  char why[TT_WHY];
};

/* The bytes of a bucket that the prices say are best for so many in all (bucket_cut.c). */
size_t tt_bucket_bytes(tutti_comm *comm, uint64_t total);
/* Every tensor has its bucket, and every bucket its tensors, by b->order. */
tutti_status tt_bucket_cut(tutti_buckets *b);
/* The buckets' requests, and what else they need. Collective calls follow in the same order. */
tutti_status tt_bucket_requests(tutti_buckets *b);
void tt_bucket_drop(tutti_buckets *b);

/* Is it one that travels as bf16? */
static inline bool tt_bucket_is_bf16(const tutti_buckets *b, const tt_bucket *k) {
  return b->config.bf16 && k->type == TUTTI_FLOAT && k->elements;
}
tutti_status tt_half_open(tutti_buckets *b, tt_bucket *k);
void tt_half_close(tutti_buckets *b, tt_bucket *k);
void tt_half_pack(tutti_buckets *b, tt_bucket *k);
void tt_half_sum(tutti_buckets *b, tt_bucket *k);
void tt_half_unpack(tutti_buckets *b, tt_bucket *k);

#endif
