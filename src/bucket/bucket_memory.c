/* bucket_memory.c - the tensors' memory if the library provides it, in the heap that ranks share.
 *
 * Idea       The tensors of a bucket are contiguous, in the bucket's order, so the bucket is one vector. Peers read the
 *            summands from the memory where a rank computed its gradients, without packing or copying them.
 * Cost       The size of the tensors, and less than TT_PAIR bytes for each bucket, so that two buckets in flight share
 *            no cache line. A rank that contributes no data (a helper) gets no memory.
 * Invariant  The offsets follow from the first cut, so they are the same on all ranks. Tensors never move, so after the
 *            order was learned, a bucket may consist of several runs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bucket.h"
#include "segment.h"

static size_t bytes_of(const tutti_buckets *b, size_t i) {
  return b->tensors[i].count * tutti_type_size(b->tensors[i].type);
}

tutti_status tt_bucket_memory(tutti_buckets *b) {
  const size_t most = PTRDIFF_MAX / TT_PAIR * TT_PAIR; /* so that rounding up cannot overflow */
  size_t end = 0;
  for (size_t k = 0; k < b->nbuckets; k++) {
    end = tt_round_up(end, TT_PAIR);
    for (size_t m = 0; m < b->buckets[k].n; m++) {
      const size_t i = b->buckets[k].members[m];
      if (b->tensors[i].count > (most - end) / tutti_type_size(b->tensors[i].type))
        return tt_fail(TUTTI_ERR_MEMORY,
                       "tutti_buckets_create: %zu tensors are larger than any memory", b->n);
      b->offset[i] = end;
      end += bytes_of(b, i);
    }
  }
  if (!b->provides) return TUTTI_OK;
  const tutti_status status = tutti_mem_alloc(b->comm, end, &b->memory);
  for (size_t i = 0; i < b->n && !status; i++)
    b->tensors[i].data = (char *)b->memory + b->offset[i];
  return status;
}

bool tt_bucket_adjoin(const tutti_buckets *b, size_t i, size_t next) {
  return b->provides && b->offset[i] + bytes_of(b, i) == b->offset[next];
}

void *tutti_bucket_data(const tutti_buckets *b, size_t i) {
  return b && i < b->n && b->tensors ? b->tensors[i].data : NULL;
}
