/* simulate.c - the adversary: any enabled event may be the next one.
 *
 * Idea       memory is one 64-bit number per block. Inputs are random, so a sum that lacks an input
 *            or includes one twice is wrong, except with probability 2^-64. Each block moves
 *            independently. There are three kinds of wires, as in src/prove/SEMANTICS.md: whole,
 *            per message, buffered.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

typedef struct sim {
  tt_graph g;
  delivery delivery;
  tt_sched *const *all;
  uint64_t **memory; /* indexed by [rank * 3 + buf][block] */
  unsigned char *started, *ended, **moved;
  uint32_t *left;    /* blocks still to move, for each receiving or local step */
  uint32_t *coming;  /* blocks of each message still to move */
  uint64_t **copies; /* buffered: each message's blocks at send time; otherwise NULL */
  uint64_t random;
} sim;

static uint64_t next_random(sim *s) {
  return s->random = tt_mix(s->random + 0x9e3779b97f4a7c15u);
}

static uint64_t input(int rank, uint32_t block) {
  return tt_mix(((uint64_t)rank + 1) * 1000003 + block);
}

static uint64_t *at(sim *s, int rank, const tt_span *span, uint32_t i) {
  return &s->memory[rank * TT_BUF_COUNT + (int)span->buf][tt_span_block(span, i)];
}

/* Returns the message that brings block i to step `id` (for reductions, the k-th one). */
static const tt_message *bringing(sim *s, uint32_t id, uint32_t i, uint32_t k) {
  const tt_graph *g = &s->g;
  const tt_step *step = tt_graph_step(g, id);
  if (step->kind == TT_RECV_REDUCE) return &g->messages[g->in[g->in_at[id] + k]];
  for (uint32_t m = g->in_at[id]; m < g->in_at[id + 1]; m++) {
    uint32_t lo, hi;
    tt_part_of(step, (int)g->messages[g->in[m]].entry_to, &lo, &hi);
    if (i >= lo && i < hi) return &g->messages[g->in[m]];
  }
  return NULL; /* the block is the rank's own part of a split */
}

static uint32_t index_of(const sim *s, const tt_message *m) {
  return (uint32_t)(m - s->g.messages);
}

/* Returns true if a message can move: both its steps have started, and the pair's previous message has arrived. */
static bool ready(const sim *s, const tt_message *m) {
  const uint32_t before = s->g.before[index_of(s, m)];
  return s->started[m->from] && (before == UINT32_MAX || s->coming[before] == 0);
}

/* Whole: a receive begins only when all its messages can move. */
static bool all_ready(const sim *s, uint32_t id) {
  bool ok = true;
  for (uint32_t k = s->g.in_at[id]; ok && k < s->g.in_at[id + 1]; k++)
    ok = ready(s, &s->g.messages[s->g.in[k]]);
  return ok;
}

static uint64_t brought(sim *s, const tt_message *m, uint32_t to_i) {
  const tt_step *send = tt_graph_step(&s->g, m->from), *recv = tt_graph_step(&s->g, m->to);
  uint32_t lo, hi, to_lo, to_hi;
  const uint64_t *copy = s->copies[index_of(s, m)];
  tt_part_of(send, (int)m->entry_from, &lo, &hi);
  tt_part_of(recv, (int)m->entry_to, &to_lo, &to_hi);
  s->coming[index_of(s, m)]--;
  return copy ? copy[to_i - to_lo] : *at(s, m->sender, &send->own, lo + to_i - to_lo);
}

/* Buffered: the bytes are copied when the send starts. */
static void copy_messages(sim *s, uint32_t id) {
  const tt_step *send = tt_graph_step(&s->g, id);
  for (uint32_t k = s->g.out_at[id]; k < s->g.out_at[id + 1]; k++) {
    const tt_message *m = &s->g.messages[k];
    uint32_t lo, hi;
    tt_part_of(send, (int)m->entry_from, &lo, &hi);
    s->copies[k] = calloc(hi - lo + 1, sizeof **s->copies);
    for (uint32_t i = lo; i < hi; i++) s->copies[k][i - lo] = *at(s, m->sender, &send->own, i);
  }
}

