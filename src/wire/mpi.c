/* mpi.c - the wire over messages between processes: MPI's, called through a table.
 *
 * Idea       a piece is a paper, which says to which operation it belongs, and bytes: few
 *            stand on the paper itself, more follow as a message of their own. The reader
 *            asks for the next paper when it waits for one; papers and bytes have tags of
 *            their own per lane, in order.
 * Landings   bytes go out of copies, and come into memory of the wire's own, for neither can
 *            be taken back: a peer that stood still goes on when the call has long failed,
 *            and its memory is something else. (Simulated ranks do not: mpi_whole.c.)
 * Control    one more tag tells all ranks that a communicator is over, and who waits too
 *            long what the others have called.
 * Invariant  all that the network does happens in tt_mpi_poll. Memory for papers and
 *            bytes is bounded by the peers that are talked to at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi_parts.h"

/* ---- receiving ---- */

static tt_in_end *in_of(tt_mpi *m, int peer, int lane) {
  tt_in_end **e = &m->in[peer * TT_LANES + lane];
  if (!*e && (*e = calloc(1, sizeof **e)))
    **e = (tt_in_end){.peer = peer, .lane = lane, .listens = -1};
  return *e;
}

/* Ask for the next paper. What fails is seen by the next poll. */
static void listen(tt_mpi *m, tt_in_end *e) {
  if (e->listens >= 0 || e->n == IN || m->failed) return;
  e->paper = tt_paper_take(m);
  const tt_slot s = {.kind = PAPER_IN, .in = e};
  if (!e->paper || tt_slot_start(m, s, e->peer, e->lane, &e->paper->head,
                                 sizeof(tt_heading) + SMALL, &e->listens)) {
    tt_paper_give(m, e->paper);
    e->paper = NULL;
    e->listens = -1;
  }
}

static tutti_status strange(const tt_mpi *m, int peer) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %d received from rank %d what tutti has not sent: do both run the same "
                 "version of it?",
                 m->wire.rank, peer);
}

/* Sent over a network that was closed before it came. */
static tutti_status drop(tt_mpi *m, tt_in_end *e) {
  const size_t behind = e->paper->head.behind;
  tt_paper_give(m, e->paper);
  e->paper = NULL;
  if (!behind) return TUTTI_OK;
  const tt_slot s = {.kind = STALE_IN, .in = e, .what = tt_landing_take(m, behind)};
  if (!s.what) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what rank %d sends", e->peer);
  return tt_slot_start(m, s, e->peer, TAG_BYTES + e->lane, s.what, behind, NULL);
}

static tutti_status paper_came(tt_mpi *m, tt_in_end *e, size_t bytes) {
  const tt_heading *head = &e->paper->head;
  e->listens = -1;
  const size_t inside = bytes - sizeof *head, behind = bytes < sizeof *head ? 0 : head->behind;
  if (bytes < sizeof *head || (inside != 0) == (behind != 0) ||
      (behind > PIECE && !m->net.simulated))
    return strange(m, e->peer);
  if (head->net != (uint32_t)m->net.id) return drop(m, e);
  const tt_record record = tt_heading_record(head);
  tt_mpi_learn(m, e->peer, &record);
  tt_piece *p = &e->queue[(e->first + e->n++) % IN];
  if (e->early) return tt_whole_came(m, e, p, inside, behind);
  *p = (tt_piece){e->paper, e->paper->bytes, NULL, inside, -1};
  e->paper = NULL;
  if (!behind) return TUTTI_OK;
  p->bytes = behind;
  p->at = p->landing = tt_landing_take(m, behind);
  if (!p->at) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what rank %d sends", e->peer);
  const tt_slot s = {.kind = BYTES_IN, .in = e, .what = p};
  return tt_slot_start(m, s, e->peer, TAG_BYTES + e->lane, p->at, p->bytes, &p->slot);
}

static size_t mpi_head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  tt_in_end *e = in_of(tt_mpi_of(w), peer, lane);
  if (!e) return 0;
  const tt_piece *p = &e->queue[e->first];
  if (!e->n || p->slot >= 0) {
    listen(tt_mpi_of(w), e);
    return 0;
  }
  *stamp = (tt_stamp){p->paper->head.seq, p->paper->head.hash};
  return (size_t)(p->bytes - e->used);
}

static void mpi_expect(tt_wire *w, int peer, int lane, void *to, size_t n, size_t left) {
  tt_mpi *m = tt_mpi_of(w);
  tt_in_end *e = m->net.simulated ? in_of(m, peer, lane) : NULL;
  if (!e) return;
  listen(m, e);
  tt_whole_expect(m, e, to && n >= left ? to : NULL, left);
}

