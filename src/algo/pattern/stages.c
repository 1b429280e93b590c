/* stages.c - composes the schedules of the levels.
 *
 * Idea       a stage is a whole schedule of its algorithm, built for the ranks of its level alone. It
 *            is copied step by step: its ranks become those of the level's group, and its blocks
 *            become runs of blocks of the part that the stage works on.
 * Cost       that of the stages, each on its part.
 * Scratch    as much as the stage that needs most, but for parts as if they were the whole vector.
 * Invariant  block k of a stage that is cut into n is the k-th n-th of its part, in tmp too: layers of
 *            tmp have the shape of the whole vector. A step whose blocks lie otherwise is refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 1 << 16 };

typedef struct stage {
  char name[TT_NAME];
  int level; /* in the tree */
  int size;  /* ranks of a group */
  int apart; /* the distance of two neighbours, in ranks */
  int digit; /* which of them this rank is */
  bool scatters;
  uint32_t blocks; /* of its own schedule */
  uint32_t all;    /* blocks of the part that it works on */
  uint32_t from;   /* the first of these */
} stage;

typedef struct tt_composition {
  stage of[TT_TREE_LEVELS];
  tt_sched *in[TT_TREE_LEVELS], *back[TT_TREE_LEVELS]; /* of each stage; back: if it scatters */
  int n;
  uint32_t blocks;
} composition;

void tt_composition_free(composition *c) {
  for (int i = 0; c && i < c->n; i++) {
    tt_sched_free(c->in[i]);
    tt_sched_free(c->back[i]);
  }
  free(c);
}

/* ---- the stages, from the parameters ---- */

static const char *say(const char *format, const char *word, const char *more) {
  size_t size;
  char why[200], *text = tt_thread_text(&size);
  snprintf(why, sizeof why, "%s", more);
  snprintf(text, size, format, word, why);
  return text;
}

/* The algorithm of a stage on the way back. The all-gather behind two-shot is one-shot. */
static const char *way_back(const stage *s) {
  return tt_algo_does(s->name, TUTTI_ALL_GATHER) ? s->name : "one-shot";
}

/* What a stage does on the way in, and back. */
static tt_ask ask_of(const tt_ask *ask, const stage *s, bool first, bool back) {
  tt_ask own = {.coll = ask->coll, .ranks = s->size, .rank = s->digit};
  if (s->scatters) own.coll = back ? TUTTI_ALL_GATHER : TUTTI_REDUCE_SCATTER;
  own.in_place = back || !first || ask->in_place;
  return own;
}

/* Lists the levels of more than one rank; returns how many. */
static int list_levels(const tt_ask *ask, const tt_tree *tree, composition *c) {
  int apart = 1;
  c->n = 0;
  for (int l = 0; l < tree->levels; l++)
    if (tree->level[l].each > 1) c->of[c->n++] = (stage){.level = l, .size = tree->level[l].each};
  for (int i = c->n - 1; i >= 0; i--) {
    stage *s = &c->of[i];
    s->apart = apart;
    s->digit = ask->rank / apart % s->size;
    apart *= s->size;
  }
  return c->n;
}

static const char *name_stages(const tt_ask *ask, composition *c) {
  static const char wrong[] =
      "stages must name one algorithm for each level of more than one rank, with slashes between";
  char text[TT_NAME];
  const char *at = text;
  if (!tt_param_value(ask, "stages", text, sizeof text)) return wrong;
  for (int i = 0; i < c->n; i++) {
    const size_t length = tt_text_until(at, "/");
    if (!length) return wrong;
    snprintf(c->of[i].name, TT_NAME, "%.*s", (int)length, at);
    tt_algo_full_name(c->of[i].name);
    c->of[i].scatters = i > 0 && tt_algo_does(c->of[i].name, TUTTI_REDUCE_SCATTER);
    at += length;
    if (i + 1 < c->n && *at++ != '/') return wrong;
  }
  return *at ? wrong : NULL;
}

static uint64_t common_multiple(uint64_t a, uint64_t b) {
  uint64_t x = a, y = b;
  while (y) {
    const uint64_t rest = x % y;
    x = y, y = rest;
  }
  return a / x * b;
}

/* How finely the vector is cut, so that each stage's blocks are runs. */
static const char *cut(composition *c) {
  uint64_t all = 1;
  for (int i = 0; i < c->n && all <= MOST_BLOCKS; i++)
    if (!c->of[i].scatters) all = common_multiple(all, c->of[i].blocks);
  for (int i = 0; i < c->n && all <= MOST_BLOCKS; i++) {
    if (c->of[i].scatters) all *= (uint64_t)c->of[i].size;
    c->of[i].all = (uint32_t)all;
  }
  if (all > MOST_BLOCKS) return "its stages together cut the vector into too many blocks";
  c->blocks = (uint32_t)all;
  for (int i = c->n - 1, from = 0; i >= 0; i--) {
    stage *s = &c->of[i];
    s->from = (uint32_t)from;
    if (s->scatters) from += s->digit * (int)(s->all / (uint32_t)s->size);
  }
  return NULL;
}

