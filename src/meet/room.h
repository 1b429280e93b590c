/* room.h - the waiting room of a lasting rendezvous: joiners wait there until the ranks of a running job take them in.
 *
 * Idea       A joiner keeps one connection to the room. The first of the ranks that grow, the leader, connects, claims the
 *            joiners that wait, and exchanges rows with them through the room. In each round every claimed joiner sends a
 *            row, the leader gets them all in one message, and its answer goes to each joiner. A joiner thus connects to the
 *            others over the connection that it has, and the failure of a process is detected because its connection closes.
 * Invariant  A joiner is in one claim at a time. If a process of a claim leaves before the leader has reported it as
 *            complete, the leader and the joiners are told, and the joiners wait again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROOM_H
#define TT_ROOM_H

#include "meet_line.h"

/* Frames to the room (tt_meet_frame), after those of a meeting. */
enum {
  TT_WAIT = 16, /* tt_wait: a joiner waits */
  TT_CLAIM,     /* tt_claim: a leader wants joiners */
  TT_BRING,     /* uint32_t claim, then a joiner's row of this round (of: its status) */
  TT_HAND,      /* a leader's answer to the rows; each joiner of its claim gets it */
  TT_ADMIT,     /* the same, and the claim is complete */
  TT_NEWS /* tt_news_of: a launcher reports which ranks have ended, and asks for numbers of joiners */
};
/* Replies: a status with its message; or one of these. */
enum {
  TT_CLAIMED = 16, /* tt_claimed, to the leader */
  TT_BROUGHT, /* to the leader: per joiner a tt_row (of: its place in the claim), whose text is what it brought */
  TT_HANDED,   /* tt_handed and the leader's bytes, to a joiner */
  TT_ADMITTED, /* the same, for the last time */
  TT_ALONE,    /* to a joiner: the others have given up, and it waits again */
  TT_NUMBERED  /* tt_numbers, to a launcher */
};

typedef struct tt_wait {
  int32_t number;   /* of the joiner, from 1 */
  uint32_t version; /* only those of the leader's version are claimed */
} tt_wait;

typedef struct tt_claim {
  uint32_t version, limit_ms;
  int32_t
      least; /* wait for that many, up to limit_ms, as long as they can come; then claim all that wait */
  int32_t unused;
} tt_claim;

typedef struct tt_claimed {
  int32_t claimed;                /* -1: too few */
  int32_t there, possible, total; /* joiners that wait; that can come; that --respawn allows */
} tt_claimed;

typedef struct tt_handed {
  uint32_t claim, place; /* the joiner's index in it, from 0 */
} tt_handed;

typedef struct tt_news_of { /* as tutti_newcomer_news */
  int32_t part, rank, newcomer, lost_ranks, wants;
} tt_news_of;

typedef struct tt_numbers { /* of joiners that may be started: `n` numbers from `first` */
  int32_t first, n;
} tt_numbers;

/* ---- the calling end (room_line.c) ---- */

/* A connection to the room of this rendezvous, on which both sides have proven the key. rank: for messages. TUTTI_ERR_*:
 * as a visit of the rendezvous. */
tutti_status tt_room_open(const tt_rendezvous *r, int rank, double limit, tt_meet_line *l);
void tt_room_close(tt_meet_line *l);
/* One frame, of two parts. */
tutti_status tt_room_send(tt_meet_line *l, int kind, const void *head, size_t n, const void *bytes,
                          size_t more);
/* Is a reply there, or on its way? False, and errno: as tt_meet_ready. */
bool tt_room_ready(const tt_meet_line *l, double until);
/* One reply. until: on tt_seconds' clock. *kind: above; *body: for the caller to free. TUTTI_ERR_TIMEOUT: nothing has come. A reply with a
 * status fails with its sentence. */
tutti_status tt_room_recv(tt_meet_line *l, double until, int *kind, char **body, size_t *bytes);

#endif
