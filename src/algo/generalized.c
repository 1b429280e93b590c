/* generalized.c - the generalized allreduce with fewer steps than a fold there and back.
 *
 * Idea       fold by halving (fold.c), but keep rho results instead of one; then the first r
 *            steps of the way back are not needed. r = L keeps all of them, so there is no
 *            way back: the latency-optimal allreduce, and on circles of two, recursive
 *            doubling. Result x is the sum for block 0 shifted by x, so it needs the same
 *            partial sums, shifted. There are two kinds: primes, the sums that met a partner
 *            in every step so far, and stars, those of vector 0, which was left out whenever
 *            the number of vectors was odd. Until it is odd for the first time both are the
 *            same and are computed once; an odd step leaves the stars unchanged.
 * Cost       2L - r steps of one message, L = ceil(log2 P) on one circle. A step that
 *            halves n sends floor(n/2) + rho - 1 blocks, at most P; rho is the number
 *            of vectors that the last skipped step would have made. With r = L the
 *            vector is one block.
 * Scratch    up to 3 vectors.
 * Invariant  primes are never in dst, so the last step can put the results there.
 * Same       the sum is grouped differently on different ranks, except on circles of two:
 *            for integers, min and max (the prover finds out).
 * Parameters r=R or latency (r = L); group=3x2x2 and inner as in fold.c.
 * Source     Kolmakov and Zhang, A Generalization of the Allreduce Operation, 2020,
 *            sections 8 and 9.
 * See        tutti plan draw 'generalized(r=1)' -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "algo_group.h"

static int steps_down(const tt_group *g) {
  int steps = 0;
  for (int level = 0; level < g->levels; level++) steps += tt_ceil_log2((uint64_t)g->size[level]);
  return steps;
}

/* -1: not a valid number. */
static int skipped_of(const tt_ask *ask, const tt_group *g) {
  int r;
  if (tt_param_word(ask, "latency")) return steps_down(g);
  return tt_param_int(ask, "r", 0, 999, 0, &r) ? r : -1;
}

static const char *generalized_refuse(const tt_ask *ask) {
  char r[8];
  const char *wrong = tt_group_refuse(ask);
  if (wrong) return wrong;
  if (tt_param_word(ask, "latency") && tt_param_value(ask, "r", r, sizeof r))
    return "latency is r = L: give one of them";
  const tt_group g = tt_group_of(ask, 1);
  const int skipped = skipped_of(ask, &g);
  if (skipped < 0 || skipped > steps_down(&g))
    return "r goes from 0 to the number of halvings, ceil(log2 P) on one circle";
  return NULL;
}

/* Without a way back every step uses all positions, so the vector need not be cut. */
static bool needs_no_partition(const tt_ask *ask) {
  const tt_group g = tt_group_of(ask, 1);
  return skipped_of(ask, &g) == steps_down(&g);
}

static uint32_t generalized_blocks(const tt_ask *ask) {
  return needs_no_partition(ask) ? 1 : (uint32_t)ask->ranks;
}

/* ---- the way down with rho results ---- */

enum { MOST_STEPS = 64 };

typedef struct halving {
  int level, n, m; /* of n vectors of a level, m stay */
} halving;

typedef enum place { SOURCE, RESULT, TMP0, TMP1, TMP2 } place;

typedef struct wide {
  tt_fold f;
  halving step[MOST_STEPS];
  int steps, cut; /* from step `cut` on all results are kept */
  int rho;
  place star, prime; /* the same until a number is odd */
} wide;

/* Positions lo..hi-1 on the circle of the step, with all blocks that go along. After the level of
 * the cut these are all of every circle. */
static tt_span span_of_positions(const wide *w, const halving *h, place at, int lo, int hi) {
  const int level = w->step[w->cut].level;
  const tt_buf buf = at == SOURCE ? TT_SRC : at == RESULT ? TT_DST : TT_TMP;
  tt_span span = tt_block(buf, 0);
  if (w->cut > 0)
    span = h->level == level ? tt_group_vectors(&w->f.g, buf, level, lo, hi)
                             : tt_group_vectors(&w->f.g, buf, level, 0, w->rho);
  return buf == TT_TMP ? tt_layer(span, (uint32_t)(at - TMP0), w->f.b->s->blocks) : span;
}

static place fresh(place a, place b) {
  place at = TMP0;
  while (at == a || at == b) at++;
  return at;
}

