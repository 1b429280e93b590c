/* multiplying.c - recursive multiplying: in each step, groups of up to K ranks exchange sums.
 *
 * Idea       Recursive doubling with K ports. In a step, K ranks that differ in one digit send their sums to each other,
 *            and each adds all of them in one pass. If P is a product of factors up to K, these are the steps. Otherwise
 *            only the largest power of K ranks take part. Rank p of these first receives the vectors of ranks p + power,
 *            p + 2 power ..., and sends them the result at the end.
 * Cost       One step per factor, with factor - 1 messages; or floor(log_K P) steps and two more. All messages are whole
 *            vectors.
 * Scratch    One vector; for some numbers of steps two if in place.
 * Invariant  All ranks of the group add the operands of a step in the same order.
 * Parameters radix=2..16 (4).
 * Source     Ruefenacht, Bull, Booth, Parallel Computing 69, 2017; k-ported: as in
 *            MPICH's recursive exchange.
 * See        tutti plan draw 'multiplying(radix=3)' -n 11
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

enum { STEPS = 32 };

/* Stores the factors of the steps and returns their number. Their product is the number of ranks that take part. */
static int factors_of(const tt_ask *ask, int *factor) {
  const int ranks = ask->ranks, radix = tt_param_number(ask, "radix", 4);
  int n = 0, left = ranks;
  for (int f = radix; f >= 2; f--)
    for (; left % f == 0; left /= f) factor[n++] = f;
  if (left == 1) return n;
  for (n = 0, left = ranks; left >= radix; left /= radix) factor[n++] = radix;
  return n;
}

static void multiplying_build(tt_builder *b, const tt_ask *ask) {
  int factor[STEPS], power = 1;
  const int n = factors_of(ask, factor);
  for (int i = 0; i < n; i++) power *= factor[i];
  const int home = ask->rank % power;
  const tt_peers extras = {home, (ask->ranks - 1 - home) / power + 1, power};
  if (home != ask->rank) {
    tt_send(b, home, tt_block(TT_SRC, 0));
    tt_recv(b, home, tt_block(TT_DST, 0));
    return;
  }
  tt_pingpong t = tt_pingpong_begin(b, ask, n + (extras.count > 1));
  if (extras.count > 1) tt_pingpong_add(&t, extras, TT_OWN_AMONG);
  for (int i = 0, apart = 1; i < n; apart *= factor[i++]) {
    const int digit = ask->rank / apart % factor[i];
    const tt_peers group = {ask->rank - digit * apart, factor[i], apart};
    tt_pingpong_send(&t, group);
    tt_pingpong_add(&t, group, TT_OWN_AMONG);
  }
  if (extras.count > 1) tt_send_all(b, extras, tt_block(TT_DST, 0));
}

static bool multiplying_uniform(const tt_ask *ask, const tt_tree *tree) {
  int factor[STEPS], all = 1;
  for (int i = factors_of(ask, factor); i > 0; i--) all *= factor[i - 1];
  return !tree && all == ask->ranks;
}

const tt_algo tt_multiplying_algo = {
    .name = "multiplying",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"radix", TT_PARAM_NUMBER, .lo = 2, .hi = 16, .wrong = "radix goes from 2 to 16"}},
    .blocks = tt_one_block,
    .build = multiplying_build,
    .plan = {{"radix=3", 3}, {"radix=4", 4}, {"radix=8", 8}, {"radix=16", 16}},
    .uniform = multiplying_uniform,
    .stage = {{"radix=3", TT_STAGE_FITS}, {"radix=4", 0}},
    .entries = {{"multiplying(radix=4)", TT_NAMED,
                 "recursive multiplying: 4 ranks exchange at once",
                 "Ruefenacht, Bull, Booth 2017"}},
};
