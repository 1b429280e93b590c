/* bucket.c - tensors become ready in any order and are summed in a fixed order.
 *
 * Idea       A bucket starts when its tensors are ready and all earlier buckets have started. All ranks therefore start
 *            the buckets in the same order, as a communicator requires, without exchanging messages.
 * Halves     A bucket sent as bf16 starts a second operation once its pieces are summed. Ranks reach this point at
 *            different times, so second operations use a separate communicator, and thus a separate order.
 * Invariant  Before a rank waits for a bucket, it has started the second halves of all earlier ones, so ranks never
 *            wait for each other in a circle.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bucket.h"

#include <stdio.h>
#include <string.h>

/* ---- entering and failing ---- */

static tutti_status enter_buckets(const tutti_buckets *b, const char *function) {
  const tutti_status status = tt_args_given(function, "buckets", b, NULL, NULL);
  if (status) return status;
  return b->failed ? tt_fail(b->failed, "%s", b->why) : TUTTI_OK;
}

static tutti_status enter_at(const tutti_buckets *b, const char *function, size_t i) {
  tutti_status status = enter_buckets(b, function);
  if (status || i < b->n) return status;
  return tt_fail(TUTTI_ERR_ARG, "%s: tensor %zu does not exist; %zu were registered", function, i,
                 b->n);
}

/* Records an error. Every error is permanent, except for TUTTI_ERR_INTERRUPTED. */
static tutti_status fail_buckets(tutti_buckets *b, tutti_status status) {
  if (status && status != TUTTI_ERR_INTERRUPTED && !b->failed) {
    b->failed = status;
    snprintf(b->why, sizeof b->why, "%s", tutti_error());
  }
  return status;
}

/* ---- starting, driving and finishing, in the order of the buckets ---- */

static tutti_status start_what_is_ready(tutti_buckets *b) {
  tutti_status status = TUTTI_OK;
  while (!status && b->started < b->nbuckets && !b->buckets[b->started].left) {
    tt_bucket *k = &b->buckets[b->started++];
    if (k->gather) tt_half_pack(b, k);
    tt_lighter_pack(b, k);
    status = tutti_request_start(k->sum);
    k->state = TT_FIRST;
  }
  return status;
}

/* Starts the second operation of a bucket. Called when the pieces have been exchanged. */
static tutti_status second_half(tutti_buckets *b, tt_bucket *k) {
  tt_half_sum(b, k);
  k->state = TT_SECOND;
  return tutti_request_start(k->gather);
}

static void summed(tutti_buckets *b, tt_bucket *k) {
  if (k->gather) tt_half_unpack(b, k);
  tt_lighter_unpack(b, k);
  k->state = TT_SUMMED;
}

/* Completes a request. If `waits`, waits for the request. Otherwise tests it, and sets *done to whether it has completed. */
static tutti_status complete(tutti_request **request, bool waits, int *done) {
  *done = 1;
  return waits ? tutti_request_wait(request) : tutti_request_test(request, done);
}

/* Starts the second operations that are next in order, and completes bucket `at` if it has started. If `waits`, waits for this
 * bucket, which must have started. Otherwise makes one pass without waiting. */
static tutti_status advance(tutti_buckets *b, size_t at, bool waits) {
  tutti_status status = TUTTI_OK;
  int done = 1;
  while (done && b->gathered < (waits ? at + 1 : b->started)) {
    tt_bucket *k = &b->buckets[b->gathered];
    if (k->gather && k->state == TT_FIRST) {
      status = complete(&k->sum, waits, &done);
      if (!status && done) status = second_half(b, k);
      if (status) return status;
    }
    b->gathered += done != 0;
  }
  if (at >= b->started) return TUTTI_OK;
  tt_bucket *k = &b->buckets[at];
  if (k->state == TT_SUMMED || (k->gather && k->state == TT_FIRST)) return TUTTI_OK;
  status = complete(k->gather ? &k->gather : &k->sum, waits, &done);
  if (!status && done) summed(b, k);
  return status;
}

/* ---- the calls of a step ---- */

