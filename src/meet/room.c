/* room.c - the waiting room in the thread of a lasting rendezvous (room.h describes the protocol).
 *
 * Idea       A guest is a connection that has proven that it knows the key, and whose hello shows that it is not a
 *            rank (ranks is 0). It is a joiner, a leader, or a launcher that requests numbers for joiners. The room
 *            checks its guests after each event, and replies to those whose state has changed.
 * Cost       A connection for each waiting joiner and for each leader, and about ten bytes per number.
 * Invariant  The leader and the joiners send alternately, so a guest has at most one reply in flight. A guest that
 *            sends out of turn is disconnected.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet_service.h"

enum { LOOK_MS = 20, MOST_JOINERS = 1000 };
typedef enum ticket { UNUSED, STARTED, WAITING, ADMITTED, OVER } ticket;

struct tt_room {
  int total, numbered;                   /* joiners allowed; numbers assigned so far */
  uint32_t claims;                       /* number of claims so far */
  unsigned char state[MOST_JOINERS + 1]; /* tickets, indexed by number */
  int32_t part[MOST_JOINERS + 1];        /* the launcher that starts each joiner, by number */
  int ranks;                             /* number of ranks at the start of the job */
  bool ended[];                          /* indexed by rank at the start of the job */
};

struct tt_guest {
  tt_wait joiner; /* number 0: not a joiner */
  uint32_t claim; /* the claim that it is in, or leads; 0: none */
  uint32_t place;
  bool leads, wants; /* wants: its claim has not been answered yet */
  bool lost;         /* the other processes of its claim have left; it must be notified */
  bool heard;        /* a joiner that has received an answer for its claim */
  tt_claim asks;
  double until;  /* time limit, in seconds */
  tt_row *row;   /* the row that a joiner has sent in this round */
  char who[128]; /* on a leader: the joiner that has left */
};

tutti_status tt_room_new(tt_service *s, int ranks, int joiners) {
  if (joiners < 1 || joiners > MOST_JOINERS)
    return tt_fail(TUTTI_ERR_ARG, "a waiting room for %d joiners; from 1 to %d are possible",
                   joiners, MOST_JOINERS);
  s->room = calloc(1, sizeof *s->room + (size_t)ranks);
  if (!s->room) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a waiting room");
  s->room->total = joiners;
  s->room->ranks = ranks;
  return TUTTI_OK;
}

/* ---- guests ---- */

static bool waits_unclaimed(const tt_meet_peer *g, uint32_t version) {
  return g->fd >= 0 && g->guest && g->guest->joiner.number && !g->guest->claim && !g->guest->lost &&
         g->state == TT_GUEST && !g->talks && g->guest->joiner.version == version;
}

static int joiners_there(const tt_service *s, uint32_t version) {
  int n = 0;
  for (int i = 0; i < s->npeers; i++) n += waits_unclaimed(&s->peers[i], version);
  return n;
}

/* Returns the number of joiners that are waiting, that were started but have not arrived yet, or that may still be started. */
static int joiners_possible(const tt_service *s, uint32_t version) {
  const tt_room *r = s->room;
  int n = joiners_there(s, version) + r->total - r->numbered;
  for (int k = 1; k <= r->numbered; k++) n += r->state[k] == STARTED;
  return n;
}

/* Returns true if a rank that can admit joiners is alive, according to the reports of the launchers. */
static bool anybody_lives(const tt_room *r) {
  for (int f = 0; f < r->ranks; f++)
    if (!r->ended[f]) return true;
  for (int k = 1; k <= r->numbered; k++)
    if (r->state[k] == ADMITTED) return true;
  return false;
}

/* Finds the guest with index `place` in a claim. If `place` is -1, finds the leader of the claim. */
static tt_meet_peer *member_of(const tt_service *s, uint32_t claim, int place) {
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || !g->guest || g->guest->claim != claim) continue;
    if (g->guest->leads ? place < 0 : place == (int)g->guest->place) return g;
  }
  return NULL;
}

/* ---- the end of a claim ---- */

static void forget_row(tt_guest *x) {
  free(x->row);
  x->row = NULL;
}

/* Ends a claim, and marks its members so that they will be notified. who: the name of the joiner that has left, or NULL. */
static void dissolve(tt_service *s, uint32_t claim, const char *who) {
  for (int i = 0; claim && i < s->npeers; i++) {
    tt_guest *x = s->peers[i].fd < 0 ? NULL : s->peers[i].guest;
    if (!x || x->claim != claim) continue;
    x->claim = 0;
    x->lost = x->leads ? who != NULL : x->heard;
    x->heard = false;
    if (x->leads && who) snprintf(x->who, sizeof x->who, "%s", who);
    forget_row(x);
  }
}

