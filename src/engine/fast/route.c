/* route.c - learns which route vectors of one size take.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "route.h"

/* better: the other route must take at most this part of the usual one's time. RARE: calls of a period per call of a trial,
 * so that a trial of a route that takes twice as long costs 1 % of the time; a period grows with that ratio, up to
 * `most`, because a time may be wrong. */
static const double better = 0.95, most = 8;
enum { RARE = 100 };

void tt_route_begin(tt_cycles *x, tt_route expected) {
  *x = (tt_cycles){.period = TT_ROUTE_FIRST, .usual = expected, .next = expected};
}

/* The route of the k-th call of a period. */
static uint8_t route_at(const tt_cycles *x, uint32_t k) {
  return k < TT_ROUTE_TRIAL ? !x->usual : x->usual;
}

/* Does the k-th call's time tell what its route costs? */
static bool counts(uint32_t k) {
  return k % TT_ROUTE_TRIAL >= TT_ROUTE_WARM && k < 2 * TT_ROUTE_TRIAL;
}

static void end_period(tt_cycles *x) {
  const double usual = (double)x->least[x->usual], other = (double)x->least[!x->usual];
  const bool known = usual > 0 && other > 0, change = known && other < better * usual;
  const double longer = !known ? 1 : change ? usual / other : tt_max(1, other / usual);
  const double rare = RARE * TT_ROUTE_TRIAL * (tt_min(longer, most) - 1);
  if (change) x->usual = !x->usual;
  x->period = tt_max(x->settled ? (uint32_t)TT_ROUTE_PERIOD : 8 * TT_ROUTE_FIRST, (uint32_t)rare);
  x->settled = true;
  x->least[0] = x->least[1] = 0;
  x->calls = 0;
}

void tt_route_learn(tt_cycles *x, uint64_t spent) {
  const uint32_t before = x->calls - 1; /* the call that has ended */
  if (spent && x->calls && counts(before)) {
    uint64_t *least = &x->least[route_at(x, before)];
    if (!*least || spent < *least) *least = spent;
  }
  if (x->calls == x->period) end_period(x);
  x->calls++; /* this call */
  x->next = x->calls < x->period ? route_at(x, x->calls) : x->usual;
}
