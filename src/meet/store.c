/* store.c - bootstraps without a rendezvous: over the caller's store, or by the caller's gather function.
 *
 * Idea       With a store, each rank puts its row, and rank 0 puts the table. This takes 3 P calls of `get` in total,
 *            where an exchange between all pairs would take P * P. With a gather, ranks first exchange the sizes of
 *            their rows.
 * Stale keys A store may outlive its ranks, and then contains keys of earlier bootstraps. Rank 0 draws a number for
 *            each bootstrap, and puts it under a fixed key. All other keys contain that number, so rank 0 only reads
 *            rows of ranks that have read it. Each rank also draws a number, and rank 0's answer repeats the numbers
 *            of all ranks. If an answer lacks the rank's number, it belongs to an earlier bootstrap, and the rank
 *            reads the number of the bootstrap again.
 * Invariant  Rank 0 also puts the status, so all ranks end with the same result. With a gather, each rank sends its
 *            status.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "long_wait.h"
#include "meet.h"

enum { KEY = 64 };
static const double GRACE = 5; /* time limit for rank 0's answer, in seconds */
static const double SOON = 0.02,
                    LATEST = 1; /* first and longest interval between checks for another bootstrap,
                                   in seconds */
static const char NUMBER[] = "tutti/meeting";

typedef struct shop {
  tutti_store store;
  int round;
  double until;
  uint64_t meeting; /* number of the bootstrap, from rank 0; 0: unknown */
  uint64_t me;      /* number that this rank has drawn */
  tt_long_wait wait;
} shop;

static void format_store_key(const shop *s, const char *what, int rank, char *key) {
  const int n =
      snprintf(key, KEY, "tutti/%016llx/%d/%s", (unsigned long long)s->meeting, s->round, what);
  if (rank >= 0) snprintf(key + n, KEY - (size_t)n, "%d", rank);
}

/* The value that a rank puts into the store: the rank's random number, and its row with its status. */
typedef struct shelf_row {
  uint64_t number;
  tt_row row; /* must be last, because the text follows */
} shelf_row;

static shelf_row *wrap_row(uint64_t number, tutti_status failed, const void *mine, size_t bytes,
                           size_t *n) {
  size_t of_row;
  tt_row *row = tt_row_new(failed, mine, bytes, &of_row);
  shelf_row *x = row ? malloc(*n = sizeof x->number + of_row) : NULL;
  if (x) {
    x->number = number;
    memcpy(&x->row, row, of_row);
  }
  free(row);
  return x;
}