void tt_room_left(tt_service *s, tt_meet_peer *g) {
  tt_guest *x = g->guest;
  if (!x) return;
  const uint32_t claim = x->claim;
  if (x->joiner.number) s->room->state[x->joiner.number] = OVER;
  g->guest = NULL;
  dissolve(s, claim, x->leads ? NULL : g->hello.who);
  free(x->row);
  free(x);
}

/* ---- messages from guests ---- */

static bool take_joiner(tt_service *s, tt_meet_peer *g, const char *bytes, size_t n) {
  tt_guest *x = g->guest;
  if (n != sizeof x->joiner || x->joiner.number || x->leads) return false;
  memcpy(&x->joiner, bytes, n);
  const int number = x->joiner.number;
  if (number < 1 || number > s->room->numbered || s->room->state[number] != STARTED) {
    x->joiner.number = 0;
    return false;
  }
  s->room->state[number] = WAITING;
  return true;
}

static bool take_claim(tt_meet_peer *g, const char *bytes, size_t n) {
  tt_guest *x = g->guest;
  if (n != sizeof x->asks || x->joiner.number || x->wants || x->claim) return false;
  memcpy(&x->asks, bytes, n);
  x->leads = x->wants = true;
  x->until = tt_seconds() + x->asks.limit_ms / 1e3;
  return true;
}

/* Accepts a row from a joiner, or drops it if its claim has ended. The joiner is then notified separately. */
static bool take_row(tt_meet_peer *g, const char *bytes, size_t n) {
  tt_guest *x = g->guest;
  uint32_t claim;
  if (n < sizeof claim || n > TT_MEET_MOST || !x->joiner.number || x->row) return false;
  memcpy(&claim, bytes, sizeof claim);
  if (!x->claim || claim != x->claim) return true;
  x->row = tt_row_new(TUTTI_OK, bytes + sizeof claim, n - sizeof claim, &n);
  return x->row;
}

static bool take_answer(tt_service *s, tt_meet_peer *g, const char *bytes, size_t n, bool last) {
  const uint32_t claim = g->guest->claim;
  char *copy = claim ? malloc(sizeof(tt_handed) + n) : NULL;
  if (!claim) return g->guest->leads; /* a joiner has left before this answer */
  if (!copy || !g->guest->leads) {
    free(copy);
    return false;
  }
  memcpy(copy + sizeof(tt_handed), bytes, n);
  tt_meet_peer *to;
  for (int k = 0; (to = member_of(s, claim, k)); k++) {
    tt_guest *x = to->guest;
    const tt_handed head = {claim, (uint32_t)k};
    memcpy(copy, &head, sizeof head);
    x->heard = true;
    tt_meet_peer_say(to, last ? TT_ADMITTED : TT_HANDED, copy, sizeof head + n);
    if (!last) continue;
    s->room->state[x->joiner.number] = ADMITTED;
    x->joiner.number = 0;
    to->state = TT_LEAVES;
  }
  free(copy);
  if (last) dissolve(s, claim, NULL);
  return true;
}

/* Handles a message from a launcher, which reports ranks that have exited, and requests numbers for new joiners. */
static bool take_news(tt_service *s, tt_meet_peer *g, const char *bytes, size_t n) {
  tt_room *r = s->room;
  tt_news_of x;
  if (n != sizeof x) return false;
  memcpy(&x, bytes, n);
  if (x.newcomer > 0 && x.newcomer <= r->numbered) r->state[x.newcomer] = OVER;
  for (int k = 1; x.lost_ranks > 0 && k <= r->numbered; k++)
    if (r->part[k] == x.part) r->state[k] = OVER;
  for (int f = 0; f < r->ranks; f++)
    if (f == x.rank || (f >= x.part && f - (int64_t)x.part < x.lost_ranks))
      r->ended[f] = true;
  const int left = r->total - r->numbered, wants = x.wants < 0 ? 0 : x.wants;
  const tt_numbers given = {r->numbered + 1, wants < left ? wants : left};
  for (int k = 0; k < given.n; k++) {
    r->state[++r->numbered] = STARTED;
    r->part[r->numbered] = x.part;
  }
  tt_meet_peer_say(g, TT_NUMBERED, &given, sizeof given);
  return true;
}

static bool take(tt_service *s, tt_meet_peer *g, const tt_meet_frame *head, const char *bytes) {
  switch (head->kind) {
    case TT_WAIT: return take_joiner(s, g, bytes, head->bytes);
    case TT_CLAIM: return take_claim(g, bytes, head->bytes);
    case TT_BRING: return take_row(g, bytes, head->bytes);
    case TT_HAND: return take_answer(s, g, bytes, head->bytes, false);
    case TT_ADMIT: return take_answer(s, g, bytes, head->bytes, true);
    case TT_NEWS: return take_news(s, g, bytes, head->bytes);
    default: return false;
  }
}

