/* net_control.c - control messages between ranks that do not share memory. They announce that a
 * communicator has ended, and report a rank's recent calls. Also the table of the other ranks
 * (wire.h).
 *
 * Idea       Every packet carries the call signature of its operation. A rank that has waited too long requests
 *            its peers' signatures; peers inside a tutti call answer. A rank announces the end of a
 *            communicator to all others or, in a large job, to some that forward it.
 * Invariant  If one surviving rank has received the announcement, all receive it. A lost rank may have sent it to only
 *            some, so a rank that has the announcement and detects a loss sends it again.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

enum { TELLS_ALL = 64 /* ranks */ };

/* ---- records ---- */

tt_record *tt_net_record_of(tt_net *m, int peer, uint64_t seq) {
  if (peer == m->wire.rank) return &m->records.mine[seq % RECORDS];
  tt_net_peer *p = tt_net_use(m, peer);
  return p ? &p->records[seq % RECORDS] : NULL;
}

void tt_net_learn_record(tt_net *m, int peer, const tt_record *r) {
  if (r->coll >= TUTTI_COLL_COUNT) return; /* NO_RECORD, or unknown to this version */
  tt_record *known = tt_net_record_of(m, peer, r->stamp.seq);
  if (known && r->stamp.seq >= known->stamp.seq) *known = *r;
}

static void net_over(tt_wire *w, uint64_t oldest, bool wakes) {
  (void)wakes;
  /* order: shown to people */
  atomic_store_explicit(&w->shown->over, oldest, memory_order_relaxed);
}

static void net_record(tt_wire *w, const tt_record *record) {
  tt_net_of(w)->records.newest = record->stamp.seq;
  *tt_net_record_of(tt_net_of(w), w->rank, record->stamp.seq) = *record;
}

static bool net_silent(tt_wire *w, int peer, uint64_t seq) {
  const tt_net_peer *p = tt_net_of(w)->peers[peer];
  return peer != w->rank && (p ? p->answered : 0) != seq;
}

static int net_read_record(tt_wire *w, int peer, uint64_t seq, tt_record *record) {
  tt_net *m = tt_net_of(w);
  *record = (tt_record){.stamp = {0, 0}};
  if (peer == w->rank || m->peers[peer]) *record = *tt_net_record_of(m, peer, seq);
  if (record->stamp.seq == seq && seq) return 1;
  if (record->stamp.seq > seq) return -1;
  return net_silent(w, peer, seq) ? TT_UNKNOWN : 0;
}

/* Returns NULL for all other ranks, because over a network a peer sends its state only on request. */
static const tt_shown *net_shown(tt_wire *w, int peer) {
  return peer == w->rank ? w->shown : NULL;
}

/* ---- control ---- */

static tutti_status send_control(tt_net *m, int peer, const tt_net_control *text) {
  tt_net_control *copy = malloc(sizeof *copy);
  if (!copy) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a message to rank %d", peer);
  *copy = *text;
  copy->net = m->net.id;
  const tt_slot s = {.kind = CONTROL_OUT, .sure = true, .what = copy};
  const tutti_status status = tt_slot_start(m, s, peer, TAG_CONTROL, copy, sizeof *copy, NULL);
  if (status) free(copy);
  return status;
}

tutti_status tt_net_listen(tt_net *m) {
  const tt_slot s = {.kind = CONTROL_IN};
  return tt_slot_start(m, s, TUTTI_NET_ANY, TAG_CONTROL, &m->hears, sizeof m->hears, NULL);
}

/* Only the first reason is kept. */
static void be_over(tt_net *m, const tt_net_control *c) {
  if (m->aborted) return;
  snprintf(m->reason, sizeof m->reason, "%.*s", (int)sizeof c->reason - 1, c->reason);
  m->aborted = (tutti_status)c->status;
}

/* Returns true if this rank notifies rank r directly. In a large job, each rank notifies only its peers in use and the ranks
 * at distances that are powers of two. These ranks forward the notice, so that a few lost ranks cannot stop it. */
static bool tells(const tt_net *m, int r) {
  const int away = tt_mod(r - m->wire.rank, m->wire.ranks), back = m->wire.ranks - away;
  if (r == m->wire.rank || m->lost[r]) return false;
  return m->wire.ranks <= TELLS_ALL || m->peers[r] || !(away & (away - 1)) || !(back & (back - 1));
}

static void tell_others(tt_net *m) {
  tt_net_control c = {.status = (int32_t)m->aborted};
  memcpy(c.reason, m->reason, sizeof c.reason);
  for (int r = 0; r < m->wire.ranks; r++)
    if (!m->failed && tells(m, r)) send_control(m, r, &c);
}

/* Announces that the communicator has ended. If this rank has already received another reason, it sends that reason instead,
 * because other ranks may receive this message first. */
