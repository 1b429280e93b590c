/* mpi_parley.c - who goes on, over messages: those that live agree on it, though more die
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
 * Checked    models/parley.pml
 * Cost       six messages per rank and leader, and two more for a loss between.
 * Source     three-phase commit: Skeen, SIGMOD 1981; as in ULFM: Herault et al., SC 2015.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "mpi_parts.h"

typedef enum word { COME, PROPOSE, ACCEPT, DECIDE, KNOW, LEAVE } word;

typedef struct peer { /* what it has said last: in which round */
  uint32_t came, fresh, knows, gave_up;
  uint32_t tries; /* what it accepted */
  int32_t asks, quitter, awaited;
} peer;

struct tt_parley {
  uint32_t round, tries; /* tries: proposals of this rank, ever */
  int lead, asks;
  bool proposed, accepted, told, released; /* accepted: another one's terms */
  peer *peers;
  tt_treaty *hears, *terms;    /* terms: accepted, or proposed */
  tt_treaty *decision, *later; /* of its round; of one that this rank has not come to */
  size_t bytes;                /* of one */
};

static bool has_word(word w) {
  return w == PROPOSE || w == DECIDE || w == LEAVE; /* with members */
}

static void say(tt_mpi *m, int to, word what, const tt_treaty *terms) {
  const size_t bytes = has_word(what) ? m->parley->bytes : sizeof(tt_treaty);
  tt_treaty *copy = malloc(bytes);
  if (!copy) return; /* it is missed, and named */
  memcpy(copy, terms, bytes);
  copy->net = m->net.id;
  copy->round = m->parley->round;
  copy->word = (int32_t)what;
  const tt_slot s = {.kind = PARLEY_OUT, .what = copy};
  if (tt_slot_start(m, s, to, TAG_PARLEY, copy, bytes, NULL)) free(copy);
}

static bool hears(const tt_mpi *m, int r) {
  return r != m->wire.rank && !m->lost[r];
}

static void say_all(tt_mpi *m, word what, const tt_treaty *terms) {
  for (int r = 0; r < m->wire.ranks; r++)
    if (hears(m, r)) say(m, r, what, terms);
}

static tutti_status listen(tt_mpi *m) {
  const tt_slot s = {.kind = PARLEY_IN};
  return tt_slot_start(m, s, TUTTI_NET_ANY, TAG_PARLEY, m->parley->hears, m->parley->bytes, NULL);
}

/* ---- what comes ---- */

static void take_proposal(tt_mpi *m, int from) {
  tt_parley *c = m->parley;
  const tt_treaty *t = c->hears;
  if (t->round != c->round || from != c->lead || c->decision->round == c->round) return;
  memcpy(c->terms, t, c->bytes);
  c->accepted = true;
  say(m, from, ACCEPT, t);
}

