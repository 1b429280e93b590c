/* build.c - creates a schedule step by step.
 *
 * Idea       Algorithms call these functions and never write dependencies, which order.c derives. If in place, src is
 *            replaced by dst, and copies of a span onto itself are omitted.
 * Errors     Sticky: after a failed allocation the functions do nothing, and tt_build_end returns NULL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

bool tt_grow(void *array, uint32_t *capacity, uint32_t n, size_t size) {
  void *memory;
  if (n <= *capacity) return true;
  const size_t more = tt_max(tt_max(16, n), 2 * (size_t)*capacity);
  memcpy(&memory, array, sizeof memory);
  memory = realloc(memory, more * size);
  if (!memory) return false;
  memcpy(array, &memory, sizeof memory);
  *capacity = (uint32_t)more;
  return true;
}

static bool has_both(const tt_sched *s) {
  uint32_t src, src_end, dst, dst_end;
  tt_coll_src(s, &src, &src_end);
  tt_coll_dst(s, &dst, &dst_end);
  return src < src_end && dst < dst_end;
}

void tt_build_begin(tt_builder *b, const char *name, tutti_coll coll, int ranks, int rank, int root,
                    bool in_place, uint32_t blocks) {
  *b = (tt_builder){.s = calloc(1, sizeof(tt_sched))};
  tt_sched *s = b->s;
  if (s) s->name = strdup(name);
  if (!s || !s->name) {
    b->status = TUTTI_ERR_MEMORY;
    return;
  }
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

void tt_build_cut(tt_builder *b, uint32_t blocks) {
  if (!b->status) b->s->blocks = blocks;
}

void tt_build_refuse(tt_builder *b, const char *why) {
  if (b->status) return;
  b->status = TUTTI_ERR_UNSUPPORTED;
  b->refused = why;
}

void tt_build_weave(tt_builder *b, const uint32_t *from, int parts) {
  if (b->status || parts < 2) return;
  tt_sched *s = b->s;
  const uint32_t each = from[1] - from[0], n = s->nsteps - from[0];
  tt_step *apart = malloc((n + 1) * sizeof *apart);
  if (!apart) {
    b->status = TUTTI_ERR_MEMORY;
    return;
  }
  memcpy(apart, s->steps + from[0], n * sizeof *apart);
  for (uint32_t i = 0; i < n; i++)
    s->steps[from[0] + i] = apart[(size_t)(i % (uint32_t)parts) * each + i / (uint32_t)parts];
  free(apart);
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
  free(s->name);
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

/* Sets the fields that are not used by this kind of step to fixed values. */
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

