/* tune_fit.c - finds the model parameters with which estimates agree best with measured times.
 *
 * Idea      the cost model itself is fitted: each parameter in turn is increased or decreased, in
 *           smaller and smaller steps, as long as the estimates come closer to the measured times.
 * Distance  between an estimate and a time: the absolute logarithm of their ratio. The part beyond
 *           MOST_OFF is divided by BEYOND, so that effects outside the model do not distort the
 *           result, but parameters far from their start are still found. Plans that are slow at
 *           their size count less, because they never run. Later the loss of the choice, which is
 *           the time that the chosen plans lose to the best ones, has the same weight. It is
 *           omitted at first because it is discontinuous and would keep the parameters from
 *           changing. A small penalty grows with the distance from the start.
 * Cost      a few hundred evaluations of all estimates of a few communicators: about a second. If
 *           it takes longer, the fit stops at its time limit and reports this.
 * Source    coordinate descent; least absolute deviations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"
#include "tutti_plan.h"

typedef struct unknown {
  const char *name;
  double start;
  const char *meaning;
} unknown;

static const unknown uncrowded[] = {
    {"shm.wake", 1e-7, "s: until a rank that has a core to itself sees a message"},
    {"shm.message", 2.5e-7, "s: to send the first message of a step, or to receive it"},
    {"shm.again", 2e-7, "s: to send each additional message of the same step"},
    {"shm.copy", 3e-11, "s/B: to copy a byte in, or out"},
    {"shm.loop.message", 8e-8, "s: as shm.message, in a specialized fast path"},
    {"shm.loop.again", 2e-8, "s: as shm.again, in a specialized fast path"},
    {"shm.loop.copy", 1.45e-11, "s/B: as shm.copy, in a specialized fast path"},
    {"shm.loop.further", 1e-11, "s/B: to add each additional input in the same pass"},
    {"shm.far", 6e-11, "s/B: as shm.copy, for the bytes of a vector beyond shm.cache"},
    {"shm.loop.far", 3e-11, "s/B: as shm.loop.copy, for the bytes beyond shm.cache"},
    {"shm.cache", 524288, "B: of a vector that stay close to a core"},
};
static const unknown crowded[] = {
    {"shm.turn", 1e-6, "s: as shm.wake where ranks share a core, per other rank on it"},
    {"shm.crowd.message", 1e-7, "s: as shm.message where ranks share a core"},
    {"shm.crowd.again", 1e-7, "s: as shm.again there"},
    {"shm.crowd.copy", 6e-11, "s/B: as shm.copy there"},
    {"shm.crowd.loop.message", 2e-7, "s: as shm.loop.message there"},
    {"shm.crowd.loop.again", 2e-8, "s: as shm.loop.again there"},
    {"shm.crowd.loop.copy", 6e-11, "s/B: as shm.loop.copy there"},
    {"shm.crowd.loop.further", 2e-11, "s/B: as shm.loop.further there"},
    {"shm.crowd.far", 6e-11, "s/B: as shm.far there"},
    {"shm.crowd.loop.far", 6e-11, "s/B: as shm.loop.far there"},
};
enum {
  OF_UNCROWDED = sizeof uncrowded / sizeof *uncrowded,
  OF_CROWDED = sizeof crowded / sizeof *crowded,
  UNKNOWNS = OF_UNCROWDED, /* the larger of the two numbers */
  ROUNDS = 60,
  TEXT = 4096
};
#define MOST_OFF   1.2 /* of a logarithm: a factor of 3.3 */
#define BEYOND     4
#define PULL       0.004 /* penalty for each factor of e between a parameter and its start */
#define FIRST_STEP 1.6   /* as a factor */
#define BYTES_STEP 4     /* factor for sizes, which were measured in steps of four */
#define LAST_STEP  1.02

typedef struct fit {
  const unknown *what;
  int unknowns;
  double value[UNKNOWNS];
  char fixed[TEXT];       /* the parameters that are known */
  const tune_points *all; /* `mine` selects those that count */
  int *mine, n;
  int *offer; /* for each point, the index of its plan in the list of estimates */
  double *weight, *price;
  bool chooses; /* the loss of the choice counts */
  bool late;    /* the time limit was reached */
} fit;

/* ---- estimates ---- */

