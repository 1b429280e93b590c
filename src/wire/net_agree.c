/* net_agree.c - who goes on, over messages: those that live agree on it, though more die
 * meanwhile.
 *
 * Idea       the first rank that lives leads. All others come to it; when each has come or is
 *            lost it proposes terms (who has come; a number for their network), all accept
 *            them, it decides, all say that they know it, and it lets them leave. If it is
 *            lost, the next one leads, to whom all come: who had accepted terms proposes these
 *            again. Who knows the decision when the one who made it is lost tells it to all,
 *            and leaves.
 *            Who waits too long, and has accepted nothing, gives up, tells all, and leaves: if it lives
 *            nothing can be decided without it, and so nothing comes of it.
 *            Who decided says whom it lets leave. The others it has lost: who has not tells them.
 * Invariant  terms that were decided have been accepted by all to whom they were proposed, which are
 *            all that lived then, and nobody has left before all of these know the decision, or
 *            some that does has told all. So who leads after a loss and knows of no decision
 *            has accepted whatever was decided, and all that have not left come to it. Who gives
 *            up counts for those who have accepted nothing, or terms that were proposed to it as well:
 *            these will not be decided. To others it is one that is lost. So terms are proposed
 *            again, to those who are left, when one to whom they were proposed is lost.
 * Checked    models/net_agree.pml
 * Cost       six messages per rank and leader, and two more for a loss between.
 * Source     three-phase commit: Skeen, SIGMOD 1981; as in ULFM: Herault et al., SC 2015.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

typedef enum word { COME, PROPOSE, ACCEPT, DECIDE, KNOW, LEAVE } word;

typedef struct peer { /* what it has said last: in which round */
  uint32_t came, fresh, knows, gave_up;
  uint32_t tries; /* what it accepted */
  int32_t asks, quitter, awaited;
} peer;

struct tt_net_agreement {
  uint32_t round, tries; /* tries: proposals of this rank, ever */
  int lead, asks;
  bool proposed, accepted, asked, released; /* accepted: another one's terms */
  peer *peers;
  tt_net_decision *hears, *proposal; /* terms: accepted, or proposed */
  tt_net_decision *decision, *later; /* of its round; of one that this rank has not come to */
  size_t bytes;                      /* of one */
};

static bool has_word(word w) {
  return w == PROPOSE || w == DECIDE || w == LEAVE; /* with members */
}

static void send_agree_message(tt_net *m, int to, word what, const tt_net_decision *proposal) {
  const size_t bytes = has_word(what) ? m->agreement->bytes : sizeof(tt_net_decision);
  tt_net_decision *copy = malloc(bytes);
  if (!copy) return; /* it is missed, and named */
  memcpy(copy, proposal, bytes);
  copy->net = m->net.id;
  copy->round = m->agreement->round;
  copy->word = (int32_t)what;
  const tt_slot s = {.kind = AGREE_OUT, .what = copy};
  if (tt_slot_start(m, s, to, TAG_AGREE, copy, bytes, NULL)) free(copy);
}

static bool hears(const tt_net *m, int r) {
  return r != m->wire.rank && !m->lost[r];
}

static void say_all(tt_net *m, word what, const tt_net_decision *proposal) {
  for (int r = 0; r < m->wire.ranks; r++)
    if (hears(m, r)) send_agree_message(m, r, what, proposal);
}

static tutti_status start_agree_recv(tt_net *m) {
  const tt_slot s = {.kind = AGREE_IN};
  return tt_slot_start(m, s, TUTTI_NET_ANY, TAG_AGREE, m->agreement->hears, m->agreement->bytes,
                       NULL);
}

/* ---- what comes ---- */

static void take_proposal(tt_net *m, int from) {
  tt_net_agreement *c = m->agreement;
  const tt_net_decision *t = c->hears;
  if (t->round != c->round || from != c->lead || c->decision->round == c->round) return;
  memcpy(c->proposal, t, c->bytes);
  c->accepted = true;
  send_agree_message(m, from, ACCEPT, t);
}

static void take_decision(tt_net *m, int from) {
  tt_net_agreement *c = m->agreement;
  const tt_net_decision *t = c->hears;
  peer *p = &c->peers[from];
  p->knows = t->round;
  if (t->status) { /* perhaps before this rank calls it: that is for good */
    p->gave_up = t->round;
    p->quitter = t->quitter;
    p->awaited = t->awaited;
  } else if ((int32_t)(t->round - c->round) > 0) { /* by ranks that have lost this one */
    memcpy(c->later, t, c->bytes);
  } else if (t->round == c->round && c->decision->round != c->round) {
    memcpy(c->decision, t, c->bytes);
  }
}

static void take_leave(tt_net *m) {
  tt_net_agreement *c = m->agreement;
  if (c->hears->round != c->round || c->decision->round != c->round) return;
  memcpy(c->decision, c->hears, c->bytes);
  c->released = true;
}

