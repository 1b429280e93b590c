/* bucket_coded.c - a bucket of floats whose messages between hosts may use a lossy code (code.h).
 *
 * Idea       The bucket is one vector and one allreduce, and the engine keeps the rounding errors: those of summands and
 *            partial sums that this rank encodes, and those of sums that it completes. A rank rounds each position of
 *            the vector in at most one of these ways, so one error per position is enough. The next step adds the
 *            error before it rounds (error feedback, as in bucket_half.c).
 * Cost       4 bytes per element. If the tensors are not contiguous, 4 more bytes and two copies.
 * Invariant  An error is finite. Without a coded plan, all errors are and stay 0.
 * Source     Karimireddy et al., Error feedback fixes SignSGD, ICML 2019; see also bucket_half.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "bucket.h"

/* Creates the request for a bucket. This is a function of type tt_ready_fn. */
static tutti_status make_lighter(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request) {
  return tt_collective_new(comm, function, what, true, request);
}

static bool side_by_side(const tutti_buckets *b, const tt_bucket *k) {
  for (size_t m = 1; m < k->n; m++)
    if (!tt_bucket_adjoin(b, k->members[m - 1], k->members[m])) return false;
  return true;
}

tutti_status tt_lighter_open(tutti_buckets *b, tt_bucket *k) {
  tt_lighter *l = &k->lighter;
  void *copy = NULL;
  tutti_status status = TUTTI_OK;
  l->owed = calloc(k->elements, sizeof *l->owed);
  if (!l->owed)
    return tt_fail(TUTTI_ERR_MEMORY, "tutti_buckets: out of memory for the errors of %zu numbers",
                   k->elements);
  if (side_by_side(b, k))
    l->vector = b->tensors[k->members[0]].data;
  else
    status = tutti_mem_alloc(b->comm, k->elements * sizeof *l->copy, &copy);
  if (copy) l->vector = l->copy = copy;
  const tt_call call = {.coll = TUTTI_ALLREDUCE,
                        .src = l->vector,
                        .dst = l->vector,
                        .count = k->elements,
                        .type = TUTTI_FLOAT,
                        .op = b->config.sum ? TUTTI_SUM : TUTTI_AVG,
                        .owed = l->owed};
  if (!status)
    status = tt_request_make(b->comm, "tutti_buckets_create", make_lighter, &call, true, &k->sum);
  return status;
}

void tt_lighter_close(tutti_buckets *b, tt_bucket *k) {
  if (k->lighter.copy) tutti_mem_free(b->comm, k->lighter.copy);
  free(k->lighter.owed);
  k->lighter = (tt_lighter){.owed = NULL};
}

void tt_lighter_pack(tutti_buckets *b, tt_bucket *k) {
  float *to = k->lighter.copy;
  for (size_t m = 0; to && m < k->n; m++) {
    const tutti_tensor *t = &b->tensors[k->members[m]];
    if (t->count) memcpy(to, t->data, t->count * sizeof *to);
    to += t->count;
  }
}

void tt_lighter_unpack(tutti_buckets *b, tt_bucket *k) {
  const float *from = k->lighter.copy;
  for (size_t m = 0; from && m < k->n; m++) {
    const tutti_tensor *t = &b->tensors[k->members[m]];
    if (t->count) memcpy(t->data, from, t->count * sizeof *from);
    from += t->count;
  }
}
