/* bucket_half.c - a bucket of floats that is sent as bf16 and added in float.
 *
 * Idea       A sum in bf16 would round at every addition. Instead, every rank receives one piece of each rank's bf16
 *            numbers (all-to-all), adds them in float in rank order, and rounds the result once. Then all ranks gather
 *            all results (all-gather). This works for any number of ranks and gives all of them the same bits.
 * Cost       Each rank sends 2 (P-1)/P numbers of 2 bytes per element, half the minimum for floats. Memory: 8 bytes per
 *            element, and 4 bytes for each element of this rank's piece.
 * Feedback   The errors of both roundings of a number are added to it in the next step: the error of the summand on this
 *            rank, the error of the result on the rank that computed it. Over many steps, only the last errors are lost.
 * Invariant  An error is finite: an infinity, a NaN, or a number rounded to one leaves no error. The padding of the last
 *            piece is always 0.
 * Source     Seide et al., 1-bit stochastic gradient descent, Interspeech 2014 (the feedback);
 *            Tang et al., DoubleSqueeze, ICML 2019 (in both directions).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bucket.h"
#include "fp_state.h"
#include "kernel_bits.h"

/* Rounds x to bf16. Sets *owed to the rounding error, or to 0 if the error is not finite. */
static inline uint16_t round_off(float x, float *owed) {
  const uint16_t h = tt_float_bf16(x);
  const float less = x - tt_bf16_float(h);
  *owed = less - less == 0 ? less : 0;
  return h;
}

tutti_status tt_half_open(tutti_buckets *b, tt_bucket *k) {
  const size_t P = (size_t)tutti_comm_size(b->comm);
  tt_half *h = &k->half;
  void *memory[3] = {NULL, NULL, NULL};
  h->piece = (k->elements + P - 1) / P;
  const size_t bytes = P * h->piece * sizeof *h->out;
  tutti_status status = tutti_mem_alloc(b->comm, bytes, &memory[0]);
  if (!status) status = tutti_mem_alloc(b->comm, bytes, &memory[1]);
  if (!status) status = tutti_mem_alloc(b->comm, h->piece * sizeof *h->owed, &memory[2]);
  h->out = memory[0];
  h->in = memory[1];
  h->owed = memory[2];
  const tutti_call trade = {.size = sizeof trade,
                            .coll = TUTTI_ALLTOALL,
                            .src = h->out,
                            .dst = h->in,
                            .count = h->piece,
                            .type = TUTTI_BFLOAT16};
  const tutti_call gather = {.size = sizeof gather,
                             .coll = TUTTI_ALLGATHER,
                             .src = h->out + h->piece * (size_t)tutti_comm_rank(b->comm),
                             .dst = h->out,
                             .count = h->piece,
                             .type = TUTTI_BFLOAT16};
  if (!status) status = tutti_call_init(b->comm, &trade, &k->sum);
  if (!status) status = tutti_call_init(b->results, &gather, &k->gather);
  return status;
}

void tt_half_close(tutti_buckets *b, tt_bucket *k) {
  tutti_mem_free(b->comm, k->half.out);
  tutti_mem_free(b->comm, k->half.in);
  tutti_mem_free(b->comm, k->half.owed);
}

void tt_half_pack(tutti_buckets *b, tt_bucket *k) {
  uint16_t *to = k->half.out;
  const tt_fp_state state = tt_fp_pin();
  for (size_t m = 0; m < k->n; m++) {
    const tutti_tensor *t = &b->tensors[k->members[m]];
    const float *from = t->data;
    float *owed = b->residual + b->place[k->members[m]];
    for (size_t i = 0; i < t->count; i++) to[i] = round_off(from[i] + owed[i], &owed[i]);
    to += t->count;
  }
  tt_fp_restore(state);
}

void tt_half_sum(tutti_buckets *b, tt_bucket *k) {
  enum { AT_ONCE = 512 };
  const tt_half *h = &k->half;
  const int P = tutti_comm_size(b->comm);
  uint16_t *to = h->out + h->piece * (size_t)tutti_comm_rank(b->comm);
  const float by = b->config.sum ? 1 : (float)P;
  const tt_fp_state state = tt_fp_pin();
  for (size_t at = 0; at < h->piece; at += AT_ONCE) {
    const size_t n = tt_min((size_t)AT_ONCE, h->piece - at);
    float sum[AT_ONCE];
    for (size_t i = 0; i < n; i++) sum[i] = tt_bf16_float(h->in[at + i]);
    for (int r = 1; r < P; r++) {
      const uint16_t *in = h->in + h->piece * (size_t)r + at;
      for (size_t i = 0; i < n; i++) sum[i] += tt_bf16_float(in[i]);
    }
    for (size_t i = 0; i < n; i++)
      to[at + i] = round_off(sum[i] / by + h->owed[at + i], &h->owed[at + i]);
  }
  tt_fp_restore(state);
}

void tt_half_unpack(tutti_buckets *b, tt_bucket *k) {
  const uint16_t *from = k->half.out;
  for (size_t m = 0; m < k->n; m++) {
    const tutti_tensor *t = &b->tensors[k->members[m]];
    float *to = t->data;
    for (size_t i = 0; i < t->count; i++) to[i] = tt_bf16_float(from[i]);
    from += t->count;
  }
}
