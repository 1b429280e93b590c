/* searched.c - allreduces for few ranks, found by a solver, that send the fewest bytes in T rounds.
 *
 * Idea       A symmetric schedule describes one block: in each round some ranks each send one of its sums, all by the
 *            same shift. All sums are nodes of one binary tree. Shifted by b, it is the schedule of block b. In a round,
 *            a rank sends, over all blocks, the sums that all ranks together send for one block.
 * Cost       T rounds of one message. algo_searched.def lists for each P and T how many of the P blocks a rank sends, and
 *            the proven lower bounds for such schedules and for any allreduce.
 * Scratch    One block for each sum that is received or computed, and for each that is copied next to others because they
 *            are sent together.
 * Invariant  All ranks compute a block's sum along the same tree, and thus get the same bits. Messages other than results
 *            arrive in blocks of tmp that are written only once, so that no send waits for another.
 * Parameters T=rounds; by default the minimum, ceil(log2 P).
 * Source     ours; research/search.py.
 * See        tutti plan draw 'searched(T=4)' -n 5
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo_group.h"

enum { MOST_RANKS = 8, NODES = 2 * MOST_RANKS - 1, MOST_ITEMS = 16, MOST_TMP = 1024 };

typedef struct story {
  int ranks, rounds;
  const char *group, *tree, *moves; /* in the notation of research/story.py */
} story;

static const story stories[] = {
#define STORY(ranks, rounds, sends, stories, least, group, tree, moves) \
  {ranks, rounds, group, tree, moves},
#include "algo_searched.def"
};
enum { STORIES = sizeof stories / sizeof *stories };

/* Returns the i-th known schedule for this number of ranks, or NULL past the last one. */
static const story *story_at(int ranks, int i) {
  for (int k = 0; k < STORIES; k++)
    if (stories[k].ranks == ranks && i-- == 0) return &stories[k];
  return NULL;
}

static const story *story_of(const tt_ask *ask) {
  const int rounds = tt_param_number(ask, "T", 0);
  const story *s;
  for (int i = 0; (s = story_at(ask->ranks, i)); i++)
    if (!rounds || s->rounds == rounds) return s;
  return NULL;
}

static const char *searched_refuse(const tt_ask *ask) {
  if (ask->ranks == 1 || story_of(ask)) return NULL;
  return story_at(ask->ranks, 0)
             ? "more rounds send no fewer bytes here, and fewer rounds are too few"
             : "schedules were searched for 3 to 8 ranks";
}

static bool searched_plans(int ranks, const char *levels, int i, tt_text *params) {
  (void)levels;
  const story *s = story_at(ranks, i);
  if (s) tt_text_add(params, "T=%d", s->rounds);
  return s;
}

/* ---- messages ---- */

typedef struct item {
  int block, node;
} item;

/* The items of a message, in their order. `at` has their blocks in tmp, relative to a multiple of P, where block t is as large as
 * block t mod P of the vector. Neighbouring items are in the same layer of tmp, so that a stage can divide them further. */
typedef struct message {
  int n;
  item of[MOST_ITEMS];
  uint32_t at[MOST_ITEMS];
} message;

/* Arranges n items, beginning with `first`, in steps of `stride` blocks. Returns false if no such arrangement exists. */
static bool order_items(const item *items, int n, int P, int first, int stride, message *m) {
  bool taken[MOST_ITEMS] = {false};
  for (m->n = 0; m->n < n; m->n++) {
    const int at = items[first].block + stride * m->n;
    int i = 0;
    while (i < n && (taken[i] || items[i].block != at % P)) i++;
    if (i == n) return false;
    taken[i] = true;
    m->of[m->n] = items[i];
    m->at[m->n] = (uint32_t)(stride == 1 && n <= P ? at % P : at);
  }
  return true;
}

/* Makes a message of the first items, as many as one span can hold, in one layer if possible. Returns their number. */
static int make_message(const item *items, int n, int P, message *m) {
  for (; n > 0; n--)
    for (int layers = 1; layers <= MOST_ITEMS; layers += MOST_ITEMS - 1)
      for (int stride = 1; stride <= P; stride++)
        for (int first = 0; first < n; first++)
          if (order_items(items, n, P, first, stride, m) && m->at[n - 1] < (uint32_t)(layers * P))
            return n;
  return 0;
}

