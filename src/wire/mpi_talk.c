/* mpi_talk.c - what ranks without common memory tell each other besides their messages:
 * that a communicator is over, and what they have called lately.
 *
 * Idea       every paper carries the record of its operation; who waits too long asks,
 *            and is answered by those who are inside tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_parts.h"

/* ---- records ---- */

tt_record *tt_mpi_record_of(tt_mpi *m, int peer, uint32_t seq) {
  tt_record *all = peer == m->wire.rank ? m->mine : m->theirs + (size_t)peer * RECORDS;
  return &all[seq % RECORDS];
}

void tt_mpi_learn(tt_mpi *m, int peer, const tt_record *r) {
  tt_record *known = tt_mpi_record_of(m, peer, r->stamp.seq);
  if (r->coll != NO_RECORD && (int32_t)(r->stamp.seq - known->stamp.seq) >= 0) *known = *r;
}

void tt_mpi_record(tt_wire *w, const tt_record *record, uint32_t oldest) {
  (void)oldest;
  *tt_mpi_record_of(tt_mpi_of(w), w->rank, record->stamp.seq) = *record;
}

int tt_mpi_read_record(tt_wire *w, int peer, uint32_t seq, tt_record *record) {
  const tt_record *known = tt_mpi_record_of(tt_mpi_of(w), peer, seq);
  *record = *known;
  if (known->stamp.seq == seq && seq) return 1;
  if ((int32_t)(known->stamp.seq - seq) > 0) return -1;
  return tt_mpi_silent(w, peer, seq) ? TT_UNKNOWN : 0;
}

/* What it says of itself it says only when it is asked. */
const tt_shown *tt_mpi_shown(tt_wire *w, int peer) {
  return peer == w->rank ? w->shown : NULL;
}

/* ---- control ---- */

static tutti_status send_control(tt_mpi *m, int peer, const tt_control *text) {
  tt_control *copy = malloc(sizeof *copy);
  if (!copy) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a message to rank %d", peer);
  *copy = *text;
  copy->net = m->net.id;
  const tt_slot s = {.kind = CONTROL_OUT, .sure = true, .what = copy};
  const tutti_status status = tt_slot_start(m, s, peer, TAG_CONTROL, copy, sizeof *copy, NULL);
  if (status) free(copy);
  return status;
}

tutti_status tt_mpi_hear(tt_mpi *m) {
  const tt_slot s = {.kind = CONTROL_IN};
  return tt_slot_start(m, s, TUTTI_NET_ANY, TAG_CONTROL, &m->hears, sizeof m->hears, NULL);
}

/* The first reason counts. */
static void be_over(tt_mpi *m, const tt_control *c) {
  if (m->aborted) return;
  snprintf(m->reason, sizeof m->reason, "%.*s", (int)sizeof c->reason - 1, c->reason);
  m->aborted = (tutti_status)c->status;
}

void tt_mpi_abort(tt_wire *w, tutti_status status, const char *reason) {
  tt_mpi *m = tt_mpi_of(w);
  tt_control c = {.status = (int32_t)status};
  snprintf(c.reason, sizeof c.reason, "%s", reason);
  char kept[512];
  snprintf(kept, sizeof kept, "%s", tutti_error()); /* what is told may fail, too */
  be_over(m, &c);
  for (int r = 0; r < w->ranks; r++)
    if (r != w->rank && !m->failed) send_control(m, r, &c);
  tt_fail(status, "%s", kept);
}

tutti_status tt_mpi_aborted(tt_wire *w, char *reason, size_t size) {
  tt_mpi *m = tt_mpi_of(w);
  if (m->aborted && size) snprintf(reason, size, "%s", m->reason);
  return m->aborted;
}

static void send_records(tt_mpi *m, int peer, uint32_t about, uint32_t answer) {
  tt_control c = {.about = about, .answer = answer};
  memcpy(c.records, m->mine, sizeof c.records);
  send_control(m, peer, &c);
}

/* Tell a peer what this rank called lately; it answers with the same. */
static void ask(tt_mpi *m, int peer, uint32_t seq) {
  const tt_record *mine = tt_mpi_record_of(m, m->wire.rank, seq);
  if (m->failed || peer == m->wire.rank || mine->stamp.seq != seq) return;
  m->told[peer] = seq;
  send_records(m, peer, seq, 0);
}

void tt_mpi_ask(tt_wire *w, int peer, uint32_t seq) {
  if (tt_mpi_of(w)->told[peer] != seq) ask(tt_mpi_of(w), peer, seq);
}

void tt_mpi_heard(tt_mpi *m, int peer) {
  const tt_control *c = &m->hears;
  if (c->net != m->net.id) return;
  if (c->status) {
    be_over(m, c);
    return;
  }
  for (int i = 0; i < RECORDS; i++)
    if (c->records[i].stamp.seq) tt_mpi_learn(m, peer, &c->records[i]);
  if (c->about) {
    send_records(m, peer, 0, c->about);
    return;
  }
  tt_record called;
  m->answered[peer] = c->answer;
  m->answers += tt_mpi_read_record(&m->wire, peer, c->answer, &called) != 0; /* else it may yet */
}

bool tt_mpi_silent(tt_wire *w, int peer, uint32_t seq) {
  return peer != w->rank && tt_mpi_of(w)->answered[peer] != seq;
}

static int living_peers(const tt_mpi *m) {
  int n = -1;
  for (int r = 0; r < m->wire.ranks; r++) n += !m->lost[r];
  return n;
}

void tt_mpi_inquire(tt_wire *w, uint32_t seq, double most) {
  tt_mpi *m = tt_mpi_of(w);
  bool moved = false;
  char kept[512];
  snprintf(kept, sizeof kept, "%s", tutti_error());
  m->answers = 0;
  for (int peer = 0; peer < w->ranks; peer++) ask(m, peer, seq);
  const double since = tt_seconds();
  while (m->answers < living_peers(m) && tt_seconds() - since < most)
    if (m->aborted || tt_mpi_poll(w, &moved)) break;
  tt_fail(TUTTI_ERR_MISMATCH, "%s", kept);
}