static void take_decision(tt_mpi *m, int from) {
  tt_parley *c = m->parley;
  const tt_treaty *t = c->hears;
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

static void take_leave(tt_mpi *m) {
  tt_parley *c = m->parley;
  if (c->hears->round != c->round || c->decision->round != c->round) return;
  memcpy(c->decision, c->hears, c->bytes);
  c->released = true;
}

tutti_status tt_parley_heard(tt_mpi *m, int from, size_t bytes) {
  tt_parley *c = m->parley;
  const tt_treaty *t = c->hears;
  const bool right = bytes >= sizeof *t && t->net == m->net.id &&
                     bytes == (has_word((word)t->word) ? c->bytes : sizeof *t);
  peer *p = &c->peers[from];
  if (right && t->word == COME) p->came = t->round, p->fresh = t->number, p->asks = t->asks;
  if (right && t->word == PROPOSE) take_proposal(m, from);
  if (right && t->word == ACCEPT) p->tries = t->tries;
  if (right && t->word == DECIDE) take_decision(m, from);
  if (right && t->word == KNOW) p->knows = t->round;
  if (right && t->word == LEAVE) take_leave(m);
  return listen(m);
}

/* ---- what a rank does ---- */

static int first_alive(const tt_mpi *m) {
  int r = 0;
  while (r < m->wire.rank && m->lost[r]) r++;
  return r;
}

/* Of those that live one that has not come, accepted, or heard the decision; -1: none. */
static int missing(const tt_mpi *m, word what) {
  const tt_parley *c = m->parley;
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
static uint8_t *told(const tt_mpi *m, tt_treaty *t) {
  return t->member + m->wire.ranks;
}

static void tell_whom(const tt_mpi *m, tt_treaty *t) {
  for (int r = 0; r < m->wire.ranks; r++) told(m, t)[r] = !m->lost[r];
}

/* Its own terms, or those that it has accepted. */
static void propose(tt_mpi *m) {
  tt_parley *c = m->parley;
  tt_treaty *t = c->terms;
  if (!c->accepted) {
    *t = (tt_treaty){.number = m->net.fresh(m->net.self), .asks = c->asks};
    for (int r = 0; r < m->wire.ranks; r++) {
      t->member[r] = r == m->wire.rank || hears(m, r);
      if (!hears(m, r)) continue;
      t->number = (uint32_t)tt_max(t->number, c->peers[r].fresh);
      if (c->peers[r].asks < t->asks) t->asks = c->peers[r].asks;
    }
  }
  tell_whom(m, t);
  t->by = m->wire.rank;
  t->tries = ++c->tries;
  c->proposed = true;
  say_all(m, PROPOSE, t);
}

/* Is one of those to whom they were proposed lost? */
static bool lacks(const tt_mpi *m) {
  const tt_parley *c = m->parley;
  for (int r = 0; r < m->wire.ranks; r++)
    if (told(m, c->terms)[r] && m->lost[r]) return true;
  return false;
}

static void decide(tt_mpi *m, tutti_status status, int quitter, int awaited) {
  tt_parley *c = m->parley;
  memcpy(c->decision, c->terms, c->bytes);
  c->decision->round = c->round;
  c->decision->by = m->wire.rank;
  c->decision->quitter = quitter;
  c->decision->awaited = awaited;
  c->decision->status = (int32_t)status;
  if (!status) say_all(m, DECIDE, c->decision);
}

static void lead(tt_mpi *m) {
  const tt_parley *c = m->parley;
  if (c->proposed ? lacks(m) : missing(m, COME) < 0)
    propose(m);
  else if (c->proposed && missing(m, ACCEPT) < 0)
    decide(m, TUTTI_OK, -1, -1);
}

/* One that has given up, and without which nothing can be decided; -1: none. */
static int given_up(const tt_mpi *m) {
  const tt_parley *c = m->parley;
  for (int r = 0; r < m->wire.ranks; r++)
    if (hears(m, r) && (int32_t)(c->peers[r].gave_up - c->round) >= 0 &&
        (!c->accepted || told(m, c->terms)[r]))
      return r;
  return -1;
}

static void confer(tt_mpi *m) {
  tt_parley *c = m->parley;
  const int first = first_alive(m), gone = given_up(m);
  if (gone >= 0) {
    decide(m, TUTTI_ERR_TIMEOUT, c->peers[gone].quitter, c->peers[gone].awaited);
    return;
  }
  if (first != c->lead) {
    const tt_treaty come = {.number = m->net.fresh(m->net.self), .asks = c->asks};
    c->lead = first;
    if (first != m->wire.rank) say(m, first, COME, &come);
  }
  if (first == m->wire.rank) lead(m);
}

/* It is decided: may this rank leave? */
static bool leave(tt_mpi *m) {
  tt_parley *c = m->parley;
  tt_treaty *d = c->decision;
  if (d->status) say_all(m, DECIDE, d);
  if (d->status) return true;
  if (d->by == m->wire.rank) {
    if (missing(m, KNOW) >= 0) return false;
    tell_whom(m, d);
    say_all(m, LEAVE, d);
    return true;
  }
  if (!c->told && hears(m, d->by)) say(m, d->by, KNOW, d);
  c->told = true;
  if (!c->released && hears(m, d->by)) return false;
  for (int r = 0; r < m->wire.ranks; r++) /* who decided it may not have told all */
    if (hears(m, r) && !(c->released && told(m, d)[r])) say(m, r, DECIDE, d);
  return true;
}

/* ---- for the API ---- */

bool tt_parley_possible(const tt_wire *w) {
  return ((const tt_mpi *)w)->net.pick != NULL;
}

static tutti_status begin(tt_mpi *m) {
  tt_parley *c = m->parley = calloc(1, sizeof *c);
  const size_t ranks = (size_t)m->wire.ranks;
  if (c) {
    c->bytes = sizeof(tt_treaty) + 2 * ranks;
    c->peers = calloc(ranks, sizeof *c->peers);
    c->hears = calloc(1, c->bytes);
    c->terms = calloc(1, c->bytes);
    c->decision = calloc(1, c->bytes);
    c->later = calloc(1, c->bytes);
  }
  if (c && c->peers && c->hears && c->terms && c->decision && c->later) return listen(m);
  tt_parley_free(m);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu ranks to agree", ranks);
}

void tt_parley_free(tt_mpi *m) {
  tt_parley *c = m->parley;
  if (!c) return;
  free(c->peers);
  free(c->hears);
  free(c->terms);
  free(c->decision);
  free(c->later);
  free(c);
  m->parley = NULL;
}

tutti_status tt_parley_enter(tt_wire *w, uint32_t round, int asks) {
  tt_mpi *m = tt_mpi_of(w);
  const tutti_status status = m->parley ? TUTTI_OK : begin(m);
  if (status) return status;
  tt_parley *c = m->parley;
  if (c->later->round == round) memcpy(c->decision, c->later, c->bytes);
  if (c->decision->status) c->decision->round = round; /* that is for good */
  c->round = round;
  c->lead = -1;
  c->asks = asks;
  c->proposed = c->accepted = c->told = c->released = false;
  return TUTTI_OK;
}

tutti_status tt_parley_step(tt_wire *w, const tt_treaty **decision) {
  tt_mpi *m = tt_mpi_of(w);
  tt_parley *c = m->parley;
  bool moved = false;
  *decision = NULL;
  const tutti_status status = tt_mpi_poll(w, &moved);
  if (status) return status;
  if (c->decision->round != c->round) confer(m);
  if (c->decision->round == c->round && leave(m)) *decision = c->decision;
  return TUTTI_OK;
}

int tt_parley_waits_for(tt_wire *w) {
  const tt_mpi *m = tt_mpi_of(w);
  const int first = first_alive(m);
  if (first != w->rank) return first;
  return missing(m, m->parley->proposed ? ACCEPT : COME);
}

bool tt_parley_leads(tt_wire *w) {
  return first_alive(tt_mpi_of(w)) == w->rank;
}

void tt_parley_quit(tt_wire *w, int awaited) {
  tt_mpi *m = tt_mpi_of(w);
  const tt_parley *c = m->parley;
  if (c->decision->round != c->round && !c->accepted)
    decide(m, TUTTI_ERR_TIMEOUT, w->rank, awaited);
}

tutti_status tt_parley_network(tt_wire *w, const tt_treaty *d, int *list, int *mine,
                               tutti_net *net) {
  tt_mpi *m = tt_mpi_of(w);
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
  if (failed) return tt_mpi_failed(m, "make another communicator", -1);
  net->id = tt_mix(m->net.id ^ tt_mix(~(uint64_t)d->round));
  return TUTTI_OK;
}
