/* store.c - meetings without a rendezvous: over a store of the caller's, or by its gather.
 *
 * Idea       Over a store each rank puts its row, and rank 0 puts the table: 3 P calls of `get` in
 *            all, where all-to-all would need P times P. By a gather, ranks first exchange the sizes.
 * Invariant  Rank 0 puts the status, too, so all ranks end alike; by a gather, each rank sends it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"

enum { WORDS = 300 };
static const double GRACE = 5; /* s at most, for rank 0's answer */

typedef struct shop {
  tutti_store store;
  int round;
  double until;
} shop;

static void format_store_key(const shop *s, const char *what, int rank, char *key, size_t size) {
  if (rank < 0)
    snprintf(key, size, "tutti/%d/%s", s->round, what);
  else
    snprintf(key, size, "tutti/%d/%s%d", s->round, what, rank);
}

typedef struct
    shelf_row { /* what a rank puts: its status, and its row, or the reason for its failure */
  int32_t status;
  uint32_t bytes;
  char text[];
} shelf_row;

static shelf_row *wrap_row(tutti_status failed, const void *mine, size_t bytes, size_t *n) {
  char why[WORDS];
  snprintf(why, sizeof why, "%s", failed ? tutti_error() : "");
  const size_t has = failed ? strlen(why) + 1 : bytes;
  shelf_row *row = malloc(sizeof *row + has);
  if (!row) return NULL;
  *row = (shelf_row){failed, (uint32_t)has};
  if (has) memcpy(row->text, failed ? why : mine, has);
  *n = sizeof *row + has;
  return row;
}

static tutti_status put(shop *s, const char *key, const void *bytes, size_t n) {
  if (!s->store.put(s->store.ctx, key, bytes, n)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the store cannot put '%s'", key);
}

/* On rank 0: a rank's row, in place of a buffer of MOST bytes; NULL, or its status. */
static tutti_status collect_one(tt_meeting *m, shop *s, int rank, char *buffer, shelf_row **row) {
  enum { MOST = sizeof(shelf_row) + TT_MEET_MOST };
  char key[48];
  size_t n = 0;
  const double left = s->until - tt_seconds();
  format_store_key(s, "rank", rank, key, sizeof key);
  if (s->store.get(s->store.ctx, key, buffer, MOST, &n, left > 0 ? left : 0))
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "rank %d of %d did not put '%s' into the store within %.3g s "
                   "(TUTTI_CONNECT_TIMEOUT)",
                   rank, m->ranks, key, m->limit);
  shelf_row head;
  if (n >= sizeof head) memcpy(&head, buffer, sizeof head);
  if (n < sizeof head || n > MOST || n != sizeof head + head.bytes)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "rank %d put %zu bytes under '%s': is it another version of tutti?", rank, n,
                   key);
  if (head.status)
    return tt_fail((tutti_status)head.status, "rank %d: %.*s", rank, WORDS, buffer + sizeof head);
  *row = malloc(n);
  if (!*row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  memcpy(*row, buffer, n);
  return TUTTI_OK;
}

/* On rank 0: the table of all, and the size of the largest row. */
static tutti_status collect(tt_meeting *m, shop *s, const shelf_row *mine, tt_table *all) {
  const size_t P = (size_t)m->ranks;
  shelf_row **rows = calloc(P, sizeof *rows);
  const void **texts = calloc(P, sizeof *texts);
  uint32_t *bytes = calloc(P, sizeof *bytes);
  char *buffer = malloc(sizeof(shelf_row) + TT_MEET_MOST);
  tutti_status status = TUTTI_OK;
  if (!rows || !texts || !bytes || !buffer)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  else if (mine->status)
    status = tt_fail((tutti_status)mine->status, "rank 0: %.*s", WORDS, mine->text);
  for (int r = 0; !status && r < m->ranks; r++) {
    if (r) status = collect_one(m, s, r, buffer, &rows[r]);
    const shelf_row *row = r ? rows[r] : mine;
    if (status) break;
    texts[r] = row->text;
    bytes[r] = row->bytes;
  }
  if (!status) status = tt_table_make(m->ranks, texts, bytes, all);
  for (size_t r = 0; rows && r < P; r++) free(rows[r]);
  free(rows);
  free(texts);
  free(bytes);
  free(buffer);
  return status;
}

typedef struct
    answer { /* of rank 0: its status, and the bytes of the table that follows, or the reason */
  int32_t outcome;
  uint32_t bytes;
  char text[WORDS];
} answer;

static tutti_status collect_and_answer(tt_meeting *m, const shelf_row *mine, tt_table *all) {
  shop *s = m->self;
  char key[48];
  answer a = {.bytes = 0};
  const tutti_status status = collect(m, s, mine, all);
  a.outcome = (int32_t)status;
  a.bytes = status ? 0 : (uint32_t)all->bytes;
  if (status) snprintf(a.text, sizeof a.text, "%s", tutti_error());
  format_store_key(s, "all", -1, key, sizeof key);
  tutti_status put_status = put(s, key, &a, sizeof a);
  if (status) return tt_fail(status, "%s", a.text);
  format_store_key(s, "table", -1, key, sizeof key);
  return put_status ? put_status : put(s, key, all->base, all->bytes);
}

