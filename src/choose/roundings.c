/* roundings.c - plans whose messages between nodes are compressed (code.h): their cost, and how often they round.
 *
 * Idea       The schedules of all ranks are followed block by block, as in the prover. Each block has a count of how
 *            often a number in it was rounded, and a flag that is set while the block is exactly as the compression
 *            left it. A message to another node rounds a block whose flag is clear. A sum gets the largest count of its
 *            operands, and its flag is cleared. If the step completes the sum, the engine rounds it in place.
 * Error      The magnitude of a partial sum is at most the sum of its summands' largest magnitudes. Therefore k
 *            roundings, each with a relative error of at most e, cause an error of at most (1 + e)^k - 1 times the sum
 *            of all ranks' largest magnitudes.
 * Invariant  If every block is completed on one rank, all ranks get the block as that rank rounded it, because messages
 *            do not change it further (code.h). All ranks therefore get the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "candidates.h"
#include "prove.h"

bool tt_code_takes_call(tt_code code, tutti_coll coll, tutti_type type, tutti_op op) {
  const bool of_all =
      coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE || coll == TUTTI_REDUCE_SCATTER;
  return tt_type_valid(type) && (of_all || !tt_code_lossy(code)) && coll != TUTTI_BARRIER &&
         tt_code_takes(code, type, tt_coll_reduces(coll), op);
}

/* ---- estimates ---- */

double tt_choice_seconds(tt_chooser *c, const tt_problem *p, const tt_choice *choice) {
  tt_breakdown t;
  tt_sends sends;
  const tutti_status status =
      tt_quote_breakdown(c, choice->plan, choice->slices, p, &t, &sends, NULL);
  return status ? -1 : t.time;
}

/* Estimates are inexact. Lossless compression saves less time, so a smaller gain is enough. On short vectors, however, it
 * takes up to half a millisecond longer than predicted. */
bool tt_coding_pays(const tt_chooser *coded, double with, double without) {
  const bool lossy = tt_code_lossy(coded->setting.code);
  const double most = lossy ? 0.9 : 0.95, least = lossy ? 1e-4 : 5e-4; /* seconds */
  return with >= 0 && (without < 0 || with < most * without - least);
}

/* Returns the time to compress and decompress one byte, in seconds. */
static double coding_cost(const tt_profile *p, tt_code code) {
  if (!tt_code_lossy(code)) return p->code.lossless;
  return code == TT_CODE_INT8 ? p->code.int8 : p->code.fp8;
}

/* Adapts a link to compressed messages. Compressed bytes are produced one after the other, so they get no burst credit from
 * an idle link. Whether incast occurs depends on the number of compressed bytes. */
static void code_link(tt_link *link, double ratio, double cost) {
  link->incast_threshold = tt_incast_threshold(link) / ratio;
  link->beta *= ratio;
  link->code = cost;
  link->burst = 0;
}

void tt_cost_coded(const tt_setting *s, tt_cost_model *model) {
  const tt_profile *p = &s->profile;
  if (!s->code) return;
  const double ratio =
      tt_code_lossy(s->code) ? tt_code_ratio(s->code, TUTTI_FLOAT) : p->code.left / 1000;
  const double cost = coding_cost(p, s->code);
  for (int l = 0; l < model->levels - s->inside; l++) {
    code_link(&model->link[l], ratio, cost);
    for (int k = 0; model->hosts && k < model->hosts->kinds; k++)
      code_link(&model->hosts->link[k][l], ratio, cost);
  }
}

/* ---- roundings ---- */

int *tt_chooser_nodes(const tt_chooser *c) {
  const tt_setting *s = &c->setting;
  const int level = c->model.levels - 1 - s->inside;
  int *node = malloc((size_t)s->ranks * sizeof *node);
  uint32_t *domains = s->node || level < 0 ? NULL : tt_cost_domains(&c->model);
  const bool made = node && (s->node || level < 0 || domains);
  for (int r = 0; made && r < s->ranks; r++)
    node[r] = s->node ? s->node[r] : level < 0 ? 0 : (int)domains[level * s->ranks + r];
  free(domains);
  if (made) return node;
  free(node);
  return NULL;
}

/* A value is twice the number of roundings of a block, plus 1 if the block is exactly as the compression left it. */
typedef struct counts {
  tt_graph g;
  tt_memory of;
  const int *node;
  uint32_t most; /* the most roundings of any completed block */
} counts;

