/* generalized.c - the generalized allreduce with fewer steps than a fold and its reverse.
 *
 * Idea       Fold by halving (fold.c), but keep rho results instead of one. Then the first r steps of the reverse phase
 *            can be skipped. With r = L nothing remains of the reverse phase: this is the latency-optimal allreduce and, on
 *            circles of two, recursive doubling. Result x is the sum for block 0 shifted by x, so it needs the same
 *            partial sums, shifted. There are two kinds of them. Primes are sums that had a partner in every step so far.
 *            Stars are sums of vector 0, which is left out whenever the number of vectors is odd. Up to the first odd
 *            number both are equal and computed once; an odd step leaves the stars unchanged.
 * Cost       2L - r steps of one message, where L = ceil(log2 P) on one circle. A step that halves n sends floor(n/2) +
 *            rho - 1 blocks, at most P; rho is the number of vectors that the last skipped step would have produced. With
 *            r = L the vector is a single block.
 * Scratch    Up to 3 vectors.
 * Invariant  Primes are never in dst, so the last step can store the results there.
 * Same       Different ranks group the sum differently, except on circles of two. All ranks get the same bits for
 *            integers, min and max, which the prover detects.
 * Parameters r=R or latency (r = L); group=3x2x2 and inner as in fold.c.
 * Source     Kolmakov and Zhang, A Generalization of the Allreduce Operation, 2020,
 *            sections 8 and 9.
 * See        tutti plan draw 'generalized(r=1)' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_group.h"

#define R_WRONG "r goes from 0 to the number of halvings, ceil(log2 P) on one circle"

static int steps_down(const tt_group *g) {
  int steps = 0;
  for (int level = 0; level < g->levels; level++) steps += tt_ceil_log2((uint64_t)g->size[level]);
  return steps;
}

static int skipped_of(const tt_ask *ask, const tt_group *g) {
  return tt_param_given(ask, "latency") ? steps_down(g) : tt_param_number(ask, "r", 0);
}

static const char *generalized_refuse(const tt_ask *ask) {
  const char *wrong = tt_group_refuse(ask);
  if (wrong) return wrong;
  if (tt_param_given(ask, "latency") && tt_param_given(ask, "r"))
    return "latency is r = L: give one of them";
  const tt_group g = tt_group_of(ask, 1);
  const int skipped = skipped_of(ask, &g);
  return skipped > steps_down(&g) ? R_WRONG : NULL;
}

/* Returns true if the reverse phase is skipped. Each step then covers all positions, so the vector need not be divided. */
static bool needs_no_partition(const tt_ask *ask) {
  const tt_group g = tt_group_of(ask, 1);
  return skipped_of(ask, &g) == steps_down(&g);
}

static uint32_t generalized_blocks(const tt_ask *ask) {
  return needs_no_partition(ask) ? 1 : (uint32_t)ask->ranks;
}

/* ---- folding to rho results ---- */

enum { MOST_STEPS = 64 };

typedef struct halving {
  int level, n, m; /* the step keeps m of the level's n vectors */
} halving;

typedef enum place { SOURCE, RESULT, TMP0, TMP1, TMP2 } place;

typedef struct wide {
  tt_fold f;
  halving step[MOST_STEPS];
  int steps, cut; /* all results are kept from step `cut` */
  int rho;
  place star, prime; /* equal up to the first odd number of vectors */
} wide;

/* Returns the blocks of positions lo..hi-1 on this step's circle. On levels after the level of the cut, returns all
 * blocks of every circle. */
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

/* Receives the data of positions lo..hi-1 and adds it to the data at `own`. */
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

/* Returns how many consecutive steps, starting with step `from`, halve an even number of vectors. */
static int even_run(const wide *w, int from) {
  int i = from;
  while (i < w->steps && w->step[i].n % 2 == 0) i++;
  return i - from;
}

/* Runs a step while stars and primes are still equal. The buffers alternate, so that the run's last sum is in dst. */
static void together(wide *w, int i, int hi) {
  const halving *h = &w->step[i];
  if (h->n % 2) { /* vector 0 is left out */
    w->prime = fresh(w->star, w->star);
    add_received(w, h, w->prime, w->star, 1, hi);
    return;
  }
  const bool here = w->star == RESULT;
  place to = even_run(w, i) % 2 && !here ? RESULT : fresh(w->star, w->star);
  if (here && i + 1 == w->steps) { /* no free buffer, so adds in place */
    tt_recv(w->f.b, tt_group_peer(&w->f.g, h->level, h->m), span_of_positions(w, h, to, 0, hi));
    add_local(w, h, RESULT, RESULT, to, 0, hi);
    to = RESULT;
  } else {
    add_received(w, h, to, w->star, 0, hi);
  }
  w->star = w->prime = to;
}

/* Runs a step in which stars differ from primes. If the number of vectors is even, the received vectors are added to both. */
static void fold_star_and_prime(wide *w, int i, int rho, int hi) {
  const halving *h = &w->step[i];
  const place in = fresh(w->star, w->prime);
  const place home = w->star == SOURCE || i + 1 == w->steps ? RESULT : w->star;
  if (h->n % 2) {
    add_received(w, h, in, w->prime, 1, hi);
    w->prime = in;
  } else if (h->m == 1) { /* last step of the level: no primes remain */
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

/* Returns a group with one circle for the odd part of P, followed by circles of two ranks, such as 3x2x2. */
static tt_group twos_behind_odd(int ranks) {
  const int twos = ranks & -ranks, odd = ranks / twos;
  tt_group g = {.ranks = ranks};
  if (odd > 1) g.size[g.levels++] = odd;
  for (int k = 1; k < twos; k *= 2) g.size[g.levels++] = 2;
  return g;
}

/* Proposes three kinds of plans. On a single circle: every r between those of fold(halving) and latency. For even P:
 * every r that skips only steps on circles of two, so that all ranks get the same bits. On the machine's levels, folded
 * from the innermost outwards: every r. */
static bool generalized_plans(int ranks, const char *levels, int i, tt_text *params) {
  const int circle = tt_ceil_log2((uint64_t)ranks) - 1;
  if (i < circle) {
    tt_text_add(params, "r=%d", i + 1);
    return true;
  }
  i -= circle;
  tt_group g = twos_behind_odd(ranks);
  int twos = tt_ceil_log2((uint64_t)(ranks & -ranks));
  if (ranks == 1 << twos) twos--; /* with all steps on circles of two it would be doubling */
  tt_text_add(params, "r=%d,", i < twos ? i + 1 : i + 1 - twos);
  if (i >= twos) g.levels = tt_group_of_levels(ranks, levels, g.size);
  tt_group_print(params, g.size, g.levels);
  if (i < twos) return true;
  tt_text_add(params, ",inner");
  return i - twos < steps_down(&g);
}

static bool generalized_uniform(const tt_ask *ask, const tt_tree *tree) {
  const tt_group g = tt_group_of(ask, 1);
  return tt_group_fits(&g, tree);
}

const tt_algo tt_generalized_algo = {
    .name = "generalized",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"latency"},
               {"r", TT_PARAM_NUMBER, .hi = 999, .wrong = R_WRONG},
               TT_PARAM_GROUP,
               {"inner"}},
    .refuse = generalized_refuse,
    .blocks = generalized_blocks,
    .build = generalized_build,
    .plans = generalized_plans,
    .uniform = generalized_uniform,
    .entries = {{"generalized(latency)", TT_CANDIDATE,
                 "one exchange, ceil(log2 P) times, for any P",
                 "Kolmakov and Zhang 2020, section 9"}},
};
