/* shm_council.c - who survives: those that live agree on it, though more die meanwhile.
 *
 * Idea       in a round every rank that lives says that it is there, and where its room in what
 *            comes next is. The first rank that lives waits until all others are there or dead,
 *            writes down who lives, and decides it: by one exchange of a word in the first
 *            room. If it dies before, the next rank is the first that lives; if it dies later,
 *            what it wrote stands in its memory, which stays. Who has waited too long closes
 *            the council: the last decision stays in the word, for those who have yet to read it,
 *            and no other comes.
 * Invariant  one decision per round. Nobody is in a round before it has read the last one's
 *            decision, and none is made before all that live are in it: so what a decision
 *            refers to stays until all have read it (models/shrink.pml).
 * Cost       a few loads per rank, and a look whether it lives.
 * Source     consensus by compare-and-swap: Herlihy, ACM TOPLAS 13(1), 1991; a failure detector
 *            that does not err: Chandra and Toueg, J. ACM 43(2), 1996.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_wire.h"

enum { CLOSED = 1 << 30 }; /* behind the last decision: there will be no other */

static tt_ballot *ballot_of(tt_wire *w, int rank) {
  return tt_room_ballot(tt_shm_of(w)->rooms[rank], w->ranks);
}

static bool is_there(tt_wire *w, int rank, uint32_t round) {
  return (int32_t)(atomic_load(&ballot_of(w, rank)->round) - round) >= 0;
}

void tt_council_come(tt_wire *w, uint32_t round, uint64_t room, uint64_t wise) {
  tt_ballot *mine = ballot_of(w, w->rank);
  atomic_store(&mine->room[round % 2], room);
  atomic_store(&mine->wise[round % 2], wise);
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

int tt_council_list(tt_wire *w, uint32_t round) {
  tt_ballot *mine = ballot_of(w, w->rank);
  int n = 0;
  for (int r = 0; r < w->ranks; r++) {
    const uint64_t bit = 1ull << r % 64;
    const bool lives = is_there(w, r, round) && w->ops->alive(w, r);
    if (lives)
      atomic_fetch_or(&mine->members[r / 64], bit);
    else
      atomic_fetch_and(&mine->members[r / 64], ~bit);
    n += lives;
  }
  return n;
}

void tt_council_decide(tt_wire *w, uint32_t round, uint64_t room) {
  atomic_ullong *decided = &tt_shm_of(w)->rooms[0]->decided;
  unsigned long long last = atomic_load(decided);
  if ((uint32_t)(last >> 32) == round || last & CLOSED) return; /* somebody was first */
  atomic_store(&ballot_of(w, w->rank)->room[round % 2], room);
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
  const tt_room *first = tt_shm_of(w)->rooms[0];
  const unsigned long long word = atomic_load(&first->decided);
  if ((uint32_t)(word >> 32) == round) {
    *d = (tt_decision){round, (int)(word & (CLOSED - 1)), -1};
    return true;
  }
  if (!(word & CLOSED)) return false;
  const unsigned long long who = atomic_load(&first->given_up);
  *d = (tt_decision){round, (int)(who >> 32), (int)(uint32_t)who};
  return true;
}

bool tt_council_member(tt_wire *w, const tt_decision *d, int rank) {
  return atomic_load(&ballot_of(w, d->by)->members[rank / 64]) >> rank % 64 & 1;
}

uint64_t tt_council_room(tt_wire *w, const tt_decision *d, int rank) {
  return atomic_load(&ballot_of(w, rank)->room[d->round % 2]);
}

uint64_t tt_council_wise(tt_wire *w, const tt_decision *d, int rank) {
  return atomic_load(&ballot_of(w, rank)->wise[d->round % 2]);
}

void tt_council_refuse(tt_wire *w, const uint64_t *rooms, int n, tutti_status status,
                       const char *reason) {
  for (int r = 0; r < n; r++)
    tt_room_abort((tt_room *)(void *)(tt_shm_of(w)->segment->base + rooms[r]), status, reason);
}