static tutti_status await(tt_meeting *m, const char *what, void *to, size_t size) {
  shop *s = m->self;
  char key[48];
  size_t got = 0;
  const double left = s->until - tt_seconds(), grace = m->limit < GRACE ? m->limit : GRACE;
  format_store_key(s, what, -1, key, sizeof key);
  if (s->store.get(s->store.ctx, key, to, size, &got, (left > 0 ? left : 0) + grace))
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "rank 0 did not put '%s' into the store within %.3g s (TUTTI_CONNECT_TIMEOUT)",
                   key, m->limit);
  if (got == size) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank 0 put %zu bytes under '%s', not %zu: is it another version of tutti?", got,
                 key, size);
}

static tutti_status follow(tt_meeting *m, const shelf_row *mine, size_t n, tt_table *all) {
  shop *s = m->self;
  char key[48];
  answer a;
  format_store_key(s, "rank", m->rank, key, sizeof key);
  tutti_status status = put(s, key, mine, n);
  if (!status) status = await(m, "all", &a, sizeof a);
  if (!status && a.outcome) status = tt_fail((tutti_status)a.outcome, "%.*s", WORDS - 1, a.text);
  if (!status) status = tt_table_new(a.bytes, all);
  if (status) return status;
  status = await(m, "table", all->base, all->bytes);
  if (!status) status = tt_table_seal(all);
  if (!status && !tt_table_valid(all, m->ranks))
    status = tt_fail(TUTTI_ERR_SYSTEM,
                     "rank 0 put no table of %d ranks into the store: is it "
                     "another version of tutti?",
                     m->ranks);
  if (status) tt_table_drop(all);
  return status;
}

static tutti_status gather_store(tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                                 tt_table *all) {
  size_t n;
  *all = (tt_table){.fd = -1};
  shelf_row *row = wrap_row(failed, mine, bytes, &n);
  if (!row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  ((shop *)m->self)->round++;
  const tutti_status status = m->rank ? follow(m, row, n, all) : collect_and_answer(m, row, all);
  free(row);
  return status;
}

static void free_meeting(tt_meeting *m) {
  free(m->self);
  m->self = NULL;
}

tutti_status tt_meet_store(const tutti_store *store, int rank, int ranks, double limit,
                           tt_meeting *m) {
  shop *s = malloc(sizeof *s);
  if (!s) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a store");
  *s = (shop){.store = *store, .until = tt_seconds() + limit};
  *m = (tt_meeting){.rank = rank,
                    .ranks = ranks,
                    .limit = limit,
                    .gather = gather_store,
                    .end = free_meeting,
                    .self = s};
  return TUTTI_OK;
}

/* ---- by the caller's gather ---- */

typedef struct own {
  tutti_gather_fn *gather;
  void *ctx;
  tutti_status fails;
  const char *why;
} own;

static tutti_status call_own(const own *o, const void *mine, size_t bytes, void *all) {
  return o->gather(o->ctx, mine, bytes, all) ? tt_fail(o->fails, "%s", o->why) : TUTTI_OK;
}

typedef struct own_head { /* what ranks exchange first */
  int32_t status;
  uint32_t bytes;
} own_head;

/* All rows, each in `stride` bytes: the table, or the reason of the first rank that failed. */
static tutti_status own_table(const tt_meeting *m, const own_head *heads, const char *rows,
                              size_t stride, tt_table *all) {
  const void **texts = calloc((size_t)m->ranks, sizeof *texts);
  uint32_t *bytes = calloc((size_t)m->ranks, sizeof *bytes);
  tutti_status status = TUTTI_OK;
  if (!texts || !bytes) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  for (int r = 0; !status && r < m->ranks; r++) {
    texts[r] = rows + (size_t)r * stride;
    bytes[r] = heads[r].bytes;
    if (heads[r].status)
      status = tt_fail((tutti_status)heads[r].status, "rank %d: %.*s", r, WORDS - 1,
                       (const char *)texts[r]);
  }
  if (!status) status = tt_table_make(m->ranks, texts, bytes, all);
  free(texts);
  free(bytes);
  return status;
}

/* Two calls: the sizes, or that some rank fails; then the rows, or the reasons. */
static tutti_status gather_own(tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                               tt_table *all) {
  const own *o = m->self;
  char why[WORDS];
  snprintf(why, sizeof why, "%s", failed ? tutti_error() : "");
  const own_head head = {failed, failed ? WORDS : (uint32_t)bytes};
  own_head *heads = malloc((size_t)m->ranks * sizeof *heads);
  *all = (tt_table){.fd = -1};
  if (!heads) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  tutti_status status = call_own(o, &head, sizeof head, heads);
  size_t stride = 1;
  bool fails = false;
  for (int r = 0; !status && r < m->ranks; r++) {
    stride = tt_max(stride, heads[r].bytes);
    fails |= heads[r].status != TUTTI_OK;
  }
  if (fails) stride = WORDS;
  char *row = calloc(1, stride), *rows = malloc(stride * (size_t)m->ranks);
  if (!status && (!row || !rows))
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  if (!status && failed) memcpy(row, why, sizeof why);
  if (!status && !fails && bytes) memcpy(row, mine, bytes);
  if (!status) status = call_own(o, row, stride, rows);
  if (!status) status = own_table(m, heads, rows, stride, all);
  free(row);
  free(rows);
  free(heads);
  return status;
}

tutti_status tt_meet_gather(tutti_gather_fn *gather, void *ctx, int rank, int ranks,
                            tutti_status fails, const char *why, tt_meeting *m) {
  own *o = malloc(sizeof *o);
  if (!o) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a gather");
  *o = (own){gather, ctx, fails, why};
  *m = (tt_meeting){
      .rank = rank, .ranks = ranks, .gather = gather_own, .end = free_meeting, .self = o};
  return TUTTI_OK;
}
