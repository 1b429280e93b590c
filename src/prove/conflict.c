/* conflict.c - checks that conflicting accesses to a block are ordered, on every rank.
 *
 * Idea       List the steps that use each block, in their order. Every access must end before the next access that
 *            conflicts with it starts. The order may follow from the rank's `after` lists or from a chain of events
 *            across ranks.
 * Cost       Linear in the number of blocks that the steps use, and nsteps^2 bits per rank. The events are traversed only
 *            for pairs of steps that `after` does not order.
 * Invariant  This file finds the conflicts independently, block by block. It checks the order from the builder
 *            (sched/order.c), and therefore uses no part of that code.
 * Source     SEMANTICS.md, "Events" and "Accesses".
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "prove.h"

enum { NONE = UINT32_MAX };

/* ---- events ---- */

/* The events of a schedule: each step has a start and an end, and each message has an arrival. */
static uint32_t start_of(uint32_t step) {
  return 2 * step;
}
static uint32_t end_event_of(uint32_t step) {
  return 2 * step + 1;
}

/* Returns the event of an arrival. All inputs of a recv_reduce arrive together and share the event of the first input. */
static uint32_t arrival_of(const tt_graph *g, uint32_t message) {
  const uint32_t to = g->messages[message].to;
  const bool together = tt_graph_step(g, to)->kind == TT_RECV_REDUCE;
  return 2 * g->nsteps + (together ? g->in[g->in_at[to]] : message);
}

typedef struct search {
  tt_graph *g;
  uint32_t block; /* the block in conflict; assumed to be nonempty */
  unsigned char *seen;
  uint32_t *queue, tail;
} search;

static void reach(search *s, uint32_t event) {
  if (s->seen[event]) return;
  s->seen[event] = 1;
  s->queue[s->tail++] = event;
}

/* Returns true if every partition that makes block `other` empty also makes the block in conflict empty. */
static bool never_emptier(const search *s, uint32_t other) {
  const tt_sched *all = s->g->all[0];
  const uint32_t a = other % all->blocks, b = s->block % all->blocks;
  return tt_coll_alike(all->coll) || (tt_coll_owned(all->coll) ? a == b : a <= b);
}

/* Returns true if the message is known to have data. For an empty message, the reader does not wait for the sender. */
static bool has_bytes(const search *s, const tt_message *m) {
  const tt_step *send = tt_graph_step(s->g, m->from);
  uint32_t lo, hi;
  tt_part_of(send, (int)m->entry_from, &lo, &hi);
  for (; lo < hi; lo++)
    if (never_emptier(s, tt_span_block(&send->own, lo))) return true;
  return false;
}

static void after_start(search *s, uint32_t step) {
  const tt_graph *g = s->g;
  reach(s, end_event_of(step));
  for (uint32_t k = g->out_at[step]; k < g->out_at[step + 1]; k++)
    if (has_bytes(s, &g->messages[k])) reach(s, arrival_of(g, k));
  for (uint32_t k = g->in_at[step]; k < g->in_at[step + 1]; k++) reach(s, arrival_of(g, g->in[k]));
}

static void after_arrival(search *s, uint32_t message) {
  const tt_graph *g = s->g;
  const uint32_t to = g->messages[message].to;
  const bool together = tt_graph_step(g, to)->kind == TT_RECV_REDUCE;
  const uint32_t first = g->in_at[to], end = together ? g->in_at[to + 1] : first + 1;
  reach(s, end_event_of(to));
  for (uint32_t k = first; k < end; k++) {
    const uint32_t next = g->messages[together ? g->in[k] : message].next;
    if (next != NONE) reach(s, arrival_of(g, next));
  }
}

/* Marks every event that is certain to happen after an event in the queue. */
static void flood(search *s) {
  const tt_graph *g = s->g;
  for (uint32_t head = 0; head < s->tail; head++) {
    const uint32_t event = s->queue[head], step = event / 2;
    if (event >= 2 * g->nsteps)
      after_arrival(s, event - 2 * g->nsteps);
    else if (event == start_of(step))
      after_start(s, step);
    else
      for (uint32_t k = g->deps_at[step]; k < g->deps_at[step + 1]; k++)
        reach(s, start_of(g->deps[k]));
  }
}

/* ---- accesses: by a step, or by one of its messages ---- */

