/* value.c - symbolic values: ordered n-ary sums of ranks' inputs, each stored once.
 *
 * Idea       A hash table of nodes, keyed by their operands. Two expressions are equal (with the same grouping, and thus
 *            the same bits) if their numbers are equal.
 * Invariant  The order of operands matters, and a node marked `completes` differs from one without that mark. A check of
 *            a value stops at the first repeated input, so it visits at most P + 1 leaves.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove.h"

typedef struct node {
  uint32_t first, n; /* operands in the pool; if n == 0, an input whose block is `first` */
  int rank;          /* rank of an input */
  bool completes;
} node;

struct tt_values {
  node *nodes;
  tt_value *pool;
  uint32_t *slots;   /* hash table of values */
  tt_value *pending; /* stack of values whose leaves have not been visited yet */
  uint32_t count, capacity, used, pool_capacity, pending_capacity, mask;
  bool failed;
};

static const char no_memory[] = "there is not enough memory to look at it";

tt_values *tt_values_new(void) {
  tt_values *v = calloc(1, sizeof *v);
  if (!v) return NULL;
  v->mask = 4095;
  v->slots = calloc(v->mask + 1, sizeof *v->slots);
  v->count = 1; /* the value 0 means that nothing was written */
  v->failed = !v->slots || !tt_grow(&v->nodes, &v->capacity, 1024, sizeof *v->nodes) ||
              !tt_grow(&v->pool, &v->pool_capacity, 1024, sizeof *v->pool);
  return v;
}

void tt_values_free(tt_values *v) {
  if (!v) return;
  free(v->nodes);
  free(v->pool);
  free(v->slots);
  free(v->pending);
  free(v);
}

bool tt_values_failed(const tt_values *v) {
  return v->failed;
}

uint32_t tt_values_count(const tt_values *v) {
  return v->count;
}

static uint64_t hash_node(const node *x, const tt_value *in) {
  uint64_t h = tt_mix(((uint64_t)x->n << 32) ^ (uint32_t)x->rank);
  if (x->n == 0) return tt_mix(h ^ x->first);
  for (uint32_t i = 0; i < x->n; i++) h = tt_mix(h * 31 + in[i]);
  return h;
}

static bool node_equals(const tt_values *v, tt_value at, const node *x, const tt_value *in) {
  const node *y = &v->nodes[at];
  if (y->n != x->n || y->rank != x->rank || y->completes != x->completes) return false;
  if (x->n == 0) return y->first == x->first;
  return memcmp(v->pool + y->first, in, x->n * sizeof *in) == 0;
}

static void rehash(tt_values *v) {
  uint32_t mask = 2 * v->mask + 1;
  uint32_t *slots = calloc((size_t)mask + 1, sizeof *slots);
  if (!slots) {
    v->failed = true;
    return;
  }
  for (uint32_t i = 1; i < v->count; i++) {
    uint64_t h = hash_node(&v->nodes[i], v->pool + v->nodes[i].first);
    while (slots[h & mask]) h++;
    slots[h & mask] = i;
  }
  free(v->slots);
  v->slots = slots;
  v->mask = mask;
}

static bool grow_values(tt_values *v, uint32_t operands) {
  v->failed |= !tt_grow(&v->nodes, &v->capacity, v->count + 1, sizeof *v->nodes) ||
               !tt_grow(&v->pool, &v->pool_capacity, v->used + operands, sizeof *v->pool);
  if (!v->failed && v->count > v->mask / 2) rehash(v);
  return !v->failed;
}

static tt_value intern(tt_values *v, node x, const tt_value *in) {
  if (v->failed) return 0;
  uint64_t h = hash_node(&x, in);
  for (; v->slots[h & v->mask]; h++)
    if (node_equals(v, v->slots[h & v->mask], &x, in)) return v->slots[h & v->mask];
  if (!grow_values(v, x.n)) return 0;
  if (x.n) {
    memcpy(v->pool + v->used, in, x.n * sizeof *in);
    x.first = v->used;
    v->used += x.n;
  }
  v->nodes[v->count] = x;
  for (h = hash_node(&x, in); v->slots[h & v->mask];) h++;
  return v->slots[h & v->mask] = v->count++;
}