static tutti_status put(shop *s, const char *key, const void *bytes, size_t n) {
  if (!s->store.put(s->store.ctx, key, bytes, n)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the store cannot put '%s'", key);
}

/* Waits until a rank has put a key into the store. Returns TUTTI_ERR_TIMEOUT if the rank has not done so in time, or
 * TUTTI_ERR_SYSTEM if `get` returned too early. Sets no message. Each call of `get` waits for a short time only, so
 * that a warning can be printed between two calls. */
static tutti_status look_up(shop *s, int rank, const char *key, void *to, size_t size, size_t *got,
                            double seconds) {
  const double until = tt_seconds() + seconds;
  for (double left = seconds;; left = until - tt_seconds()) {
    const double since = tt_seconds(), slice = left < 0 ? 0 : left < TT_WARN_S ? left : TT_WARN_S;
    tt_long_wait_show(&s->wait, "rank %d to put '%s' into the store", rank, key);
    if (!s->store.get(s->store.ctx, key, to, size, got, slice)) return TUTTI_OK;
    tt_long_wait_for(&s->wait, "rank %d to put '%s' into the store", rank, key);
    if (tt_seconds() - since < slice / 2) return TUTTI_ERR_SYSTEM;
    if (left <= slice) return TUTTI_ERR_TIMEOUT;
  }
}

/* Called on rank 0. Reads the row of another rank through a buffer of MOST bytes. On failure *row remains NULL. */
static tutti_status collect_one(tt_meeting *m, shop *s, int rank, char *buffer, shelf_row **row) {
  enum { MOST = sizeof(shelf_row) + TT_MEET_MOST };
  char key[KEY];
  size_t n = 0;
  const double left = s->until - tt_seconds();
  format_store_key(s, "rank", rank, key);
  if (look_up(s, rank, key, buffer, MOST, &n, left > 0 ? left : 0))
    return tt_fail(TUTTI_ERR_TIMEOUT,
                   "rank %d of %d did not put '%s' into the store within %.3g s "
                   "(TUTTI_CONNECT_TIMEOUT)",
                   rank, m->ranks, key, m->limit);
  shelf_row head;
  if (n >= sizeof head) memcpy(&head, buffer, sizeof head);
  if (n < sizeof head || n > MOST || n != sizeof head + tt_row_bytes(head.row.bytes))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "rank %d put %zu bytes under '%s': is it another version of tutti?", rank, n,
                   key);
  *row = malloc(n);
  if (!*row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  memcpy(*row, buffer, n);
  return TUTTI_OK;
}

/* The answer that rank 0 puts into the store. It contains a status, the reason for a failure or the size of the
 * table that follows, and the random numbers of the ranks whose rows rank 0 has read. */
typedef struct answer {
  int32_t outcome;
  uint32_t bytes;
  char text[TT_ROW_WHY + 4];
  uint64_t numbers[];
} answer;

static size_t answer_bytes(const tt_meeting *m) {
  return sizeof(answer) + (size_t)m->ranks * sizeof(uint64_t);
}

static tutti_status first_failure(tutti_status status, answer *a) {
  if (status && !a->outcome) {
    a->outcome = (int32_t)status;
    snprintf(a->text, sizeof a->text, "%.*s", TT_ROW_WHY, tutti_error());
  }
  return (tutti_status)a->outcome;
}

/* Called on rank 0. Reads the rows of all ranks. Continues after a failure, so that every rank that has put a row
 * into the store can recognize the answer as meant for it. */
static tutti_status collect_rows(tt_meeting *m, const shelf_row *mine, shelf_row **rows,
                                 answer *a) {
  char *buffer = malloc(sizeof(shelf_row) + TT_MEET_MOST);
  if (!buffer) return first_failure(tt_fail(TUTTI_ERR_MEMORY, "out of memory for a row"), a);
  for (int r = 0; r < m->ranks; r++) {
    if (r) first_failure(collect_one(m, m->self, r, buffer, &rows[r]), a);
    const shelf_row *row = r ? rows[r] : mine;
    if (!row) continue;
    a->numbers[r] = row->number;
    first_failure(tt_row_failure(r, &row->row), a);
  }
  free(buffer);
  return (tutti_status)a->outcome;
}

/* Called on rank 0. Makes the table, and the answer that precedes the table in the store. */
static tutti_status collect(tt_meeting *m, const shelf_row *mine, answer *a, tt_table *all) {
  const size_t P = (size_t)m->ranks;
  shelf_row **rows = calloc(P, sizeof *rows);
  const tt_row **its = calloc(P, sizeof *its);
  tutti_status status = TUTTI_OK;
  if (!rows || !its)
    status = first_failure(tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks), a);
  if (!status) status = collect_rows(m, mine, rows, a);
  for (size_t r = 0; !status && r < P; r++) its[r] = r ? &rows[r]->row : &mine->row;
  if (!status) status = first_failure(tt_table_make(m->ranks, its, all), a);
  if (!status) a->bytes = (uint32_t)all->bytes;
  for (size_t r = 0; rows && r < P; r++) free(rows[r]);
  free(rows);
  free(its);
  return status;
}

static tutti_status lead(tt_meeting *m, const shelf_row *mine, answer *a, tt_table *all) {
  shop *s = m->self;
  char key[KEY];
  if (!s->meeting) {
    s->meeting = s->me;
    const tutti_status status = put(s, NUMBER, &s->meeting, sizeof s->meeting);
    if (status) return status;
  }
  const tutti_status status = collect(m, mine, a, all);
  format_store_key(s, "all", -1, key);
  const tutti_status put_status = put(s, key, a, answer_bytes(m));
  if (status) return tt_fail(status, "%s", a->text);
  format_store_key(s, "table", -1, key);
  return put_status ? put_status : put(s, key, all->base, all->bytes);
}