/* ---- a stage's schedule, in the whole ---- */

static uint32_t layer_of(const stage *s, const tt_span *span) {
  return span->buf == TT_TMP ? tt_span_block(span, 0) / s->blocks : 0;
}

static bool within_a_layer(const stage *s, const tt_span *span) {
  for (uint32_t i = 0; i < tt_span_size(span); i++)
    if (tt_span_block(span, i) / s->blocks != layer_of(s, span)) return false;
  return true;
}

static bool is_a_run(const tt_span *span) {
  return span->repeat == 1 && span->first + span->count <= span->ring;
}

/* False: no span of the whole has these blocks. */
static bool place(const composition *c, const stage *s, tt_span *span) {
  const uint32_t wide = s->all / s->blocks;
  if (span->buf == TT_TMP && s->all == c->blocks && wide == 1) return true;
  if (span->buf == TT_TMP && s->blocks == 1) { /* a layer each */
    if (!is_a_run(span)) return false;
    const uint32_t first = span->base + span->stride * span->first;
    *span = (tt_span){TT_TMP,     s->from + c->blocks * first, 0, wide, c->blocks * span->stride, 1,
                      span->count};
    return true;
  }
  if (span->buf == TT_TMP && !within_a_layer(s, span)) return false;
  const uint32_t layer = layer_of(s, span), to = s->from + layer * c->blocks;
  const uint32_t base = span->base - layer * s->blocks;
  if (wide == 1 || span->stride == 1) {
    span->base = base * wide + to;
    if (wide > 1) span->first *= wide, span->count *= wide, span->ring *= wide;
    return true;
  }
  if (!is_a_run(span)) return false;
  const uint32_t first = base + span->stride * span->first;
  *span = (tt_span){span->buf, to + wide * first, 0, wide, wide * span->stride, 1, span->count};
  return true;
}

/* From one input of a reduction to the next. */
static bool place_inputs(const composition *c, const stage *s, tt_step *step) {
  tt_span last = step->in;
  last.base += (step->inputs - 1) * step->in_step;
  const uint32_t layers = layer_of(s, &last) - layer_of(s, &step->in);
  if (step->in_step % s->blocks == 0 && step->in.buf == TT_TMP)
    step->in_step = step->in_step / s->blocks * c->blocks;
  else if (layers == 0)
    step->in_step *= s->all / s->blocks;
  else
    return false;
  return place(c, s, &step->in);
}

static bool place_peers(const tt_ask *ask, const stage *s, tt_peers *peers) {
  const int first = tt_mod(peers->first, s->size), base = ask->rank - s->digit * s->apart;
  const int64_t last = first + (int64_t)(peers->count - 1) * peers->stride;
  const bool around = last < 0 || last >= s->size;
  if (around && (int64_t)s->apart * s->size != ask->ranks) return false;
  *peers = (tt_peers){base + s->apart * first, peers->count, peers->stride * s->apart};
  return true;
}

static bool place_step(const tt_ask *ask, const composition *c, const stage *s, tt_step *step) {
  if (s != &c->of[0]) step->completes = 0;
  if (!tt_step_local(step) && !place_peers(ask, s, &step->peers)) return false;
  if (step->kind != TT_SEND && !place(c, s, &step->dst)) return false;
  if (step->kind != TT_RECV && !place(c, s, &step->own)) return false;
  return step->kind != TT_REDUCE || !step->inputs || place_inputs(c, s, step);
}

/* Appends a stage; b is NULL to try only. NULL, or why that fails. */
static const char *append(tt_builder *b, const tt_ask *ask, const composition *c, const stage *s,
                          const tt_sched *sched) {
  for (uint32_t i = 0; i < sched->nsteps; i++) {
    tt_step step = sched->steps[i];
    if (!place_step(ask, c, s, &step))
      return say("stage %s cannot work on a part of the vector%s", s->name, "");
    if (b) tt_build_step(b, &step);
  }
  return NULL;
}

static const char *append_all(tt_builder *b, const tt_ask *ask, const composition *c) {
  const char *wrong = NULL;
  for (int i = c->n - 1; i >= 0 && !wrong; i--) wrong = append(b, ask, c, &c->of[i], c->in[i]);
  for (int i = 1; i < c->n && !wrong; i++)
    if (c->of[i].scatters) wrong = append(b, ask, c, &c->of[i], c->back[i]);
  return wrong;
}