/* Finds a span that has exactly these n blocks of a buffer, in this order. Returns false if a single span cannot have them. */
static bool find_span(tt_buf buf, const uint32_t *at, int n, int P, tt_span *span) {
  const bool wraps = n > 1 && at[0] > at[n - 1];
  const uint32_t in_layer = at[0] % (uint32_t)P, stride = n == 1 || wraps ? 1 : at[1] - at[0];
  *span = (tt_span){buf, at[0], 0, (uint32_t)n, (uint32_t)n, stride, 1};
  if (wraps) {
    *span = tt_range(buf, in_layer, (uint32_t)n, (uint32_t)P);
    span->base += at[0] - in_layer;
  }
  for (int k = 0; k < n; k++)
    if (tt_span_block(span, (uint32_t)k) != at[k]) return false;
  return n == 1 || wraps || at[0] < at[1];
}

/* ---- which ranks have which sums, and where; tracked for all ranks because they depend on each other ---- */

typedef struct place {
  bool known;
  tt_buf buf;
  uint32_t block;
} place;

enum { MOST_MESSAGES = 8, ANYWHERE = UINT32_MAX };

typedef struct holder {
  place at[MOST_RANKS][NODES]; /* indexed by block and node */
  bool used[MOST_TMP];         /* blocks of tmp in use */
  message sent[MOST_MESSAGES]; /* the messages of this round */
  int messages;
} holder;

typedef struct telling {
  tt_builder *b;
  int me, P, root;
  int sizes[TT_LEVELS], levels; /* sizes of the group's circles */
  int half[NODES][2]; /* children of inner nodes; leaf r is the input of rank r for block 0 */
  holder of[MOST_RANKS];
} telling;

/* Computes a + sign * b in the group. */
static int shifted(const telling *t, int a, int b, int sign) {
  int sum = 0, unit = 1;
  for (int l = t->levels - 1; l >= 0; unit *= t->sizes[l--])
    sum += tt_mod(a / unit + sign * (b / unit), t->sizes[l]) * unit;
  return sum;
}

static tt_span span_at(place p) {
  return tt_block(p.buf, p.block);
}

/* Reserves blocks of tmp for the items of a message. Returns the multiple of P that must be added to `at`. */
static uint32_t take_tmp(holder *h, const uint32_t *at, int n, int P) {
  uint32_t base = 0;
  for (int k = 0; k < n; k++)
    if (h->used[base + at[k]]) {
      base += (uint32_t)P;
      k = -1;
    }
  for (int k = 0; k < n; k++) h->used[base + at[k]] = true;
  return base;
}

/* Returns the place where this rank stores a node's sum of a block. If the sum does not exist yet, computes it in dst
 * if it is a result, otherwise in block `to` of tmp. */
static place sum_in(telling *t, int rank, item x, uint32_t to) {
  holder *h = &t->of[rank];
  place *p = &h->at[x.block][x.node];
  if (p->known) return *p;
  const place left = sum_in(t, rank, (item){x.block, t->half[x.node][0]}, ANYWHERE);
  const place right = sum_in(t, rank, (item){x.block, t->half[x.node][1]}, ANYWHERE);
  const uint32_t block = (uint32_t)x.block;
  *p = (place){true, TT_TMP, to};
  if (x.node == t->root)
    *p = (place){true, TT_DST, block};
  else if (to == ANYWHERE)
    p->block = block + take_tmp(h, &block, 1, t->P);
  if (rank != t->me) return *p;
  tt_reduce_local(t->b, span_at(*p), span_at(left), span_at(right));
  if (x.node == t->root) tt_mark_completes(t->b);
  return *p;
}

/* Returns true if a single span describes all items. */
static bool stand_together(const holder *h, const message *m, int P, tt_span *span) {
  uint32_t at[MOST_ITEMS];
  const place first = h->at[m->of[0].block][m->of[0].node];
  for (int k = 0; k < m->n; k++) {
    const place p = h->at[m->of[k].block][m->of[k].node];
    if (!p.known || p.buf != first.buf) return false;
    at[k] = p.block;
  }
  return find_span(first.buf, at, m->n, P, span);
}

/* Returns the span of a message's items. If they are not adjacent, computes or copies them to adjacent blocks of tmp first. */
static tt_span gather_items(telling *t, int rank, const message *m) {
  holder *h = &t->of[rank];
  tt_span span;
  if (m->n == 1) return span_at(sum_in(t, rank, m->of[0], ANYWHERE));
  if (stand_together(h, m, t->P, &span)) return span;
  const uint32_t base = take_tmp(h, m->at, m->n, t->P);
  uint32_t at[MOST_ITEMS];
  for (int k = 0; k < m->n; k++) {
    at[k] = base + m->at[k];
    const place p = sum_in(t, rank, m->of[k], at[k]);
    if (rank == t->me && (p.buf != TT_TMP || p.block != at[k]))
      tt_copy(t->b, tt_block(TT_TMP, at[k]), span_at(p));
  }
  find_span(TT_TMP, at, m->n, t->P, &span);
  return span;
}