/* Returns true if message k accesses the block. The sender reads the block; if `sender` is false, the receiver writes it. */
static bool touches(const tt_graph *g, uint32_t k, bool sender, uint32_t buf, uint32_t block) {
  const tt_message *m = &g->messages[k];
  const tt_step *step = tt_graph_step(g, sender ? m->from : m->to);
  const tt_span *cargo = tt_step_cargo(step);
  uint32_t lo, hi;
  tt_part_of(step, (int)(sender ? m->entry_from : m->entry_to), &lo, &hi);
  for (; cargo->buf == buf && lo < hi; lo++)
    if (tt_span_block(cargo, lo) == block) return true;
  return false;
}

/* An access to a block by a step. `message` is the message that makes the access, or NONE if the step itself does. */
typedef struct access {
  uint32_t step, message;
} access;

/* Marks all events that follow an access. The access has ended when its step has ended. If a message makes the access,
 * it has also ended when the message has arrived. */
static void flood_from(search *s, access a) {
  const tt_graph *g = s->g;
  memset(s->seen, 0, 2 * (size_t)g->nsteps + g->nmessages);
  s->tail = 0;
  reach(s, end_event_of(a.step));
  if (a.message != NONE) reach(s, arrival_of(g, a.message));
  flood(s);
}

static bool seen_before_message(const search *s, uint32_t message) {
  const tt_graph *g = s->g;
  const uint32_t before = g->before[message];
  return s->seen[start_of(g->messages[message].from)] ||
         (before != NONE && s->seen[arrival_of(g, before)]);
}

/* Returns true if the access starts after a marked event. */
static bool begins_later(const search *s, access a) {
  const tt_graph *g = s->g;
  const tt_kind kind = (tt_kind)tt_graph_step(g, a.step)->kind;
  if (s->seen[start_of(a.step)]) return true;
  if (kind == TT_RECV) return seen_before_message(s, a.message);
  for (uint32_t k = g->in_at[a.step]; k < g->in_at[a.step + 1]; k++)
    if (seen_before_message(s, g->in[k])) return true;
  return false;
}

/* Finds the next access of the step to the block after access `a`. To find the first access, a->message must be NONE. */
static bool next_access(const tt_graph *g, access *a, uint32_t *at, uint32_t buf, uint32_t block) {
  const tt_step *step = tt_graph_step(g, a->step);
  const bool sends = step->kind == TT_SEND;
  if (tt_step_local(step) || step->kind == TT_RECV_REDUCE) {
    a->message = tt_step_local(step) ? NONE : g->in[g->in_at[a->step]];
    return (*at)++ == 0;
  }
  const uint32_t first = sends ? g->out_at[a->step] : g->in_at[a->step];
  const uint32_t end = sends ? g->out_at[a->step + 1] : g->in_at[a->step + 1];
  while (first + *at < end) {
    const uint32_t k = first + (*at)++;
    a->message = sends ? k : g->in[k];
    if (touches(g, a->message, sends, buf, block)) return true;
  }
  return false;
}

/* Returns true if all accesses of step x to the block end before the first access of step y to it starts. */
static bool ordered_across(search *s, uint32_t x, uint32_t y, uint32_t buf, uint32_t block) {
  access a = {x, NONE}, b = {y, NONE};
  bool ok = true;
  s->block = block;
  for (uint32_t at = 0; ok && next_access(s->g, &a, &at, buf, block);) {
    flood_from(s, a);
    for (uint32_t bt = 0; ok && next_access(s->g, &b, &bt, buf, block);) ok = begins_later(s, b);
  }
  return ok;
}

/* ---- the last accesses to each block ---- */

typedef struct reader {
  uint32_t step, next;
} reader;

typedef struct ledger {
  search *across;
  int rank;
  const tt_sched *s;
  uint64_t *before; /* for each step, a bit set of the steps before it according to `after` */
  size_t words;
  uint32_t *writer[TT_BUF_COUNT], *readers[TT_BUF_COUNT]; /* one entry per block, or NONE */
  reader *pool;
  uint32_t used, capacity;
} ledger;

static bool ordered(ledger *l, uint32_t x, uint32_t y, uint32_t buf, uint32_t block) {
  tt_graph *g = l->across->g;
  if (x == NONE || x == y) return true;
  if (l->before[y * l->words + x / 64] >> (x % 64) & 1) return true;
  if (ordered_across(l->across, g->base[l->rank] + x, g->base[l->rank] + y, buf, block))
    return true;
  return tt_graph_refuse(g, g->base[l->rank] + y,
                         "it must wait for step %u, whose blocks may still be in use: %s[%u]", x,
                         tt_buf_names[buf], block);
}

