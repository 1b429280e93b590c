/* uneven_spans.c - lists the blocks that two ranks of uneven levels exchange, as spans.
 *
 * Idea       In an allreduce, the innermost level has the widest columns. A set is a run of columns of its level,
 *            repeated for a run of columns of the next inner level, with one span for each combination of columns of the
 *            levels inside that. If blocks belong to ranks, a set is a pattern of domains on its level, which is the same
 *            in all groups of one size, and each inner level restricts the pattern to its columns. Consecutive groups of
 *            equal size form runs (topo_tree.h), and a run has one span for any number of groups.
 * Cost       Time and memory are proportional to the number of runs, not of groups or ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo_uneven.h"

enum { PIECES = 4 };

typedef struct run { /* a range of columns */
  int lo, hi;
} run;

/* Returns the number of columns in a row of this level. It allows a fair division among the members of the largest
 * group, among those of the smallest group, and among `parts` groups. */
static int columns_of(const tt_tree *t, int level, int parts) {
  const int most = (int)tt_max((size_t)t->level[level].most, (size_t)parts);
  int all = t->level[level].each ? t->level[level].each : 1;
  all *= parts / tt_gcd(all, parts);
  for (int i = 0; i < t->level[level].n && all <= 4 * most; i++) {
    const int n = t->run[t->level[level].at + i].size;
    all *= n / tt_gcd(all, n);
  }
  return all <= 4 * most ? all : 4 * most;
}

static int columns_folded(const tt_inner *in, int level) {
  if (level < in->from) return 1;
  return columns_of(in->tree, level, level + 1 < in->tree->levels ? 1 : in->parts);
}

uint32_t tt_inner_blocks(const tt_inner *in) {
  uint64_t blocks = 1;
  for (int level = 0; level < in->tree->levels; level++)
    blocks = tt_min(blocks * (uint64_t)columns_folded(in, level), (uint64_t)1 << 31);
  return (uint32_t)blocks;
}

uint32_t tt_uneven_blocks(const tt_tree *t) {
  const tt_inner all = {.tree = t, .parts = 1};
  return tt_inner_blocks(&all);
}

tt_uneven_cut tt_uneven_cut_of(const tt_inner *in, tutti_coll coll) {
  tt_uneven_cut cut = {.tree = in->tree, .owned = tt_coll_owned(coll)};
  uint32_t width = 1;
  for (int level = 0; level < in->tree->levels && !cut.owned; level++) {
    cut.columns[level] = columns_folded(in, level);
    cut.width[level] = width;
    width *= (uint32_t)cut.columns[level];
  }
  return cut;
}

/* A row of n columns that is divided among m members. Member a owns the columns x with a/m <= (x + p/q) / n < (a+1)/m.
 * If m equals n, each member owns one column for any p/q. */
typedef struct columns {
  int n, p, q;
} columns;

/* Returns the first column that a member owns. The columns of the previous member end there. */
static int column_at(int member, int n, const columns *w) {
  const int64_t parts = (int64_t)n * w->q;
  return (int)(((int64_t)member * w->n * w->q - (int64_t)n * w->p + parts - 1) / parts);
}

/* Returns the columns that are owned by both members of a share. If hi <= lo, the range is empty. */
static run columns_shared(const tt_share *x, const columns *w) {
  const run mine = {column_at(x->a, x->n, w), column_at(x->a + 1, x->n, w)};
  const run theirs = {column_at(x->b, x->m, w), column_at(x->b + 1, x->m, w)};
  return (run){mine.lo > theirs.lo ? mine.lo : theirs.lo,
               mine.hi < theirs.hi ? mine.hi : theirs.hi};
}

/* Returns the columns owned by the set's members on the level of the set. If they wrap, hi exceeds the row's length. */
static run columns_of_members(const tt_uneven_set *s, const columns *w) {
  const int end = s->first + s->members, lo = column_at(s->first, s->of, w);
  if (end <= s->of) return (run){lo, column_at(end, s->of, w)};
  const int rest = column_at(end - s->of, s->of, w);
  return lo < w->n ? (run){lo, w->n + rest} : (run){0, rest};
}

