/* text.c - prints a schedule in a readable form, which parse.c can parse.
 *
 *   tutti-schedule 1  allreduce fold(ring) P=3 blocks=3
 *   rank 0
 *     0 send        ->1 src[0]
 *     1 recv_reduce <-2 dst[2] = src[2] op in
 *     2 send        ->1 dst[2]  after 1
 *
 * Spans   src[3]  src[2..5]  src[5..1%7] wraps at 7; in general
 *         buf[first..last%ring*stride+base xrepeat]
 * Peers   ->1  ->0..6 (wraps at P; its own entry is skipped)  ->0..6:2 strided
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

const char *const tt_buf_names[TT_BUF_COUNT] = {"src", "dst", "tmp"};

size_t tt_text_until(const char *text, const char *stops) {
  size_t n = 0;
  for (int depth = 0; text[n] && (depth > 0 || !strchr(stops, text[n])); n++)
    depth += (text[n] == '(') - (text[n] == ')');
  return n;
}

void tt_text_add(tt_text *t, const char *format, ...) {
  if (t->failed) return;
  for (;;) {
    va_list args;
    va_start(args, format);
    size_t left = t->capacity - t->length;
    int n = vsnprintf(t->at ? t->at + t->length : NULL, left, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < left) {
      t->length += (size_t)n;
      return;
    }
    size_t capacity = 2 * t->capacity + (size_t)(n < 0 ? 0 : n) + 256;
    char *more = n < 0 ? NULL : realloc(t->at, capacity);
    if (!more) {
      t->failed = true;
      return;
    }
    t->at = more;
    t->capacity = capacity;
  }
}

static void span_print(tt_text *t, const tt_span *span) {
  uint32_t last = (span->first + span->count - 1) % span->ring;
  tt_text_add(t, "%s[%u", tt_buf_names[span->buf], span->first);
  bool plain = span->stride == 1 && span->repeat == 1 && span->base == 0 &&
               span->ring == span->first + span->count;
  if (span->count > 1) tt_text_add(t, "..%u", last);
  if (!plain) tt_text_add(t, "%%%u", span->ring);
  if (span->stride != 1) tt_text_add(t, "*%u", span->stride);
  if (span->base != 0) tt_text_add(t, "+%u", span->base);
  if (span->repeat != 1) tt_text_add(t, " x%u", span->repeat);
  tt_text_add(t, "]");
}

static void peers_print(tt_text *t, const tt_sched *s, const tt_step *step) {
  const tt_peers *p = &step->peers;
  tt_text_add(t, "%s%d", step->kind == TT_SEND ? "->" : "<-", tt_mod(p->first, s->ranks));
  if (p->count > 1) tt_text_add(t, "..%d", tt_peer_rank(p, p->count - 1, s->ranks));
  if (p->count > 1 && p->stride != 1) tt_text_add(t, ":%d", p->stride);
  tt_text_add(t, " ");
}

static void operands_print(tt_text *t, const tt_step *step) {
  if (step->kind == TT_RECV_REDUCE) {
    if (step->side != TT_OWN_FIRST) tt_text_add(t, "in op ");
    span_print(t, &step->own);
    if (step->side != TT_OWN_LAST) tt_text_add(t, " op in");
    return;
  }
  for (uint32_t k = 0; k < tt_step_operands(step); k++) {
    tt_span in = tt_step_operand(step, k);
    tt_span_tidy(&in);
    if (k) tt_text_add(t, " op ");
    span_print(t, &in);
  }
}

void tt_step_print(tt_text *t, const tt_sched *s, uint32_t i) {
  static const char *const names[] = {"send", "recv", "recv_reduce", "copy", "reduce"};
  const tt_step *step = &s->steps[i];
  char kind[24];
  snprintf(kind, sizeof kind, "%s%s", names[step->kind], step->split ? "_split" : "");
  tt_text_add(t, "%3u %-11s ", i, kind);
  if (!tt_step_local(step)) peers_print(t, s, step);
  span_print(t, tt_step_cargo(step));
  if (step->kind != TT_SEND && step->kind != TT_RECV) {
    tt_text_add(t, " = ");
    operands_print(t, step);
  }
  if (step->completes) tt_text_add(t, "  last");
  for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++)
    tt_text_add(t, k == s->after_at[i] ? "  after %u" : " %u", s->after[k]);
  tt_text_add(t, "\n");
}

void tt_sched_print(tt_text *t, const tt_sched *const *all, int n) {
  bool header = false;
  for (int r = 0; r < n; r++) {
    const tt_sched *s = all[r];
    if (!s) continue;
    if (!header) {
      tt_text_add(t, "tutti-schedule 1  %s %s P=%d blocks=%u", tutti_coll_name(s->coll), s->name,
                  s->ranks, s->blocks);
      if (tt_coll_rooted(s->coll)) tt_text_add(t, " root=%d", s->root);
      if (s->data < s->ranks) tt_text_add(t, " data=%d", s->data);
      tt_text_add(t, "\n");
      header = true;
    }
    tt_text_add(t, "rank %d", s->rank);
    if (s->in_place) tt_text_add(t, " inplace");
    if (s->tmp_blocks) tt_text_add(t, " tmp=%u", s->tmp_blocks);
    tt_text_add(t, "\n");
    for (uint32_t i = 0; i < s->nsteps; i++) tt_step_print(t, s, i);
  }
}