static tt_value *count_cell(counts *c, int rank, const tt_span *span, uint32_t i) {
  return &c->of.at[rank * TT_BUF_COUNT + (int)span->buf][tt_span_block(span, i)];
}

static tt_value round_block(tt_value v) {
  return v & 1 ? v : v + 3;
}

/* Returns the value of the n-th block of a message after its arrival. */
static tt_value arriving_count(counts *c, const tt_message *m, uint32_t n) {
  const tt_step *send = tt_graph_step(&c->g, m->from);
  uint32_t lo, hi;
  tt_part_of(send, (int)m->entry_from, &lo, &hi);
  const tt_value v = *count_cell(c, m->sender, &send->own, lo + n);
  return c->node[m->sender] == c->node[m->reader] ? v : round_block(v);
}

static void take_more(tt_value *sum, tt_value v) {
  const tt_value count = v & ~(tt_value)1;
  if (*sum < count) *sum = count;
}

static void receive_counts(counts *c, uint32_t id, const tt_step *step, int rank) {
  for (uint32_t k = c->g.in_at[id]; k < c->g.in_at[id + 1]; k++) {
    const tt_message *m = &c->g.messages[c->g.in[k]];
    uint32_t lo, hi;
    tt_part_of(step, (int)m->entry_to, &lo, &hi);
    for (uint32_t i = lo; i < hi; i++)
      *count_cell(c, rank, &step->dst, i) = arriving_count(c, m, i - lo);
  }
}

/* Counts the roundings of a copy, or of a sum of local and received blocks. */
static void combine_counts(counts *c, uint32_t id, const tt_step *step, int rank) {
  const uint32_t operands = tt_step_operands(step);
  for (uint32_t i = 0; i < tt_span_size(&step->dst); i++) {
    tt_value sum = 0;
    for (uint32_t k = 0; k < operands; k++) {
      const tt_span span = tt_step_operand(step, k);
      const tt_value v = *count_cell(c, rank, &span, i);
      if (step->kind == TT_COPY) sum = v;
      take_more(&sum, v);
    }
    for (uint32_t k = c->g.in_at[id]; k < c->g.in_at[id + 1]; k++)
      take_more(&sum, arriving_count(c, &c->g.messages[c->g.in[k]], i));
    if (step->completes) sum = round_block(sum);
    if (step->completes && c->most < sum / 2) c->most = sum / 2;
    *count_cell(c, rank, &step->dst, i) = sum;
  }
}

static void no_beginning(void *ctx, uint32_t id, uint32_t depth) {
  (void)ctx, (void)id, (void)depth;
}

static void count_step(void *ctx, uint32_t id, uint32_t depth) {
  counts *c = ctx;
  const tt_step *step = tt_graph_step(&c->g, id);
  (void)depth;
  (step->kind == TT_RECV ? receive_counts : combine_counts)(c, id, step, c->g.rank_of[id]);
}

/* Counts how often each number is rounded in these schedules, which must be correct. */
static tutti_status count_roundings(tt_sched *const *all, int ranks, const int *node,
                                    int *roundings) {
  char witness[64];
  tutti_report report = {.size = sizeof report};
  counts c = {.node = node};
  tt_memory values = {0};
  tt_values *v = tt_values_new();
  const tt_watch watch = {&c, no_beginning, count_step};
  const bool made = tt_memory_new(&c.of, all, ranks);
  const bool ok = tt_graph_build(&c.g, all, ranks, witness, sizeof witness) && v && made &&
                  tt_symbolic_run(&c.g, v, &values, &watch, &report);
  const bool starved = c.g.failed || !v || !made;
  tt_graph_free(&c.g);
  tt_memory_free(&c.of);
  tt_memory_free(&values);
  tt_values_free(v);
  *roundings = ok ? (int)c.most : -1;
  return starved ? tt_fail(TUTTI_ERR_MEMORY, "out of memory while counting roundings") : TUTTI_OK;
}