static void net_abort(tt_wire *w, tutti_status status, const char *reason) {
  tt_net *m = tt_net_of(w);
  tt_net_control c = {.status = (int32_t)status};
  snprintf(c.reason, sizeof c.reason, "%s", reason);
  char kept[512];
  snprintf(kept, sizeof kept, "%s", tutti_error()); /* sending the reason may fail and overwrite the
                                                       error text */
  be_over(m, &c);
  tell_others(m);
  tt_fail(status, "%s", kept);
}

static tutti_status net_aborted(tt_wire *w, char *reason, size_t size) {
  tt_net *m = tt_net_of(w);
  if (m->aborted && size) snprintf(reason, size, "%s", m->reason);
  return m->aborted;
}

static void send_records(tt_net *m, int peer, uint64_t about, uint64_t answer) {
  tt_net_control c = {.about = about, .answer = answer};
  memcpy(c.records, m->records.mine, sizeof c.records);
  send_control(m, peer, &c);
}

/* Sends the records of this rank's recent calls to a peer. The peer answers with its records. */
static void ask_for_records(tt_net *m, int peer, uint64_t seq) {
  const tt_record *mine = tt_net_record_of(m, m->wire.rank, seq);
  tt_net_peer *p;
  if (m->failed || peer == m->wire.rank || mine->stamp.seq != seq) return;
  if (!(p = tt_net_use(m, peer))) return;
  p->asked = seq;
  send_records(m, peer, seq, 0);
}

static void net_ask(tt_wire *w, int peer, uint64_t seq) {
  const tt_net_peer *p = tt_net_of(w)->peers[peer];
  if ((p ? p->asked : 0) != seq) ask_for_records(tt_net_of(w), peer, seq);
}

void tt_net_lose_peer(tt_net *m, int peer) {
  if (m->lost[peer]) return;
  m->lost[peer] = true;
  m->wire.losses++;
  if (m->aborted) tell_others(m);
}

void tt_net_control_came(tt_net *m, int peer) {
  const tt_net_control *c = &m->hears;
  if (c->net != m->net.id) return;
  if (c->status) {
    const bool passes_on = !m->aborted && (m->wire.ranks > TELLS_ALL || m->wire.losses);
    be_over(m, c);
    if (passes_on) tell_others(m);
    return;
  }
  for (int i = 0; i < RECORDS; i++)
    if (c->records[i].stamp.seq) tt_net_learn_record(m, peer, &c->records[i]);
  if (c->about) {
    send_records(m, peer, 0, c->about);
    return;
  }
  tt_record called;
  tt_net_peer *p = tt_net_use(m, peer);
  if (p) p->answered = c->answer;
  /* a result of 0 means that the peer may still make the call */
  m->records.answers += net_read_record(&m->wire, peer, c->answer, &called) != 0;
}

static int living_peers(const tt_net *m) {
  int n = -1;
  for (int r = 0; r < m->wire.ranks; r++) n += !m->lost[r];
  return n;
}

static void net_inquire(tt_wire *w, uint64_t seq, double most) {
  tt_net *m = tt_net_of(w);
  bool moved = false;
  char kept[512];
  snprintf(kept, sizeof kept, "%s", tutti_error());
  m->records.answers = 0;
  for (int peer = 0; peer < w->ranks; peer++) ask_for_records(m, peer, seq);
  const double since = tt_seconds();
  while (m->records.answers < living_peers(m) && tt_seconds() - since < most)
    if (m->aborted || tt_net_poll(w, &moved)) break;
  tt_fail(TUTTI_ERR_MISMATCH, "%s", kept);
}

/* ---- the table ---- */

static uint32_t net_sleep_begin(tt_wire *w) {
  (void)w;
  return 0;
}
static void net_sleep(tt_wire *w, uint32_t futex, uint32_t limit_us) {
  (void)futex;
  w->net->sleep(w, tt_extra_fd(w, -1), limit_us);
}
static void net_sleep_end(tt_wire *w) {
  (void)w;
}

static bool net_alive(tt_wire *w, int peer) {
  return !tt_net_of(w)->lost[peer]; /* as far as the network knows */
}
static long net_pid(tt_wire *w, int peer) {
  return tt_net_of(w)->pids ? (long)tt_net_of(w)->pids[peer] : 0;
}

const tt_peer_ops tt_net_peer_ops = {
    .record = net_record,
    .over = net_over,
    .read_record = net_read_record,
    .ask = net_ask,
    .inquire = net_inquire,
    .silent = net_silent,
    .sleep_begin = net_sleep_begin,
    .sleep = net_sleep,
    .sleep_end = net_sleep_end,
    .abort = net_abort,
    .aborted = net_aborted,
    .alive = net_alive,
    .pid = net_pid,
    .shown = net_shown,
    .close = tt_net_close,
};
