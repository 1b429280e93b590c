/* order.c - derives the order of steps from what they read and write.
 *
 * Idea       walk the steps once and keep, per block, its last writer and the
 *            readers since: a read waits for the writer, a write for both. Neighbours
 *            that every step uses together or not at all are one piece.
 * Cost       n log n for n runs of neighbours in the steps, and linear in the
 *            pieces that these consist of: on 100,000 ranks microseconds.
 * Invariant  dependencies point backwards; those that another dependency already
 *            implies directly are left out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

enum { NONE = UINT32_MAX, FEW = 256 }; /* FEW: with fewer blocks, each is a piece */

typedef struct reader {
  uint32_t step, next;
} reader;

typedef enum use { READS, WRITES, CUTS } use;

typedef struct tracker {
  uint32_t *cut[TT_BUF_COUNT]; /* where pieces begin, ascending; NULL: at every block */
  uint32_t pieces[TT_BUF_COUNT], cuts_capacity[TT_BUF_COUNT];
  uint32_t *writer[TT_BUF_COUNT], *readers[TT_BUF_COUNT]; /* per piece */
  reader *pool;
  uint32_t used, pool_capacity;
  uint32_t *seen;  /* per step: the last step whose list has it */
  uint32_t *after; /* all lists so far */
  uint32_t length, capacity;
  uint32_t from; /* where the current step's list begins */
  bool failed;
} tracker;

static inline void depend_on_step(tracker *t, uint32_t step, uint32_t earlier) {
  if (earlier == NONE || earlier == step || t->seen[earlier] == step) return;
  if (t->length == t->capacity &&
      !tt_grow(&t->after, &t->capacity, t->length + 1, sizeof *t->after)) {
    t->failed = true;
    return;
  }
  t->seen[earlier] = step;
  t->after[t->length++] = earlier;
}

static void read_piece(tracker *t, uint32_t step, uint32_t buf, uint32_t piece) {
  uint32_t *readers = t->readers[buf];
  depend_on_step(t, step, t->writer[buf][piece]);
  if (t->used == t->pool_capacity &&
      !tt_grow(&t->pool, &t->pool_capacity, t->used + 1, sizeof *t->pool)) {
    t->failed = true;
    return;
  }
  t->pool[t->used] = (reader){step, readers[piece]};
  readers[piece] = t->used++;
}

static void write_piece(tracker *t, uint32_t step, uint32_t buf, uint32_t piece) {
  depend_on_step(t, step, t->writer[buf][piece]);
  for (uint32_t r = t->readers[buf][piece]; r != NONE; r = t->pool[r].next)
    depend_on_step(t, step, t->pool[r].step);
  t->readers[buf][piece] = NONE;
  t->writer[buf][piece] = step;
}

/* ---- pieces ---- */

static int compare_uint32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Cuts at both ends of a run. If there are too many cuts, every block is a piece. */
static void add_cuts(tracker *t, uint32_t buf, uint32_t block, uint32_t end) {
  if (t->pieces[buf] + 2 > t->cuts_capacity[buf]) return;
  t->cut[buf][t->pieces[buf]++] = block;
  t->cut[buf][t->pieces[buf]++] = end;
}

/* The piece that begins at this block. */
static uint32_t piece_index(const tracker *t, uint32_t buf, uint32_t block) {
  const uint32_t *cut = t->cut[buf], *at;
  if (!cut) return block;
  at = bsearch(&block, cut, t->pieces[buf], sizeof *cut, compare_uint32);
  return (uint32_t)(at - cut);
}

static void use_run(tracker *t, uint32_t step, uint32_t buf, uint32_t block, uint32_t end,
                    use how) {
  if (how == CUTS) {
    add_cuts(t, buf, block, end);
    return;
  }
  const uint32_t last = piece_index(t, buf, end);
  for (uint32_t p = piece_index(t, buf, block); p < last && !t->failed; p++)
    (how == READS ? read_piece : write_piece)(t, step, buf, p);
}

static void use_span(tracker *t, uint32_t step, const tt_span *span, tt_gap skip, use how) {
  const uint32_t size = tt_span_size(span);
  for (uint32_t i = 0, n; i < size && !t->failed; i += n) {
    n = skip.hi - i;
    if (i >= skip.lo && i < skip.hi) continue;
    n = tt_span_run(span, i, i < skip.lo ? skip.lo : size);
    const uint32_t block = tt_span_block(span, i);
    use_run(t, step, span->buf, block, block + n, how);
  }
}