static tutti_prices *prices_of(const fit *f, const tune_point *p) {
  char net[2 * TEXT], value[24];
  size_t at = (size_t)snprintf(net, sizeof net, "%s", f->fixed);
  for (int i = 0; i < f->unknowns; i++) {
    tune_number(f->value[i], value);
    at += (size_t)snprintf(net + at, sizeof net - at, "%s=%s\n", f->what[i].name, value);
  }
  const tutti_question q = {.size = sizeof q,
                            .ranks = p->ranks,
                            .type = TUTTI_FLOAT,
                            .op = TUTTI_SUM,
                            .net = net,
                            .crowd = p->crowd};
  tutti_prices *prices = NULL;
  return tutti_prices_make(&q, &prices) ? NULL : prices;
}

static int find_offer(tutti_prices *prices, const tune_point *p) {
  tutti_offer o = {.size = sizeof o};
  for (int i = 0; !tutti_prices_offer(prices, p->bytes, i, 0, &o); i++)
    if (o.possible && o.slices == 1 && strcmp(o.name, p->plan) == 0) return i;
  return -1;
}

static bool alike(const tune_point *a, const tune_point *b) {
  return a->ranks == b->ranks && a->crowd == b->crowd;
}

/* Estimates the times of all points. Points that have the same communicator are contiguous. */
static void price_all(fit *f) {
  tutti_prices *prices = NULL;
  tutti_offer o = {.size = sizeof o};
  for (int i = 0; i < f->n; i++) {
    const tune_point *p = &f->all->at[f->mine[i]];
    if (i == 0 || !alike(p, &f->all->at[f->mine[i - 1]])) {
      tutti_prices_free(prices);
      prices = prices_of(f, p);
    }
    if (prices && f->offer[i] == -2) f->offer[i] = find_offer(prices, p);
    f->price[i] = 0;
    if (prices && f->offer[i] >= 0 && !tutti_prices_offer(prices, p->bytes, f->offer[i], 0, &o))
      f->price[i] = o.seconds;
  }
  tutti_prices_free(prices);
}

/* Returns the mean, over groups of points, of log(time of the chosen plan / best time). A group consists of the
 * points for one message size in one launch, which are contiguous. */
static double regret(const fit *f) {
  double sum = 0;
  int n = 0;
  for (int i = 0, next; i < f->n; i = next, n++) {
    const tune_point *first = &f->all->at[f->mine[i]];
    const double *chosen = NULL;
    double best = first->seconds, cheapest = 0;
    for (next = i; next < f->n; next++) {
      const tune_point *p = &f->all->at[f->mine[next]];
      if (!alike(p, first) || p->bytes != first->bytes) break;
      if (p->seconds < best) best = p->seconds;
      if (f->price[next] <= 0 || (chosen && f->price[next] >= cheapest)) continue;
      chosen = &p->seconds;
      cheapest = f->price[next];
    }
    if (chosen) sum += log(*chosen / best);
  }
  return n ? sum / n : 0;
}

static double distance(fit *f) {
  double sum = 0, weights = 0, pull = 0;
  price_all(f);
  for (int i = 0; i < f->n; i++) {
    if (f->price[i] <= 0) continue;
    const double off = fabs(log(f->price[i] / f->all->at[f->mine[i]].seconds));
    sum += f->weight[i] * (off < MOST_OFF ? off : MOST_OFF + (off - MOST_OFF) / BEYOND);
    weights += f->weight[i];
  }
  for (int i = 0; i < f->unknowns; i++) pull += fabs(log(f->value[i] / f->what[i].start));
  return weights > 0 ? sum / weights + (f->chooses ? regret(f) : 0) + PULL * pull : 0;
}

/* ---- descent ---- */

/* Increases or decreases one parameter, if that improves the fit. Returns the new distance from the measured times. */
static double try_figure(fit *f, int i, double *step, double best) {
  const double before = f->value[i];
  for (int way = 0; way < 2; way++) {
    f->value[i] = way ? before / *step : before * *step;
    const double now = distance(f);
    if (now < best - 1e-7) return now;
  }
  f->value[i] = before;
  *step = sqrt(*step);
  return best;
}

static void descend(fit *f, double until) {
  double step[UNKNOWNS], best = distance(f), widest = BYTES_STEP;
  for (int i = 0; i < f->unknowns; i++) step[i] = f->what[i].start > 1 ? BYTES_STEP : FIRST_STEP;
  for (int r = 0; r < ROUNDS && widest > LAST_STEP; r++) {
    widest = 0;
    for (int i = 0; i < f->unknowns; i++) {
      f->late = cli_now() > until;
      if (f->late) return;
      if (step[i] > LAST_STEP) best = try_figure(f, i, &step[i], best);
      if (step[i] > widest) widest = step[i];
    }
  }
}