/* Adds what is received for positions lo..hi-1 to what is there already. */
static void add_received(const wide *w, const halving *h, place to, place own, int lo, int hi) {
  tt_recv_reduce(w->f.b, tt_group_peer(&w->f.g, h->level, h->n - h->m),
                 span_of_positions(w, h, to, lo, hi), span_of_positions(w, h, own, lo, hi),
                 tt_group_side(&w->f.g, h->level));
}

static void add_local(const wide *w, const halving *h, place to, place own, place in, int lo,
                      int hi) {
  tt_span mine = span_of_positions(w, h, own, lo, hi), other = span_of_positions(w, h, in, lo, hi);
  bool first = tt_group_side(&w->f.g, h->level) == TT_OWN_FIRST;
  tt_reduce_local(w->f.b, span_of_positions(w, h, to, lo, hi), first ? mine : other,
                  first ? other : mine);
}

/* The number of consecutive steps, from `from` on, that halve an even number. */
static int even_run(const wide *w, int from) {
  int i = from;
  while (i < w->steps && w->step[i].n % 2 == 0) i++;
  return i - from;
}

/* While stars and primes are the same: alternates buffers so that the last sum of the run is in
 * dst. */
static void together(wide *w, int i, int hi) {
  const halving *h = &w->step[i];
  if (h->n % 2) { /* vector 0 is left out */
    w->prime = fresh(w->star, w->star);
    add_received(w, h, w->prime, w->star, 1, hi);
    return;
  }
  const bool here = w->star == RESULT;
  place to = even_run(w, i) % 2 && !here ? RESULT : fresh(w->star, w->star);
  if (here && i + 1 == w->steps) { /* no free buffer: adds in place */
    tt_recv(w->f.b, tt_group_peer(&w->f.g, h->level, h->m), span_of_positions(w, h, to, 0, hi));
    add_local(w, h, RESULT, RESULT, to, 0, hi);
    to = RESULT;
  } else {
    add_received(w, h, to, w->star, 0, hi);
  }
  w->star = w->prime = to;
}

/* Stars and primes differ: an even step adds the received vectors to both. */
static void fold_star_and_prime(wide *w, int i, int rho, int hi) {
  const halving *h = &w->step[i];
  const place in = fresh(w->star, w->prime);
  const place home = w->star == SOURCE || i + 1 == w->steps ? RESULT : w->star;
  if (h->n % 2) {
    add_received(w, h, in, w->prime, 1, hi);
    w->prime = in;
  } else if (h->m == 1) { /* the end of the level: no more primes */
    add_received(w, h, home, w->star, 0, rho);
    w->star = w->prime = home;
  } else {
    tt_recv(w->f.b, tt_group_peer(&w->f.g, h->level, h->m), span_of_positions(w, h, in, 0, hi));
    add_local(w, h, home, w->star, in, 0, rho);
    add_local(w, h, in, w->prime, in, 1, hi);
    w->star = home;
    w->prime = in;
  }
}

static void widen(wide *w, int i) {
  const halving *h = &w->step[i];
  const int level = w->step[w->cut].level;
  const int rho = h->level == level ? w->rho : w->f.g.size[h->level];
  tt_send(w->f.b, tt_group_peer(&w->f.g, h->level, h->m - h->n),
          span_of_positions(w, h, w->prime, h->m, h->n + rho - 1));
  if (w->star == w->prime)
    together(w, i, h->m + rho - 1);
  else
    fold_star_and_prime(w, i, rho, h->m + rho - 1);
  if (i + 1 == w->steps) tt_mark_completes(w->f.b);
}

