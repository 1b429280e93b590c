/* meet_rounds.c - the rounds of a bootstrap, in the rendezvous and in agents.
 *
 * Idea       Rows are sent up the tree. An agent forwards the rows of its peers: in the first round as they arrive,
 *            in later rounds all together when all ranks below it have sent theirs. When all rows have arrived, the
 *            rendezvous makes the table and sends it down the tree. Each agent receives it once, for its children and
 *            for the ranks of its host. Failures are also reported up the tree, and the rendezvous notifies all
 *            peers.
 * Invariant  A peer that sends rows has received the previous table, so a service keeps only one table. If all peers
 *            leave between rounds, the bootstrap has ended without an error.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meet_service.h"

/* ---- failures ---- */

static void close_doors(tt_service *s) {
  if (!s->agent) return;
  if (s->listener >= 0) close(s->listener);
  if (s->local >= 0) close(s->local);
  s->listener = s->local = -1;
}

void tt_service_end(tt_service *s, const tt_refusal *why) {
  if (s->over) return;
  s->why = *why;
  s->over = true;
  s->failed = why->status == TUTTI_ERR_TIMEOUT ? 0 : tt_seconds(); /* no more peers are expected */
  close_doors(s);
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd >= 0 && g->state == TT_MEMBER && !g->talks) tt_meet_peer_part(g, &s->why);
  }
}

static void fail_with(tt_service *s, const tt_refusal *why) {
  if (s->over || s->told) return;
  if (!s->agent || s->parent.fd < 0) {
    tt_service_end(s, why);
    return;
  }
  s->why = *why;
  s->told = true;
  s->failed = tt_seconds();
}

void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...) {
  tt_refusal why = {.status = status};
  va_list ap;
  va_start(ap, format);
  vsnprintf(why.text, sizeof why.text, format, ap);
  va_end(ap);
  fail_with(s, &why);
}

void tt_rounds_left(tt_service *s, const tt_hello *hello, bool unfinished) {
  if (!s->gone++) snprintf(s->left, sizeof s->left, "rank %u (%s)", hello->rank, hello->who);
  if (s->over) return;
  if (s->round == 0 || s->rows || unfinished)
    tt_service_fail(s, TUTTI_ERR_PEER_LOST, "%s left before all ranks had connected", s->left);
  if (!s->members && !s->over && s->round && !s->rows) s->over = true;
}

/* ---- the table ---- */

static void forget_rows(tt_service *s) {
  for (int i = 0; i < s->nframes; i++) free(s->frames[i]);
  s->nframes = 0;
  s->rows = 0;
  if (s->row) memset(s->row, 0, (size_t)s->ranks * sizeof *s->row);
}

void tt_rounds_answer(tt_service *s, tt_table *table) {
  tt_table_drop(&s->table);
  s->table = *table;
  *table = (tt_table){.fd = -1};
  if (s->round++ == 0) close_doors(s);
  /* order: set before the agent's own rank can have its table */
  if (s->self) atomic_store(&s->self->busy, true);
  forget_rows(s);
  for (int i = 0; i < s->npeers; i++)
    if (tt_is_member(&s->peers[i])) tt_meet_peer_serve(&s->peers[i], &s->table);
}

void tt_rounds_clear(tt_service *s) {
  forget_rows(s);
  tt_table_drop(&s->table);
  free(s->frames);
  free(s->row);
  free(s->places);
  free(s->batch);
  s->frames = NULL;
  s->row = NULL;
  s->places = NULL;
  s->batch = NULL;
  s->ranks = s->round = s->known = s->gone = s->agents = s->members = s->locals = 0;
  s->failed = 0;
  s->why.status = 0;
  s->over = false;
}

/* ---- rows ---- */

/* Returns the number of rows in these bytes, or 0 if the bytes are malformed. */
static int count_rows(const tt_service *s, const char *bytes, size_t n) {
  int rows = 0;
  for (size_t at = 0; at < n; rows++) {
    tt_row row;
    if (n - at < sizeof row) return 0;
    memcpy(&row, bytes + at, sizeof row);
    at += sizeof row;
    if (row.of < 0 || row.of >= s->ranks || row.bytes > TT_MEET_MOST ||
        tt_row_bytes(row.bytes) > n - at)
      return 0;
    at += tt_row_bytes(row.bytes);
  }
  return rows;
}

/* Called in the rendezvous. Keeps the frame of a peer, and records the rows that it contains. */
static void keep_rows(tt_service *s, char *frame, size_t n) {
  char **frames = realloc(s->frames, (size_t)(s->nframes + 1) * sizeof *frames);
  if (!frames) {
    free(frame);
    tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory");
    return;
  }
  s->frames = frames;
  s->frames[s->nframes++] = frame;
  for (const char *at = frame + sizeof(tt_meet_frame), *end = at + n; at < end;) {
    const tt_row *row = (const tt_row *)(const void *)at;
    if (s->row[row->of]) {
      tt_service_fail(
          s, TUTTI_ERR_SYSTEM,
          "rank %d connected twice, from two hosts or in two processes of one: are there two "
          "jobs with one id?",
          row->of);
      return;
    }
    s->row[row->of] = row;
    at += sizeof *row + tt_row_bytes(row->bytes);
  }
}

/* An agent collects rows for its parent. */
static void pass_rows(tt_service *s, char *frame, size_t n) {
  char *batch = realloc(s->batch, s->batched + n);
  if (batch) {
    if (!s->batched) s->batch_since = tt_seconds();
    memcpy(batch + s->batched, frame + sizeof(tt_meet_frame), n);
    s->batch = batch;
    s->batched += n;
  } else {
    tt_service_fail(s, TUTTI_ERR_MEMORY, "an agent of a host is out of memory");
  }
  free(frame);
}

static void make_table(tt_service *s) {
  tt_table table;
  if (tt_table_make(s->ranks, s->row, &table))
    tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous: %s", tutti_error());
  else
    tt_rounds_answer(s, &table);
}

void tt_rounds_frame(tt_service *s, const tt_meet_frame *head, char *bytes) {
  if (head->kind == TT_CANNOT && head->bytes == sizeof(tt_refusal)) {
    tt_refusal why;
    memcpy(&why, bytes + sizeof *head, sizeof why);
    why.text[sizeof why.text - 1] = 0;
    free(bytes);
    if (why.status >= 0 || why.status < TUTTI_ERR_UNSUPPORTED) why.status = TUTTI_ERR_SYSTEM;
    fail_with(s, &why);
    return;
  }
  const int rows = head->kind == TT_ROWS ? count_rows(s, bytes + sizeof *head, head->bytes) : 0;
  if (!rows) {
    free(bytes);
    tt_service_fail(s, TUTTI_ERR_SYSTEM,
                    "a rank sent a malformed message: does it run another version of tutti?");
    return;
  }
  s->rows += rows;
  if (!s->round) s->known += rows;
  if (s->agent)
    pass_rows(s, bytes, head->bytes);
  else
    keep_rows(s, bytes, head->bytes);
  if (s->over || s->told) return;
  if (s->gone || (s->agent && s->parent.fd < 0))
    tt_service_fail(s, TUTTI_ERR_PEER_LOST, "%s left before all ranks had connected",
                    s->gone ? s->left : "the agent above this one");
  else if (!s->agent && s->rows == s->ranks)
    make_table(s);
}
