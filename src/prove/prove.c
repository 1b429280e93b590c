/* prove.c - the result of a proof: the data that every rank must have at the end, and the properties that follow
 * from how it was computed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "prove.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_problem(tt_sched *const *all, int ranks, char *witness, size_t size) {
  const tt_sched *a = all[0];
  for (int r = 0; r < ranks; r++) {
    const tt_sched *s = all[r];
    if (!s) {
      snprintf(witness, size, "rank %d has no schedule", r);
      return false;
    }
    if (s->rank == r && s->ranks == ranks && s->coll == a->coll && s->root == a->root &&
        s->data == a->data && s->blocks == a->blocks && strcmp(s->name, a->name) == 0)
      continue;
    snprintf(witness, size, "rank %d's schedule is for another problem than rank 0's", r);
    return false;
  }
  return true;
}

static bool same_wanted(const tt_wanted *a, const tt_wanted *b) {
  return a->first == b->first && a->end == b->end && a->block == b->block;
}

/* Checks the result blocks of all ranks. known[value] is the result for which the value was last found to be correct.
 * Few values are therefore checked more than once. */
static bool results_right(tt_graph *g, tt_values *v, const tt_memory *m, tutti_report *report) {
  bool ordered = true, same = true;
  char text[200];
  const char *wrong = NULL;
  tt_wanted *known = calloc(tt_values_count(v), sizeof *known);
  if (!known) g->failed = true;
  for (uint32_t block = 0; known && !wrong && block < g->all[0]->blocks; block++) {
    tt_value first = 0;
    tt_wanted of_first = {0, 0, 0};
    for (int r = 0; r < g->ranks && !wrong; r++) {
      uint32_t lo, hi;
      tt_coll_dst(g->all[r], &lo, &hi);
      if (block < lo || block >= hi) continue;
      const tt_value value = m->at[(uint32_t)r * TT_BUF_COUNT + TT_DST][block];
      const tt_wanted wanted = tt_coll_wanted(g->all[r], block);
      if (!value || !same_wanted(&known[value], &wanted))
        wrong = tt_value_wrong(v, value, &wanted, !tt_coll_prefix(g->all[r]->coll), &ordered, text,
                               sizeof text);
      known[value] = wanted;
      if (wrong)
        snprintf(report->witness, sizeof report->witness, "rank %d, at the end, dst[%u]: %s", r,
                 block, wrong);
      if (!first) first = value, of_first = wanted;
      if (value != first && same_wanted(&of_first, &wanted)) same = false;
    }
  }
  free(known);
  report->rank_order = ordered;
  report->same_grouping = same;
  return !wrong && !g->failed;
}

static uint64_t blocks_completed(const tt_sched *s) {
  uint64_t completed = 0; /* only steps marked `completes` produce results */
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (s->steps[i].completes) completed += tt_span_size(&s->steps[i].dst);
  return completed;
}

bool tt_summed_once(tt_sched *const *all, int ranks) {
  uint64_t completed = 0;
  for (int r = 0; r < ranks; r++) completed += blocks_completed(all[r]);
  return completed <= all[0]->blocks;
}

/* Returns how many operands a step adds. Steps that do not add return 0. */
static int added(const tt_step *step) {
  if (step->kind == TT_REDUCE) return 1 + (int)step->inputs;
  if (step->kind != TT_RECV_REDUCE) return 0;
  return step->peers.count + (step->side != TT_OWN_AMONG);
}

/* A sum of `data` operands that contains each of `data` inputs exactly once has these inputs as its operands. For a
 * prefix, all P - 1 sums differ. If P - 1 steps add two operands each, every sum is therefore the previous sum plus one
 * more input. */
bool tt_sums_at_once(tt_sched *const *all, int ranks) {
  const tt_sched *like = all[0];
  const bool prefix = tt_coll_prefix(like->coll);
  uint64_t sums = 0;
  for (int r = 0; r < ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++) {
      const tt_step *step = &all[r]->steps[i];
      const int n = added(step);
      if (n && (prefix ? n != 2 : step->completes && n != like->data)) return false;
      if (n) sums += tt_span_size(&step->dst);
    }
  return !prefix ||
         sums <= like->blocks * (uint64_t)(like->data - (like->coll == TUTTI_SCAN ? 1 : 2));
}

static bool shifted_block(const tt_sched *s, uint32_t x, uint32_t y, int by) {
  const uint32_t B = s->blocks;
  return y == (B == 1 ? x : x / B * B + (x % B + (uint32_t)by) % B);
}

static bool shifted_span(const tt_span *a, const tt_span *b, int by, const tt_sched *s) {
  if (a->buf != b->buf || tt_span_size(a) != tt_span_size(b)) return false;
  for (uint32_t i = 0; i < tt_span_size(a); i++)
    if (!shifted_block(s, tt_span_block(a, i), tt_span_block(b, i), by)) return false;
  return true;
}

