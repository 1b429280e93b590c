/* symbolic.c - executes the schedules symbolically, in dependency order.
 *
 * Idea       A step starts when all steps that it waits for have ended. A receive is executed when it and its senders
 *            have started and the previous message between the same ranks has been consumed. A send ends when all its
 *            readers have ended. If no remaining step can proceed, they wait for each other, which is a deadlock.
 * Invariant  conflict.c shows that all orders give the same values, so one order is sufficient.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "prove.h"

typedef struct progress {
  uint32_t waits; /* number of steps that must end before this one starts */
  uint32_t pending; /* events still needed before it is executed or, for a send, ends */
  uint32_t depth;
  bool started, ended;
} progress;

typedef struct runner {
  tt_graph *g;
  tt_values *v;
  tt_memory *m;
  const tt_watch *watch; /* may be NULL */
  progress *of;          /* one per step */
  uint32_t *queue, head, tail;
  tt_value *operands;
} runner;

static tt_value *memory_cell(tt_memory *m, int rank, uint32_t buf, uint32_t block) {
  return &m->at[(uint32_t)rank * TT_BUF_COUNT + buf][block];
}

static uint32_t incoming(const tt_graph *g, uint32_t id, uint32_t i) {
  return g->in[g->in_at[id] + i];
}

/* Returns the value that the sender has in the n-th block of message `msg`. */
static tt_value arriving(runner *r, const tt_message *msg, uint32_t n) {
  const tt_step *send = tt_graph_step(r->g, msg->from);
  uint32_t lo, hi;
  tt_part_of(send, (int)msg->entry_from, &lo, &hi);
  tt_value v = *memory_cell(r->m, msg->sender, send->own.buf, tt_span_block(&send->own, lo + n));
  if (!v) tt_graph_refuse(r->g, msg->from, "it sends a block that nothing was written to");
  return v;
}

static tt_value local(runner *r, uint32_t id, const tt_span *span, uint32_t i) {
  tt_value v = *memory_cell(r->m, r->g->rank_of[id], span->buf, tt_span_block(span, i));
  if (!v) tt_graph_refuse(r->g, id, "it reads a block that nothing was written to");
  return v;
}

static void store(runner *r, uint32_t id, uint32_t i, tt_value v) {
  const tt_span *dst = &tt_graph_step(r->g, id)->dst;
  *memory_cell(r->m, r->g->rank_of[id], dst->buf, tt_span_block(dst, i)) = v;
}

static void do_recv(runner *r, uint32_t id) {
  const tt_step *step = tt_graph_step(r->g, id);
  for (uint32_t k = r->g->in_at[id]; k < r->g->in_at[id + 1]; k++) {
    const tt_message *msg = &r->g->messages[r->g->in[k]];
    uint32_t lo, hi;
    tt_part_of(step, (int)msg->entry_to, &lo, &hi);
    for (uint32_t i = lo; i < hi; i++) store(r, id, i, arriving(r, msg, i - lo));
  }
}

static void do_recv_reduce(runner *r, uint32_t id) {
  const tt_step *step = tt_graph_step(r->g, id);
  uint32_t inputs = r->g->in_at[id + 1] - r->g->in_at[id];
  for (uint32_t i = 0; i < tt_span_size(&step->dst); i++) {
    uint32_t n = 0, k = 0;
    tt_value own = local(r, id, &step->own, i);
    if (step->side == TT_OWN_FIRST) r->operands[n++] = own;
    for (int e = 0; e < step->peers.count; e++) {
      bool self = tt_peer_rank(&step->peers, e, r->g->ranks) == r->g->rank_of[id];
      r->operands[n++] = self ? own : arriving(r, &r->g->messages[incoming(r->g, id, k)], i);
      k += !self;
    }
    if (step->side == TT_OWN_LAST) r->operands[n++] = own;
    if (k == inputs) store(r, id, i, tt_value_sum(r->v, r->operands, n, step->completes));
  }
}

static void do_local(runner *r, uint32_t id) {
  const tt_step *step = tt_graph_step(r->g, id);
  const uint32_t n = tt_step_operands(step);
  tt_value *in = r->operands;
  for (uint32_t i = 0; i < tt_span_size(&step->dst);
       i++) { /* no operand is at a later position in dst */
    for (uint32_t k = 0; k < n; k++) {
      const tt_span span = tt_step_operand(step, k);
      in[k] = local(r, id, &span, i);
    }
    store(r, id, i, step->kind == TT_COPY ? in[0] : tt_value_sum(r->v, in, n, step->completes));
  }
}