void tt_room_said(tt_service *s, tt_meet_peer *g) {
  tt_meet_frame head;
  memcpy(&head, g->in, sizeof head);
  if (g->want == sizeof head && head.bytes) {
    g->want += head.bytes;
    if (head.bytes > UINT32_MAX / 2) tt_meet_peer_close(s, g);
    return;
  }
  g->have = 0;
  g->want = sizeof head;
  if (g->talks || !take(s, g, &head, g->in + sizeof head)) tt_meet_peer_close(s, g);
}

void tt_room_enter(tt_service *s, tt_meet_peer *g) {
  static const tt_refusal none = {
      TUTTI_ERR_UNSUPPORTED,
      "this job takes in no joiners: it was started without tutti run --respawn"};
  if (!s->room) {
    tt_meet_peer_part(g, &none);
    return;
  }
  g->guest = calloc(1, sizeof *g->guest);
  g->state = TT_GUEST;
  if (!g->guest) tt_meet_peer_close(s, g);
}

/* ---- after each event ---- */

static void answer_claim(tt_service *s, tt_meet_peer *g) {
  tt_guest *x = g->guest;
  const uint32_t version = x->asks.version;
  const int least = x->asks.least;
  tt_claimed is = {-1, joiners_there(s, version), joiners_possible(s, version), s->room->total};
  if (is.there < least && is.possible >= least && tt_seconds() < x->until) return;
  x->wants = false;
  if (is.there >= least) {
    is.claimed = 0;
    if (is.there) x->claim = ++s->room->claims;
    for (int i = 0; i < s->npeers; i++) {
      tt_meet_peer *p = &s->peers[i];
      if (!waits_unclaimed(p, version)) continue;
      p->guest->claim = x->claim;
      p->guest->place = (uint32_t)is.claimed++;
    }
  }
  tt_meet_peer_say(g, TT_CLAIMED, &is, sizeof is);
}

/* Sends the rows of all joiners in a claim to the claim's leader, once all of the rows have arrived. */
static void pass_rows_on(tt_service *s, tt_meet_peer *leader) {
  const uint32_t claim = leader->guest->claim;
  size_t n = 0;
  int joiners = 0;
  for (const tt_meet_peer *g; (g = member_of(s, claim, joiners)); joiners++) {
    if (!g->guest->row) return;
    n += sizeof(tt_row) + tt_row_bytes(g->guest->row->bytes);
  }
  char *all = joiners ? calloc(1, n) : NULL, *at = all;
  if (!all) return; /* out of memory: the leader gives up at its time limit */
  for (int k = 0; k < joiners; k++) {
    tt_guest *x = member_of(s, claim, k)->guest;
    const size_t its = sizeof *x->row + tt_row_bytes(x->row->bytes);
    x->row->of = k;
    memcpy(at, x->row, its);
    at += its;
    forget_row(x);
  }
  tt_meet_peer_say(leader, TT_BROUGHT, all, n);
  free(all);
}

static void say_lost(tt_meet_peer *g) {
  tt_guest *x = g->guest;
  char words[200];
  x->lost = false;
  const int n =
      snprintf(words, sizeof words, "a joiner (%.100s) left while the ranks admitted it", x->who);
  if (x->leads)
    tt_meet_peer_say(g, TUTTI_ERR_PEER_LOST, words, (size_t)n + 1);
  else
    tt_meet_peer_say(g, TT_ALONE, NULL, 0);
}

static const tt_refusal forsaken = {
    TUTTI_ERR_PEER_LOST, "this process is a joiner, and no rank is alive that could take it in"};

void tt_room_look(tt_service *s) {
  const bool lives = s->room && anybody_lives(s->room);
  for (int i = 0; s->room && i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || !g->guest || g->talks || g->state != TT_GUEST) continue;
    if (g->guest->lost)
      say_lost(g);
    else if (g->guest->wants)
      answer_claim(s, g);
    else if (g->guest->leads && g->guest->claim)
      pass_rows_on(s, g);
    else if (g->guest->joiner.number && !g->guest->claim && !lives)
      tt_meet_peer_part(g, &forsaken);
  }
}

int tt_room_due(const tt_service *s) {
  for (int i = 0; s->room && i < s->npeers; i++)
    if (s->peers[i].fd >= 0 && s->peers[i].guest && s->peers[i].guest->wants) return LOOK_MS;
  return -1;
}

void tt_room_free(tt_service *s) {
  free(s->room);
  s->room = NULL;
}
