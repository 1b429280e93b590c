/* build.c - writes a schedule step by step.
 *
 * Idea       algorithms call these functions and never write dependencies (order.c derives
 *            them). In place, src becomes dst here, and copies onto itself are dropped.
 * Errors     sticky: after a failed allocation the calls do nothing and
 *            tt_build_end returns NULL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

static bool has_both(const tt_sched *s) {
  uint32_t src, src_end, dst, dst_end;
  tt_coll_src(s, &src, &src_end);
  tt_coll_dst(s, &dst, &dst_end);
  return src < src_end && dst < dst_end;
}

void tt_build_begin(tt_builder *b, const char *name, tutti_coll coll, int ranks, int rank, int root,
                    bool in_place, uint32_t blocks) {
  *b = (tt_builder){.s = calloc(1, sizeof(tt_sched))};
  if (!b->s) {
    b->status = TUTTI_ERR_MEMORY;
    return;
  }
  tt_sched *s = b->s;
  snprintf(s->name, sizeof s->name, "%s", name);
  s->coll = coll;
  s->ranks = ranks;
  s->rank = rank;
  s->root = root;
  s->data = ranks;
  s->blocks = blocks;
  s->in_place = in_place && has_both(s);
}

void tt_build_data(tt_builder *b, int data) {
  if (b->status) return;
  b->s->data = data;
  b->s->in_place = b->s->in_place && has_both(b->s);
}

tt_sched *tt_build_end(tt_builder *b) {
  if (!b->status) b->status = tt_derive_order(b->s);
  if (b->status) {
    tt_sched_free(b->s);
    b->s = NULL;
  }
  return b->s;
}

void tt_sched_free(tt_sched *s) {
  if (!s) return;
  free(s->steps);
  free(s->after_at);
  free(s->after);
  free(s);
}

static void claim_tmp(tt_sched *s, const tt_span *span, uint32_t extra) {
  if (span->buf != TT_TMP || tt_span_size(span) == 0) return;
  const uint32_t end = (uint32_t)tt_min(span->first + span->count, span->ring);
  const uint32_t top = span->base + span->stride * (span->ring * (span->repeat - 1) + end - 1);
  s->tmp_blocks = (uint32_t)tt_max(s->tmp_blocks, top + extra + 1);
}

/* Gives the fields that a kind of step does not use fixed values. */
static void forget_unused(tt_step *step) {
  const tt_span nothing = tt_block(TT_SRC, 0);
  if (step->kind == TT_SEND) step->dst = nothing;
  if (step->kind == TT_RECV) step->own = nothing;
  if (step->peers.count <= 1) step->peers.stride = 1;
  if (step->inputs <= 1) step->in_step = 0;
  if (step->kind == TT_REDUCE) return;
  step->in = nothing;
  step->inputs = step->in_step = 0;
}

static void normalize_span(const tt_sched *s, tt_span *span, bool used) {
  if (used && s->in_place && span->buf == TT_SRC) span->buf = TT_DST;
  if (used) tt_span_tidy(span);
}

static bool same_blocks(const tt_span *a, const tt_span *b) {
  if (a->buf != b->buf || tt_span_size(a) != tt_span_size(b)) return false;
  for (uint32_t i = 0; i < tt_span_size(a); i++)
    if (tt_span_block(a, i) != tt_span_block(b, i)) return false;
  return true;
}

void tt_build_step(tt_builder *b, const tt_step *step) {
  if (b->status) return;
  tt_sched *s = b->s;
  if (s->nsteps == b->capacity) {
    uint32_t capacity = b->capacity ? 2 * b->capacity : 16;
    tt_step *more = realloc(s->steps, capacity * sizeof *more);
    if (!more) {
      b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
      return;
    }
    s->steps = more;
    b->capacity = capacity;
  }
  tt_step *new = &s->steps[s->nsteps];
  *new = *step;
  forget_unused(new);
  normalize_span(s, &new->dst, step->kind != TT_SEND);
  normalize_span(s, &new->own, step->kind != TT_RECV);
  normalize_span(s, &new->in, step->kind == TT_REDUCE);
  if (new->kind == TT_COPY && same_blocks(&new->dst, &new->own)) return;
  claim_tmp(s, &new->dst, 0);
  claim_tmp(s, &new->own, 0);
  claim_tmp(s, &new->in, new->inputs ? (new->inputs - 1) * new->in_step : 0);
  s->nsteps++;
}