static void deepen(runner *r, uint32_t id, uint32_t depth) {
  if (r->of[id].depth < depth) r->of[id].depth = depth;
}

static void start_step(runner *r, uint32_t id) {
  r->of[id].started = 1;
  if (r->watch) r->watch->begins(r->watch->ctx, id, r->of[id].depth);
  for (uint32_t k = r->g->out_at[id]; k < r->g->out_at[id + 1]; k++) {
    uint32_t to = r->g->messages[k].to;
    deepen(r, to, r->of[id].depth + 1);
    if (--r->of[to].pending == 0) r->queue[r->tail++] = to;
  }
  if (tt_graph_step(r->g, id)->kind != TT_SEND && --r->of[id].pending == 0)
    r->queue[r->tail++] = id;
}

static void finish_step(runner *r, uint32_t id) {
  r->of[id].ended = 1;
  for (uint32_t k = r->g->deps_at[id]; k < r->g->deps_at[id + 1]; k++) {
    uint32_t next = r->g->deps[k];
    deepen(r, next, r->of[id].depth);
    if (--r->of[next].waits == 0) start_step(r, next);
  }
}

/* Executes a receive or a local step: moves its data, and allows the steps that sent the data to end. */
static void happen(runner *r, uint32_t id) {
  const tt_step *step = tt_graph_step(r->g, id);
  if (step->kind == TT_RECV)
    do_recv(r, id);
  else if (step->kind == TT_RECV_REDUCE)
    do_recv_reduce(r, id);
  else
    do_local(r, id);
  if (r->watch) r->watch->happens(r->watch->ctx, id, r->of[id].depth);
  for (uint32_t k = r->g->in_at[id]; k < r->g->in_at[id + 1]; k++) {
    const tt_message *msg = &r->g->messages[r->g->in[k]];
    if (msg->next != UINT32_MAX) {
      uint32_t to = r->g->messages[msg->next].to;
      if (--r->of[to].pending == 0) r->queue[r->tail++] = to;
    }
    deepen(r, msg->from, r->of[id].depth);
    if (--r->of[msg->from].pending == 0) finish_step(r, msg->from);
  }
  finish_step(r, id);
}

static bool prepare_runner(runner *r) {
  const tt_graph *g = r->g;
  size_t n = g->nsteps + 1, widest = (size_t)g->ranks + 1;
  r->of = calloc(n, sizeof *r->of);
  r->queue = malloc(n * sizeof *r->queue);
  for (uint32_t id = 0; id < g->nsteps; id++)
    widest = tt_max(widest, tt_graph_step(g, id)->inputs + 1);
  r->operands = malloc(widest * sizeof *r->operands);
  if (!r->of || !r->queue || !r->operands) return false;
  for (uint32_t id = 0; id < g->nsteps; id++) {
    int rank = g->rank_of[id];
    uint32_t step = id - g->base[rank];
    const tt_sched *s = g->all[rank];
    r->of[id].waits = s->after_at[step + 1] - s->after_at[step];
    r->of[id].pending = s->steps[step].kind == TT_SEND ? g->out_at[id + 1] - g->out_at[id]
                                                       : 1 + g->in_at[id + 1] - g->in_at[id];
  }
  for (uint32_t i = 0; i < g->nmessages; i++)
    if (g->messages[i].next != UINT32_MAX) r->of[g->messages[g->messages[i].next].to].pending++;
  return true;
}

bool tt_memory_new(tt_memory *m, tt_sched *const *all, int ranks) {
  *m = (tt_memory){calloc((size_t)ranks * TT_BUF_COUNT, sizeof *m->at), ranks};
  for (int i = 0; m->at && i < ranks * TT_BUF_COUNT; i++) {
    const tt_sched *s = all[i / TT_BUF_COUNT];
    const size_t blocks = i % TT_BUF_COUNT == TT_TMP ? s->tmp_blocks : s->blocks;
    m->at[i] = calloc(blocks + 1, sizeof **m->at);
    if (!m->at[i]) return false;
  }
  return m->at != NULL;
}

static bool prepare_memory(runner *r) {
  if (!tt_memory_new(r->m, r->g->all, r->g->ranks)) return false;
  for (int rank = 0; rank < r->g->ranks; rank++) {
    const tt_sched *s = r->g->all[rank];
    uint32_t lo, hi;
    tt_coll_src(s, &lo, &hi);
    for (uint32_t block = lo; block < hi; block++)
      *memory_cell(r->m, rank, s->in_place ? TT_DST : TT_SRC, block) =
          tt_value_input(r->v, rank, block);
  }
  return true;
}

