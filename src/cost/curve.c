/* curve.c - approximates the predicted time as a function of the size by a few lines.
 *
 * Idea       A simulation at one size also yields the line that is valid around that size. At the intersection of the
 *            lines of two sizes, a third simulation shows whether they are adjacent or another line lies between them.
 *            This is repeated recursively.
 * Cost       Usually two simulations more than there are lines. Long simulations are run fewer times.
 * Invariant  Exact if the order of events is fixed, because the time is then the maximum of lines. Otherwise close,
 *            because it is exact at every simulated size.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "sim.h"

/* The range of sizes, in bytes. At 0 bytes many events would be simultaneous, and their order would be arbitrary. */
static const double shortest = 1, longest = (double)((int64_t)1 << 42);

static double time_at(tt_line l, double bytes) {
  return l.fixed + l.slope * bytes;
}

static bool nearly_equal(double a, double b) {
  return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* Returns a size between lo and hi that is within a factor of two of their geometric mean. */
static double halfway(double lo, double hi) {
  double mid = lo > 1 ? lo : 1;
  while (mid * mid < (lo > 1 ? lo : 1) * hi) mid *= 2;
  return mid < hi ? mid : (lo + hi) / 2;
}

static bool near(double a, double b) {
  return a - b <= 0.01 * a && b - a <= 0.01 * b;
}

static bool line_at(tt_sim *sim, double bytes, tt_line *l) {
  tt_breakdown breakdown;
  if (!tt_sim_unbound(sim, bytes, &breakdown)) return false;
  *l = (tt_line){.fixed = breakdown.fixed, .slope = breakdown.slope};
  return true;
}

/* Removes the line with the smallest ratio between the ends of its range. The range is added to that of the previous line. */
static void drop_shortest_line(tt_curve *c, double end) {
  int least = 1;
  for (int i = 1; i < c->n; i++) {
    const double to = i + 1 < c->n ? c->line[i + 1].from : end;
    const double best = least + 1 < c->n ? c->line[least + 1].from : end;
    if (to * c->line[least].from < best * c->line[i].from) least = i;
  }
  c->n--;
  for (int i = least; i < c->n; i++) c->line[i] = c->line[i + 1];
}

void tt_curve_add(tt_curve *c, double from, tt_line l) {
  const tt_line *last = c->n ? &c->line[c->n - 1] : NULL;
  if (last && nearly_equal(last->fixed, l.fixed) && nearly_equal(last->slope, l.slope)) return;
  if (c->n == TT_CURVE) drop_shortest_line(c, from);
  l.from = from;
  c->line[c->n++] = l;
}

static bool refine_between(tt_sim *sim, tt_curve *c, double lo, tt_line a, double hi, tt_line b,
                           int deep);

/* Simulates one size near the middle, to check that line l is valid between lo and hi. */
static bool look_between(tt_sim *sim, tt_curve *c, double lo, double hi, tt_line l, int deep) {
  const double mid = halfway(lo, hi);
  tt_line m;
  if (deep < 2) return true;
  if (!line_at(sim, mid, &m)) return false;
  if (near(time_at(m, mid), time_at(l, mid))) return true;
  return refine_between(sim, c, lo, l, mid, m, deep - 2) &&
         refine_between(sim, c, mid, m, hi, l, deep - 2);
}

/* Adds the lines between two sizes for which the lines are known. The line at the lower size is already in the curve. */
static bool refine_between(tt_sim *sim, tt_curve *c, double lo, tt_line a, double hi, tt_line b,
                           int deep) {
  if (nearly_equal(time_at(a, hi), time_at(b, hi)) && nearly_equal(time_at(a, lo), time_at(b, lo)))
    return look_between(sim, c, lo, hi, a, deep);
  double mid = a.slope == b.slope ? -1 : (a.fixed - b.fixed) / (b.slope - a.slope);
  const bool crosses = mid > lo && mid < hi;
  if (!crosses) mid = halfway(lo, hi); /* not a maximum of lines */
  tt_line m;
  if (!line_at(sim, mid, &m)) return false;
  if (deep == 0 && !crosses) /* the time is hardly below either line */
    mid = time_at(a, mid) > time_at(b, mid) ? hi : lo;
  if (deep == 0 || (crosses && nearly_equal(time_at(m, mid), time_at(a, mid)))) {
    if (!look_between(sim, c, lo, mid, a, deep)) return false;
    tt_curve_add(c, mid, b);
    return look_between(sim, c, mid, hi, b, deep);
  }
  if (!refine_between(sim, c, lo, a, mid, m, deep - 1)) return false;
  return refine_between(sim, c, mid, m, hi, b, deep - 1);
}

bool tt_price_curve(tt_sim *sim, tt_curve *curve) {
  tt_line a, b;
  const tt_sends sends = tt_sim_busiest(sim);
  const double burst = sim->link_burst;
  *curve = (tt_curve){.link = sim->link_slope,
                      .saves = burst > 0,
                      .messages = sends.messages,
                      .senders = sim->senders,
                      .incast_threshold = tt_sim_incast_threshold(sim)};
  if (!line_at(sim, shortest, &a) || !line_at(sim, longest, &b)) return false;
  tt_curve_add(curve, 0, a);
  const bool few = sim->steps + sim->messages < 1000;
  return refine_between(sim, curve, shortest, a, longest, b, few ? 6 : 1);
}