tt_value tt_value_input(tt_values *v, int rank, uint32_t block) {
  return intern(v, (node){.first = block, .rank = rank}, NULL);
}

tt_value tt_value_sum(tt_values *v, const tt_value *in, uint32_t n, bool completes) {
  return intern(v, (node){.n = n, .rank = -1, .completes = completes}, in);
}

/* Pushes operands on the stack of values to be processed. They are pushed in reverse, so that the first is popped first. */
static bool push(tt_values *v, uint32_t *n, const tt_value *in, uint32_t count) {
  v->failed |= !tt_grow(&v->pending, &v->pending_capacity, *n + count, sizeof *v->pending);
  if (v->failed) return false;
  for (uint32_t i = count; i > 0; i--) v->pending[(*n)++] = in[i - 1];
  return true;
}

uint32_t tt_value_ranks(tt_values *v, tt_value value, unsigned char *seen) {
  uint32_t n = 0, fresh = 0;
  bool ok = value && push(v, &n, &value, 1);
  while (ok && n) {
    const node *x = &v->nodes[v->pending[--n]];
    if (x->n) {
      ok = push(v, &n, v->pool + x->first, x->n);
    } else {
      ok = !seen[x->rank]; /* a correct result contains no input twice */
      fresh += ok;
      seen[x->rank] = 1;
    }
  }
  return fresh;
}

typedef struct walk {
  tt_values *v;
  const tt_wanted *wanted;
  int leaves;
  unsigned char *seen; /* indexed relative to the first wanted rank */
  bool ordered;
  char *text;
  size_t size;
} walk;

static const char *format_mistake(walk *w, const char *format, int rank, uint32_t block) {
  snprintf(w->text, w->size, format, rank, block);
  return w->text;
}

static const char *wrong_input(walk *w, const node *x) {
  const int place = x->rank - w->wanted->first;
  if (x->first != w->wanted->block || place < 0 || x->rank >= w->wanted->end)
    return format_mistake(w, "it holds rank %d's block %u, which belongs elsewhere", x->rank,
                          x->first);
  if (w->seen[place])
    return format_mistake(w, "it holds rank %d's input for block %u twice", x->rank, x->first);
  w->seen[place] = 1;
  if (place != w->leaves++) w->ordered = false;
  return NULL;
}

static const char *find_mistake(walk *w, tt_value value) {
  const char *wrong = NULL;
  uint32_t n = 0;
  bool ok = push(w->v, &n, &value, 1);
  for (bool root = true; ok && n && !wrong; root = false) {
    const node *x = &w->v->nodes[w->v->pending[--n]];
    if (x->completes && !root)
      wrong = "it holds a sum that was already complete";
    else if (x->n)
      ok = push(w->v, &n, w->v->pool + x->first, x->n);
    else
      wrong = wrong_input(w, x);
  }
  return ok ? wrong : no_memory;
}

const char *tt_value_wrong(tt_values *v, tt_value value, const tt_wanted *wanted, bool marked,
                           bool *ordered, char *text, size_t size) {
  const int n = wanted->end - wanted->first;
  if (!value) return "nothing was written there";
  walk w = {v, wanted, 0, calloc((size_t)n, 1), true, text, size};
  v->failed |= !w.seen;
  if (!w.seen) return no_memory;
  const char *wrong = find_mistake(&w, value);
  for (int i = 0; !wrong && i < n; i++)
    if (!w.seen[i])
      wrong = format_mistake(&w, "it lacks rank %d's input for block %u", wanted->first + i,
                             wanted->block);
  if (!wrong && marked && !v->nodes[value].completes && n > 1)
    wrong = "the step that completes this sum is not marked last";
  if (!w.ordered) *ordered = false;
  free(w.seen);
  return wrong;
}
