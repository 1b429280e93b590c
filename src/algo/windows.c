/* windows.c - an allreduce in ceil(log2 P) rounds for any number of ranks, in rank order.
 *
 * Idea       The sum follows a tree over the ranks, whose nodes are the aligned ranges of 2^j ranks, clipped at P. Rank
 *            r's window is the w ranks that end with r, around the circle. In each round a rank receives one message from
 *            the rank w below, whose window is next to its own. The message contains the sums of the largest nodes in the
 *            sender's window that are not in the receiver's. Then the receiver's window has 2w ranks, or all. The sum of
 *            a node is that of its two halves, which a rank computes when it needs it.
 * Cost       ceil(log2 P) rounds of one message. A message has several vectors, up to about 2 log2 w, so this algorithm
 *            is for the shortest vectors.
 * Scratch    One vector for each sum that is received, computed or sent: O(log^2 P).
 * Invariant  All ranks compute the sum along the same tree, with the lower ranks on the left, so all get the same bits,
 *            in rank order. A rank can compute every largest node of its window, because a node that spans two windows
 *            consists of largest nodes of both.
 * Source     ours.
 * See        tutti plan draw windows -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo.h"

/* The w ranks that end with `last`. */
typedef struct window {
  int P, last, w;
} window;

/* A node consists of ranks first .. first + size - 1, without ranks P and above. The size is a power of two. */
typedef struct node {
  int first, size;
} node;

static bool holds(const window *x, node t) {
  const int end = t.size < x->P - t.first ? t.first + t.size : x->P;
  const int offset = tt_mod((int64_t)t.first - (x->last - x->w + 1), x->P);
  return x->w >= x->P || offset + (end - t.first) <= x->w;
}

/* ---- the sums that a rank has ---- */

typedef struct known {
  node t;
  uint32_t place; /* block of tmp, or INPUT if it is in src */
} known;

enum { INPUT = UINT32_MAX };

typedef struct knowledge {
  tt_builder *b;
  int P;
  uint32_t tmp; /* number of blocks of tmp in use */
  known *of;
  uint32_t n, capacity;
} knowledge;

static void learn(knowledge *k, node t, uint32_t place) {
  if (k->b->status) return;
  if (!tt_grow(&k->of, &k->capacity, k->n + 1, sizeof *k->of)) {
    k->b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  k->of[k->n++] = (known){t, place};
}

static const known *look(const knowledge *k, node t) {
  for (uint32_t i = 0; i < k->n; i++)
    if (k->of[i].t.first == t.first && k->of[i].t.size == t.size) return &k->of[i];
  return NULL;
}

static tt_span at(uint32_t place) {
  return place == INPUT ? tt_block(TT_SRC, 0) : tt_block(TT_TMP, place);
}

static node left_of(node t) {
  return (node){t.first, t.size / 2};
}
static node right_of(node t) {
  return (node){t.first + t.size / 2, t.size / 2};
}

/* Skips the levels on which the node has only one half. */
static node narrowed(const knowledge *k, node t) {
  while (t.size > 1 && right_of(t).first >= k->P) t = left_of(t);
  return t;
}

/* Returns the span that contains the sum of a node. If the sum does not exist yet, first computes it. */
static tt_span sum_of(knowledge *k, node t) {
  t = narrowed(k, t);
  const known *there = look(k, t);
  if (there || t.size == 1 || k->b->status) return at(there ? there->place : INPUT);
  const tt_span left = sum_of(k, left_of(t)), right = sum_of(k, right_of(t));
  const uint32_t place = k->tmp++;
  tt_reduce_local(k->b, at(place), left, right);
  learn(k, t, place);
  return at(place);
}

/* ---- messages ---- */

enum { MOST_NODES = 64 };

/* Lists, from left to right, the largest nodes whose sums are in the window `theirs` but not in `mine`. */
static int missing(const knowledge *k, node t, const window *theirs, const window *mine,
                   node list[MOST_NODES], int n) {
  if (t.first >= k->P) return n;
  if (holds(theirs, t)) {
    if (!holds(mine, t)) list[n++] = narrowed(k, t);
    return n;
  }
  if (t.size == 1) return n;
  n = missing(k, left_of(t), theirs, mine, list, n);
  return missing(k, right_of(t), theirs, mine, list, n);
}

/* Sends the sums of n nodes as a single message. Several sums are first copied to adjacent blocks. */
static void send_sums(knowledge *k, int peer, const node *list, int n) {
  tt_span sums[MOST_NODES];
  for (int i = 0; i < n; i++) sums[i] = sum_of(k, list[i]);
  if (n > 1) {
    for (int i = 0; i < n; i++) tt_copy(k->b, at(k->tmp + (uint32_t)i), sums[i]);
    sums[0] = tt_range(TT_TMP, k->tmp, (uint32_t)n, k->tmp + (uint32_t)n);
    k->tmp += (uint32_t)n;
  }
  if (n) tt_send(k->b, peer, sums[0]);
}

static void receive_sums(knowledge *k, int peer, const node *list, int n) {
  if (!n) return;
  tt_recv(k->b, peer, tt_range(TT_TMP, k->tmp, (uint32_t)n, k->tmp + (uint32_t)n));
  for (int i = 0; i < n; i++) learn(k, list[i], k->tmp++);
}

static void windows_build(tt_builder *b, const tt_ask *ask) {
  const int P = ask->ranks, r = ask->rank;
  const node root = {0, 1 << tt_ceil_log2((uint64_t)P)};
  knowledge k = {.b = b, .P = P};
  node list[MOST_NODES];
  learn(&k, (node){r, 1}, INPUT);
  for (int w = 1; w < P; w = (int)tt_min(2 * (size_t)w, (size_t)P)) {
    const int to = tt_mod((int64_t)r + w, P), from = tt_mod((int64_t)r - w, P);
    const window mine = {P, r, w}, above = {P, to, w}, below = {P, from, w};
    send_sums(&k, to, list, missing(&k, root, &mine, &above, list, 0));
    receive_sums(&k, from, list, missing(&k, root, &below, &mine, list, 0));
  }
  const tt_span left = sum_of(&k, left_of(root)), right = sum_of(&k, right_of(root));
  tt_reduce_local(b, tt_block(TT_DST, 0), left, right);
  tt_mark_completes(b);
  free(k.of);
}

const tt_algo tt_windows_algo = {
    .name = "windows",
    .does = TT_DOES_ALLREDUCE,
    .blocks = tt_one_block,
    .build = windows_build,
    .stage = {{"", TT_STAGE_OUTER | TT_STAGE_MIDDLE | TT_STAGE_INNER | TT_STAGE_FITS}},
    .entries = {{"windows", TT_CANDIDATE, "ceil(log2 P) rounds for any P, in rank order",
                 "tutti's own"}},
};