static tt_step blank(tt_kind kind, tt_peers peers) {
  tt_step step;
  memset(&step, 0, sizeof step);
  step.kind = (uint8_t)kind;
  step.peers = peers;
  return step;
}

void tt_send_all(tt_builder *b, tt_peers to, tt_span what) {
  tt_step step = blank(TT_SEND, to);
  step.own = what;
  tt_build_step(b, &step);
}

void tt_send(tt_builder *b, int peer, tt_span what) {
  tt_send_all(b, tt_peer(peer), what);
}

void tt_send_split(tt_builder *b, tt_peers to, tt_span what) {
  tt_step step = blank(TT_SEND, to);
  step.own = what;
  step.split = 1;
  tt_build_step(b, &step);
}

void tt_recv(tt_builder *b, int peer, tt_span dst) {
  tt_step step = blank(TT_RECV, tt_peer(peer));
  step.dst = dst;
  tt_build_step(b, &step);
}

void tt_recv_split(tt_builder *b, tt_peers from, tt_span dst) {
  tt_step step = blank(TT_RECV, from);
  step.dst = dst;
  step.split = 1;
  tt_build_step(b, &step);
}

void tt_recv_reduce_all(tt_builder *b, tt_peers from, tt_span dst, tt_span own, tt_side side) {
  tt_step step = blank(TT_RECV_REDUCE, from);
  step.dst = dst;
  step.own = own;
  step.side = (uint8_t)side;
  tt_build_step(b, &step);
}

void tt_recv_reduce(tt_builder *b, int peer, tt_span dst, tt_span own, tt_side side) {
  tt_recv_reduce_all(b, tt_peer(peer), dst, own, side);
}

void tt_copy(tt_builder *b, tt_span dst, tt_span from) {
  tt_step step = blank(TT_COPY, (tt_peers){0, 0, 1});
  step.dst = dst;
  step.own = from;
  tt_build_step(b, &step);
}

void tt_reduce_local(tt_builder *b, tt_span dst, tt_span left, tt_span right) {
  tt_step step = blank(TT_REDUCE, (tt_peers){0, 0, 1});
  step.dst = dst;
  step.own = left;
  step.in = right;
  step.inputs = 1;
  tt_build_step(b, &step);
}

void tt_mark_completes(tt_builder *b) {
  if (b->status || !b->s->nsteps || tt_coll_prefix(b->s->coll)) return;
  b->s->steps[b->s->nsteps - 1].completes = 1;
}

static bool same_span(const tt_span *a, const tt_span *b) {
  return a->buf == b->buf && a->base == b->base && a->first == b->first && a->count == b->count &&
         a->ring == b->ring && a->stride == b->stride && a->repeat == b->repeat;
}

static bool same_step(const tt_step *a, const tt_step *b) {
  return a->kind == b->kind && a->side == b->side && a->split == b->split &&
         a->completes == b->completes && a->peers.first == b->peers.first &&
         a->peers.count == b->peers.count && a->peers.stride == b->peers.stride &&
         same_span(&a->dst, &b->dst) && same_span(&a->own, &b->own) && same_span(&a->in, &b->in) &&
         a->inputs == b->inputs && a->in_step == b->in_step;
}

bool tt_sched_equal(const tt_sched *a, const tt_sched *b) {
  if (strcmp(a->name, b->name) != 0 || a->coll != b->coll || a->ranks != b->ranks ||
      a->rank != b->rank || a->root != b->root || a->data != b->data ||
      a->in_place != b->in_place || a->blocks != b->blocks || a->tmp_blocks != b->tmp_blocks ||
      a->nsteps != b->nsteps)
    return false;
  for (uint32_t i = 0; i < a->nsteps; i++)
    if (!same_step(&a->steps[i], &b->steps[i])) return false;
  if (memcmp(a->after_at, b->after_at, (a->nsteps + 1) * sizeof *a->after_at) != 0) return false;
  return a->after_at[a->nsteps] == 0 ||
         memcmp(a->after, b->after, a->after_at[a->nsteps] * sizeof *a->after) == 0;
}
