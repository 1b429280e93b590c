/* stages.c - composes the schedules of the levels.
 *
 * Idea       A stage is a complete schedule of its algorithm, built for the ranks of its level alone. It is copied step
 *            by step: its ranks are mapped to those of the level's group, and its blocks to runs of blocks of the part
 *            that the stage processes.
 * Cost       The sum of the stages' costs, each for its part of the vector.
 * Scratch    The maximum over the stages. A part needs as much as the whole vector would.
 * Invariant  If a stage divides its part into n blocks, block k is the k-th of n equal pieces of the part, in tmp as
 *            well: layers of tmp have the shape of the whole vector. A step whose blocks have other positions is refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_stages.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BLOCKS = 1 << 16 };

typedef struct stage {
  const tt_plan_spec *plan, *way_back;
  int level; /* level in the tree */
  int size;  /* number of ranks in a group */
  int apart; /* distance of two neighbours, in ranks */
  int digit; /* index of this rank in its group */
  bool scatters;
  uint32_t blocks; /* number of blocks of this stage's schedule */
  uint32_t all;    /* number of blocks of the part that it processes */
  uint32_t from;   /* first block of that part */
} stage;

typedef struct composition {
  stage of[TT_TREE_LEVELS];
  tt_sched *in[TT_TREE_LEVELS], *back[TT_TREE_LEVELS]; /* `back` is NULL if it does not scatter */
  int n;
  uint32_t blocks;
} composition;

static void composition_free(composition *c) {
  for (int i = 0; i < c->n; i++) {
    tt_sched_free(c->in[i]);
    tt_sched_free(c->back[i]);
  }
}

/* ---- the stages, from the parameters ---- */

static const char *say(const char *format, const char *word, const char *more) {
  size_t size;
  char why[200], *text = tt_thread_text(&size);
  snprintf(why, sizeof why, "%s", more);
  snprintf(text, size, format, word, why);
  return text;
}

/* Returns the request that is passed to the algorithm of a stage, for either the first or the reverse phase. */
static tt_ask ask_of(const tt_ask *ask, const stage *s, bool first, bool back) {
  tt_ask own = {
      .plan = back ? s->way_back : s->plan, .coll = ask->coll, .ranks = s->size, .rank = s->digit};
  if (s->scatters) own.coll = back ? TUTTI_ALLGATHER : TUTTI_REDUCE_SCATTER;
  own.in_place = back || !first || ask->in_place;
  return own;
}

/* Lists the levels that have more than one rank, and returns their number. */
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

/* The two-shot algorithm has no all-gather, so its reverse phase is run by one-shot. */
tutti_status tt_stage_way_back(const tt_plan_spec *plan, const tt_plan_spec **back) {
  *back = plan;
  return tt_algo_does(plan, TUTTI_ALLGATHER) ? TUTTI_OK : tt_plan_spec_named("one-shot", back);
}

/* Assigns the algorithms to the levels. */
static const char *name_stages(const tt_ask *ask, composition *c) {
  const tt_arg *x = tt_plan_spec_stages(ask->plan);
  if (x->n != c->n) return TT_STAGES_WRONG;
  for (int i = 0; i < c->n; i++) {
    stage *s = &c->of[i];
    s->plan = x->stage[i];
    if (tt_stage_way_back(s->plan, &s->way_back)) return tt_no_memory;
    s->scatters = i > 0 && tt_algo_does(s->plan, TUTTI_REDUCE_SCATTER);
  }
  return NULL;
}

static uint64_t common_multiple(uint64_t a, uint64_t b) {
  uint64_t x = a, y = b;
  while (y) {
    const uint64_t rest = x % y;
    x = y, y = rest;
  }
  return a / x * b;
}

/* Determines the number of blocks in the vector, such that each block of a stage consists of whole, consecutive blocks. */
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

/* ---- copying a stage's schedule into the composition ---- */

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

