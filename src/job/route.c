/* route.c - learns which route short vectors take.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "route.h"

/* The other route must be that much shorter. */
static const double better = 0.95;

static uint32_t period_of(const tt_cycles *x) {
  return x->periods > 1 ? TT_ROUTE_PERIOD : x->periods ? 8 * TT_ROUTE_FIRST : TT_ROUTE_FIRST;
}

/* The route of the k-th call of a period. */
static uint8_t route_at(const tt_cycles *x, uint32_t k) {
  return k < TT_ROUTE_TRIAL ? !x->usual : x->usual;
}

/* Does the k-th call's cycle tell what its route costs? */
static bool counts(uint32_t k) {
  return k % TT_ROUTE_TRIAL >= TT_ROUTE_WARM && k < 2 * TT_ROUTE_TRIAL;
}

static void end_period(tt_cycles *x) {
  const uint64_t usual = x->least[x->usual], other = x->least[!x->usual];
  if (usual && other && (double)other < better * (double)usual) x->usual = !x->usual;
  x->least[0] = x->least[1] = 0;
  x->calls = 0;
  if (x->periods < 2) x->periods++;
}

void tt_route_learn(tt_cycles *x, uint64_t now) {
  const uint32_t before = x->calls - 1; /* the call that has ended */
  if (x->since && x->calls && counts(before)) {
    uint64_t *least = &x->least[route_at(x, before)];
    const uint64_t spent = now - x->since;
    if (!*least || spent < *least) *least = spent;
  }
  if (x->calls == period_of(x)) end_period(x);
  x->calls++; /* this call */
  x->since = now;
  x->next = x->calls < period_of(x) ? route_at(x, x->calls) : x->usual;
}