/* Waits until rank 0 has put a value of this size into the store. Sets the error on failure. */
static tutti_status await(tt_meeting *m, const char *key, void *to, size_t size, double seconds) {
  size_t got = 0;
  const tutti_status status = look_up(m->self, 0, key, to, size, &got, seconds);
  if (status)
    return tt_fail(status,
                   "rank 0 did not put '%s' into the store within %.3g s (TUTTI_CONNECT_TIMEOUT)",
                   key, m->limit);
  if (got == size) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank 0 put %zu bytes under '%s', not %zu: is it another version of tutti?", got,
                 key, size);
}

/* Returns the time for which this rank may still wait for rank 0, in seconds. */
static double left_for(const tt_meeting *m) {
  const shop *s = m->self;
  const double left = s->until - tt_seconds() + (m->limit < GRACE ? m->limit : GRACE);
  return left > 0 ? left : 0;
}

/* Called on all ranks but rank 0, when their rows are in the store. Waits up to `seconds` for the answer that
 * contains the number of this rank. *stale: set if there is an answer from another bootstrap. */
static tutti_status find_answer(tt_meeting *m, answer *a, double seconds, bool *stale) {
  shop *s = m->self;
  char key[KEY];
  size_t got = 0;
  format_store_key(s, "all", -1, key);
  tutti_status status = look_up(s, 0, key, a, answer_bytes(m), &got, seconds);
  *stale = !status && (got != answer_bytes(m) || a->numbers[m->rank] != s->me);
  if (!status && !*stale) return TUTTI_OK;
  if (!status) status = TUTTI_ERR_TIMEOUT;
  return tt_fail(
      status,
      "rank 0 did not put '%s' for rank %d into the store within %.3g s (TUTTI_CONNECT_TIMEOUT)",
      key, m->rank, m->limit);
}

/* Called on all ranks but rank 0. Puts the row into the store, and waits for the answer. In the first round, checks
 * repeatedly which bootstrap rank 0 has started. */
static tutti_status take_part(tt_meeting *m, const shelf_row *mine, size_t n, answer *a) {
  shop *s = m->self;
  const bool first = s->round == 1;
  uint64_t has = 0; /* the bootstrap for which this round's row was put */
  double asked = 0;
  for (double pause = SOON;; pause = pause < LATEST / 2 ? 2 * pause : LATEST) {
    char key[KEY];
    bool stale;
    tutti_status status = TUTTI_OK;
    if (first) status = await(m, NUMBER, &s->meeting, sizeof s->meeting, left_for(m));
    format_store_key(s, "rank", m->rank, key);
    if (!status && has != s->meeting) status = put(s, key, mine, n);
    if (status) return status;
    has = s->meeting;
    const double left = left_for(m);
    status = find_answer(m, a, first && pause < left ? pause : left, &stale);
    if (status != TUTTI_ERR_TIMEOUT || !first || left <= pause) return status;
    if (tt_interrupted(&asked)) return tt_say_interrupted("a bootstrap over a store");
    if (stale) usleep((useconds_t)(1e6 * pause));
  }
}

