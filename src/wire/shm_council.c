/* shm_council.c - who goes on: those that live agree on it, though more die meanwhile.
 *
 * Idea       in a round every rank that lives says that it is there, and where its room in what
 *            comes next is. The first rank that lives waits until all others are there or dead,
 *            writes terms (who goes on, with what), and decides them: by one exchange of a word in
 *            the first room. If it dies before, the next rank is the first that lives; if it dies
 *            later, what it wrote stands in its memory, which stays. Who has waited too long closes
 *            the council: the last decision stays in the word, for those who have yet to read it,
 *            and no other comes.
 * Invariant  one decision per round. Nobody is in a round before it has read the last one's
 *            decision, and none is made before all that live are in it: so what a decision
 *            refers to stays until all have read it (models/shrink.pml).
 * Cost       a few loads per rank, and a look whether it lives.
 * Source     consensus by compare-and-swap: Herlihy, ACM TOPLAS 13(1), 1991; a failure detector
 *            that does not err: Chandra and Toueg, J. ACM 43(2), 1996.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "shm_wire.h"

enum { CLOSED = 1 << 30 }; /* behind the last decision: there will be no other */

/* each round, room, asks, terms, guests, decided, given_up: model: shrink:words */

static tt_ballot *ballot_of(tt_wire *w, int rank) {
  return tt_room_ballot(tt_shm_of(w)->rooms[rank], w->ranks);
}

static bool is_there(tt_wire *w, int rank, uint32_t round) {
  return (int32_t)(atomic_load(&ballot_of(w, rank)->round) - round) >= 0;
}

void tt_council_come(tt_wire *w, uint32_t round, uint64_t room, uint64_t asks) {
  tt_ballot *mine = ballot_of(w, w->rank);
  atomic_store(&mine->room, room);
  atomic_store(&mine->asks, asks);
  atomic_store(&mine->round, round);
}

int tt_council_awaited(tt_wire *w, uint32_t round) {
  for (int r = 0; r < w->ranks; r++)
    if (!is_there(w, r, round) && w->ops->alive(w, r)) return r;
  return -1;
}

int tt_council_first(tt_wire *w) {
  int r = 0;
  while (r < w->rank && !w->ops->alive(w, r)) r++;
  return r;
}

uint64_t tt_council_asks(tt_wire *w, int rank) {
  return atomic_load(&ballot_of(w, rank)->asks);
}

tt_pact *tt_council_list(tt_wire *w, uint32_t round, int more) {
  tt_shm *s = tt_shm_of(w);
  const size_t most = (size_t)(w->ranks + more);
  tt_pact *t = tt_heap_alloc(s->heap, sizeof *t + most * sizeof *t->seat, TT_PAIR);
  if (!t) return NULL;
  for (int r = 0; r < w->ranks; r++) {
    if (!is_there(w, r, round) || !w->ops->alive(w, r)) continue;
    const uint64_t room = atomic_load(&ballot_of(w, r)->room);
    t->seat[t->ranks++] = (tt_seat){.index = s->members[r], .room = room};
    if (room != UINT64_MAX || t->status) continue;
    t->status = TUTTI_ERR_MEMORY;
    snprintf(t->why, sizeof t->why, "rank %d could not make its part of a communicator", r);
  }
  return t;
}

void tt_council_decide(tt_wire *w, uint32_t round, tt_pact *terms) {
  tt_shm *s = tt_shm_of(w);
  atomic_ullong *decided = &s->rooms[0]->decided;
  unsigned long long last = atomic_load(decided);
  if ((uint32_t)(last >> 32) == round || last & CLOSED) return; /* somebody was first */
  if (terms) atomic_store(&terms->guests, (unsigned)terms->ranks);
  atomic_store(&ballot_of(w, w->rank)->terms,
               terms ? (unsigned long long)((char *)terms - s->segment->base) : 0);
  atomic_compare_exchange_strong(decided, &last,
                                 (unsigned long long)round << 32 | (unsigned)w->rank);
}

void tt_council_give_up(tt_wire *w, uint32_t round, int awaited) {
  tt_room *first = tt_shm_of(w)->rooms[0];
  unsigned long long last = atomic_load(&first->decided);
  if ((uint32_t)(last >> 32) == round || last & CLOSED) return;
  atomic_store(&first->given_up, (unsigned long long)w->rank << 32 | (unsigned)awaited);
  atomic_compare_exchange_strong(&first->decided, &last, last | CLOSED);
}

bool tt_council_decided(tt_wire *w, uint32_t round, tt_decision *d) {
  tt_shm *s = tt_shm_of(w);
  const unsigned long long word = atomic_load(&s->rooms[0]->decided);
  if ((uint32_t)(word >> 32) == round) {
    *d = (tt_decision){.round = round, .by = (int)(word & (CLOSED - 1)), .awaited = -1};
    const uint64_t at = atomic_load(&ballot_of(w, d->by)->terms);
    d->terms = at ? (tt_pact *)(void *)(s->segment->base + at) : NULL;
    return true;
  }
  if (!(word & CLOSED)) return false;
  const unsigned long long who = atomic_load(&s->rooms[0]->given_up);
  *d = (tt_decision){.round = round, .by = (int)(who >> 32), .awaited = (int)(uint32_t)who};
  return true;
}

void tt_council_refuse(tt_segment *segment, const tt_pact *terms, tutti_status status,
                       const char *reason) {
  for (int i = 0; i < terms->ranks; i++)
    tt_room_abort((tt_room *)(void *)(segment->base + terms->seat[i].room), status, reason);
}
