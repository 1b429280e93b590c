/* order.c - derives the order of steps from what they read and write.
 *
 * Idea       walk the steps once and keep, per block, its last writer and the
 *            readers since: a read waits for the writer, a write for both.
 * Cost       linear in the blocks that the steps name.
 * Invariant  dependencies point backwards; those that another dependency already
 *            implies directly are left out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

enum { NONE = UINT32_MAX };

typedef struct reader {
  uint32_t step, next;
} reader;

typedef struct tracker {
  uint32_t *writer[TT_BUF_COUNT], *readers[TT_BUF_COUNT]; /* per block */
  reader *pool;
  uint32_t used, room;
  uint32_t *seen;  /* per step: the step that last listed it */
  uint32_t *after; /* all lists so far */
  uint32_t length, capacity;
  uint32_t from; /* where the current step's list begins */
  bool failed;
} tracker;

static bool grow(void **array, uint32_t *room, size_t size) {
  uint32_t more = *room ? 2 * *room : 64;
  void *moved = realloc(*array, more * size);
  if (!moved) return false;
  *array = moved;
  *room = more;
  return true;
}

static inline void wait_for(tracker *t, uint32_t step, uint32_t earlier) {
  if (earlier == NONE || earlier == step || t->seen[earlier] == step) return;
  if (t->length == t->capacity && !grow((void **)&t->after, &t->capacity, sizeof *t->after)) {
    t->failed = true;
    return;
  }
  t->seen[earlier] = step;
  t->after[t->length++] = earlier;
}

static void read_span(tracker *t, uint32_t step, const tt_span *span, tt_gap skip) {
  const uint32_t size = tt_span_size(span);
  const uint32_t *writer = t->writer[span->buf];
  uint32_t *readers = t->readers[span->buf];
  while (t->room - t->used < size && !t->failed)
    t->failed = !grow((void **)&t->pool, &t->room, sizeof *t->pool);
  for (uint32_t i = 0; i < size && !t->failed; i++) {
    if (i >= skip.lo && i < skip.hi) continue;
    const uint32_t block = tt_span_block(span, i);
    wait_for(t, step, writer[block]);
    t->pool[t->used] = (reader){step, readers[block]};
    readers[block] = t->used++;
  }
}

static void write_span(tracker *t, uint32_t step, const tt_span *span, tt_gap skip) {
  const uint32_t size = tt_span_size(span);
  uint32_t *writer = t->writer[span->buf], *readers = t->readers[span->buf];
  for (uint32_t i = 0; i < size && !t->failed; i++) {
    if (i >= skip.lo && i < skip.hi) continue;
    const uint32_t block = tt_span_block(span, i);
    wait_for(t, step, writer[block]);
    for (uint32_t r = readers[block]; r != NONE; r = t->pool[r].next)
      wait_for(t, step, t->pool[r].step);
    readers[block] = NONE;
    writer[block] = step;
  }
}

static int ascending(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Leave out what a later dependency of the same step waits for itself. */
static void prune(tracker *t, const uint32_t *after_at) {
  uint32_t n = t->length - t->from, *list = t->after + t->from, kept = 0;
  if (n < 2) return;
  qsort(list, n, sizeof *list, ascending);
  for (uint32_t i = 0; i < n; i++) {
    bool implied = false;
    for (uint32_t j = i + 1; j < n && !implied; j++) {
      uint32_t lo = after_at[list[j]], hi = after_at[list[j] + 1];
      implied = hi > lo && bsearch(&list[i], t->after + lo, hi - lo, sizeof *list, ascending);
    }
    if (!implied) list[kept++] = list[i];
  }
  t->length = t->from + kept;
}

static bool begin(tracker *t, const tt_sched *s) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    size_t blocks = (b == TT_TMP ? s->tmp_blocks : s->blocks) + 1;
    t->writer[b] = malloc(blocks * sizeof **t->writer);
    t->readers[b] = malloc(blocks * sizeof **t->readers);
    if (!t->writer[b] || !t->readers[b]) return false;
    memset(t->writer[b], 0xff, blocks * sizeof **t->writer);
    memset(t->readers[b], 0xff, blocks * sizeof **t->readers);
  }
  t->seen = malloc((s->nsteps + 1) * sizeof *t->seen);
  if (t->seen) memset(t->seen, 0xff, (s->nsteps + 1) * sizeof *t->seen);
  return t->seen != NULL;
}

static void end(tracker *t) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    free(t->writer[b]);
    free(t->readers[b]);
  }
  free(t->pool);
  free(t->seen);
}

static void visit(tracker *t, const tt_sched *s, uint32_t i) {
  const tt_step *step = &s->steps[i];
  const tt_gap skip = tt_self_part(s, step), none = {0, 0};
  tt_span read = step->own;
  if (step->kind != TT_RECV) read_span(t, i, &read, step->kind == TT_SEND ? skip : none);
  for (uint32_t k = 0; step->kind == TT_REDUCE && k < step->inputs; k++) {
    read = step->in;
    read.base += k * step->in_step;
    read_span(t, i, &read, none);
  }
  if (step->kind != TT_SEND) write_span(t, i, &step->dst, skip);
}

tutti_status tt_derive_order(tt_sched *s) {
  tracker t = {0};
  free(s->after_at);
  free(s->after);
  s->after = NULL;
  s->after_at = malloc((s->nsteps + 1) * sizeof *s->after_at);
  t.failed = !s->after_at || !begin(&t, s);
  for (uint32_t i = 0; i < s->nsteps && !t.failed; i++) {
    s->after_at[i] = t.from = t.length;
    visit(&t, s, i);
    prune(&t, s->after_at);
    s->after_at[i + 1] = t.length;
  }
  if (s->after_at && s->nsteps == 0) s->after_at[0] = 0;
  end(&t);
  s->after = t.after;
  if (!t.failed) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while ordering a schedule of %u steps",
                 s->nsteps);
}
