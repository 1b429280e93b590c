/* order.c - derives the order of steps from the blocks that they read and write.
 *
 * Idea       Pass over the steps once and store the last writer of each block and its readers since then. A read waits
 *            for the writer, a write waits for both. Neighbouring blocks that every step uses either together or not at
 *            all form one piece. If spans repeat, some blocks represent all others (order_sample.h).
 * Cost       Linear in the number of runs of neighbouring blocks in the steps, and in the number of pieces in these runs,
 *            plus one bit per block; this takes microseconds on 100,000 ranks.
 * Invariant  Dependencies refer to earlier steps. Those that another dependency directly implies are omitted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "order_sample.h"

enum { NONE = UINT32_MAX, FEW = 256 }; /* with fewer than FEW blocks, each block is a piece */

typedef struct reader {
  uint32_t step, next;
} reader;

typedef enum use { READS, WRITES, CUTS } use;

typedef struct tracker {
  uint64_t *cut[TT_BUF_COUNT];    /* one bit per block, set if a piece starts there; NULL: all */
  uint32_t *before[TT_BUF_COUNT]; /* number of pieces before each word of `cut` */
  uint32_t pieces[TT_BUF_COUNT];
  tt_sample sample[TT_BUF_COUNT];
  uint32_t *writer[TT_BUF_COUNT], *readers[TT_BUF_COUNT]; /* one entry per piece */
  reader *pool;
  uint32_t used, pool_capacity;
  uint32_t *seen; /* for each step, the last step that has it in its list */
  uint32_t *implied; /* for each step, the last step that depends on one of its dependents */
  uint32_t *after; /* all lists, concatenated */
  uint32_t length, capacity;
  uint32_t from; /* start of the current step's list */
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

static void cut_at(tracker *t, uint32_t buf, uint32_t block) {
  t->cut[buf][block / 64] |= UINT64_C(1) << block % 64;
}

/* Returns the number of the piece that starts at this block. */
static uint32_t piece_index(const tracker *t, uint32_t buf, uint32_t block) {
  if (!t->cut[buf]) return block;
  const uint64_t below = t->cut[buf][block / 64] & ((UINT64_C(1) << block % 64) - 1);
  return t->before[buf][block / 64] + (uint32_t)__builtin_popcountll(below);
}

static void use_run(tracker *t, uint32_t step, uint32_t buf, uint32_t block, uint32_t end,
                    use how) {
  if (how == CUTS) {
    cut_at(t, buf, block);
    cut_at(t, buf, end);
    return;
  }
  const uint32_t last = piece_index(t, buf, end);
  for (uint32_t p = piece_index(t, buf, block); p < last && !t->failed; p++)
    (how == READS ? read_piece : write_piece)(t, step, buf, p);
}

/* How a step uses the runs of a span. */
typedef struct run_use {
  tracker *t;
  uint32_t step, buf;
  use how;
} run_use;

static void use_sampled(void *of, uint32_t block, uint32_t end) {
  const run_use *u = of;
  if (!u->t->failed) use_run(u->t, u->step, u->buf, block, end, u->how);
}

static void use_span(tracker *t, uint32_t step, const tt_span *span, tt_gap skip, use how) {
  const uint32_t size = tt_span_size(span);
  run_use u = {t, step, span->buf, how};
  if (tt_sample_visit(&t->sample[span->buf], span, use_sampled, &u)) return;
  for (uint32_t i = 0, n; i < size && !t->failed; i += n) {
    n = skip.hi - i;
    if (i >= skip.lo && i < skip.hi) continue;
    n = tt_span_run(span, i, i < skip.lo ? skip.lo : size);
    const uint32_t block = tt_span_block(span, i);
    use_run(t, step, span->buf, block, block + n, how);
  }
}

/* Removes each dependency that is implied by another dependency of the same step. */
static void prune(tracker *t, uint32_t step, const uint32_t *after_at) {
  const uint32_t n = t->length - t->from;
  if (n < 2) return;
  uint32_t *list = t->after + t->from, kept = 0;
  qsort(list, n, sizeof *list, compare_uint32);
  for (uint32_t j = 0; j < n; j++)
    for (uint32_t k = after_at[list[j]]; k < after_at[list[j] + 1]; k++)
      t->implied[t->after[k]] = step;
  for (uint32_t i = 0; i < n; i++)
    if (t->implied[list[i]] != step) list[kept++] = list[i];
  t->length = t->from + kept;
}

/* Records which blocks a step reads and writes. If `cuts` is set, records only the boundaries of its runs of blocks. */
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

/* Divides the buffers into pieces, at the boundaries of all runs of blocks that steps access. */
static bool cut_into_pieces(tracker *t, const tt_sched *s, const uint32_t blocks[TT_BUF_COUNT]) {
  for (int b = 0; b < TT_BUF_COUNT; b++) t->pieces[b] = blocks[b];
  if (blocks[TT_DST] < FEW) return true;
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    const size_t words = blocks[b] / 64 + 1;
    t->cut[b] = calloc(words, sizeof *t->cut[b]);
    t->before[b] = malloc(words * sizeof *t->before[b]);
    if (!t->cut[b] || !t->before[b]) return false;
  }
  for (uint32_t i = 0; i < s->nsteps; i++) visit(t, s, i, true);
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    t->pieces[b] = 0;
    for (size_t word = 0; word <= blocks[b] / 64; word++) {
      t->before[b][word] = t->pieces[b];
      t->pieces[b] += (uint32_t)__builtin_popcountll(t->cut[b][word]);
    }
  }
  return true;
}

static bool tracker_begin(tracker *t, const tt_sched *s) {
  const uint32_t blocks[TT_BUF_COUNT] = {s->blocks, s->blocks, s->tmp_blocks};
  for (uint32_t b = 0; b < TT_BUF_COUNT; b++)
    if (tt_order_sample(s, b, &t->sample[b])) return false;
  if (!cut_into_pieces(t, s, blocks)) return false;
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    const size_t pieces = (size_t)t->pieces[b] + 1;
    t->writer[b] = malloc(pieces * sizeof **t->writer);
    t->readers[b] = malloc(pieces * sizeof **t->readers);
    if (!t->writer[b] || !t->readers[b]) return false;
    memset(t->writer[b], 0xff, pieces * sizeof **t->writer);
    memset(t->readers[b], 0xff, pieces * sizeof **t->readers);
  }
  const size_t steps = (size_t)s->nsteps + 1;
  t->seen = malloc(steps * sizeof *t->seen);
  t->implied = malloc(steps * sizeof *t->implied);
  if (!t->seen || !t->implied) return false;
  memset(t->seen, 0xff, steps * sizeof *t->seen);
  memset(t->implied, 0xff, steps * sizeof *t->implied);
  return true;
}

static void tracker_end(tracker *t) {
  for (int b = 0; b < TT_BUF_COUNT; b++) {
    free(t->cut[b]);
    free(t->before[b]);
    free(t->sample[b].window);
    free(t->writer[b]);
    free(t->readers[b]);
  }
  free(t->pool);
  free(t->seen);
  free(t->implied);
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
    prune(&t, i, s->after_at);
    s->after_at[i + 1] = t.length;
  }
  if (s->after_at && s->nsteps == 0) s->after_at[0] = 0;
  tracker_end(&t);
  s->after = t.after;
  if (!t.failed) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while ordering a schedule of %u steps",
                 s->nsteps);
}