static bool move_block(sim *s, uint32_t id, uint32_t i) {
  const tt_step *step = tt_graph_step(&s->g, id);
  int rank = s->g.rank_of[id];
  uint32_t messages = s->g.in_at[id + 1] - s->g.in_at[id];
  uint64_t value = step->kind == TT_RECV ? 0 : *at(s, rank, &step->own, i);
  if (s->delivery == WHOLE && !all_ready(s, id)) return false;
  if (step->kind == TT_RECV) {
    const tt_message *m = bringing(s, id, i, 0);
    if (m && !ready(s, m)) return false;
    if (m) value = brought(s, m, i);
    if (!m) return true;
  }
  for (uint32_t k = 0; step->kind == TT_RECV_REDUCE && k < messages; k++)
    if (!ready(s, bringing(s, id, i, k))) return false;
  for (uint32_t k = 0; step->kind == TT_RECV_REDUCE && k < messages; k++)
    value += brought(s, bringing(s, id, i, k), i);
  for (uint32_t k = 0; step->kind == TT_REDUCE && k < step->inputs; k++) {
    tt_span in = step->in;
    in.base += k * step->in_step;
    value += *at(s, rank, &in, i);
  }
  *at(s, rank, &step->dst, i) = value;
  return true;
}

static bool can_start(sim *s, uint32_t id) {
  int rank = s->g.rank_of[id];
  const tt_sched *sched = s->all[rank];
  uint32_t local = id - s->g.base[rank];
  for (uint32_t k = sched->after_at[local]; k < sched->after_at[local + 1]; k++)
    if (!s->ended[s->g.base[rank] + sched->after[k]]) return false;
  return true;
}

static bool start(sim *s, uint32_t id) {
  if (!can_start(s, id)) return false;
  s->started[id] = 1;
  if (s->delivery == BUFFERED) copy_messages(s, id);
  return true;
}

static bool end_send(sim *s, uint32_t id) {
  for (uint32_t k = s->g.out_at[id]; k < s->g.out_at[id + 1]; k++) {
    if (s->delivery == WHOLE && !s->ended[s->g.messages[k].to]) return false;
    if (s->delivery == PER_MESSAGE && s->coming[k]) return false;
  }
  s->ended[id] = 1;
  return true;
}

/* Moves one block that can move. The search starts at a random block. Returns false if no block can move. */
static bool move_one(sim *s, uint32_t id) {
  const uint32_t n = tt_span_size(&tt_graph_step(&s->g, id)->dst);
  const uint32_t first = (uint32_t)(next_random(s) % n);
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t i = (first + k) % n;
    if (s->moved[id][i] || !move_block(s, id, i)) continue;
    s->moved[id][i] = 1;
    if (--s->left[id] == 0) s->ended[id] = 1;
    return true;
  }
  return false;
}

/* Tries one event of step `id`. Returns true if something happened. */
static bool act(sim *s, uint32_t id) {
  if (s->ended[id]) return false;
  if (!s->started[id]) return start(s, id);
  return tt_graph_step(&s->g, id)->kind == TT_SEND ? end_send(s, id) : move_one(s, id);
}

static bool prepare(sim *s, int ranks) {
  s->memory = calloc((size_t)ranks * TT_BUF_COUNT, sizeof *s->memory);
  s->started = calloc(s->g.nsteps + 1, 1);
  s->ended = calloc(s->g.nsteps + 1, 1);
  s->left = calloc(s->g.nsteps + 1, sizeof *s->left);
  s->moved = calloc(s->g.nsteps + 1, sizeof *s->moved);
  s->coming = calloc(s->g.nmessages + 1, sizeof *s->coming);
  s->copies = calloc(s->g.nmessages + 1, sizeof *s->copies);
  for (uint32_t k = 0; k < s->g.nmessages; k++) {
    uint32_t lo, hi;
    tt_part_of(tt_graph_step(&s->g, s->g.messages[k].from), (int)s->g.messages[k].entry_from, &lo,
               &hi);
    s->coming[k] = hi - lo;
  }
  for (int r = 0; r < ranks; r++) {
    const tt_sched *sched = s->all[r];
    for (int b = 0; b < TT_BUF_COUNT; b++) {
      size_t n = (b == TT_TMP ? sched->tmp_blocks : sched->blocks) + 1;
      s->memory[r * TT_BUF_COUNT + b] = calloc(n, sizeof **s->memory);
      for (size_t i = 0; i < n; i++) s->memory[r * TT_BUF_COUNT + b][i] = next_random(s);
    }
    uint32_t lo, hi;
    tt_coll_src(sched, &lo, &hi);
    for (uint32_t i = lo; i < hi; i++)
      s->memory[r * TT_BUF_COUNT + (sched->in_place ? TT_DST : TT_SRC)][i] = input(r, i);
  }
  for (uint32_t id = 0; id < s->g.nsteps; id++) {
    s->left[id] = tt_span_size(&tt_graph_step(&s->g, id)->dst);
    s->moved[id] = calloc(s->left[id] + 1, 1);
  }
  return true;
}

