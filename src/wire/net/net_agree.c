/* net_agree.c - agreement by messages on the ranks that continue. The live ranks agree even if more
 * ranks die during the agreement.
 *
 * Idea       The lowest live rank leads. All others send COME to it. It sends COME to them, which connects it to all and
 *            reveals lost ranks. Once each rank has sent COME or is lost, the leader proposes the ranks that sent it, and a
 *            number for their network. All accept, the leader decides, all confirm that they know the decision, and the
 *            leader lets them leave. If the leader is lost, the next rank leads and all send COME to it. If the new leader
 *            had accepted a proposal, it makes that proposal again. If the rank that decided is lost, each rank that knows
 *            the decision sends it to all and leaves.
 * Timeout    A rank that has not accepted a proposal may time out: it announces this and leaves.
 *            Nothing can be decided without a live rank, so the round then ends without a result.
 * Leaving    The decider lists the ranks that it lets leave; it has lost all other ranks. A rank
 *            that has not lost one of those sends it the decision.
 * Invariant  A decided proposal was accepted by every rank it was sent to, which is every rank that
 *            was alive at the time. No rank leaves before all of these know the decision, or a rank
 *            that knows it has sent it to all. A new leader that does not know a decision has
 *            therefore accepted any proposal that was decided, and all ranks that have not left send
 *            COME to it. A rank's timeout ends the round for ranks that have accepted nothing, or a
 *            proposal that was also sent to the rank that timed out, because such a proposal will
 *            not be decided. Other ranks treat that rank as lost. If a rank is lost after a proposal
 *            was sent to it, the proposal is therefore made again to the remaining ranks.
 * Checked    models/net_agree.pml
 * Cost       Seven messages per rank and leader, and two more for each rank lost in between.
 * Source     Three-phase commit: Skeen, SIGMOD 1981; as in ULFM: Herault et al., SC 2015.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "net_parts.h"

typedef enum word { COME, PROPOSE, ACCEPT, DECIDE, KNOW, LEAVE } word;

typedef struct peer { /* the rounds of the last messages received from it; fresh: its network
                         number */
  uint32_t came, fresh, knows, gave_up;
  uint32_t tries; /* of the proposal that the peer accepted */
  int32_t asks, quitter, awaited;
} peer;

struct tt_net_agreement { /* one allocation, including everything it points to */
  uint32_t round, tries;  /* tries: number of proposals this rank has made so far */
  int lead, asks;
  bool proposed, accepted, asked, released; /* accepted: this rank has accepted another rank's
                                               proposal */
  peer *peers;
  tt_net_decision *hears, *proposal; /* proposal: the one accepted, or this rank's own */
  tt_net_decision *decision, *later; /* of the current round, and of a round that this rank has not
                                        reached */
  size_t bytes;                      /* size of one decision */
};

static bool has_word(word w) {
  return w == PROPOSE || w == DECIDE || w == LEAVE; /* these messages carry the member list */
}

static void send_agree_message(tt_net *m, int to, word what, const tt_net_decision *proposal) {
  const size_t bytes = has_word(what) ? m->agreement->bytes : sizeof(tt_net_decision);
  tt_net_decision *copy = malloc(bytes);
  if (!copy) return; /* the receiver waits for the message, and reports this rank as awaited */
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

tutti_status tt_net_agree_listen(tt_net *m) {
  const tt_slot s = {.kind = AGREE_IN};
  return tt_slot_start(m, s, TUTTI_NET_ANY, TAG_AGREE, m->agreement->hears, m->agreement->bytes,
                       NULL);
}

/* ---- incoming ---- */

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
  if (t->status) { /* final, even if this rank has not entered the round yet */
    p->gave_up = t->round;
    p->quitter = t->quitter;
    p->awaited = t->awaited;
  } else if ((int32_t)(t->round - c->round) > 0) { /* sent by ranks that consider this one lost */
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

static bool is_word(int32_t w) {
  return w >= COME && w <= LEAVE;
}

/* Returns true if every rank that the message names exists in this communicator. `quitter` and `awaited` may be -1. */
static bool names_ranks(const tt_net *m, const tt_net_decision *t) {
  const int ranks = m->wire.ranks;
  return t->by >= 0 && t->by < ranks && t->quitter >= -1 && t->quitter < ranks &&
         t->awaited >= -1 && t->awaited < ranks;
}

tutti_status tt_net_agree_heard(tt_net *m, int from, size_t bytes) {
  tt_net_agreement *c = m->agreement;
  const tt_net_decision *t = c->hears;
  const bool right = bytes >= sizeof *t && t->net == m->net.id && is_word(t->word) &&
                     bytes == (has_word((word)t->word) ? c->bytes : sizeof *t) && names_ranks(m, t);
  peer *p = &c->peers[from];
  if (right && t->word == COME) p->came = t->round, p->fresh = t->number, p->asks = t->asks;
  if (right && t->word == PROPOSE) take_proposal(m, from);
  if (right && t->word == ACCEPT) p->tries = t->tries;
  if (right && t->word == DECIDE) take_decision(m, from);
  if (right && t->word == KNOW) p->knows = t->round;
  if (right && t->word == LEAVE) take_leave(m);
  return tt_net_agree_listen(m);
}

/* ---- progress of the agreement ---- */

static int first_alive(const tt_net *m) {
  int r = 0;
  while (r < m->wire.rank && m->lost[r]) r++;
  return r;
}

/* Returns a live rank that has not yet entered the round (COME), accepted the proposal (ACCEPT) or confirmed the decision
 * (KNOW), depending on `what`. Returns -1 if all have. */
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

/* Returns one flag per rank. In a proposal, the flag is set if the proposal was sent to the rank; in a decision, it is set if
 * the deciding rank lets that rank leave. */
static uint8_t *asked(const tt_net *m, tt_net_decision *t) {
  return t->member + m->wire.ranks;
}

static void publish_to(const tt_net *m, tt_net_decision *t) {
  for (int r = 0; r < m->wire.ranks; r++) asked(m, t)[r] = !m->lost[r];
}

/* Sends a proposal to all ranks. If this rank has accepted a proposal before, it repeats the contents of that proposal. */
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

/* Returns true if the proposal was sent to a rank that has since been lost. */
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

/* Returns a rank that has timed out and that the decision cannot be made without, or -1. */
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
    if (first == m->wire.rank)
      say_all(m, COME, &come); /* a network reports the loss only of connected peers */
    else
      send_agree_message(m, first, COME, &come);
  }
  if (first == m->wire.rank) lead_agreement(m);
}

