/* bucket_cut.c - which tensors make a bucket, how long a bucket is, and its requests.
 *
 * Idea       a tensor joins the open bucket of its type, which is closed when it is long enough.
 *            Buckets are ordered by their last tensors, since none can start before that.
 * Length     with k buckets of t seconds each, the last one runs when nothing is left to compute:
 *            k t is work that computation may hide, t is always waited for. The k that minimizes
 *            (k + 1) t(total / k) weighs latency against overlap, and needs only the predicted
 *            time.
 * Invariant  the cut follows from counts, types, order and length: the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bucket.h"

#include <stdlib.h>
#include <string.h>

size_t tt_bucket_bytes(tutti_comm *comm, uint64_t total) {
  tt_chooser *chooser = tt_chooser_for(comm, &(tt_call){.coll = TUTTI_ALLREDUCE});
  double least = 0;
  uint64_t best = total;
  for (uint64_t k = 1; total / k >= 64; k += 1 + k / 4) {
    const double all = (double)(k + 1) * tt_seconds_of(chooser, TUTTI_ALLREDUCE, total / k);
    if (all < 0) return 0;
    if (k == 1 || all < least) best = total / k, least = all;
    if (k > 1 && all > 2 * least) break; /* more buckets only take longer */
  }
  return best ? (size_t)best : 1;
}

/* ---- cutting ---- */

enum { NONE = -1 };

/* Numbers the buckets by their first tensors; last[bucket]: the turn of its last tensor. */
static size_t assign(tutti_buckets *b, size_t *last) {
  size_t open[TUTTI_TYPE_COUNT], bytes[TUTTI_TYPE_COUNT], nbuckets = 0;
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++) open[t] = (size_t)NONE;
  for (size_t turn = 0; turn < b->n; turn++) {
    const size_t i = b->order[turn];
    const tutti_type t = b->tensors[i].type;
    if (open[t] == (size_t)NONE) open[t] = nbuckets++, bytes[t] = 0;
    b->of[i] = open[t];
    last[open[t]] = turn;
    bytes[t] += b->tensors[i].count * tutti_type_size(t);
    if (bytes[t] >= b->bytes) open[t] = (size_t)NONE;
  }
  return nbuckets;
}

tutti_status tt_bucket_cut(tutti_buckets *b) {
  size_t *last = malloc((b->n + 1) * sizeof *last), *turn = malloc((b->n + 1) * sizeof *turn);
  if (last && turn) {
    const size_t nbuckets = assign(b, last);
    b->nbuckets = 0;
    for (size_t at = 0; at < b->n; at++) { /* renumbered by their last tensors */
      const size_t k = b->of[b->order[at]];
      if (last[k] == at) turn[k] = b->nbuckets++;
    }
    for (size_t i = 0; i < b->n; i++) b->of[i] = turn[b->of[i]];
    b->buckets = calloc(nbuckets + 1, sizeof *b->buckets);
  }
  free(last);
  free(turn);
  if (!last || !turn || !b->buckets)
    return tt_fail(TUTTI_ERR_MEMORY, "tutti_buckets: out of memory for %zu tensors", b->n);
  for (size_t i = 0; i < b->n; i++) {
    tt_bucket *k = &b->buckets[b->of[i]];
    k->n++;
    k->type = b->tensors[i].type;
    k->elements += b->tensors[i].count;
  }
  size_t from = 0;
  for (size_t k = 0; k < b->nbuckets; from += b->buckets[k++].n) {
    b->buckets[k].members = b->members + from;
    b->buckets[k].left = 0;
  }
  for (size_t turn_of = 0; turn_of < b->n; turn_of++) {
    const size_t i = b->order[turn_of];
    tt_bucket *k = &b->buckets[b->of[i]];
    b->members[(size_t)(k->members - b->members) + k->left++] = i;
  }
  return TUTTI_OK;
}

/* ---- requests ---- */

static tutti_status in_one_go(tutti_buckets *b, tt_bucket *k) {
  void **at = malloc((k->n + 1) * sizeof *at);
  size_t *counts = malloc((k->n + 1) * sizeof *counts);
  tutti_status status = TUTTI_ERR_MEMORY;
  for (size_t i = 0; at && counts && i < k->n; i++) {
    at[i] = b->tensors[k->members[i]].data;
    counts[i] = b->tensors[k->members[i]].count;
  }
  if (at && counts)
    status =
        tutti_allreduce_many_init(b->comm, k->n, (const void *const *)at, (void *const *)at, counts,
                                  k->type, b->config.sum ? TUTTI_SUM : TUTTI_AVG, &k->sum);
  else
    tt_fail(status, "tutti_buckets: out of memory for a bucket of %zu tensors", k->n);
  free(at);
  free(counts);
  return status;
}

tutti_status tt_bucket_requests(tutti_buckets *b) {
  tutti_status status = TUTTI_OK;
  for (size_t k = 0; k < b->nbuckets && !status; k++)
    status = tt_bucket_is_bf16(b, &b->buckets[k]) ? tt_half_open(b, &b->buckets[k])
                                                  : in_one_go(b, &b->buckets[k]);
  return status;
}

void tt_bucket_drop(tutti_buckets *b) {
  for (size_t k = 0; b->buckets && k < b->nbuckets; k++) {
    tutti_request_free(&b->buckets[k].sum);
    tutti_request_free(&b->buckets[k].gather);
    tt_half_close(b, &b->buckets[k]);
  }
  free(b->buckets);
  b->buckets = NULL;
}