static const void *mpi_view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  const tt_in_end *e = in_of(tt_mpi_of(w), peer, lane);
  (void)n, (void)status;
  return e->queue[e->first].at + e->used;
}

static void mpi_release(tt_wire *w, int peer, int lane, size_t n) {
  tt_mpi *m = tt_mpi_of(w);
  tt_in_end *e = in_of(m, peer, lane);
  tt_piece *p = &e->queue[e->first];
  e->used += n;
  if (e->used < p->bytes) return;
  tt_paper_give(m, p->paper);
  tt_landing_give(m, p->landing);
  e->used = 0;
  e->first = (e->first + 1) % IN;
  e->n--;
}

static bool mpi_pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  const void *from = mpi_view(w, peer, lane, &n, status);
  if (from != to) memmove(to, from, n);
  mpi_release(w, peer, lane, n);
  return true;
}

/* ---- progress ---- */

static tutti_status arrived(tt_mpi *m, const tt_slot *s, const tutti_net_done *d) {
  tt_piece *p = s->what;
  switch (s->kind) {
    case PAPER_OUT:
      if (m->net.simulated && !((tt_paper *)s->what)->head.behind) tt_bytes_left(s->out, s->ticket);
      tt_paper_give(m, s->what);
      s->out->papers--;
      m->sending -= s->out->lane != TT_MAIL;
      return TUTTI_OK;
    case BYTES_OUT:
      tt_bytes_left(s->out, s->ticket);
      m->sending -= s->out->lane != TT_MAIL;
      tt_landing_give(m, s->what);
      return TUTTI_OK;
    case CONTROL_OUT:
    case PARLEY_OUT: free(s->what); return TUTTI_OK;
    case PARLEY_IN: return tt_parley_heard(m, d->peer, d->bytes);
    case CONTROL_IN:
      if (d->bytes != sizeof m->hears) return strange(m, d->peer);
      tt_mpi_heard(m, d->peer);
      return tt_mpi_hear(m);
    case PAPER_IN: return paper_came(m, s->in, d->bytes);
    case BYTES_IN:
      p->slot = -1;
      if (!p->paper) p->bytes = d->bytes; /* which says how many it should be */
      return d->bytes == p->bytes ? TUTTI_OK : strange(m, s->in->peer);
    case STALE_IN: tt_landing_give(m, s->what); return TUTTI_OK;
    default: return TUTTI_OK;
  }
}

/* The peer is gone, and what was on its way to or from it: that is waited for in vain, until
 * somebody looks after the peer. */
static void lose(tt_mpi *m, const tt_slot *s, const tutti_net_done *d) {
  if (d->peer >= 0) m->lost[d->peer] = true;
  switch (s->kind) {
    case PAPER_IN:
      tt_paper_give(m, s->in->paper);
      s->in->paper = NULL;
      s->in->listens = NEVER;
      break;
    case BYTES_IN: ((tt_piece *)s->what)->slot = NEVER; break;
    case CONTROL_IN: tt_mpi_hear(m); break;
    default: arrived(m, s, d); /* what has been sent, or was not wanted */
  }
}

/* An answer about calls brings no operation on: it does not end a wait, or begin one anew. */
static bool moves(const tt_mpi *m, tt_slot_kind kind) {
  return kind != CONTROL_OUT && (kind != CONTROL_IN || m->aborted);
}

typedef int look_fn(void *self, int slots, tutti_net_done *done, int most, int *n);

static tutti_status look(tt_mpi *m, look_fn *first, bool *moved) {
  tutti_net_done done[DONE];
  int n = DONE;
  tutti_status status = TUTTI_OK;
  for (look_fn *take = first; n == DONE && !status; take = m->net.poll) {
    if (m->failed)
      return tt_fail(TUTTI_ERR_SYSTEM, "%s has failed: %.200s", m->net.name,
                     m->net.error(m->net.self));
    n = 0;
    if (take(m->net.self, m->top, done, DONE, &n)) return tt_mpi_failed(m, "go on", -1);
    for (int i = 0; i < n; i++) {
      if (done[i].slot < 0) { /* not of a request */
        m->lost[done[i].peer] = *moved = true;
        continue;
      }
      const tt_slot s = m->slots[done[i].slot];
      tt_slot_give(m, done[i].slot);
      tutti_status here = TUTTI_OK;
      if (done[i].failed == TUTTI_NET_LOST)
        lose(m, &s, &done[i]);
      else
        here = arrived(m, &s, &done[i]);
      if (done[i].failed && done[i].failed != TUTTI_NET_LOST)
        here =
            tt_mpi_failed(m, "complete a message with", s.kind == CONTROL_IN ? -1 : done[i].peer);
      *moved |= moves(m, s.kind);
      if (!status) status = here;
    }
  }
  return status;
}