static const char *build_stage(const tt_ask *ask, composition *c, int i) {
  stage *s = &c->of[i];
  const bool first = i + 1 == c->n;
  const tt_ask in = ask_of(ask, s, first, false), back = ask_of(ask, s, first, true);
  tutti_status status = tt_algo_build(s->name, &in, &c->in[i]);
  if (!status && s->scatters) status = tt_algo_build(way_back(s), &back, &c->back[i]);
  if (status == TUTTI_ERR_MEMORY) return tt_no_memory;
  if (status) return say("stage %s: %s", s->name, tutti_error());
  s->blocks = c->in[i]->blocks;
  if (c->in[i]->data < s->size)
    return say("stage %s takes data from some of its ranks only%s", s->name, "");
  return NULL;
}

static const char *compose_new(const tt_ask *ask, const tt_tree *tree, composition *c) {
  if (!tree->even) return "stages need levels whose groups all have one size";
  if (ask->coll != TUTTI_ALLREDUCE && ask->coll != TUTTI_BARRIER)
    return "stages make an allreduce; for other collectives name a sequence (seq=)";
  if (list_levels(ask, tree, c) == 0) return "stages need a level of more than one rank";
  const char *wrong = name_stages(ask, c);
  for (int i = 0; i < c->n && !wrong; i++) wrong = build_stage(ask, c, i);
  return wrong ? wrong : cut(c);
}

/* Finds the composition that is kept, or makes one. NULL, or why that fails. */
static const char *compose(const tt_ask *ask, const tt_tree *tree, composition **c) {
  *c = ask->composed ? *ask->composed : NULL;
  if (*c) return NULL;
  *c = calloc(1, sizeof **c);
  if (!*c) return tt_no_memory;
  const char *wrong = compose_new(ask, tree, *c);
  if (wrong) {
    tt_composition_free(*c);
    *c = NULL;
  } else if (ask->composed) {
    *ask->composed = *c;
  }
  return wrong;
}

static void done_with(const tt_ask *ask, composition *c) {
  if (!ask->composed) tt_composition_free(c);
}

const char *tt_stages_refuse(const tt_ask *ask, const tt_tree *tree) {
  composition *c;
  const char *wrong = compose(ask, tree, &c);
  if (!wrong) wrong = append_all(NULL, ask, c);
  done_with(ask, c);
  return wrong;
}

uint32_t tt_stages_blocks(const tt_ask *ask, const tt_tree *tree) {
  composition *c;
  const uint32_t blocks = compose(ask, tree, &c) ? 1 : c->blocks;
  done_with(ask, c);
  return blocks;
}

void tt_stages_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree) {
  composition *c;
  const char *wrong = compose(ask, tree, &c);
  if (!wrong) wrong = append_all(b, ask, c);
  if (wrong && !b->status) b->status = tt_fail(TUTTI_ERR_MEMORY, "%s", wrong);
  done_with(ask, c);
}

static bool same_levels(const tt_tree *a, const tt_tree *b) {
  bool same = b->even && a->levels == b->levels;
  for (int l = 0; same && l < a->levels; l++) same = a->level[l].each == b->level[l].each;
  return same;
}

static bool stages_are_uniform(const tt_ask *ask, const composition *c) {
  for (int i = 0; i < c->n; i++) {
    const tt_ask own = ask_of(ask, &c->of[i], i + 1 == c->n, false);
    const tt_ask back = ask_of(ask, &c->of[i], false, true);
    if (!tt_algo_uniform(c->of[i].name, &own, NULL) ||
        (c->of[i].scatters && !tt_algo_uniform(way_back(&c->of[i]), &back, NULL)))
      return false;
  }
  return true;
}

bool tt_stages_uniform(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine) {
  composition *c;
  if (compose(ask, tree, &c)) return false;
  const bool uniform = stages_are_uniform(ask, c);
  done_with(ask, c);
  return uniform && (!machine || same_levels(tree, machine));
}

int tt_stages_list(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine,
                   tt_level_stage *list) {
  composition *c;
  int n = 0;
  if (!same_levels(tree, machine) || compose(ask, tree, &c)) return 0;
  for (int k = 0; k < 2 * c->n; k++) {
    const bool back = k >= c->n;
    const stage *s = &c->of[back ? k - c->n : c->n - 1 - k];
    if (back && !s->scatters) continue;
    list[n] = (tt_level_stage){.coll = ask_of(ask, s, false, back).coll,
                               .ranks = s->size,
                               .level = s->level,
                               .part = (double)s->all / c->blocks};
    snprintf(list[n++].name, TT_NAME, "%s", back ? way_back(s) : s->name);
  }
  done_with(ask, c);
  return n;
}

