/* direct.c - collectives without intermediate ranks: every rank reads its data directly from the ranks that have it.
 *
 * Idea       With one-shot, every rank publishes its vector and adds all vectors. With two-shot, every rank adds its
 *            block of all vectors in one pass, publishes the sum, and reads the others' blocks. With direct, every rank
 *            reads the blocks meant for it, each from the rank that has it.
 * Cost       One-shot takes 1 step, which reads (P-1) vectors; two-shot takes 2 steps, which read 2(P-1)/P of a vector;
 *            direct takes 1 step. Each step has P-1 messages, which suits shared memory.
 * Scratch    One-shot in place: one vector; all-to-all in place: less than one; otherwise none.
 * Invariant  Operands are added in rank order, the same on all ranks. All-to-all in place: the lower of two
 *            ranks receives its block where its own one was, after the other rank has copied that to scratch.
 *            Therefore no two ranks wait for each other.
 * Source     the in-switch reduction of NVLink SHARP, here done by the ranks that read.
 * See        tutti plan draw two-shot -n 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

static tt_peers everyone(const tt_ask *ask) {
  return (tt_peers){0, ask->ranks, 1};
}

static tt_span all_blocks(const tt_ask *ask, tt_buf buf) {
  return tt_range(buf, 0, (uint32_t)ask->ranks, (uint32_t)ask->ranks);
}

static tt_span own_block(const tt_ask *ask, tt_buf buf) {
  return tt_block(buf, (uint32_t)ask->rank);
}

/* Each rank copies its own block, sends every other rank the block meant for it, and receives its blocks from all other
 * ranks. In a gather only the root receives; in a scatter only the root sends. */
static void direct_exchange(tt_builder *b, const tt_ask *ask) {
  const bool root = ask->rank == ask->root, copies = root || !tt_coll_rooted(ask->coll);
  if (ask->coll == TUTTI_GATHER && !root)
    tt_send(b, ask->root, own_block(ask, TT_SRC));
  else if (ask->coll == TUTTI_ALLGATHER)
    tt_send_all(b, everyone(ask), own_block(ask, TT_SRC));
  else if (ask->coll != TUTTI_GATHER && copies)
    tt_send_split(b, everyone(ask), all_blocks(ask, TT_SRC));
  if (copies) tt_copy(b, own_block(ask, TT_DST), own_block(ask, TT_SRC));
  if (ask->coll == TUTTI_SCATTER && !root)
    tt_recv(b, ask->root, own_block(ask, TT_DST));
  else if (ask->coll != TUTTI_SCATTER && copies)
    tt_recv_split(b, everyone(ask), all_blocks(ask, TT_DST));
}

/* ---- one-shot and two-shot ---- */

static uint32_t oneshot_blocks(const tt_ask *ask) {
  return ask->coll == TUTTI_ALLGATHER ? (uint32_t)ask->ranks : 1;
}

static void oneshot_build(tt_builder *b, const tt_ask *ask) {
  if (ask->coll == TUTTI_ALLGATHER) {
    direct_exchange(b, ask);
    return;
  }
  tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  tt_span sum = ask->in_place ? tt_block(TT_TMP, 0) : dst;
  tt_send_all(b, everyone(ask), src);
  tt_recv_reduce_all(b, everyone(ask), sum, src, TT_OWN_AMONG);
  tt_mark_completes(b);
  if (ask->in_place) tt_copy(b, dst, sum);
}

static void twoshot_build(tt_builder *b, const tt_ask *ask) {
  const tt_span sum = own_block(ask, TT_DST);
  tt_send_split(b, everyone(ask), all_blocks(ask, TT_SRC));
  tt_recv_reduce_all(b, everyone(ask), sum, own_block(ask, TT_SRC), TT_OWN_AMONG);
  tt_mark_completes(b);
  if (ask->coll == TUTTI_REDUCE_SCATTER) return;
  tt_send_all(b, everyone(ask), sum);
  tt_recv_split(b, everyone(ask), all_blocks(ask, TT_DST));
}

/* ---- direct ---- */

static void exchange_in_place(tt_builder *b, const tt_ask *ask) {
  const uint32_t P = (uint32_t)ask->ranks, r = (uint32_t)ask->rank;
  const tt_peers lower = {0, ask->rank, 1}, higher = {ask->rank + 1, ask->ranks - ask->rank - 1, 1};
  const tt_span from_lower = tt_range(TT_DST, 0, r, P), aside = tt_range(TT_TMP, 0, r, P);
  const tt_span from_higher = tt_range(TT_DST, r + 1, P - r - 1, P);
  if (higher.count) tt_send_split(b, higher, from_higher);
  if (lower.count) tt_send_split(b, lower, from_lower);
  if (lower.count) tt_recv_split(b, lower, aside);
  if (higher.count) tt_recv_split(b, higher, from_higher);
  if (lower.count) tt_copy(b, from_lower, aside);
}

static void direct_build(tt_builder *b, const tt_ask *ask) {
  const bool in_place = ask->coll == TUTTI_ALLTOALL && ask->in_place;
  (in_place ? exchange_in_place : direct_exchange)(b, ask);
}

static bool direct_uniform(const tt_ask *ask, const tt_tree *tree) {
  return !ask->in_place && !tree;
}

const tt_algo tt_oneshot_algo = {
    .name = "one-shot",
    .does = TT_DOES_ALLREDUCE | TT_DOES(ALLGATHER),
    .blocks = oneshot_blocks,
    .build = oneshot_build,
    .uniform = tt_uniform_without_levels,
    .stage = {{"", TT_STAGE_FITS}},
    .entries = {{"one-shot", TT_CANDIDATE, "everyone reads everyone's vector and sums it all",
                 "NVLink SHARP, done by the readers"}},
};

const tt_algo tt_twoshot_algo = {
    .name = "two-shot",
    .does = TT_DOES_ALLREDUCE | TT_DOES(REDUCE_SCATTER),
    .blocks = tt_block_per_rank,
    .build = twoshot_build,
    .uniform = tt_uniform_without_levels,
    .stage = {{"", TT_STAGE_INNER | TT_STAGE_FITS}},
    .entries = {{"two-shot", TT_CANDIDATE, "everyone sums its own block, then reads the others'",
                 "NVLink SHARP, done by the readers"}},
};

const tt_algo tt_direct_algo = {
    .name = "direct",
    .does = TT_DOES_ROOTED_BLOCKS | TT_DOES(ALLTOALL),
    .blocks = tt_block_per_rank,
    .build = direct_build,
    .uniform = direct_uniform,
    .entries = {{"direct", TT_CANDIDATE, "every block goes straight to whom it is for",
                 "the baseline, for shared memory"}},
};
