/* picture.c - records the events while the prover runs a schedule.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_MESSAGES = 1 << 18, /* per picture; enough for a ring of 300 ranks */
  MOST_BLOCKS = 1 << 20    /* total of all ranks */
};

static void note(tt_picture *p, uint32_t round, int rank, uint32_t buf, uint32_t block,
                 tt_value value) {
  p->failed |= !tt_grow(&p->changes, &p->capacity, p->nchanges + 1, sizeof *p->changes);
  if (p->failed) return;
  p->changes[p->nchanges++] = (tt_change){round, block, value, rank, buf};
}

static void note_step_begun(void *ctx, uint32_t id, uint32_t depth) {
  tt_picture *p = ctx;
  p->began[id] = depth;
}

static void happens(void *ctx, uint32_t id, uint32_t depth) {
  tt_picture *p = ctx;
  int rank = p->graph.rank_of[id];
  const tt_step *step = tt_graph_step(&p->graph, id);
  tt_gap skip = tt_self_part(p->all[rank], step);
  p->ended[id] = depth;
  for (uint32_t i = 0; i < tt_span_size(&step->dst); i++) {
    if (i >= skip.lo && i < skip.hi) continue;
    uint32_t block = tt_span_block(&step->dst, i);
    note(p, depth, rank, step->dst.buf, block,
         p->memory.at[(uint32_t)rank * TT_BUF_COUNT + step->dst.buf][block]);
  }
}

static void note_inputs(tt_picture *p) {
  for (int r = 0; r < p->ranks; r++) {
    uint32_t lo, hi;
    tt_coll_src(p->all[r], &lo, &hi);
    for (uint32_t b = lo; b < hi; b++)
      note(p, 0, r, p->all[r]->in_place ? TT_DST : TT_SRC, b, tt_value_input(p->values, r, b));
  }
}

static bool sort_changes(tt_picture *p) {
  uint32_t *at = calloc(p->rounds + 2, sizeof *at);
  tt_change *sorted = malloc((p->nchanges + 1) * sizeof *sorted);
  bool ok = at && sorted;
  for (uint32_t i = 0; ok && i < p->nchanges; i++) at[p->changes[i].round + 1]++;
  for (uint32_t i = 0; ok && i <= p->rounds; i++) at[i + 1] += at[i];
  for (uint32_t i = 0; ok && i < p->nchanges; i++)
    sorted[at[p->changes[i].round]++] = p->changes[i];
  if (ok) {
    free(p->changes);
    p->changes = sorted;
  } else {
    free(sorted);
  }
  free(at);
  return ok;
}

/* Sorts the messages by their round of arrival. The messages are already sorted by sender, and the sort is stable, so
 * the messages of a round remain sorted by sender. */
static bool sort_messages(tt_picture *p) {
  uint32_t n = p->graph.nmessages;
  uint32_t *at = calloc(p->rounds + 2, sizeof *at);
  p->order = malloc((n + 1) * sizeof *p->order);
  bool ok = at && p->order;
  const tt_message *m = p->graph.messages;
  for (uint32_t i = 0; ok && i < n; i++) at[tt_picture_arrives(p, &m[i]) + 1]++;
  for (uint32_t i = 0; ok && i <= p->rounds; i++) at[i + 1] += at[i];
  for (uint32_t i = 0; ok && i < n; i++) p->order[at[tt_picture_arrives(p, &m[i])]++] = i;
  free(at);
  return ok;
}

/* Sets the end of each send to the end of the last receive that reads it. */
static void end_sends(tt_picture *p) {
  for (uint32_t i = 0; i < p->graph.nmessages; i++) {
    const tt_message *m = &p->graph.messages[i];
    p->ended[m->from] = (uint32_t)tt_max(p->ended[m->from], p->ended[m->to]);
  }
}

static bool count_inputs(tt_picture *p) {
  uint32_t n = tt_values_count(p->values);
  unsigned char *seen = malloc((size_t)p->ranks);
  p->inputs = calloc(n, sizeof *p->inputs);
  for (uint32_t v = 1; seen && p->inputs && v < n; v++) {
    memset(seen, 0, (size_t)p->ranks);
    p->inputs[v] = tt_value_ranks(p->values, v, seen);
  }
  bool ok = seen && p->inputs && !tt_values_failed(p->values);
  free(seen);
  return ok;
}