void tt_build_step(tt_builder *b, const tt_step *step) {
  if (b->status) return;
  tt_sched *s = b->s;
  if (!tt_grow(&s->steps, &b->capacity, s->nsteps + 1, sizeof *s->steps)) {
    b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  tt_step *new = &s->steps[s->nsteps];
  *new = *step;
  forget_unused(new);
  normalize_span(s, &new->dst, step->kind != TT_SEND);
  normalize_span(s, &new->own, step->kind != TT_RECV);
  normalize_span(s, &new->in, step->kind == TT_REDUCE);
  if (new->kind == TT_COPY && tt_span_shifted(&new->dst, &new->own, 0)) return;
  claim_tmp(s, &new->dst, 0);
  claim_tmp(s, &new->own, 0);
  claim_tmp(s, &new->in, new->inputs ? (new->inputs - 1) * new->in_step : 0);
  s->nsteps++;
}

void tt_send(tt_builder *b, int peer, tt_span what) {
  tt_send_all(b, tt_peer(peer), what);
}

void tt_send_all(tt_builder *b, tt_peers to, tt_span what) {
  tt_build_step(b, &(tt_step){.kind = TT_SEND, .peers = to, .own = what});
}

void tt_send_split(tt_builder *b, tt_peers to, tt_span what) {
  tt_build_step(b, &(tt_step){.kind = TT_SEND, .split = 1, .peers = to, .own = what});
}

void tt_recv(tt_builder *b, int peer, tt_span dst) {
  tt_build_step(b, &(tt_step){.kind = TT_RECV, .peers = tt_peer(peer), .dst = dst});
}

void tt_recv_split(tt_builder *b, tt_peers from, tt_span dst) {
  tt_build_step(b, &(tt_step){.kind = TT_RECV, .split = 1, .peers = from, .dst = dst});
}

void tt_recv_reduce(tt_builder *b, int peer, tt_span dst, tt_span own, tt_side side) {
  tt_recv_reduce_all(b, tt_peer(peer), dst, own, side);
}

void tt_recv_reduce_all(tt_builder *b, tt_peers from, tt_span dst, tt_span own, tt_side side) {
  tt_build_step(
      b, &(tt_step){
             .kind = TT_RECV_REDUCE, .side = (uint8_t)side, .peers = from, .dst = dst, .own = own});
}

void tt_copy(tt_builder *b, tt_span dst, tt_span from) {
  tt_build_step(b, &(tt_step){.kind = TT_COPY, .dst = dst, .own = from});
}

void tt_reduce_local(tt_builder *b, tt_span dst, tt_span left, tt_span right) {
  tt_build_step(b,
                &(tt_step){.kind = TT_REDUCE, .dst = dst, .own = left, .in = right, .inputs = 1});
}

void tt_mark_completes(tt_builder *b) {
  if (b->status || !b->s->nsteps || tt_coll_prefix(b->s->coll)) return;
  b->s->steps[b->s->nsteps - 1].completes = 1;
}

_Static_assert(sizeof(tt_step) == 4 + sizeof(tt_peers) + 3 * sizeof(tt_span) + 8,
               "steps without padding are compared as bytes");

static bool same_bytes(const void *a, const void *b, size_t size) {
  return size == 0 || memcmp(a, b, size) == 0; /* both may be NULL if size is 0 */
}

bool tt_sched_equal(const tt_sched *a, const tt_sched *b) {
  if (strcmp(a->name, b->name) != 0 || a->coll != b->coll || a->ranks != b->ranks ||
      a->rank != b->rank || a->root != b->root || a->data != b->data ||
      a->in_place != b->in_place || a->blocks != b->blocks || a->tmp_blocks != b->tmp_blocks ||
      a->nsteps != b->nsteps)
    return false;
  return same_bytes(a->steps, b->steps, a->nsteps * sizeof *a->steps) &&
         same_bytes(a->after_at, b->after_at, (a->nsteps + 1) * sizeof *a->after_at) &&
         same_bytes(a->after, b->after, a->after_at[a->nsteps] * sizeof *a->after);
}

bool tt_sched_followers(tt_sched *const *all, int n, uint32_t **at, uint32_t **followers) {
  uint32_t steps = 0, total = 0;
  for (int r = 0; r < n; r++) {
    steps += all[r]->nsteps;
    total += all[r]->after_at[all[r]->nsteps];
  }
  uint32_t *start = *at = calloc((size_t)steps + 2, sizeof *start);
  *followers = malloc(((size_t)total + 1) * sizeof **followers);
  if (!start || !*followers) return false;
  for (int pass = 0; pass < 2;
       pass++) { /* first counts the dependents of step i in start[i + 2], then lists them */
    for (uint32_t r = 0, first = 0; r < (uint32_t)n; first += all[r++]->nsteps)
      for (uint32_t i = 0; i < all[r]->nsteps; i++)
        for (uint32_t k = all[r]->after_at[i]; k < all[r]->after_at[i + 1]; k++) {
          uint32_t *next = &start[first + all[r]->after[k] + 1];
          if (pass == 0)
            next[1]++;
          else
            (*followers)[next[0]++] = first + i;
        }
    for (uint32_t i = 1; pass == 0 && i <= steps; i++) start[i + 1] += start[i];
  }
  return true;
}
