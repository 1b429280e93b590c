/* learn.c - learns which of two ways is faster.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "learn.h"

/* better: the other way replaces the usual one if it takes less than this fraction of the usual time. RARE: the minimum
 * ratio between the lengths of a period and of a trial. most: a limit on the ratio of times that is assumed for a trial, since
 * measurements may be wrong. */
static const double better = 0.95, most = 8;
enum { RARE = 100 };

void tt_learner_begin(tt_learner *x, int expected) {
  *x = (tt_learner){.usual = (uint8_t)expected, .next = (uint8_t)expected, .last = (uint8_t)expected};
}

static void count(tt_learner *x, int way, uint64_t ticks) {
  if (!ticks || x->row < TT_LEARN_WARM || x->counted[way] == TT_LEARN_COUNT) return;
  uint64_t *at = &x->ticks[way][x->counted[way]++];
  for (; at > x->ticks[way] && at[-1] > ticks; at--) *at = at[-1];
  *at = ticks;
}

/* Returns the median time of calls that used a way, in ticks, or 0 if it is not known. */
static double median(const tt_learner *x, int way) {
  return x->counted[way] < TT_LEARN_COUNT ? 0 : (double)x->ticks[way][TT_LEARN_COUNT / 2];
}

/* Ends a trial. Called when the times of both ways are known, or cannot be measured in this period. */
static void decide(tt_learner *x) {
  const double usual = median(x, x->usual), other = median(x, !x->usual);
  const bool known = usual > 0 && other > 0, change = known && other < better * usual;
  const double ratio = !known ? most : change ? usual / other : other / usual;
  const uint32_t rare = (uint32_t)(RARE * x->other * tt_min(ratio, most));
  if (change) x->usual = !x->usual;
  x->period = x->settled ? tt_max(rare, (uint32_t)TT_LEARN_PERIOD) : TT_LEARN_FIRST;
  x->settled = true;
}

static void begin_period(tt_learner *x) {
  x->calls = x->period = x->other = 0;
  x->counted[0] = x->counted[1] = 0;
}

void tt_learn(tt_learner *x, int way, uint64_t ticks) {
  x->row = way == x->last ? (uint8_t)tt_min(x->row + 1, TT_LEARN_WARM) : 0;
  x->last = (uint8_t)way;
  x->other += way != x->usual;
  x->calls++;
  count(x, way, ticks);
  if (x->period && x->calls >= x->period) begin_period(x);
  const bool tries = x->counted[!x->usual] < TT_LEARN_COUNT && x->calls < TT_LEARN_TRIAL;
  const bool compares = x->counted[x->usual] < TT_LEARN_COUNT && x->calls < 2 * TT_LEARN_TRIAL;
  if (!x->period && !tries && !compares) decide(x);
  x->next = !x->period && tries ? !x->usual : x->usual;
}