static bool run(tt_picture *p) {
  char witness[64]; /* not used, because the schedule has been proven */
  const tt_watch watch = {p, note_step_begun, happens};
  tutti_report again = {.size = sizeof again};
  size_t most = tt_max(p->blocks, (size_t)p->ranks);
  p->values = tt_values_new();
  p->marks = calloc(most + 1, 1);
  if (!p->values || !p->marks || !tt_graph_build(&p->graph, p->all, p->ranks, witness, 64))
    return false;
  p->began = calloc(p->graph.nsteps + 1, sizeof *p->began);
  p->ended = calloc(p->graph.nsteps + 1, sizeof *p->ended);
  if (!p->began || !p->ended) return false;
  note_inputs(p);
  if (!tt_symbolic_run(&p->graph, p->values, &p->memory, &watch, &again) || p->failed) return false;
  end_sends(p);
  return sort_changes(p) && sort_messages(p) && count_inputs(p);
}

static uint64_t total_messages(tt_sched *const *all, int ranks) {
  uint64_t n = 0;
  for (int r = 0; r < ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++)
      if (all[r]->steps[i].kind == TT_SEND) n += (uint64_t)all[r]->steps[i].peers.count;
  return n;
}

tutti_status tt_picture_make(tt_picture *p, tt_sched *const *all, int ranks) {
  *p = (tt_picture){.all = all, .ranks = ranks, .report = {.size = sizeof p->report}};
  tutti_status status = tt_prove(all, ranks, &p->report);
  if (status) return status;
  if (!p->report.proven)
    return tt_fail(TUTTI_ERR_SCHEDULE, "the schedule is refused: %s", p->report.witness);
  uint64_t messages = total_messages(all, ranks), blocks = (uint64_t)ranks * all[0]->blocks;
  if (messages > MOST_MESSAGES || blocks > MOST_BLOCKS)
    return tt_fail(
        TUTTI_ERR_ARG,
        "%llu messages and %llu blocks are too many for a picture; at most %d and %d can "
        "be drawn: take fewer ranks",
        (unsigned long long)messages, (unsigned long long)blocks, MOST_MESSAGES, MOST_BLOCKS);
  p->data = all[0]->data;
  p->blocks = all[0]->blocks;
  p->rounds = (uint32_t)p->report.steps;
  return run(p) ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for a picture");
}

void tt_picture_free(tt_picture *p) {
  tt_graph_free(&p->graph);
  tt_values_free(p->values);
  tt_memory_free(&p->memory);
  free(p->began);
  free(p->ended);
  free(p->changes);
  free(p->inputs);
  free(p->order);
  free(p->marks);
  free(p->below);
}

/* ---- snapshots ---- */

bool tt_snapshot_begin(tt_snapshot *m, const tt_picture *p) {
  *m = (tt_snapshot){.p = p};
  return tt_memory_new(&m->has, p->all, p->ranks);
}

void tt_snapshot_advance(tt_snapshot *m, uint32_t round) {
  for (; m->next < m->p->nchanges && m->p->changes[m->next].round <= round; m->next++) {
    const tt_change *c = &m->p->changes[m->next];
    m->has.at[(uint32_t)c->rank * TT_BUF_COUNT + c->buf][c->block] = c->value;
  }
}

void tt_snapshot_free(tt_snapshot *m) {
  tt_memory_free(&m->has);
}

tt_value tt_snapshot_best(const tt_snapshot *m, int rank, uint32_t block) {
  const tt_picture *p = m->p;
  tt_value best = 0;
  for (uint32_t buf = 0; buf < TT_BUF_COUNT; buf++) {
    uint32_t end = buf == TT_TMP ? p->all[rank]->tmp_blocks : p->blocks;
    for (uint32_t b = block; b < end; b += p->blocks) {
      tt_value v = m->has.at[(uint32_t)rank * TT_BUF_COUNT + buf][b];
      if (p->inputs[v] > p->inputs[best]) best = v;
    }
  }
  return best;
}
