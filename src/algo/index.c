/* index.c - Bruck's all-to-all: blocks travel in few hops, many in one message.
 *
 * Idea       a block that must move up k ranks is in place k. To base K, for each digit of
 *            k: all blocks with digit j move j * K^i ranks up together, into the same
 *            places. At the end, the block in place k comes from the rank k below. Blocks to be
 *            sent are packed first, because those received take their places.
 * Cost       ceil(log_K P) rounds of K-1 messages, or twice that if P is no power of
 *            K; about (K-1)/K of the vector sent a round, and copied as often; two copies
 *            of the vector.
 * Scratch    two vectors.
 * Parameters radix=2..16, as bruck's.
 * Source     Bruck et al., IEEE Trans. Par. Distrib. Syst. 8(11), 1997: the index operation.
 * See        tutti plan draw bruck -P 5 -c all_to_all
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_index.h"

/* The places below P whose digit is j, where a digit weighs `unit`: those of whole periods in one
 * span, the rest in another. Returns the number of spans. */
static int spans_with_digit(const tt_ask *ask, int radix, int unit, int j, tt_span spans[2]) {
  const int P = ask->ranks, period = radix * unit, from = j * unit, whole = P / period;
  const int rest = P - whole * period - from;
  int n = 0;
  if (whole)
    spans[n++] = (tt_span){.buf = TT_TMP,
                           .first = (uint32_t)from,
                           .count = (uint32_t)unit,
                           .ring = (uint32_t)period,
                           .stride = 1,
                           .repeat = (uint32_t)whole};
  if (rest > 0)
    spans[n++] = tt_range(TT_TMP, (uint32_t)(whole * period + from),
                          (uint32_t)(rest < unit ? rest : unit), (uint32_t)P);
  return n;
}

static void round_of(tt_builder *b, const tt_ask *ask, int radix, int unit) {
  const int P = ask->ranks, r = ask->rank;
  tt_span spans[2];
  for (int j = 1; j < radix && j * unit < P; j++)
    for (int i = 0, n = spans_with_digit(ask, radix, unit, j, spans); i < n; i++) {
      const tt_span packed = tt_layer(spans[i], 1, (uint32_t)P);
      tt_copy(b, packed, spans[i]);
      tt_send(b, tt_mod((int64_t)r + j * unit, P), packed);
    }
  for (int j = 1; j < radix && j * unit < P; j++)
    for (int i = 0, n = spans_with_digit(ask, radix, unit, j, spans); i < n; i++)
      tt_recv(b, tt_mod((int64_t)r - j * unit, P), spans[i]);
}

void tt_bruck_index(tt_builder *b, const tt_ask *ask, int radix) {
  const uint32_t P = (uint32_t)ask->ranks, r = (uint32_t)ask->rank;
  tt_copy(b, tt_range(TT_TMP, 1, P - 1, P), tt_range(TT_SRC, r + 1, P - 1, P));
  tt_copy(b, tt_block(TT_DST, r), tt_block(TT_SRC, r));
  for (int64_t unit = 1; unit < ask->ranks; unit *= radix) round_of(b, ask, radix, (int)unit);
  for (uint32_t k = 1; k < P; k++)
    tt_copy(b, tt_block(TT_DST, (r + P - k) % P), tt_block(TT_TMP, k));
}
