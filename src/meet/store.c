/* store.c - meetings without a rendezvous: over a store of the caller's, or by its gather.
 *
 * Idea       Over a store each rank puts its contribution, and rank 0 puts the contributions of
 *            all: 2 P calls of `get` in all, where all-to-all would need P times P.
 * Invariant  Rank 0 puts the status, too, so all ranks end alike.
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

/* On rank 0: all[r] of every rank, or the status and its reason. */
static tutti_status collect(tt_meeting *m, shop *s, const void *mine, char *all, size_t bytes) {
  char key[48];
  memcpy(all, mine, bytes);
  for (int r = 1; r < m->ranks; r++) {
    size_t n = 0;
    const double left = s->until - tt_seconds();
    format_store_key(s, "rank", r, key, sizeof key);
    if (s->store.get(s->store.ctx, key, all + (size_t)r * bytes, bytes, &n, left > 0 ? left : 0))
      return tt_fail(TUTTI_ERR_TIMEOUT,
                     "rank %d of %d did not put '%s' into the store within %.3g s "
                     "(TUTTI_CONNECT_TIMEOUT)",
                     r, m->ranks, key, m->limit);
    if (n != bytes)
      return tt_fail(TUTTI_ERR_SYSTEM,
                     "rank %d put %zu bytes under '%s', not %zu: is it another version of tutti?",
                     r, n, key, bytes);
  }
  return TUTTI_OK;
}

typedef struct answer { /* of rank 0: its status, and the bytes of all, or the reason */
  int32_t outcome;
  char text[];
} answer;

static tutti_status put(shop *s, const char *key, const void *bytes, size_t n) {
  if (!s->store.put(s->store.ctx, key, bytes, n)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the store cannot put '%s'", key);
}

static tutti_status collect_and_answer(tt_meeting *m, const void *mine, char *all, size_t bytes,
                                       answer *a) {
  shop *s = m->self;
  char key[48];
  const tutti_status status = collect(m, s, mine, all, bytes);
  a->outcome = (int32_t)status;
  format_store_key(s, "all", -1, key, sizeof key);
  if (!status) {
    memcpy(a->text, all, bytes * (size_t)m->ranks);
    return put(s, key, a, sizeof *a + bytes * (size_t)m->ranks);
  }
  snprintf(a->text, WORDS, "%s", tutti_error());
  s->store.put(s->store.ctx, key, a, sizeof *a + WORDS);
  return status;
}

static tutti_status follow(tt_meeting *m, const void *mine, char *all, size_t bytes, answer *a) {
  shop *s = m->self;
  char key[48];
  const size_t n = bytes * (size_t)m->ranks;
  size_t got = 0;
  format_store_key(s, "rank", m->rank, key, sizeof key);
  const tutti_status status = put(s, key, mine, bytes);
  if (status) return status;
  format_store_key(s, "all", -1, key, sizeof key);
  const double left = s->until - tt_seconds(), grace = m->limit < GRACE ? m->limit : GRACE;
  if (s->store.get(s->store.ctx, key, a, sizeof *a + tt_max(n, WORDS), &got,
                   (left > 0 ? left : 0) + grace))
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "rank 0 did not put '%s' into the store within %.3g s (TUTTI_CONNECT_TIMEOUT)",
                   key, m->limit);
  if (a->outcome) return tt_fail((tutti_status)a->outcome, "%.*s", WORDS - 1, a->text);
  if (got != sizeof *a + n)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "rank 0 put %zu bytes under '%s', not %zu: is it another version of tutti?", got,
                   key, sizeof *a + n);
  memcpy(all, a->text, n);
  return TUTTI_OK;
}

static tutti_status gather_store(tt_meeting *m, const void *mine, void *all, size_t bytes) {
  answer *a = calloc(1, sizeof *a + tt_max(bytes * (size_t)m->ranks, WORDS));
  if (!a) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  ((shop *)m->self)->round++;
  const tutti_status status = (m->rank ? follow : collect_and_answer)(m, mine, all, bytes, a);
  free(a);
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

static tutti_status gather_own(tt_meeting *m, const void *mine, void *all, size_t bytes) {
  const own *o = m->self;
  return o->gather(o->ctx, mine, bytes, all) ? tt_fail(o->fails, "%s", o->why) : TUTTI_OK;
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