static tutti_status follow(tt_meeting *m, const shelf_row *mine, size_t n, answer *a,
                           tt_table *all) {
  char key[KEY];
  tutti_status status = take_part(m, mine, n, a);
  if (!status && a->outcome)
    status = tt_fail((tutti_status)a->outcome, "%.*s", TT_ROW_WHY, a->text);
  if (!status) status = tt_table_new(a->bytes, all);
  if (status) return status;
  format_store_key(m->self, "table", -1, key);
  status = await(m, key, all->base, all->bytes, left_for(m));
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
  shop *s = m->self;
  size_t n = 0;
  *all = (tt_table){.fd = -1};
  shelf_row *row = wrap_row(s->me, failed, mine, bytes, &n);
  answer *a = calloc(1, answer_bytes(m));
  tutti_status status = TUTTI_OK;
  if (!row || !a) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  s->round++;
  s->wait = tt_long_wait_begin("tutti_comm_create_store");
  if (!status) status = m->rank ? follow(m, row, n, a, all) : lead(m, row, a, all);
  tt_long_wait_end(&s->wait);
  free(row);
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
  *s = (shop){.store = *store, .until = tt_seconds() + limit, .me = tt_random() | 1};
  *m = (tt_meeting){.rank = rank,
                    .ranks = ranks,
                    .limit = limit,
                    .gather = gather_store,
                    .end = free_meeting,
                    .self = s};
  return TUTTI_OK;
}

/* ---- with the caller's gather ---- */

typedef struct own {
  tutti_gather_fn *gather;
  void *ctx;
  tutti_status fails;
  const char *why;
} own;

static tutti_status call_own(const own *o, const void *mine, size_t bytes, void *all) {
  tt_long_wait wait = tt_long_wait_begin("tutti_comm_create_gather");
  tt_long_wait_show(&wait, "the gather of the program or of an MPI");
  const int failed = o->gather(o->ctx, mine, bytes, all);
  tt_long_wait_end(&wait);
  return failed ? tt_fail(o->fails, "%s", o->why) : TUTTI_OK;
}

/* Makes the table from the rows, each of which takes `stride` bytes. If any rank has failed, returns the failure of
 * the lowest such rank. */
static tutti_status own_table(const tt_meeting *m, const char *rows, size_t stride, tt_table *all) {
  const tt_row **row = calloc((size_t)m->ranks, sizeof *row);
  tutti_status status = TUTTI_OK;
  if (!row) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  for (int r = 0; !status && r < m->ranks; r++) {
    row[r] = (const tt_row *)(const void *)(rows + (size_t)r * stride);
    status = row[r]->bytes > stride - sizeof **row
                 ? tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent a malformed row", r)
                 : tt_row_failure(r, row[r]);
  }
  if (!status) status = tt_table_make(m->ranks, row, all);
  free(row);
  return status;
}

/* Sets *stride to the number of bytes to gather from each rank, which depends on the longest row. */
static tutti_status find_stride(const tt_meeting *m, uint32_t mine, size_t *stride) {
  uint32_t *bytes = malloc((size_t)m->ranks * sizeof *bytes);
  tutti_status status = bytes ? call_own(m->self, &mine, sizeof mine, bytes)
                              : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  *stride = 0;
  for (int r = 0; !status && r < m->ranks; r++) {
    *stride = tt_max(*stride, sizeof(tt_row) + tt_row_bytes(bytes[r]));
    if (bytes[r] > TT_MEET_MOST)
      status = tt_fail(TUTTI_ERR_SYSTEM, "rank %d sends %u bytes, more than 1 MiB", r, bytes[r]);
  }
  free(bytes);
  return status;
}

/* Executes a round of the bootstrap by calling the gather function twice. The first call gathers the sizes of the
 * rows, and the second call gathers the rows. */
static tutti_status gather_own(tt_meeting *m, tutti_status failed, const void *mine, size_t bytes,
                               tt_table *all) {
  size_t n, stride = 0;
  tt_row *own_row = tt_row_new(failed, mine, bytes, &n);
  *all = (tt_table){.fd = -1};
  if (!own_row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", bytes);
  tutti_status status = find_stride(m, own_row->bytes, &stride);
  char *row = status ? NULL : calloc(1, stride);
  char *rows = row ? malloc(stride * (size_t)m->ranks) : NULL;
  if (!status && !rows) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", m->ranks);
  if (!status) memcpy(row, own_row, n);
  if (!status) status = call_own(m->self, row, stride, rows);
  if (!status) status = own_table(m, rows, stride, all);
  free(own_row);
  free(row);
  free(rows);
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