/* Counts how often a plan rounds a number, both in place and out of place. `node` has the node of each rank. */
static tutti_status count_on_nodes(tt_ask ask, const int *node, int *roundings, bool *skipped) {
  tutti_status status = TUTTI_OK;
  *roundings = 0;
  *skipped = ask.ranks > TT_MOST_PLAYED;
  for (int here = 0; here < 2 && !status && !*skipped && *roundings >= 0; here++) {
    tt_sched **all;
    int these = -1;
    ask.in_place = here;
    status = tt_algo_build_all(&ask, &all);
    if (status) break;
    *skipped = tt_work_of(all, ask.ranks) > TT_MOST_WORK;
    if (!*skipped && tt_summed_once(all, ask.ranks))
      status = count_roundings(all, ask.ranks, node, &these);
    *roundings = these < 0 || these > *roundings ? these : *roundings;
    tt_sched_free_all(all, ask.ranks);
  }
  if (*skipped) *roundings = -1;
  return status;
}

tutti_status tt_roundings_of(const tt_chooser *c, const tt_ask *ask, int *roundings,
                             bool *skipped) {
  int *node = tt_chooser_nodes(c);
  if (!node)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the nodes of %d ranks", ask->ranks);
  const tutti_status status = count_on_nodes(*ask, node, roundings, skipped);
  free(node);
  return status;
}

tutti_status tt_stage_rounds(const tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll,
                             int ranks, int level, bool *much) {
  const tt_setting *s = &c->setting;
  const tt_ask ask = {.plan = plan, .coll = coll, .ranks = ranks, .data = ranks};
  int roundings = 0;
  bool skipped = false;
  *much = false;
  if (!tt_code_lossy(s->code) || level >= c->model.levels - s->inside) return TUTTI_OK;
  int *node = malloc((size_t)ranks * sizeof *node);
  if (!node) return TUTTI_ERR_MEMORY;
  for (int r = 0; r < ranks; r++) node[r] = r;
  const tutti_status status = count_on_nodes(ask, node, &roundings, &skipped);
  free(node);
  *much = status || roundings < 0 || roundings > s->roundings;
  return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
}

/* ---- words ---- */

typedef struct coded_as {
  double left;   /* bytes left of every 1000 */
  int roundings; /* the maximum; -1: unknown, or lossless */
  double bound;  /* bound of the relative error */
} coded_as;

/* Returns true if messages are compressed. Returns false if they are not compressed, or if out of memory. */
static bool find_coded_as(const tt_chooser *c, const tt_problem *p, const tt_plan_spec *plan,
                          coded_as *is) {
  const tt_setting *s = &c->setting;
  const tt_ask ask = tt_ask_of(s, plan, p->coll, p->root);
  bool skipped;
  *is = (coded_as){s->profile.code.left, -1, 0};
  if (!tt_code_lossy(s->code)) return s->code == TT_CODE_LOSSLESS;
  is->left = 1000 * tt_code_ratio(s->code, TUTTI_FLOAT);
  if (tt_roundings_of(c, &ask, &is->roundings, &skipped)) return false;
  if (is->roundings >= 0) is->bound = tt_code_bound(s->code, is->roundings);
  return true;
}

void tt_coding_say(tt_text *t, const tt_chooser *c, const tt_problem *p, const tt_plan_spec *plan) {
  coded_as is;
  if (!find_coded_as(c, p, plan, &is)) return;
  if (c->setting.code == TT_CODE_LOSSLESS) {
    tt_text_add(t, "Coded: without loss between hosts; about %.3g bytes of 1000 are left\n",
                is.left);
    return;
  }
  tt_text_add(t, "Coded: as %s between hosts, %.3g bytes of 1000", tt_code_name(c->setting.code),
              is.left);
  if (is.roundings >= 0)
    tt_text_add(t,
                "; at most %d roundings: %.2g %% of the sum of the ranks' largest magnitudes in "
                "each block of %d numbers",
                is.roundings, 100 * is.bound, TT_CODE_BLOCK);
  tt_text_add(t, "\n");
}

void tt_coding_json(tt_text *t, const tt_chooser *c, const tt_problem *p,
                    const tt_plan_spec *plan) {
  coded_as is;
  if (!find_coded_as(c, p, plan, &is)) {
    tt_text_add(t, "null");
    return;
  }
  tt_text_add(t, "{\"name\": \"%s\", \"left\": %.4g", tt_code_name(c->setting.code),
              is.left / 1000);
  if (is.roundings >= 0)
    tt_text_add(t, ", \"roundings\": %d, \"error\": %.6g", is.roundings, is.bound);
  tt_text_add(t, "}");
}
