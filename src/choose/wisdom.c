/* wisdom.c - looks up and merges measurements in a sorted list.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wisdom.h"

#include <stdlib.h>
#include <string.h>

/* An entry applies to sizes that differ from its own by a factor of at most NEAR. Between two neighbouring entries, the
 * nearer one applies if their sizes differ by a factor of at most FAR, or of at most AGREED if both name the same plan. */
enum { NEAR = 2, FAR = 16, AGREED = 64 };

static int order(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

static int key_order(const tt_wisdom_key *a, const tt_wisdom_key *b) {
  int o = order(a->coll, b->coll);
  if (!o) o = (a->type > b->type) - (a->type < b->type);
  if (!o) o = strcmp(a->op, b->op);
  if (!o) o = order(a->needs, b->needs);
  return o ? o : (a->helpers > b->helpers) - (a->helpers < b->helpers);
}

/* Orders entries by placement, then by call, then by size. */
static int entry_order(const tt_wisdom_entry *a, const tt_wisdom_entry *b) {
  int o = strcmp(a->placement, b->placement);
  if (!o) o = order(a->stamp, b->stamp);
  if (!o) o = key_order(&a->key, &b->key);
  return o ? o : order(a->bytes, b->bytes);
}

static bool same_winner(const tt_wisdom_entry *a, const tt_wisdom_entry *b) {
  return a->slices == b->slices && a->plan == b->plan;
}

const tt_wisdom_entry *tt_wisdom_find(const tt_wisdom *w, const tt_wisdom_key *key,
                                      uint64_t bytes) {
  const tt_wisdom_entry *lo = NULL, *hi = NULL;
  for (int i = 0; i < w->n; i++) {
    const tt_wisdom_entry *e = &w->at[i];
    if (key_order(&e->key, key)) continue;
    if (e->bytes <= bytes && (!lo || e->bytes > lo->bytes)) lo = e;
    if (e->bytes >= bytes && (!hi || e->bytes < hi->bytes)) hi = e;
  }
  const double size = (double)bytes;
  if (lo && hi) {
    const double apart = (double)hi->bytes / (double)lo->bytes;
    if (apart <= (same_winner(lo, hi) ? AGREED : FAR))
      return size * size <= (double)lo->bytes * (double)hi->bytes ? lo : hi;
  }
  if (lo && size <= NEAR * (double)lo->bytes) return lo;
  if (hi && NEAR * size >= (double)hi->bytes) return hi;
  return NULL;
}

/* Returns the index of the first entry that is equal to `e` or comes after `e`. */
static int find_entry_index(const tt_wisdom *w, const tt_wisdom_entry *e) {
  int lo = 0, hi = w->n;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (entry_order(&w->at[mid], e) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

bool tt_wisdom_reserve(tt_wisdom *w, int more) {
  if (more > TT_WISDOM_MOST - w->n) return false;
  const int n = w->n + more, capacity = n < 2 * w->capacity ? 2 * w->capacity : n;
  if (n <= w->capacity) return true;
  tt_wisdom_entry *at = realloc(w->at, (size_t)capacity * sizeof *at);
  if (!at) return false;
  w->at = at;
  w->capacity = capacity;
  return true;
}

static bool insert_entry(tt_wisdom *w, const tt_wisdom_entry *entry, bool newer) {
  const int i = find_entry_index(w, entry);
  if (i < w->n && entry_order(&w->at[i], entry) == 0) {
    if (!newer || strcmp(entry->when, w->at[i].when) >= 0) w->at[i] = *entry;
    return true;
  }
  if (!tt_wisdom_reserve(w, 1)) return false;
  memmove(&w->at[i + 1], &w->at[i], (size_t)(w->n - i) * sizeof *w->at);
  w->at[i] = *entry;
  w->n++;
  return true;
}

bool tt_wisdom_add(tt_wisdom *w, const tt_wisdom_entry *entry) {
  return insert_entry(w, entry, true);
}

bool tt_wisdom_set(tt_wisdom *w, const tt_wisdom_entry *entry) {
  return insert_entry(w, entry, false);
}

bool tt_wisdom_merge(tt_wisdom *into, const tt_wisdom *from) {
  int more = 0;
  for (int i = 0; i < from->n; i++) {
    const int at = find_entry_index(into, &from->at[i]);
    more += at == into->n || entry_order(&into->at[at], &from->at[i]) != 0;
  }
  if (!tt_wisdom_reserve(into, more)) return false;
  for (int i = 0; i < from->n; i++) tt_wisdom_add(into, &from->at[i]);
  return true;
}

void tt_wisdom_clear(tt_wisdom *w) {
  free(w->at);
  *w = (tt_wisdom){.at = NULL};
}