static uint64_t wanted(const tt_sched *s, uint32_t block) {
  uint64_t sum = 0;
  int end = s->data;
  if (s->coll == TUTTI_BROADCAST || s->coll == TUTTI_SCATTER) return input(s->root, block);
  if (s->coll == TUTTI_ALLGATHER || s->coll == TUTTI_GATHER) return input((int)block, block);
  if (s->coll == TUTTI_ALLTOALL) return input((int)block, (uint32_t)s->rank);
  if (s->coll == TUTTI_SCAN) end = s->rank + 1;
  if (s->coll == TUTTI_EXSCAN) end = s->rank;
  for (int r = 0; r < end; r++) sum += input(r, block);
  return sum;
}

static outcome judge(sim *s, int ranks) {
  for (int r = 0; r < ranks; r++) {
    const tt_sched *sched = s->all[r];
    uint32_t lo, hi;
    tt_coll_dst(sched, &lo, &hi);
    for (uint32_t i = lo; i < hi; i++)
      if (s->memory[r * TT_BUF_COUNT + TT_DST][i] != wanted(sched, i)) return WRONG;
    tt_coll_src(sched, &lo, &hi);
    for (uint32_t i = lo; !sched->in_place && i < hi; i++)
      if (s->memory[r * TT_BUF_COUNT + TT_SRC][i] != input(r, i)) return WRONG;
  }
  return RIGHT;
}

outcome simulate(tt_sched *const *all, int ranks, delivery how, uint64_t seed) {
  char witness[400];
  sim s = {.all = all, .delivery = how, .random = seed};
  if (!tt_graph_build(&s.g, all, ranks, witness, sizeof witness)) {
    tt_graph_free(&s.g);
    return NONSENSE;
  }
  prepare(&s, ranks);
  bool stuck = false;
  for (;;) {
    uint32_t n = s.g.nsteps, first = n ? (uint32_t)(next_random(&s) % n) : 0, i = 0;
    while (i < n && !act(&s, (first + i) % n)) i++;
    if (i < n) continue;
    for (uint32_t id = 0; id < n; id++) stuck |= !s.ended[id];
    break;
  }
  outcome result = stuck ? STUCK : judge(&s, ranks);
  for (int i = 0; i < ranks * TT_BUF_COUNT; i++) free(s.memory[i]);
  for (uint32_t id = 0; id < s.g.nsteps; id++) free(s.moved[id]);
  for (uint32_t k = 0; k < s.g.nmessages; k++) free(s.copies[k]);
  free(s.coming);
  free(s.copies);
  free(s.memory);
  free(s.started);
  free(s.ended);
  free(s.left);
  free(s.moved);
  tt_graph_free(&s.g);
  return result;
}

static void *copy_of(const void *from, size_t bytes) {
  void *to = malloc(bytes + 1);
  if (bytes) memcpy(to, from, bytes);
  return to;
}

tt_sched *clone_schedule(const tt_sched *s) {
  tt_sched *c = copy_of(s, sizeof *s);
  c->name = copy_of(s->name, strlen(s->name) + 1);
  c->steps = copy_of(s->steps, s->nsteps * sizeof *s->steps);
  c->after_at = copy_of(s->after_at, (s->nsteps + 1) * sizeof *s->after_at);
  c->after = copy_of(s->after, s->after_at[s->nsteps] * sizeof *s->after);
  return c;
}