/* Returns the index of the peer of b that corresponds to the first peer of a, shifted, or -1 if the peers differ. If
 * a range contains all ranks, it may start at any rank. */
static int shifted_peers(const tt_peers *a, const tt_peers *b, int by, int ranks) {
  const int first = tt_mod((int64_t)tt_peer_rank(a, 0, ranks) + by, ranks);
  if (a->count != b->count) return -1;
  if (a->count > 1 && tt_mod((int64_t)a->stride - b->stride, ranks)) return -1;
  for (int i = 0; i < (a->count == ranks ? ranks : 1); i++)
    if (a->count == 0 || tt_peer_rank(b, i, ranks) == first) return i;
  return -1;
}

/* Compares the spans that two steps send or receive. Entry i of a's peers corresponds to entry i + turn of b's peers,
 * which matters if the steps split their spans. */
static bool shifted_cargo(const tt_step *a, const tt_step *b, int turn, int by, const tt_sched *s) {
  const tt_span *x = tt_step_cargo(a), *y = tt_step_cargo(b);
  if (!a->split) return shifted_span(x, y, by, s);
  if (x->buf != y->buf || tt_span_size(x) != tt_span_size(y)) return false;
  for (int i = 0; i < a->peers.count; i++) {
    uint32_t lo, hi, to, end;
    tt_part_of(a, i, &lo, &hi);
    tt_part_of(b, (i + turn) % a->peers.count, &to, &end);
    for (; lo < hi; lo++, to++)
      if (!shifted_block(s, tt_span_block(x, lo), tt_span_block(y, to), by)) return false;
  }
  return true;
}

static bool shifted_step(const tt_step *a, const tt_step *b, int by, const tt_sched *s) {
  if (a->kind != b->kind || a->split != b->split || a->side != b->side ||
      a->completes != b->completes || a->inputs != b->inputs)
    return false;
  const int turn = shifted_peers(&a->peers, &b->peers, by, s->ranks);
  if (turn < 0 || !shifted_cargo(a, b, turn, by, s)) return false;
  for (uint32_t k = 0; a->kind != TT_SEND && k < tt_step_operands(a); k++) {
    const tt_span x = tt_step_operand(a, k), y = tt_step_operand(b, k);
    if (!shifted_span(&x, &y, by, s)) return false;
  }
  return true;
}

static bool same_order(const tt_sched *a, const tt_sched *b) {
  const uint32_t n = a->after_at[a->nsteps];
  return memcmp(a->after_at, b->after_at, (a->nsteps + 1) * sizeof *a->after_at) == 0 &&
         (n == 0 || memcmp(a->after, b->after, n * sizeof *a->after) == 0);
}

static uint32_t layers_of(const tt_sched *s) {
  return (s->tmp_blocks + s->blocks - 1) / s->blocks;
}

/* Returns true if the steps of every rank are those of rank 0, shifted around the circle of ranks. */
static bool transitive(tt_sched *const *all, int ranks) {
  for (int r = 1; r < ranks; r++) {
    const tt_sched *a = all[0], *b = all[r];
    if (a->nsteps != b->nsteps || layers_of(a) != layers_of(b)) return false;
    if (a->blocks != 1 && a->blocks != (uint32_t)ranks) return false;
    for (uint32_t i = 0; i < a->nsteps; i++)
      if (!shifted_step(&a->steps[i], &b->steps[i], r, a)) return false;
    if (!same_order(a, b)) return false;
  }
  return true;
}

/* If all ranks contribute data, the proof of the sum already shows that the barrier waits for every rank. */
static bool barrier_waits(tt_graph *g) {
  const tt_sched *s = g->all[0];
  return s->coll != TUTTI_BARRIER || s->data == s->ranks || tt_barrier_waits(g);
}

tutti_status tt_prove(tt_sched *const *all, int ranks, tutti_report *report) {
  const size_t size = report->size;
  memset(report, 0, sizeof *report);
  report->size = size;
  if (!same_problem(all, ranks, report->witness, sizeof report->witness)) return TUTTI_OK;
  tt_graph g;
  tt_memory m = {0};
  tt_values *v = tt_values_new();
  report->blocks = (int)all[0]->blocks;
  bool ok = tt_graph_build(&g, all, ranks, report->witness, sizeof report->witness) && v &&
            tt_symbolic_run(&g, v, &m, NULL, report) && tt_conflicts_ordered(&g) &&
            results_right(&g, v, &m, report) && barrier_waits(&g);
  bool failed = g.failed || !v || tt_values_failed(v);
  if (ok) report->transitive = transitive(all, ranks);
  if (ok) report->element = report->rank_order && tt_sums_at_once(all, ranks);
  report->proven = ok && !failed;
  tt_graph_free(&g);
  tt_memory_free(&m);
  tt_values_free(v);
  if (failed) return tt_fail(TUTTI_ERR_MEMORY, "out of memory while proving %s", all[0]->name);
  return TUTTI_OK;
}