/* Appends a span to the list. If the span continues the last one in the list, extends that one instead. */
static void append(tt_span_list *list, tt_span span) {
  tt_span_tidy(&span);
  tt_span *last = list->n ? &list->at[list->n - 1] : NULL;
  const bool runs = span.base == 0 && span.repeat == 1 && span.first + span.count == span.ring;
  if (last && runs && last->base == 0 && last->repeat == 1 &&
      last->first + last->count == last->ring && last->ring == span.first) {
    last->count += span.count;
    last->ring += span.count;
    return;
  }
  if (list->n == list->capacity &&
      !tt_grow(&list->at, &list->capacity, list->n + 1, sizeof *list->at)) {
    list->failed = true;
    return;
  }
  list->at[list->n++] = span;
}

/* ---- columns of levels ---- */

/* Returns the row of columns on a level. p/q is slightly less than 1, so that divisions round down. */
static columns row_of_level(const tt_uneven_cut *cut, int level) {
  return (columns){cut->columns[level], (1 << 20) - 1, 1 << 20};
}

/* Appends the spans of those blocks that are in columns `own` of level l and in columns inner[i] of each level i inside
 * it. `own` may wrap. */
static void spans_inside(const tt_uneven_cut *cut, int l, run own, const run *inner, tt_buf buf,
                         tt_span_list *list) {
  const int levels = cut->tree->levels;
  const uint32_t w = cut->width[l], C = (uint32_t)cut->columns[l];
  int combinations = 1;
  for (int i = l + 2; i < levels; i++) combinations *= inner[i].hi - inner[i].lo;
  for (int which = 0; which < combinations; which++) {
    uint32_t base = 0, repeat = 1;
    for (int i = levels - 1, k = which; i > l + 1; i--) {
      const int size = inner[i].hi - inner[i].lo;
      base += (uint32_t)(inner[i].lo + k % size) * cut->width[i];
      k /= size;
    }
    if (l + 1 < levels) {
      base += (uint32_t)inner[l + 1].lo * cut->width[l + 1];
      repeat = (uint32_t)(inner[l + 1].hi - inner[l + 1].lo);
    }
    append(list, (tt_span){buf, base, (uint32_t)own.lo * w, (uint32_t)(own.hi - own.lo) * w, C * w,
                           1, repeat});
  }
}

/* Computes the columns of the shares on level `from` and on each level inside it. Returns false if some share is empty. */
static bool runs_of_shares(const tt_uneven_cut *cut, int from, const tt_share *shares, run *runs) {
  for (int i = from; i < cut->tree->levels; i++) {
    const columns at = row_of_level(cut, i);
    runs[i] = columns_shared(&shares[i], &at);
    if (runs[i].hi <= runs[i].lo) return false;
  }
  return true;
}

static void spans_of_columns(const tt_uneven_cut *cut, const tt_uneven_set *s, tt_buf buf,
                             tt_span_list *list) {
  const columns own = row_of_level(cut, s->level);
  run inner[TT_TREE_LEVELS];
  if (runs_of_shares(cut, s->level + 1, s->inner, inner))
    spans_inside(cut, s->level, columns_of_members(s, &own), inner, buf, list);
}

void tt_uneven_shares(const tt_uneven_cut *cut, int from, const tt_share *shares, tt_buf buf,
                      tt_span_list *list) {
  run runs[TT_TREE_LEVELS];
  list->n = 0;
  if (runs_of_shares(cut, from, shares, runs)) spans_inside(cut, from, runs[from], runs, buf, list);
}