/* Drops dependencies that a later dependency of the same step has itself. */
static void prune(tracker *t, const uint32_t *after_at) {
  const uint32_t n = t->length - t->from;
  if (n < 2) return;
  uint32_t *list = t->after + t->from, kept = 0;
  qsort(list, n, sizeof *list, compare_uint32);
  for (uint32_t i = 0; i < n; i++) {
    bool implied = false;
    for (uint32_t j = i + 1; j < n && !implied; j++) {
      uint32_t lo = after_at[list[j]], hi = after_at[list[j] + 1];
      implied = hi > lo && bsearch(&list[i], t->after + lo, hi - lo, sizeof *list, compare_uint32);
    }
    if (!implied) list[kept++] = list[i];
  }
  t->length = t->from + kept;
}

/* Records what the step reads and writes; with CUTS, only where its runs begin and end. */
static void visit(tracker *t, const tt_sched *s, uint32_t i, bool cuts) {
  const tt_step *step = &s->steps[i];
  const tt_gap skip = tt_self_part(s, step), none = {0, 0};
  const use reads = cuts ? CUTS : READS, writes = cuts ? CUTS : WRITES;
  for (uint32_t k = 0; k < tt_step_operands(step); k++) {
    const tt_span read = tt_step_operand(step, k);
    use_span(t, i, &read, step->kind == TT_SEND ? skip : none, reads);
  }
  if (step->kind != TT_SEND) use_span(t, i, &step->dst, skip, writes);
}

static void forget_cuts(tracker *t, int b) {
  free(t->cut[b]);
  t->cut[b] = NULL;
}

/* Sorts the cuts and drops duplicates. If there are about as many as blocks, each block is a
 * piece. */
static bool cut_into_pieces(tracker *t, const tt_sched *s, const uint32_t blocks[TT_BUF_COUNT]) {
  for (int b = 0; b < TT_BUF_COUNT; b++) t->pieces[b] = blocks[b];
  if (blocks[TT_DST] < FEW) return true;
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    t->pieces[b] = 0;
    t->cuts_capacity[b] = blocks[b] / 4;
    t->cut[b] = malloc((t->cuts_capacity[b] + 1) * sizeof *t->cut[b]);
    if (!t->cut[b]) return false;
  }
  for (uint32_t i = 0; i < s->nsteps; i++) visit(t, s, i, true);
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    uint32_t n = t->pieces[b], kept = 0;
    t->pieces[b] = blocks[b];
    if (n + 2 > t->cuts_capacity[b]) {
      forget_cuts(t, b);
      continue;
    }
    qsort(t->cut[b], n, sizeof *t->cut[b], compare_uint32);
    for (uint32_t i = 0; i < n; i++)
      if (!i || t->cut[b][i] != t->cut[b][i - 1]) t->cut[b][kept++] = t->cut[b][i];
    t->pieces[b] = kept;
  }
  return true;
}

static bool tracker_begin(tracker *t, const tt_sched *s) {
  const uint32_t blocks[TT_BUF_COUNT] = {s->blocks, s->blocks, s->tmp_blocks};
  if (!cut_into_pieces(t, s, blocks)) return false;
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    const size_t pieces = (size_t)t->pieces[b] + 1;
    t->writer[b] = malloc(pieces * sizeof **t->writer);
    t->readers[b] = malloc(pieces * sizeof **t->readers);
    if (!t->writer[b] || !t->readers[b]) return false;
    memset(t->writer[b], 0xff, pieces * sizeof **t->writer);
    memset(t->readers[b], 0xff, pieces * sizeof **t->readers);
  }
  t->seen = malloc((s->nsteps + 1) * sizeof *t->seen);
  if (t->seen) memset(t->seen, 0xff, (s->nsteps + 1) * sizeof *t->seen);
  return t->seen != NULL;
}

static void tracker_end(tracker *t) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    forget_cuts(t, b);
    free(t->writer[b]);
    free(t->readers[b]);
  }
  free(t->pool);
  free(t->seen);
}

tutti_status tt_derive_order(tt_sched *s) {
  tracker t = {0};
  free(s->after_at);
  free(s->after);
  s->after = NULL;
  s->after_at = malloc((s->nsteps + 1) * sizeof *s->after_at);
  t.failed = !s->after_at || !tracker_begin(&t, s);
  for (uint32_t i = 0; i < s->nsteps && !t.failed; i++) {
    s->after_at[i] = t.from = t.length;
    visit(&t, s, i, false);
    prune(&t, s->after_at);
    s->after_at[i + 1] = t.length;
  }
  if (s->after_at && s->nsteps == 0) s->after_at[0] = 0;
  tracker_end(&t);
  s->after = t.after;
  if (!t.failed) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while ordering a schedule of %u steps",
                 s->nsteps);
}