tutti_status tt_mpi_poll(tt_wire *w, bool *moved) {
  return look(tt_mpi_of(w), tt_mpi_of(w)->net.poll, moved);
}

tutti_status tt_mpi_wait(tt_wire *w, bool *moved) {
  return look(tt_mpi_of(w), tt_mpi_of(w)->net.wait, moved);
}

bool tt_mpi_waits(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.wait;
}

bool tt_mpi_simulated(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.simulated;
}

const char *tt_mpi_name(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.name;
}

bool tt_mpi_leaving(const tt_wire *w) {
  const tt_mpi *m = (const tt_mpi *)w;
  return m->net.leaving && !m->failed && m->net.leaving(m->net.self) > 0;
}

bool tt_mpi_wakes(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.doze;
}

bool tt_mpi_yields(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.yields;
}

bool tt_mpi_threads(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.threads;
}

static bool mpi_drained(tt_wire *w) {
  bool moved = false;
  return tt_mpi_poll(w, &moved) || tt_mpi_of(w)->sending == 0;
}

/* ---- the rest of the table ---- */

static const double moment = 0.1; /* s */

/* The communicator is over: what is to leave this process, the reason among it, gets a moment, once.
 * Receipts are not waited for: it is over for the peers too, and they begin no more receives. */
static bool mpi_settle(tt_wire *w) {
  tt_mpi *m = tt_mpi_of(w);
  bool moved = false;
  if (m->settles <= 0) m->settles = tt_seconds();
  while ((m->net.leaving ? tt_mpi_leaving(w) : m->sending > 0) && !m->failed &&
         tt_seconds() - m->settles < moment)
    if (tt_mpi_poll(w, &moved)) break;
  return true;
}

static bool mpi_enter(tt_wire *w) {
  return !tt_mpi_of(w)->aborted;
}
static void mpi_leave(tt_wire *w) {
  (void)w;
}
static void mpi_withdraw(tt_wire *w, void *memory, size_t bytes) {
  (void)w, (void)memory, (void)bytes;
}

static uint32_t mpi_doze_begin(tt_wire *w) {
  (void)w;
  return 0;
}
void tt_mpi_doze(const tt_wire *w, int also, uint32_t limit_us) {
  const tutti_net *net = &((const tt_mpi *)w)->net;
  if (net->doze) {
    net->doze(net->self, also, (int)limit_us);
    return;
  }
  const struct timespec t = {0, 1000 * (long)tt_min(limit_us, TT_NAP_US)};
  nanosleep(&t, NULL);
}
static void mpi_doze(tt_wire *w, uint32_t bell, uint32_t limit_us) {
  (void)bell;
  tt_mpi_doze(w, -1, limit_us);
}
static void mpi_doze_end(tt_wire *w) {
  (void)w;
}

static bool mpi_alive(tt_wire *w, int peer) {
  return !tt_mpi_of(w)->lost[peer]; /* as far as the network knows */
}

void tt_mpi_fate(tt_wire *w, int peer, char *words, size_t size) {
  tt_mpi *m = tt_mpi_of(w);
  if (!m->net.fate || !m->net.fate(m->net.self, peer, words, size)) snprintf(words, size, "died");
}

static long mpi_pid(tt_wire *w, int peer) {
  return tt_mpi_of(w)->pids ? (long)tt_mpi_of(w)->pids[peer] : 0;
}

tutti_status tt_mpi_pids(tt_wire *w, const int64_t *pids) {
  tt_mpi *m = tt_mpi_of(w);
  const size_t bytes = (size_t)w->ranks * sizeof *pids;
  m->pids = malloc(bytes);
  if (!m->pids) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", w->ranks);
  memcpy(m->pids, pids, bytes);
  return TUTTI_OK;
}

uint32_t tt_mpi_fresh(const tt_wire *w) {
  const tt_mpi *m = (const tt_mpi *)w;
  return m->net.fresh ? m->net.fresh(m->net.self) : 0;
}

tutti_status tt_mpi_split(tt_wire *w, const tt_split *s, tutti_net *net, bool *taken) {
  tt_mpi *m = tt_mpi_of(w);
  if (m->failed) return tt_mpi_failed(m, "make another communicator", -1);
  const int failed = m->net.pick ? m->net.pick(m->net.self, s->number, s->members, s->n, net)
                                 : m->net.split(m->net.self, s->color, s->key, net);
  *taken = failed == TUTTI_NET_TAKEN;
  if (failed && !*taken) return tt_mpi_failed(m, "make another communicator", -1);
  m->splits++;
  if (s->n && !failed) net->id = tt_mix(m->net.id ^ tt_mix((uint64_t)s->color << 32 | m->splits));
  return TUTTI_OK;
}