static void generalized_build(tt_builder *b, const tt_ask *ask) {
  wide w = {.f = {b, tt_group_of(ask, 1), TT_DST, 0}, .rho = 1};
  const tt_group *g = &w.f.g;
  for (int level = 0; level < g->levels; level++)
    for (int n = g->size[level]; n > 1; n = (n + 1) / 2)
      w.step[w.steps++] = (halving){level, n, (n + 1) / 2};
  w.f.touched = g->size[0];
  w.cut = w.steps - skipped_of(ask, g);
  const int plain = w.cut < w.steps ? w.step[w.cut].level : g->levels;
  if (w.cut < w.steps) w.rho = w.step[w.cut].n;
  for (int i = 0; i < w.steps; i++) {
    const halving *h = &w.step[i];
    if (h->level < plain) {
      tt_fold_down(&w.f, h->level, h->n, h->m,
                   tt_group_vectors(g, TT_DST, h->level, 2 * h->m - h->n, h->m));
      if (i + 1 == w.steps) tt_mark_completes(b);
      if (h->m == 1) w.f.touched = 0;
      w.star = w.prime = RESULT;
    } else {
      if (i == 0 && ask->in_place) w.star = w.prime = RESULT;
      widen(&w, i);
    }
  }
  for (int i = w.cut - 1; i >= 0; i--)
    tt_fold_up(&w.f, w.step[i].level, w.step[i].n, w.step[i].m, TT_DST);
}

/* Every r on the circle, then every split of P, both ways, with every r. */
static bool generalized_samples(int ranks, int i, char *params, size_t size) {
  const int log = tt_ceil_log2((uint64_t)ranks);
  const int variants = log + 3; /* exceeds the number of steps of a split; larger r wrap */
  char text[100];
  if (i <= log) {
    snprintf(params, size, "r=%d", i);
    return true;
  }
  i -= log + 1;
  if (!tt_group_split(ranks, i / (2 * variants), text, sizeof text)) return false;
  tt_group g = {.ranks = ranks};
  g.levels = tt_group_sizes(text, ranks, g.size);
  snprintf(params, size, "group=%s,r=%d%s", text, i / 2 % variants % (steps_down(&g) + 1),
           i % 2 ? ",inner" : "");
  return true;
}

/* The steps of a fold on the machine's levels, and the sizes of these; 0 on a machine without even levels. */
static int steps_of_levels(int ranks, const char *levels, char *text, size_t size) {
  int sizes[TT_LEVELS], steps = 0;
  const bool even = tt_group_of_levels(ranks, levels, text, size);
  for (int n = even ? tt_group_sizes(text, ranks, sizes) : 0; n > 0; n--)
    steps += tt_ceil_log2((uint64_t)sizes[n - 1]);
  return steps;
}

/* Circles of two behind the odd part of P, such as 3x2x2; returns how many. */
static int twos_behind_odd(int ranks, char *text, size_t size) {
  const int twos = ranks & -ranks, odd = ranks / twos;
  size_t at = odd > 1 ? (size_t)snprintf(text, size, "%d", odd) : 0;
  for (int k = 1; k < twos; k *= 2)
    at += (size_t)snprintf(text + at, size - at, "%s2", at ? "x" : "");
  return tt_ceil_log2((uint64_t)twos);
}

/* Every r between those of fold(halving) and latency on one circle; for even P every r that skips only
 * steps on circles of two, where all ranks get the same bits; and every r on the machine's levels, the
 * innermost folded first. */
static bool generalized_plans(int ranks, const char *levels, int i, char *params, size_t size) {
  const int circle = tt_ceil_log2((uint64_t)ranks) - 1;
  char text[100] = "";
  int twos;
  if (i < circle) {
    snprintf(params, size, "r=%d", i + 1);
    return true;
  }
  i -= circle;
  twos = twos_behind_odd(ranks, text, sizeof text);
  if (ranks == 1 << twos) twos--; /* with all steps on circles of two it is doubling */
  if (i < twos) {
    snprintf(params, size, "r=%d,group=%s", i + 1, text);
    return true;
  }
  i -= twos;
  if (i >= steps_of_levels(ranks, levels, text, sizeof text)) return false;
  snprintf(params, size, "r=%d,group=%s,inner", i + 1, text);
  return true;
}

static bool generalized_uniform(const tt_ask *ask, const tt_tree *tree) {
  const tt_group g = tt_group_of(ask, 1);
  return tt_group_fits(&g, tree);
}

const tt_algo tt_generalized_algo = {
    .name = "generalized",
    .does = TT_DOES_ALLREDUCE,
    .params = "latency r= group= inner",
    .refuse = generalized_refuse,
    .blocks = generalized_blocks,
    .build = generalized_build,
    .samples = generalized_samples,
    .plans = generalized_plans,
    .uniform = generalized_uniform,
    .entries = {{"generalized(latency)", TT_CANDIDATE,
                 "one exchange, ceil(log2 P) times, for any P",
                 "Kolmakov and Zhang 2020, section 9"}},
};