tutti_status tt_net_agree_heard(tt_net *m, int from, size_t bytes) {
  tt_net_agreement *c = m->agreement;
  const tt_net_decision *t = c->hears;
  const bool right = bytes >= sizeof *t && t->net == m->net.id &&
                     bytes == (has_word((word)t->word) ? c->bytes : sizeof *t);
  peer *p = &c->peers[from];
  if (right && t->word == COME) p->came = t->round, p->fresh = t->number, p->asks = t->asks;
  if (right && t->word == PROPOSE) take_proposal(m, from);
  if (right && t->word == ACCEPT) p->tries = t->tries;
  if (right && t->word == DECIDE) take_decision(m, from);
  if (right && t->word == KNOW) p->knows = t->round;
  if (right && t->word == LEAVE) take_leave(m);
  return start_agree_recv(m);
}

/* ---- what a rank does ---- */

static int first_alive(const tt_net *m) {
  int r = 0;
  while (r < m->wire.rank && m->lost[r]) r++;
  return r;
}

/* Of those that live one that has not come, accepted, or heard the decision; -1: none. */
static int peer_yet_to_answer(const tt_net *m, word what) {
  const tt_net_agreement *c = m->agreement;
  for (int r = 0; r < m->wire.ranks; r++) {
    const peer *p = &c->peers[r];
    if (!hears(m, r)) continue;
    if (what == COME
            ? p->came != c->round
            : p->came == c->round && (what == ACCEPT ? p->tries != c->tries : p->knows != c->round))
      return r;
  }
  return -1;
}

/* Those to whom terms were proposed; of a decision: those whom who made it lets leave. */
static uint8_t *asked(const tt_net *m, tt_net_decision *t) {
  return t->member + m->wire.ranks;
}

static void publish_to(const tt_net *m, tt_net_decision *t) {
  for (int r = 0; r < m->wire.ranks; r++) asked(m, t)[r] = !m->lost[r];
}

/* Its own terms, or those that it has accepted. */
static void propose(tt_net *m) {
  tt_net_agreement *c = m->agreement;
  tt_net_decision *t = c->proposal;
  if (!c->accepted) {
    *t = (tt_net_decision){.number = m->net.fresh(m->net.self), .asks = c->asks};
    for (int r = 0; r < m->wire.ranks; r++) {
      t->member[r] = r == m->wire.rank || hears(m, r);
      if (!hears(m, r)) continue;
      t->number = (uint32_t)tt_max(t->number, c->peers[r].fresh);
      if (c->peers[r].asks < t->asks) t->asks = c->peers[r].asks;
    }
  }
  publish_to(m, t);
  t->by = m->wire.rank;
  t->tries = ++c->tries;
  c->proposed = true;
  say_all(m, PROPOSE, t);
}

/* Is one of those to whom they were proposed lost? */
static bool lacks(const tt_net *m) {
  const tt_net_agreement *c = m->agreement;
  for (int r = 0; r < m->wire.ranks; r++)
    if (asked(m, c->proposal)[r] && m->lost[r]) return true;
  return false;
}

static void decide(tt_net *m, tutti_status status, int quitter, int awaited) {
  tt_net_agreement *c = m->agreement;
  memcpy(c->decision, c->proposal, c->bytes);
  c->decision->round = c->round;
  c->decision->by = m->wire.rank;
  c->decision->quitter = quitter;
  c->decision->awaited = awaited;
  c->decision->status = (int32_t)status;
  if (!status) say_all(m, DECIDE, c->decision);
}

static void lead_agreement(tt_net *m) {
  const tt_net_agreement *c = m->agreement;
  if (c->proposed ? lacks(m) : peer_yet_to_answer(m, COME) < 0)
    propose(m);
  else if (c->proposed && peer_yet_to_answer(m, ACCEPT) < 0)
    decide(m, TUTTI_OK, -1, -1);
}

/* One that has given up, and without which nothing can be decided; -1: none. */
static int given_up(const tt_net *m) {
  const tt_net_agreement *c = m->agreement;
  for (int r = 0; r < m->wire.ranks; r++)
    if (hears(m, r) && (int32_t)(c->peers[r].gave_up - c->round) >= 0 &&
        (!c->accepted || asked(m, c->proposal)[r]))
      return r;
  return -1;
}

static void confer(tt_net *m) {
  tt_net_agreement *c = m->agreement;
  const int first = first_alive(m), gone = given_up(m);
  if (gone >= 0) {
    decide(m, TUTTI_ERR_TIMEOUT, c->peers[gone].quitter, c->peers[gone].awaited);
    return;
  }
  if (first != c->lead) {
    const tt_net_decision come = {.number = m->net.fresh(m->net.self), .asks = c->asks};
    c->lead = first;
    if (first != m->wire.rank) send_agree_message(m, first, COME, &come);
  }
  if (first == m->wire.rank) lead_agreement(m);
}