/* Receives are cancelled. Bytes that come in spite of that, or could not be sent, keep their memory;
 * what is smaller has come as a whole, or not at all. */
static void end_requests(tt_mpi *m) {
  const bool calls = !m->failed;
  for (int i = 0; i < m->top; i++) {
    const tt_slot *s = &m->slots[i];
    if (s->kind < PAPER_IN) continue;
    const bool over = calls && m->net.cancel(m->net.self, i) == 0;
    if (!over && s->kind == BYTES_IN) ((tt_piece *)s->what)->landing = NULL;
    if (over && s->kind == STALE_IN) tt_landing_give(m, s->what);
    m->failed |= !over;
  }
}

static void free_end(tt_mpi *m, tt_in_end *e) {
  if (!e) return;
  for (uint32_t i = 0; i < e->n; i++) {
    tt_piece *p = &e->queue[(e->first + i) % IN];
    tt_paper_give(m, p->paper);
    tt_landing_give(m, p->landing);
  }
  if (e->early) tt_landing_give(m, e->queue[e->first].landing);
  tt_paper_give(m, e->paper);
  free(e);
}

static void mpi_close(tt_wire *w) {
  tt_mpi *m = tt_mpi_of(w);
  bool moved = false;
  if (!m->failed) tt_mpi_poll(w, &moved);
  end_requests(m);
  m->net.close(m->net.self, !m->aborted && !m->failed);
  for (int i = 0; m->in && i < w->ranks * TT_LANES; i++) free_end(m, m->in[i]);
  for (int i = 0; m->out && i < w->ranks * TT_LANES; i++) free(m->out[i]);
  free(m->level);
  for (tt_paper *p = m->papers, *next; p; p = next) {
    next = p->next;
    free(p);
  }
  for (void *at; (at = m->landings);) {
    tt_landing_take(m, PIECE);
    free(at);
  }
  while (m->given) tt_mpi_free(w, m->given->at);
  tt_parley_free(m);
  free(m->in);
  free(m->out);
  free(m->slots);
  free(m->spare);
  free(m->theirs);
  free(m->told);
  free(m->answered);
  free(m->lost);
  free(m->pids);
  free(m);
}

static const tt_wire_ops table = {
    .name = "mpi",
    .push = tt_mpi_push,
    .consumed = tt_mpi_consumed,
    .head = mpi_head,
    .expect = mpi_expect,
    .view = mpi_view,
    .release = mpi_release,
    .pull = mpi_pull,
    .drained = mpi_drained,
    .enter = mpi_enter,
    .leave = mpi_leave,
    .settle = mpi_settle,
    .withdraw = mpi_withdraw,
    .record = tt_mpi_record,
    .read_record = tt_mpi_read_record,
    .ask = tt_mpi_ask,
    .inquire = tt_mpi_inquire,
    .silent = tt_mpi_silent,
    .doze_begin = mpi_doze_begin,
    .doze = mpi_doze,
    .doze_end = mpi_doze_end,
    .abort = tt_mpi_abort,
    .aborted = tt_mpi_aborted,
    .alive = mpi_alive,
    .pid = mpi_pid,
    .shown = tt_mpi_shown,
    .alloc = tt_mpi_alloc,
    .free = tt_mpi_free,
    .close = mpi_close,
};

tutti_status tt_mpi_wire(const tutti_net *net, tt_wire **wire) {
  tt_mpi *m = calloc(1, sizeof *m);
  const size_t ranks = (size_t)net->ranks;
  tutti_status status = TUTTI_OK;
  if (!m) {
    net->close(net->self, 1);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", net->ranks);
  }
  m->wire = (tt_wire){
      .ops = &table, .rank = net->rank, .ranks = net->ranks, .beside = SMALL, .shown = &m->shown};
  m->net = *net;
  m->in = calloc(ranks * TT_LANES, sizeof(tt_in_end *));
  m->out = calloc(ranks * TT_LANES, sizeof(tt_out_end *));
  m->theirs = calloc(ranks * RECORDS, sizeof *m->theirs);
  m->told = calloc(ranks, sizeof *m->told);
  m->answered = calloc(ranks, sizeof *m->answered);
  m->lost = calloc(ranks, sizeof *m->lost);
  if (!m->in || !m->out || !m->theirs || !m->told || !m->answered || !m->lost)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", net->ranks);
  if (!status) status = tt_mpi_hear(m);
  if (status)
    mpi_close(&m->wire);
  else
    *wire = &m->wire;
  return status;
}