static bool reads(ledger *l, uint32_t step, uint32_t buf, uint32_t block) {
  if (!ordered(l, l->writer[buf][block], step, buf, block)) return false;
  uint32_t *head = &l->readers[buf][block];
  if (*head != NONE && l->pool[*head].step == step) return true;
  if (!tt_grow(&l->pool, &l->capacity, l->used + 1, sizeof *l->pool)) {
    l->across->g->failed = true;
    return false;
  }
  l->pool[l->used] = (reader){step, *head};
  *head = l->used++;
  return true;
}

static bool writes(ledger *l, uint32_t step, uint32_t buf, uint32_t block) {
  bool ok = ordered(l, l->writer[buf][block], step, buf, block);
  for (uint32_t r = l->readers[buf][block]; ok && r != NONE; r = l->pool[r].next)
    ok = ordered(l, l->pool[r].step, step, buf, block);
  l->readers[buf][block] = NONE;
  l->writer[buf][block] = step;
  return ok;
}

typedef bool touch(ledger *l, uint32_t step, uint32_t buf, uint32_t block);

static bool each_block(ledger *l, uint32_t step, const tt_span *span, tt_gap skip, touch *how) {
  for (uint32_t i = 0; i < tt_span_size(span); i++)
    if ((i < skip.lo || i >= skip.hi) && !how(l, step, span->buf, tt_span_block(span, i)))
      return false;
  return true;
}

static bool step_ordered(ledger *l, uint32_t i) {
  const tt_step *step = &l->s->steps[i];
  const tt_gap skip = tt_self_part(l->s, step), none = {0, 0};
  const bool sends = step->kind == TT_SEND;
  for (uint32_t k = 0; k < tt_step_operands(step); k++) {
    const tt_span span = tt_step_operand(step, k);
    if (!each_block(l, i, &span, sends ? skip : none, reads)) return false;
  }
  return sends || each_block(l, i, &step->dst, skip, writes);
}

static bool find_ancestors(ledger *l) {
  const tt_sched *s = l->s;
  l->words = s->nsteps / 64 + 1;
  l->before = calloc(s->nsteps * l->words + 1, sizeof *l->before);
  for (uint32_t i = 0; l->before && i < s->nsteps; i++)
    for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++) {
      const uint32_t x = s->after[k];
      uint64_t *mine = l->before + i * l->words, *its = l->before + x * l->words;
      for (size_t w = 0; w <= x / 64; w++) mine[w] |= its[w];
      mine[x / 64] |= 1ull << (x % 64);
    }
  return l->before != NULL;
}

static bool begin_ledger(ledger *l) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    const size_t blocks = (b == TT_TMP ? l->s->tmp_blocks : l->s->blocks) + (size_t)1;
    l->writer[b] = malloc(blocks * sizeof *l->writer[b]);
    l->readers[b] = malloc(blocks * sizeof *l->readers[b]);
    if (!l->writer[b] || !l->readers[b]) return false;
    memset(l->writer[b], 0xff, blocks * sizeof *l->writer[b]);
    memset(l->readers[b], 0xff, blocks * sizeof *l->readers[b]);
  }
  return find_ancestors(l);
}

static bool rank_ordered(search *across, int rank) {
  ledger l = {.across = across, .rank = rank, .s = across->g->all[rank]};
  bool ok = begin_ledger(&l);
  if (!ok) across->g->failed = true;
  for (uint32_t i = 0; ok && i < l.s->nsteps; i++) ok = step_ordered(&l, i);
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    free(l.writer[b]);
    free(l.readers[b]);
  }
  free(l.before);
  free(l.pool);
  return ok;
}

bool tt_conflicts_ordered(tt_graph *g) {
  const size_t events = 2 * (size_t)g->nsteps + g->nmessages + 1;
  search across = {.g = g, .seen = malloc(events), .queue = malloc(events * 4)};
  bool ok = across.seen && across.queue;
  if (!ok) g->failed = true;
  for (int rank = 0; ok && rank < g->ranks; rank++) ok = rank_ordered(&across, rank);
  free(across.seen);
  free(across.queue);
  return ok;
}