/* ---- the complete fit ---- */

static bool take_points(fit *f, const tune_points *points, bool crowd) {
  const size_t n = (size_t)points->n + 1;
  f->all = points;
  f->mine = calloc(n, sizeof *f->mine);
  f->offer = calloc(n, sizeof *f->offer);
  f->weight = calloc(n, sizeof *f->weight);
  f->price = calloc(n, sizeof *f->price);
  if (!f->mine || !f->offer || !f->weight || !f->price) return false;
  for (int i = 0; i < points->n; i++) {
    const tune_point *p = &points->at[i];
    if ((p->crowd > 1) != crowd || p->seconds <= 2e-9) continue;
    double best = p->seconds;
    for (int k = 0; k < points->n; k++)
      if (alike(p, &points->at[k]) && points->at[k].bytes == p->bytes &&
          points->at[k].seconds < best)
        best = points->at[k].seconds;
    f->weight[f->n] = best / p->seconds;
    f->offer[f->n] = -2; /* not searched yet */
    f->mine[f->n++] = i;
  }
  return f->n > 0;
}

/* Adds a note about the spread of a plan's rounds, averaged over all plans with enough rounds. */
static void note_noise(const fit *f, const char *whose, tune_result *r) {
  double spread = 0, rounds = 0;
  int wide = 0, few = 0;
  char lacking[64] = "", differ[64] = "are too few to say how they differ";
  for (int i = 0; i < f->n; i++) {
    const tune_point *p = &f->all->at[f->mine[i]];
    rounds += p->rounds;
    few += p->rounds < TUNE_FEW;
    if (p->rounds < TUNE_FEW) continue;
    spread += p->spread;
    wide += p->spread > TUNE_WIDE;
  }
  if (few < f->n)
    snprintf(differ, sizeof differ, "differ by %.0f %% in the mean", 100 * spread / (f->n - few));
  if (few && few < f->n)
    snprintf(lacking, sizeof lacking, ", %d of %d plans had fewer than %d", few, f->n, TUNE_FEW);
  tune_note(r, "%s: rounds of a plan, %.1f each, %s%s%s", whose, rounds / f->n, differ, lacking,
            (wide + few) * 4 > f->n ? TUNE_NOISY : "");
}

static void note_residuals(fit *f, const char *whose, tune_result *r) {
  double *off = calloc((size_t)f->n, sizeof *off);
  int n = 0, near = 0;
  distance(f);
  for (int i = 0; off && i < f->n; i++) {
    if (f->price[i] <= 0) continue;
    off[n++] = exp(fabs(log(f->price[i] / f->all->at[f->mine[i]].seconds)));
    near += off[n - 1] <= 1.3;
  }
  if (n) {
    cli_sort(off, (size_t)n);
    tune_note(r,
              "%s: %d times of plans; estimates are off by a factor of %.2f in the median, %.2f at "
              "worst, and within 1.3 for %d %%%s",
              whose, n, off[n / 2], off[n - 1], 100 * near / n,
              f->late ? "; the time ran out before the fit converged" : "");
  }
  free(off);
}

void tune_fit(const tune_points *points, bool crowd, double until, tune_result *r) {
  fit f = {.what = crowd ? crowded : uncrowded, .unknowns = crowd ? OF_CROWDED : OF_UNCROWDED};
  size_t at = 0;
  for (int i = 0; i < f.unknowns; i++) f.value[i] = f.what[i].start;
  for (int i = 0; i < r->figures && at < sizeof f.fixed; i++)
    at += (size_t)snprintf(f.fixed + at, sizeof f.fixed - at, "%s=%.9g\n", r->figure[i].name,
                           r->figure[i].value);
  if (take_points(&f, points, crowd)) {
    descend(&f, (cli_now() + until) / 2);
    f.chooses = true;
    descend(&f, until);
    for (int i = 0; i < f.unknowns; i++)
      tune_add(r, f.what[i].name, f.value[i], "%s", f.what[i].meaning);
    const char *whose = crowd ? "ranks that share cores" : "a core for each rank";
    note_residuals(&f, whose, r);
    note_noise(&f, whose, r);
  }
  free(f.mine);
  free(f.offer);
  free(f.weight);
  free(f.price);
}
