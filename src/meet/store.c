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

static tutti_status cannot(const char *what, const char *key) {
  return tt_fail(TUTTI_ERR_SYSTEM, "the store cannot %s '%s'", what, key);
}

static tutti_status collect_and_answer(tt_meeting *m, shop *s, const void *mine, char *all,
                                       size_t bytes) {
  char key[48];
  const size_t n = bytes * (size_t)m->ranks, most = tt_max(n, WORDS);
  char *answer = calloc(1, sizeof(int32_t) + most);
  if (!answer) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  tutti_status status = collect(m, s, mine, all, bytes);
  const int32_t outcome = (int32_t)status;
  memcpy(answer, &outcome, sizeof outcome);
  if (status)
    snprintf(answer + sizeof outcome, WORDS, "%s", tutti_error());
  else
    memcpy(answer + sizeof outcome, all, n);
  format_store_key(s, "all", -1, key, sizeof key);
  const int failed = s->store.put(s->store.ctx, key, answer, sizeof outcome + (status ? WORDS : n));
  free(answer);
  return failed && !status ? cannot("put", key) : status;
}

static tutti_status follow(tt_meeting *m, shop *s, const void *mine, char *all, size_t bytes) {
  char key[48];
  const size_t n = bytes * (size_t)m->ranks, most = tt_max(n, WORDS);
  size_t got = 0;
  int32_t outcome;
  format_store_key(s, "rank", m->rank, key, sizeof key);
  if (s->store.put(s->store.ctx, key, mine, bytes)) return cannot("put", key);
  char *answer = calloc(1, sizeof outcome + most);
  if (!answer) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  format_store_key(s, "all", -1, key, sizeof key);
  const double left = s->until - tt_seconds(), grace = m->limit < GRACE ? m->limit : GRACE;
  tutti_status status = TUTTI_OK;
  if (s->store.get(s->store.ctx, key, answer, sizeof outcome + most, &got,
                   (left > 0 ? left : 0) + grace))
    status = tt_fail(TUTTI_ERR_TIMEOUT,
                     "rank 0 did not put '%s' into the store within %.3g s (TUTTI_CONNECT_TIMEOUT)",
                     key, m->limit);
  memcpy(&outcome, answer, sizeof outcome);
  if (!status && outcome)
    status = tt_fail((tutti_status)outcome, "%.*s", WORDS - 1, answer + sizeof outcome);
  if (!status && got != sizeof outcome + n)
    status = tt_fail(TUTTI_ERR_SYSTEM,
                     "rank 0 put %zu bytes under '%s', not %zu: is it another version of tutti?",
                     got, key, sizeof outcome + n);
  if (!status) memcpy(all, answer + sizeof outcome, n);
  free(answer);
  return status;
}

static tutti_status gather_store(tt_meeting *m, const void *mine, void *all, size_t bytes) {
  shop *s = m->self;
  s->round++;
  return (m->rank == 0 ? collect_and_answer : follow)(m, s, mine, all, bytes);
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