tt_span tt_inner_whole(const tt_inner *in, int part, tt_buf buf) {
  const int last = in->tree->levels - 1, C = columns_folded(in, last);
  const uint32_t blocks = tt_inner_blocks(in), width = blocks / (uint32_t)C;
  const columns row = {C, (1 << 20) - 1, 1 << 20};
  const int lo = column_at(part, in->parts, &row), hi = column_at(part + 1, in->parts, &row);
  return tt_range(buf, (uint32_t)lo * width, (uint32_t)(hi - lo) * width, blocks);
}

/* ---- blocks of ranks ---- */

typedef struct narrowing {
  const tt_tree *tree;
  const tt_uneven_set *set;
  tt_span_list *list;
} narrowing;

static void narrow(const narrowing *x, int level, tt_span domains);

/* Restricts a pattern of domains that all have `size` members to columns `own` of the members. The first member of
 * domain d has the number d * size + offset. */
static void narrow_alike(const narrowing *x, int level, tt_span d, int size, int64_t offset,
                         run own) {
  const uint32_t n = (uint32_t)size, lo = (uint32_t)own.lo, count = (uint32_t)(own.hi - own.lo);
  const bool wraps = d.first + d.count > d.ring, line = d.repeat == 1 && d.stride == 1;
  if (count == n && d.stride == 1) {
    d = (tt_span){
        d.buf,   (uint32_t)(d.base * (int64_t)n + offset), d.first * n, d.count * n, d.ring * n, 1,
        d.repeat};
    narrow(x, level + 1, d);
  } else if (line && wraps && count > 1) {
    tt_span head = d, rest = d;
    head.count = d.ring - d.first;
    rest.first = 0;
    rest.count = d.count - head.count;
    narrow_alike(x, level, head, size, offset, own);
    narrow_alike(x, level, rest, size, offset, own);
  } else if (line && !wraps) {
    const int64_t base = (int64_t)(d.base + d.first) * n + offset;
    narrow(x, level + 1, (tt_span){d.buf, (uint32_t)base, lo, count, n, 1, d.count});
  } else {
    d.base = (uint32_t)(d.base * (int64_t)n + offset + lo);
    d.stride *= n;
    for (uint32_t i = 0; i < count; i++, d.base++) narrow(x, level + 1, d);
  }
}

/* Returns the domains of a line that lie between `from` (included) and `end` (excluded). */
static tt_span clip_line(const tt_span *d, uint32_t at, uint32_t count, int64_t from, int64_t end) {
  const int64_t start = d->base + (int64_t)at * d->stride, stride = d->stride;
  const int64_t lo = from <= start ? 0 : (from - start + stride - 1) / stride;
  const int64_t hi = end <= start ? 0 : (end - start + stride - 1) / stride;
  const int64_t n = (hi < count ? hi : count) - lo;
  return (tt_span){d->buf,
                   (uint32_t)(start + lo * stride),
                   0,
                   n > 0 ? (uint32_t)n : 0,
                   (uint32_t)(n > 0 ? n : 1),
                   d->stride,
                   1};
}

/* Restricts those domains of a pattern that lie in a run of domains of equal size. Handles all complete rows of the
 * pattern together, and the incomplete rows at both ends separately. */
static void narrow_in_run(const narrowing *x, int level, const tt_span *d, const tt_tree_run *r,
                          run own) {
  const int64_t from = r->before, end = from + r->times, row = (int64_t)d->stride * d->ring;
  const int64_t offset = r->first - from * r->size;
  for (int64_t k = 0; k < d->repeat;) {
    const int64_t start = d->base + k * row;
    int64_t whole = start >= from && start < end ? (end - start) / row : 0;
    if (whole > d->repeat - k) whole = d->repeat - k;
    tt_span part = *d;
    part.base = (uint32_t)start;
    part.repeat = (uint32_t)whole;
    if (start >= end) return;
    if (whole) {
      narrow_alike(x, level, part, r->size, offset, own);
      k += whole;
      continue;
    }
    if (start + row <= from) { /* skip to the next row that reaches the run */
      k += (from - start) / row;
      continue;
    }
    const uint32_t ahead = (uint32_t)tt_min(d->count, d->ring - d->first);
    const tt_span head = clip_line(&part, d->first, ahead, from, end);
    const tt_span rest = clip_line(&part, 0, d->count - ahead, from, end);
    if (head.count) narrow_alike(x, level, head, r->size, offset, own);
    if (rest.count) narrow_alike(x, level, rest, r->size, offset, own);
    k++;
  }
}