tutti_status tutti_bucket_ready(tutti_buckets *b, size_t i) {
  tutti_status status = enter_at(b, "tutti_bucket_ready", i);
  if (status) return status;
  if (b->ready[i])
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_bucket_ready: tensor %zu is ready already in this step; "
                   "tutti_buckets_wait ends a step",
                   i);
  b->ready[i] = true;
  b->seen[b->nready++] = i;
  b->buckets[b->of[i]].left--;
  const size_t before = b->started;
  status = start_what_is_ready(b);
  /* Starting a request drives all operations in flight, but does not start the second operations of buckets. */
  if (!status && (b->results || b->started == before)) status = advance(b, b->nbuckets, false);
  return fail_buckets(b, status);
}

/* Reports the first bucket that cannot start, and the first of its tensors that is not ready. */
static tutti_status never(const tutti_buckets *b, const char *function) {
  const tt_bucket *k = &b->buckets[b->started];
  size_t m = 0;
  while (m + 1 < k->n && b->ready[k->members[m]]) m++;
  return tt_fail(TUTTI_ERR_STATE,
                 "%s: it would wait for ever: tensor %zu, in bucket %zu of %zu, is not ready "
                 "(tutti_bucket_ready)",
                 function, k->members[m], b->started, b->nbuckets);
}

tutti_status tutti_bucket_wait(tutti_buckets *b, size_t i) {
  tutti_status status = enter_at(b, "tutti_bucket_wait", i);
  if (status || (!b->nready && b->started == 0)) return status;
  if (b->of[i] >= b->started) return never(b, "tutti_bucket_wait");
  return fail_buckets(b, advance(b, b->of[i], true));
}

tutti_status tutti_bucket_test(tutti_buckets *b, size_t i, int *done) {
  tutti_status status = enter_at(b, "tutti_bucket_test", i);
  if (!status && !done) status = tt_fail(TUTTI_ERR_ARG, "tutti_bucket_test: done is NULL");
  if (status) return status;
  *done = 0;
  status = fail_buckets(b, advance(b, b->of[i], false));
  *done = !status && (!b->nready || b->buckets[b->of[i]].state == TT_SUMMED);
  return status;
}

/* Makes the order in which tensors became ready on rank 0 the order for all later steps on all ranks. */
static tutti_status learn_ready_order(tutti_buckets *b) {
  b->learned = true;
  tutti_status status =
      tt_broadcast(b->comm, "tutti_buckets_wait", 0, b->seen, b->n * sizeof *b->seen);
  if (status || memcmp(b->seen, b->order, b->n * sizeof *b->order) == 0) return status;
  memcpy(b->order, b->seen, b->n * sizeof *b->order);
  tt_bucket_drop(b);
  status = tt_bucket_cut(b);
  if (!status) status = tt_bucket_requests(b);
  if (status) tutti_comm_abort(b->comm, "no memory for buckets in another order");
  return status;
}

tutti_status tutti_buckets_wait(tutti_buckets *b) {
  tutti_status status = enter_buckets(b, "tutti_buckets_wait");
  if (status || !b->nready) return status;
  if (b->started < b->nbuckets) return never(b, "tutti_buckets_wait");
  for (size_t k = 0; k < b->nbuckets && !status; k++) status = advance(b, k, true);
  if (!status && b->config.learn && !b->learned) status = learn_ready_order(b);
  if (status) return fail_buckets(b, status);
  for (size_t k = 0; k < b->nbuckets; k++) {
    b->buckets[k].state = TT_WAITING;
    b->buckets[k].left = b->buckets[k].n;
  }
  memset(b->ready, 0, b->n * sizeof *b->ready);
  b->nready = b->started = b->gathered = 0;
  return TUTTI_OK;
}

/* ---- queries ---- */

size_t tutti_buckets_count(const tutti_buckets *b) {
  return b ? b->nbuckets : 0;
}
size_t tutti_bucket_of(const tutti_buckets *b, size_t i) {
  return b && i < b->n && b->buckets ? b->of[i] : 0;
}
size_t tutti_buckets_bytes(const tutti_buckets *b) {
  return b ? b->bytes : 0;
}
tutti_comm *tutti_buckets_comm(const tutti_buckets *b) {
  return b ? b->comm : NULL;
}