/* ---- proposals ---- */

/* What stages are proposed for, of these lists: the first for plans, all for samples. N stands for a
 * number of lanes. */
static const char *const inner[] = {
    "fold(halving)", "doubling",   "windows",     "two-shot", "fold(ring)",
    "bruck",         "lanes(n=N)", "elimination", "one-shot", "multiplying(radix=3)"};
static const char *const outer[] = {"lanes(n=N)",
                                    "doubling",
                                    "windows",
                                    "fold(halving)",
                                    "consistent(i=1)",
                                    "bruck",
                                    "two-shot",
                                    "elimination",
                                    "multiplying(radix=3)",
                                    "tree(binary)",
                                    "one-shot",
                                    "fold(ring)",
                                    "consistent(rank-order)"};
enum { INNER = sizeof inner / sizeof *inner, OUTER = sizeof outer / sizeof *outer };
enum { INNER_PLANS = 4, MIDDLE_PLANS = 3, OUTER_PLANS = 3 };

static int lanes_count(int size) {
  int n = 0;
  while (tt_lanes_number(n) <= size) n++;
  return n;
}

/* Writes the i-th searched schedule for this number of ranks; NULL past the end. */
static const char *searched_name(int ranks, int i, char name[TT_NAME]) {
  char params[TT_NAME / 2];
  if (!tt_searched_algo.samples(ranks, i, params, sizeof params)) return NULL;
  snprintf(name, TT_NAME, "searched(%s)", params);
  return name;
}

static int searched_count(int ranks) {
  char name[TT_NAME];
  int n = 0;
  while (searched_name(ranks, n, name)) n++;
  return n;
}

static size_t add(char *stages, size_t size, size_t at, const char *name, int lanes) {
  const char *mark = strchr(name, 'N');
  const char *between = at ? "/" : "";
  if (at >= size) return at;
  if (!mark) return at + (size_t)snprintf(stages + at, size - at, "%s%s", between, name);
  return at + (size_t)snprintf(stages + at, size - at, "%s%.*s%d%s", between, (int)(mark - name),
                               name, lanes, mark + 1);
}

/* A searched schedule of many rounds, over each choice of middle and inner plans. */
enum { SEARCHED_SAMPLES = MIDDLE_PLANS * INNER_PLANS };
static bool sample_searched(const int *sizes, int levels, int i, char *stages, size_t size) {
  const int n = searched_count(sizes[0]);
  char name[TT_NAME] = "doubling";
  if (n) searched_name(sizes[0], n - 1 - i % 2, name);
  size_t at = add(stages, size, 0, name, 0);
  for (int l = 1; l < levels; l++)
    at = add(stages, size, at, inner[i % (l + 1 < levels ? MIDDLE_PLANS : INNER_PLANS)], 0);
  return at < size;
}

bool tt_stages_sample(const int *sizes, int levels, int i, char *stages, size_t size) {
  const int searched = i - (TT_STAGE_SAMPLES - SEARCHED_SAMPLES);
  size_t at = 0;
  if (levels < 2 || levels > 3 || i >= TT_STAGE_SAMPLES) return false;
  if (searched >= 0) return sample_searched(sizes, levels, searched, stages, size);
  for (int l = 0; l < levels; l++) {
    const char *name = l ? inner[(i * (l + 1) + l) % INNER] : outer[i % OUTER];
    const int most = lanes_count(sizes[l]), lanes = most ? tt_lanes_number(i / 3 % most) : 0;
    at = add(stages, size, at, strchr(name, 'N') && !lanes ? "doubling" : name, lanes);
  }
  return at < size;
}

/* Outermost plans: all numbers of lanes, all searched schedules, and some others. */
static size_t add_outermost(char *stages, size_t size, int ranks, int i) {
  const int lanes = lanes_count(ranks), others = i - lanes - searched_count(ranks);
  char name[TT_NAME];
  if (i < lanes) return add(stages, size, 0, outer[0], tt_lanes_number(i));
  return others < 0 ? add(stages, size, 0, searched_name(ranks, i - lanes, name), 0)
                    : add(stages, size, 0, outer[others + 1], 0);
}

bool tt_stages_plan(const int *sizes, int levels, int i, char *stages, size_t size) {
  if (levels < 2) return false;
  const int outermost = lanes_count(sizes[0]) + searched_count(sizes[0]) + OUTER_PLANS - 1;
  size_t at = add_outermost(stages, size, sizes[0], i % outermost);
  i /= outermost;
  for (int l = 1; l < levels; l++) {
    const int choices = l + 1 < levels ? MIDDLE_PLANS : INNER_PLANS;
    at = add(stages, size, at, inner[i % choices], 0);
    i /= choices;
  }
  return i == 0 && at < size;
}