void tt_memory_free(tt_memory *m) {
  for (int i = 0; m->at && i < m->ranks * TT_BUF_COUNT; i++) free(m->at[i]);
  free(m->at);
}

/* Returns a step that `id` waits for and that has not ended. */
static uint32_t waits_for(const runner *r, uint32_t id) {
  const tt_graph *g = r->g;
  int rank = g->rank_of[id];
  const tt_sched *s = g->all[rank];
  uint32_t step = id - g->base[rank];
  if (!r->of[id].started) {
    for (uint32_t k = s->after_at[step]; k < s->after_at[step + 1]; k++)
      if (!r->of[g->base[rank] + s->after[k]].ended) return g->base[rank] + s->after[k];
  }
  for (uint32_t k = g->out_at[id]; k < g->out_at[id + 1]; k++)
    if (!r->of[g->messages[k].to].ended) return g->messages[k].to;
  for (uint32_t k = g->in_at[id]; k < g->in_at[id + 1]; k++)
    if (!r->of[g->messages[g->in[k]].from].started) return g->messages[g->in[k]].from;
  for (uint32_t i = 0; i < g->nmessages; i++) /* the previous message between the same ranks */
    if (g->messages[i].next != UINT32_MAX && g->messages[g->messages[i].next].to == id &&
        !r->of[g->messages[i].to].ended)
      return g->messages[i].to;
  return id;
}

static void say_deadlock(runner *r) {
  uint32_t id = 0;
  while (r->of[id].ended) id++;
  uint32_t first = id;
  for (uint32_t n = 0; n < r->g->nsteps; n++) id = waits_for(r, id); /* enough to be on the cycle */
  char chain[220] = "";
  size_t length = 0;
  uint32_t at = id;
  first = id;
  do {
    at = waits_for(r, at);
    int n = snprintf(chain + length, sizeof chain - length, "%srank %d step %u",
                     length ? ", which waits for " : "", r->g->rank_of[at],
                     at - r->g->base[r->g->rank_of[at]]);
    length = tt_min(length + (size_t)n, sizeof chain - 1);
  } while (at != first && length < 160);
  tt_graph_refuse(r->g, id, "deadlock: it waits for %s%s", chain, at == first ? "" : ", ...");
}

static void count_costs(const runner *r, tutti_report *report) {
  const tt_graph *g = r->g;
  for (int rank = 0; rank < g->ranks; rank++) {
    int64_t messages = 0, sent = 0, reduced = 0, copied = 0;
    for (uint32_t id = g->base[rank]; id < g->base[rank + 1]; id++) {
      const tt_step *step = tt_graph_step(g, id);
      int64_t out = g->out_at[id + 1] - g->out_at[id], in = g->in_at[id + 1] - g->in_at[id];
      uint32_t size = tt_span_size(tt_step_cargo(step));
      messages += out;
      sent += out * (step->split ? size / (uint32_t)step->peers.count : size);
      if (step->kind == TT_RECV_REDUCE) reduced += in * size;
      if (step->kind == TT_REDUCE) reduced += (int64_t)step->inputs * size;
      if (step->kind == TT_COPY) copied += size;
      report->steps = (int)tt_max((size_t)report->steps, r->of[id].depth);
    }
    if (messages > report->messages) report->messages = (int)messages;
    if (sent > report->sent_blocks) report->sent_blocks = sent;
    if (reduced > report->reduced) report->reduced = reduced;
    if (copied > report->copied) report->copied = copied;
    report->scratch_blocks = (int)tt_max((size_t)report->scratch_blocks, g->all[rank]->tmp_blocks);
  }
}

bool tt_symbolic_run(tt_graph *g, tt_values *v, tt_memory *m, const tt_watch *watch,
                     tutti_report *report) {
  runner r = {.g = g, .v = v, .m = m, .watch = watch};
  if (!prepare_runner(&r) || !prepare_memory(&r)) g->failed = true;
  for (uint32_t id = 0; id < g->nsteps && !g->failed; id++)
    if (r.of[id].waits == 0 && !r.of[id].started) start_step(&r, id);
  while (r.head < r.tail && !g->failed && !g->refused) happen(&r, r.queue[r.head++]);
  uint32_t ended = 0;
  for (uint32_t id = 0; id < g->nsteps && !g->failed; id++) ended += r.of[id].ended;
  if (!g->failed && !g->refused && ended < g->nsteps) say_deadlock(&r);
  if (!g->failed && !g->refused) count_costs(&r, report);
  if (tt_values_failed(v)) g->failed = true;
  free(r.of);
  free(r.queue);
  free(r.operands);
  return !g->failed && !g->refused;
}
