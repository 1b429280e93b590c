/* scan.c - prefix sums over all ranks up to and including each rank (scan), or before it (exscan).
 *
 * Idea       In round d = 1, 2, 4 ... a rank sends its sum, which covers the last d ranks up to itself, to the rank d
 *            above. It prepends the sum received from the rank d below, so that its own covers 2d ranks. In an exscan a
 *            rank also keeps the sum without its own vector; the next sum that it sends is that sum with its vector
 *            appended. With `chain`, each rank receives the sum of all lower ranks from the rank below, appends its own
 *            vector and sends it up. Segments are pipelined.
 * Cost       ceil(log2 P) rounds; the busiest rank sends and adds as many vectors, and in an exscan adds at most twice as
 *            many. A chain takes P-1 rounds, plus one for each segment after the first, and sends and adds one vector.
 * Scratch    One vector, for some ranks two if in place; exscan: two, or three in place; chain: none, exscan one, or two
 *            in place.
 * Invariant  A sum is of neighbouring ranks, in rank order.
 * Parameters chain; segments=S (with chain).
 * Source     Hillis and Steele, Data Parallel Algorithms, Comm. ACM 29(12), 1986.
 * See        tutti plan draw scan -n 6 -c scan
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_pattern.h"

static uint32_t scan_blocks(const tt_ask *ask) {
  return (uint32_t)tt_param_number(ask, "segments", 1);
}

static const char *scan_refuse(const tt_ask *ask) {
  const bool cut = scan_blocks(ask) > 1;
  return cut && !tt_param_given(ask, "chain") ? "segments follow each other in a chain" : NULL;
}

/* ---- doubling ---- */

static void inclusive(tt_builder *b, const tt_ask *ask) {
  const int P = ask->ranks, r = ask->rank;
  tt_pingpong t = tt_pingpong_begin(b, ask, tt_ceil_log2((uint64_t)r + 1));
  for (int d = 1; d < P; d *= 2) {
    if (r + d < P) tt_pingpong_send(&t, tt_peer(r + d));
    if (r >= d) tt_pingpong_add(&t, tt_peer(r - d), TT_OWN_LAST);
  }
  if (r == 0) tt_copy(b, tt_block(TT_DST, 0), tt_block(TT_SRC, 0));
}

/* Builds an exclusive scan. An in-place scan needs src until it has computed the last sum that it sends. */
static void exclusive(tt_builder *b, const tt_ask *ask) {
  const int P = ask->ranks, r = ask->rank;
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  tt_span with = src, before = ask->in_place ? tt_block(TT_TMP, 2) : dst;
  for (int d = 1; d < P; d *= 2) {
    const bool more = r + 2 * d < P, ends = r < 2 * d;
    const tt_span to = ends && !more ? dst : before;
    if (r + d < P) tt_send(b, r + d, with);
    if (r < d) continue;
    if (d == 1)
      tt_recv(b, r - d, to);
    else
      tt_recv_reduce(b, r - d, to, before, TT_OWN_LAST);
    if (!more) continue;
    with = tt_block(TT_TMP, with.buf == TT_TMP && tt_span_block(&with, 0) == 0);
    tt_reduce_local(b, with, to, src);
    if (ends) tt_copy(b, dst, to);
  }
}

/* ---- chain ---- */

static void link(tt_builder *b, const tt_ask *ask, uint32_t block, uint32_t blocks) {
  const bool first = ask->rank == 0, last = ask->rank == ask->ranks - 1;
  const bool without = ask->coll == TUTTI_EXSCAN;
  const tt_span src = tt_block(TT_SRC, block), dst = tt_block(TT_DST, block);
  tt_span with = dst,
          before = without && ask->in_place && !last ? tt_block(TT_TMP, blocks + block) : dst;
  if (first) {
    with = src;
  } else if (without) {
    with = tt_block(TT_TMP, block);
    tt_recv(b, ask->rank - 1, before);
    if (!last) tt_reduce_local(b, with, before, src);
  } else {
    tt_recv_reduce(b, ask->rank - 1, dst, src, TT_OWN_LAST);
  }
  if (!last) tt_send(b, ask->rank + 1, with);
  if (first && !without) tt_copy(b, dst, src);
  if (!first && without) tt_copy(b, dst, before);
}

static void scan_build(tt_builder *b, const tt_ask *ask) {
  const uint32_t blocks = scan_blocks(ask);
  if (tt_param_given(ask, "chain"))
    for (uint32_t s = 0; s < blocks; s++) link(b, ask, s, blocks);
  else if (ask->coll == TUTTI_SCAN)
    inclusive(b, ask);
  else
    exclusive(b, ask);
}

const tt_algo tt_scan_algo = {
    .name = "scan",
    .does = TT_DOES_PREFIX,
    .params = {{"chain"},
               {"segments", TT_PARAM_NUMBER, .lo = 1, .hi = 256,
                .wrong = "segments go from 1 to 256"}},
    .refuse = scan_refuse,
    .blocks = scan_blocks,
    .build = scan_build,
    .plan = {{"chain,segments=1", 3},
             {"chain,segments=2", 3},
             {"chain,segments=4", 3},
             {"chain,segments=32", 3}},
    .entries = {{"scan", TT_CANDIDATE, "sums of 2, 4, 8 ... neighbours, in ceil(log2 P) rounds",
                 "Hillis and Steele 1986"},
                {"scan(chain,segments=8)", TT_CANDIDATE, "a pipeline: segments from rank to rank",
                 "Sanders and Traeff 2006"}},
};