/* Converts a span of a stage into a span of the whole vector. Returns false if no single span has the same blocks. */
static bool place(const composition *c, const stage *s, tt_span *span) {
  const uint32_t wide = s->all / s->blocks;
  if (span->buf == TT_TMP && s->all == c->blocks && wide == 1) return true;
  if (span->buf == TT_TMP && s->blocks == 1) { /* each block has a separate layer */
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

/* Converts the inputs of a stage's reduction, including the distance between two inputs. */
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

/* Appends the steps of a stage or, if b is NULL, only checks that they can be appended. Returns NULL, or an error message. */
static const char *append(tt_builder *b, const tt_ask *ask, const composition *c, const stage *s,
                          const tt_sched *sched) {
  for (uint32_t i = 0; i < sched->nsteps; i++) {
    tt_step step = sched->steps[i];
    if (!place_step(ask, c, s, &step))
      return say("stage %s cannot work on a part of the vector%s", s->plan->text, "");
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
  tutti_status status = tt_algo_build(&in, &c->in[i]);
  if (!status && s->scatters) status = tt_algo_build(&back, &c->back[i]);
  if (status == TUTTI_ERR_MEMORY) return tt_no_memory;
  if (status) return say("stage %s: %s", s->plan->text, tutti_error());
  s->blocks = c->in[i]->blocks;
  if (c->in[i]->data < s->size)
    return say("stage %s takes data from some of its ranks only%s", s->plan->text, "");
  return NULL;
}

const char *tt_stages_refuse(const tt_ask *ask, const tt_tree *tree) {
  composition c;
  if (!tree->even) return "stages need levels whose groups all have one size";
  if (ask->coll != TUTTI_ALLREDUCE && ask->coll != TUTTI_BARRIER)
    return "stages make an allreduce; for other collectives name a sequence (seq=)";
  if (list_levels(ask, tree, &c) == 0) return "stages need a level of more than one rank";
  return tt_plan_spec_stages(ask->plan)->n == c.n ? NULL : TT_STAGES_WRONG;
}

/* Creates a composition. The caller must free it even if this fails. Returns NULL, or the reason for the failure. */
static const char *compose(const tt_ask *ask, const tt_tree *tree, composition *c) {
  *c = (composition){.n = 0};
  list_levels(ask, tree, c);
  const char *wrong = name_stages(ask, c);
  for (int i = 0; i < c->n && !wrong; i++) wrong = build_stage(ask, c, i);
  return wrong ? wrong : cut(c);
}

void tt_stages_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree) {
  composition c;
  const char *wrong = compose(ask, tree, &c);
  if (!wrong) wrong = append_all(NULL, ask, &c);
  if (!wrong) {
    tt_build_cut(b, c.blocks);
    append_all(b, ask, &c);
  } else if (wrong == tt_no_memory) {
    b->status = TUTTI_ERR_MEMORY;
  } else {
    tt_build_refuse(b, wrong);
  }
  composition_free(&c);
}

static bool same_levels(const tt_tree *a, const tt_tree *b) {
  bool same = b->even && a->levels == b->levels;
  for (int l = 0; same && l < a->levels; l++) same = a->level[l].each == b->level[l].each;
  return same;
}

/* Returns true if all stages are uniform. A stage that sums its whole part in several blocks is not uniform, because some
 * ranks complete some of the blocks earlier than other ranks do. The stages outside it start with the completed blocks. */
static bool stages_are_uniform(const tt_ask *ask, const composition *c) {
  for (int i = 0; i < c->n; i++) {
    if (i > 0 && !c->of[i].scatters && c->of[i].blocks > 1) return false;
    const tt_ask own = ask_of(ask, &c->of[i], i + 1 == c->n, false);
    const tt_ask back = ask_of(ask, &c->of[i], false, true);
    if (!tt_algo_uniform(&own, NULL) || (c->of[i].scatters && !tt_algo_uniform(&back, NULL)))
      return false;
  }
  return true;
}

bool tt_stages_uniform(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine) {
  composition c;
  const bool uniform = !compose(ask, tree, &c) && !append_all(NULL, ask, &c) &&
                       stages_are_uniform(ask, &c) && (!machine || same_levels(tree, machine));
  composition_free(&c);
  return uniform;
}

int tt_stages_list(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine,
                   tt_level_stage *list) {
  composition c = {.n = 0};
  int n = 0;
  const bool can =
      same_levels(tree, machine) && !compose(ask, tree, &c) && !append_all(NULL, ask, &c);
  for (int k = 0; can && k < 2 * c.n; k++) {
    const bool back = k >= c.n;
    const stage *s = &c.of[back ? k - c.n : c.n - 1 - k];
    if (back && !s->scatters) continue;
    list[n++] = (tt_level_stage){.plan = back ? s->way_back : s->plan,
                                 .coll = ask_of(ask, s, false, back).coll,
                                 .ranks = s->size,
                                 .level = s->level,
                                 .part = (double)s->all / c.blocks};
  }
  composition_free(&c);
  return n;
}

/* ---- proposals ---- */

static int count_stages(unsigned where, int size) {
  tt_stage_walk at = {0};
  tt_text name = {0};
  int n = 0;
  while (tt_stage_next(where, size, &at, &name)) n++;
  free(name.at);
  return n;
}

/* Appends the i-th stage for these levels. */
static void add_stage(unsigned where, int size, int i, tt_text *params) {
  tt_stage_walk at = {0};
  const size_t length = params->length;
  for (; i >= 0; i--) {
    params->length = length;
    tt_stage_next(where, size, &at, params);
  }
}

void tt_stages_text(tt_text *name, const char *levels) {
  tt_text_add(name, "%s(%s,stages=", tt_blueconnect_algo.name, levels);
}

void tt_rounding_twice_text(tt_text *name, const char *levels) {
  tt_tree tree;
  if (tt_tree_parse(levels, &tree)) return;
  tt_stages_text(name, levels);
  for (int l = 0, first = 1; l < tree.levels; l++) {
    if (tree.level[l].each == 1) continue;
    tt_text_add(name, "%stwo-shot", first ? "" : "/");
    first = 0;
  }
  tt_text_add(name, ")");
}

bool tt_stages_plan(const int *sizes, int levels, int i, tt_text *params) {
  if (levels < 2) return false;
  for (int l = 0; l < levels; l++) {
    const unsigned where = tt_stage_place(l, levels);
    const int n = count_stages(where, sizes[l]);
    if (n == 0) return false;
    tt_text_add(params, l ? "/" : ",stages=");
    add_stage(where, sizes[l], i % n, params);
    i /= n;
  }
  return i == 0;
}