/* Returns the number of groups of a level. */
static int groups_of(const tt_tree *t, int level) {
  int groups = 1;
  for (int l = 0; l < level; l++) {
    const tt_tree_run *last = &t->run[t->level[l].at + t->level[l].n - 1];
    groups = t->level[l].each ? groups * t->level[l].each : last->first + last->size * last->times;
  }
  return groups;
}

/* Returns the i-th run of groups on a level. If the level has no list of runs, all of its groups form a single run. */
static tt_tree_run run_of_groups(const tt_tree *t, int level, int i) {
  if (t->level[level].each) return (tt_tree_run){t->level[level].each, groups_of(t, level), 0, 0};
  return t->run[t->level[level].at + i];
}

static int runs_of_level(const tt_tree *t, int level) {
  return t->level[level].each ? 1 : t->level[level].n;
}

/* Returns the columns of the set in the j-th piece of a run. */
static run columns_in_piece(const narrowing *x, int level, int size, int j, int pieces) {
  const columns w = {size, 2 * j + 1, 2 * pieces};
  return level > x->set->level ? columns_shared(&x->set->inner[level], &w)
                               : columns_of_members(x->set, &w);
}

/* Restricts a pattern to columns `own` of a run of groups. On the level of the set, all groups of the run are included.
 * On the levels inside it, only groups in the pattern are. */
static void take(const narrowing *x, int level, const tt_span *domains, const tt_tree_run *r,
                 run own) {
  if (own.hi <= own.lo) return;
  if (level > x->set->level)
    narrow_in_run(x, level, domains, r, own);
  else
    narrow(x, level + 1,
           (tt_span){domains->buf, (uint32_t)r->first, (uint32_t)own.lo,
                     (uint32_t)(own.hi - own.lo), (uint32_t)r->size, 1, (uint32_t)r->times});
}

/* Restricts a pattern of domains to the members that are in the set. The members are on `level`, the domains are one
 * level above. If the columns do not divide evenly, different pieces of a long run assign the remainder to different
 * members. Consecutive pieces with the same columns are handled together. */
static void narrow(const narrowing *x, int level, tt_span domains) {
  if (level == x->tree->levels) {
    append(x->list, domains);
    return;
  }
  for (int i = 0; i < runs_of_level(x->tree, level); i++) {
    const tt_tree_run r = run_of_groups(x->tree, level, i);
    const int pieces = r.times < PIECES ? r.times : PIECES;
    tt_tree_run here = r;
    run own = columns_in_piece(x, level, r.size, 0, pieces);
    for (int j = 1; j <= pieces; j++) {
      const int end = r.before + (int)((int64_t)r.times * j / pieces);
      const run next = j < pieces ? columns_in_piece(x, level, r.size, j, pieces) : own;
      if (j < pieces && next.lo == own.lo && next.hi == own.hi) continue;
      here.times = end - here.before;
      take(x, level, &domains, &here, own);
      here.first += here.times * r.size;
      here.before = end;
      own = next;
    }
  }
}

static void spans_of_ranks(const tt_uneven_cut *cut, const tt_uneven_set *s, tt_buf buf,
                           tt_span_list *list) {
  const narrowing x = {cut->tree, s, list};
  narrow(&x, s->level, (tt_span){.buf = buf});
}

void tt_uneven_spans(const tt_uneven_cut *cut, const tt_uneven_set *set, tt_buf buf,
                     tt_span_list *list) {
  list->n = 0;
  (cut->owned ? spans_of_ranks : spans_of_columns)(cut, set, buf, list);
}