/* Returns true if this rank may leave the agreement. Called only after a decision was made. */
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
  for (int r = 0; r < m->wire.ranks; r++) /* the decider may not have sent the decision to all */
    if (hears(m, r) && !(c->released && asked(m, d)[r])) send_agree_message(m, r, DECIDE, d);
  return true;
}

/* ---- for the table (agree.h) ---- */

static tutti_status create_agreement(tt_net *m) {
  const size_t ranks = (size_t)m->wire.ranks, bytes = sizeof(tt_net_decision) + 2 * ranks;
  const size_t one = tt_round_up(bytes, sizeof(uint64_t));
  tt_net_agreement *c = m->agreement = calloc(1, sizeof *c + 4 * one + ranks * sizeof *c->peers);
  if (!c) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu ranks to agree", ranks);
  char *at = (char *)(c + 1);
  c->bytes = bytes;
  c->hears = (tt_net_decision *)(void *)at;
  c->proposal = (tt_net_decision *)(void *)(at + one);
  c->decision = (tt_net_decision *)(void *)(at + 2 * one);
  c->later = (tt_net_decision *)(void *)(at + 3 * one);
  c->peers = (peer *)(void *)(at + 4 * one);
  return tt_net_agree_listen(m);
}

static tutti_status net_agree_enter(tt_wire *w, uint32_t round, int asks) {
  tt_net *m = tt_net_of(w);
  const tutti_status status = m->agreement ? TUTTI_OK : create_agreement(m);
  if (status) return status;
  tt_net_agreement *c = m->agreement;
  if (c->later->round == round) memcpy(c->decision, c->later, c->bytes);
  if (c->decision->status) c->decision->round = round; /* an error is final */
  c->round = round;
  c->lead = -1;
  c->asks = asks;
  c->proposed = c->accepted = c->asked = c->released = false;
  return TUTTI_OK;
}

static tutti_status net_agree_step(tt_wire *w, const tt_net_decision **decision) {
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

static int net_agree_awaited(tt_wire *w) {
  const tt_net *m = tt_net_of(w);
  const int first = first_alive(m);
  if (first != w->rank) return first;
  return peer_yet_to_answer(m, m->agreement->proposed ? ACCEPT : COME);
}

static bool net_agree_leads(tt_wire *w) {
  return first_alive(tt_net_of(w)) == w->rank;
}

static void net_agree_quit(tt_wire *w, int awaited) {
  tt_net *m = tt_net_of(w);
  const tt_net_agreement *c = m->agreement;
  if (c->decision->round != c->round && !c->accepted)
    decide(m, TUTTI_ERR_TIMEOUT, w->rank, awaited);
}

static tutti_status net_agree_network(tt_wire *w, const tt_net_decision *d, int *list, int *mine,
                                      tutti_net *net) {
  tt_net *m = tt_net_of(w);
  int n = 0;
  for (int r = 0; r < w->ranks; r++) {
    if (r == w->rank) *mine = n;
    if (d->member[r]) list[n++] = r;
  }
  if (!d->member[w->rank])
    return tt_fail(TUTTI_ERR_PEER_LOST,
                   "rank %d lost contact with this rank, %d, and continues without it", d->by, w->rank);
  const int failed = m->net.pick(m->net.self, d->number, list, n, net);
  if (failed == TUTTI_NET_TAKEN)
    return tt_fail(TUTTI_ERR_STATE,
                   "another thread has made a communicator while this one was made");
  if (failed) return tt_net_failed(m, "make another communicator", -1);
  net->id = tt_mix(m->net.id ^ tt_mix(~(uint64_t)d->round));
  return TUTTI_OK;
}

const tt_net_agree_ops tt_net_agree_table = {
    .enter = net_agree_enter,
    .step = net_agree_step,
    .awaited = net_agree_awaited,
    .leads = net_agree_leads,
    .quit = net_agree_quit,
    .network = net_agree_network,
};