/* It is decided: may this rank leave? */
static bool may_leave_agreement(tt_net *m) {
  tt_net_agreement *c = m->agreement;
  tt_net_decision *d = c->decision;
  if (d->status) say_all(m, DECIDE, d);
  if (d->status) return true;
  if (d->by == m->wire.rank) {
    if (peer_yet_to_answer(m, KNOW) >= 0) return false;
    publish_to(m, d);
    say_all(m, LEAVE, d);
    return true;
  }
  if (!c->asked && hears(m, d->by)) send_agree_message(m, d->by, KNOW, d);
  c->asked = true;
  if (!c->released && hears(m, d->by)) return false;
  for (int r = 0; r < m->wire.ranks; r++) /* who decided it may not have told all */
    if (hears(m, r) && !(c->released && asked(m, d)[r])) send_agree_message(m, r, DECIDE, d);
  return true;
}

/* ---- for the API ---- */

bool tt_net_agree_possible(const tt_wire *w) {
  return ((const tt_net *)w)->net.pick != NULL;
}

static tutti_status create_agreement(tt_net *m) {
  tt_net_agreement *c = m->agreement = calloc(1, sizeof *c);
  const size_t ranks = (size_t)m->wire.ranks;
  if (c) {
    c->bytes = sizeof(tt_net_decision) + 2 * ranks;
    c->peers = calloc(ranks, sizeof *c->peers);
    c->hears = calloc(1, c->bytes);
    c->proposal = calloc(1, c->bytes);
    c->decision = calloc(1, c->bytes);
    c->later = calloc(1, c->bytes);
  }
  if (c && c->peers && c->hears && c->proposal && c->decision && c->later)
    return start_agree_recv(m);
  tt_net_agree_free(m);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu ranks to agree", ranks);
}

void tt_net_agree_free(tt_net *m) {
  tt_net_agreement *c = m->agreement;
  if (!c) return;
  free(c->peers);
  free(c->hears);
  free(c->proposal);
  free(c->decision);
  free(c->later);
  free(c);
  m->agreement = NULL;
}

tutti_status tt_net_agree_enter(tt_wire *w, uint32_t round, int asks) {
  tt_net *m = tt_net_of(w);
  const tutti_status status = m->agreement ? TUTTI_OK : create_agreement(m);
  if (status) return status;
  tt_net_agreement *c = m->agreement;
  if (c->later->round == round) memcpy(c->decision, c->later, c->bytes);
  if (c->decision->status) c->decision->round = round; /* that is for good */
  c->round = round;
  c->lead = -1;
  c->asks = asks;
  c->proposed = c->accepted = c->asked = c->released = false;
  return TUTTI_OK;
}

tutti_status tt_net_agree_step(tt_wire *w, const tt_net_decision **decision) {
  tt_net *m = tt_net_of(w);
  tt_net_agreement *c = m->agreement;
  bool moved = false;
  *decision = NULL;
  const tutti_status status = tt_net_poll(w, &moved);
  if (status) return status;
  if (c->decision->round != c->round) confer(m);
  if (c->decision->round == c->round && may_leave_agreement(m)) *decision = c->decision;
  return TUTTI_OK;
}

int tt_net_agree_awaited(tt_wire *w) {
  const tt_net *m = tt_net_of(w);
  const int first = first_alive(m);
  if (first != w->rank) return first;
  return peer_yet_to_answer(m, m->agreement->proposed ? ACCEPT : COME);
}

bool tt_net_agree_leads(tt_wire *w) {
  return first_alive(tt_net_of(w)) == w->rank;
}

void tt_net_agree_quit(tt_wire *w, int awaited) {
  tt_net *m = tt_net_of(w);
  const tt_net_agreement *c = m->agreement;
  if (c->decision->round != c->round && !c->accepted)
    decide(m, TUTTI_ERR_TIMEOUT, w->rank, awaited);
}

tutti_status tt_net_agree_network(tt_wire *w, const tt_net_decision *d, int *list, int *mine,
                                  tutti_net *net) {
  tt_net *m = tt_net_of(w);
  int n = 0;
  for (int r = 0; r < w->ranks; r++) {
    if (r == w->rank) *mine = n;
    if (d->member[r]) list[n++] = r;
  }
  if (!d->member[w->rank])
    return tt_fail(TUTTI_ERR_PEER_LOST, "rank %d goes on without this rank, %d, which it has lost",
                   d->by, w->rank);
  const int failed = m->net.pick(m->net.self, d->number, list, n, net);
  if (failed == TUTTI_NET_TAKEN)
    return tt_fail(TUTTI_ERR_STATE,
                   "another thread has made a communicator while this one was made");
  if (failed) return tt_net_failed(m, "make another communicator", -1);
  net->id = tt_mix(m->net.id ^ tt_mix(~(uint64_t)d->round));
  return TUTTI_OK;
}