/* Returns the span that receives the items of a message. The span is in dst if all items are results, otherwise in tmp. */
static tt_span spread_items(telling *t, int rank, const message *m) {
  holder *h = &t->of[rank];
  uint32_t at[MOST_ITEMS];
  bool results = true;
  tt_span span;
  for (int k = 0; k < m->n; k++) {
    at[k] = (uint32_t)m->of[k].block;
    results &= m->of[k].node == t->root;
  }
  results = results && find_span(TT_DST, at, m->n, t->P, &span);
  const uint32_t base = results ? 0 : take_tmp(h, m->at, m->n, t->P);
  for (int k = 0; k < m->n; k++) {
    if (!results) at[k] = base + m->at[k];
    h->at[m->of[k].block][m->of[k].node] = (place){true, results ? TT_DST : TT_TMP, at[k]};
  }
  if (!results) find_span(TT_TMP, at, m->n, t->P, &span);
  return span;
}

/* Copies results to dst. This is needed for results that were received together with other sums. */
static void copy_results(telling *t, int rank, const message *m) {
  for (int k = 0; k < m->n; k++) {
    place *p = &t->of[rank].at[m->of[k].block][m->of[k].node];
    if (m->of[k].node != t->root || p->buf == TT_DST) continue;
    const place dst = {true, TT_DST, (uint32_t)m->of[k].block};
    if (rank == t->me) tt_copy(t->b, span_at(dst), span_at(*p));
    *p = dst;
  }
}

/* ---- the rounds ---- */

static int node_of(const telling *t, char c) {
  return c < 'a' ? c - '0' : t->P + c - 'a';
}

/* Sends the sums that the moves of a round, such as "00 2a", describe. Each rank sends one item per move. */
static void send_round(telling *t, int rank, int to, const char *moves) {
  item items[MOST_ITEMS];
  holder *h = &t->of[rank];
  int n = 0, done = 0;
  for (; n < MOST_ITEMS && *moves && *moves != '|'; moves += 2 + (moves[2] == ' '))
    items[n++] = (item){shifted(t, rank, moves[0] - '0', -1), node_of(t, moves[1])};
  for (h->messages = 0; done < n && h->messages < MOST_MESSAGES; h->messages++) {
    message *m = &h->sent[h->messages];
    done += make_message(items + done, n - done, t->P, m);
    const tt_span span = gather_items(t, rank, m);
    if (rank == t->me) tt_send(t->b, to, span);
  }
}

static void receive_round(telling *t, int rank, int from) {
  for (int i = 0; i < t->of[from].messages; i++) {
    const message *m = &t->of[from].sent[i];
    const tt_span span = spread_items(t, rank, m);
    if (rank == t->me) tt_recv(t->b, from, span);
    copy_results(t, rank, m);
  }
}

static void tell(telling *t, const story *s) {
  for (const char *at = s->moves, *next; at; at = next ? next + 1 : NULL) {
    const int shift = *at - '0';
    next = strchr(at, '|');
    for (int r = 0; r < t->P; r++) send_round(t, r, shifted(t, r, shift, 1), at + 2);
    for (int r = 0; r < t->P; r++) receive_round(t, r, shifted(t, r, shift, -1));
  }
  for (int b = 0; b < t->P; b++) sum_in(t, t->me, (item){b, t->root}, ANYWHERE);
}

static void searched_build(tt_builder *b, const tt_ask *ask) {
  const story *s = story_of(ask);
  telling *t = calloc(1, sizeof *t);
  if (!t) {
    b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  t->b = b;
  t->me = ask->rank;
  t->P = ask->ranks;
  t->root = 2 * t->P - 2;
  char *end;
  for (const char *at = s->group; *at; at = *end ? end + 1 : end)
    t->sizes[t->levels++] = (int)strtol(at, &end, 10);
  for (int i = 0; i < t->P - 1; i++)
    for (int k = 0; k < 2; k++) t->half[t->P + i][k] = node_of(t, s->tree[3 * i + k]);
  for (int r = 0; r < t->P; r++)
    for (int block = 0; block < t->P; block++)
      t->of[r].at[block][shifted(t, r, block, -1)] = (place){true, TT_SRC, (uint32_t)block};
  tell(t, s);
  free(t);
}

const tt_algo tt_searched_algo = {
    .name = "searched",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"T", TT_PARAM_NUMBER, .lo = 0, .hi = 64, .wrong = "T is a number of rounds"}},
    .refuse = searched_refuse,
    .blocks = tt_block_per_rank,
    .build = searched_build,
    .plans = searched_plans,
    .stage = {{TT_PROPOSED, TT_STAGE_OUTER}},
    .entries = {{"searched", TT_NAMED,
                 "found by a solver for few ranks: the fewest bytes in T rounds", "tutti's own"}},
};
