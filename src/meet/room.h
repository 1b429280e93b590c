/* room.h - the waiting room of a lasting rendezvous: joiners wait there until the ranks of a running job admit them.
 *
 * Idea       A joiner keeps one connection to the room. The first of the ranks that grow, the leader, connects,
 *            claims the joiners that are waiting, and exchanges rows with them through the room. In each round every
 *            claimed joiner sends a row, the leader receives them all in one message, and its answer is sent to each
 *            joiner. Joiners therefore need no other connection, and the failure of a process is detected because its
 *            connection closes.
 * Invariant  A joiner is in one claim at a time. If a process of a claim leaves before the leader has reported the
 *            claim as complete, the room notifies the leader and the joiners, and the joiners wait again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROOM_H
#define TT_ROOM_H

#include "meet_line.h"

/* Kinds of frames (tt_meet_frame) that are sent to the waiting room. The numbers continue those of a bootstrap's frames. */
enum {
  TT_WAIT = 16, /* tt_wait: a joiner waits */
  TT_CLAIM,     /* tt_claim: a leader requests joiners */
  TT_BRING,     /* uint32_t claim, then the joiner's row of this round (`of` is its status) */
  TT_HAND,      /* the leader's answer to the rows; sent to each joiner of its claim */
  TT_ADMIT,     /* as TT_HAND, and completes the claim */
  TT_NEWS       /* tt_news_of: a launcher reports ended ranks, and requests numbers for joiners */
};
/* The status of a reply from the waiting room is an error status, followed by the text of the error, or one of these. */
enum {
  TT_CLAIMED = 16, /* to the leader: tt_claimed */
  TT_BROUGHT,      /* to the leader: one tt_row per joiner (`of`: its index in the claim) with the
                 joiner's row */
  TT_HANDED,       /* to a joiner: tt_handed and the leader's data */
  TT_ADMITTED,     /* as TT_HANDED, for the last time */
  TT_ALONE,        /* to a joiner: the others have given up, and it waits again */
  TT_NUMBERED      /* to a launcher: tt_numbers */
};

typedef struct tt_wait {
  int32_t number;   /* the joiner's number, from 1 */
  uint32_t version; /* a leader only claims joiners that have the same version */
} tt_wait;

typedef struct tt_claim {
  uint32_t version, limit_ms;
  int32_t least; /* wait up to limit_ms for this many joiners, as long as they can arrive; then
                    claim all that are waiting */
  int32_t unused;
} tt_claim;

typedef struct tt_claimed {
  int32_t claimed;                /* number of claimed joiners; -1: too few */
  int32_t there, possible, total; /* joiners: waiting; can be admitted; allowed by --respawn */
} tt_claimed;

typedef struct tt_handed {
  uint32_t claim, place; /* place: the joiner's index in the claim, from 0 */
} tt_handed;

typedef struct tt_news_of { /* as tutti_newcomer_news */
  int32_t part, rank, newcomer, lost_ranks, wants;
} tt_news_of;

typedef struct tt_numbers { /* joiners that may be started: `n` numbers from `first` */
  int32_t first, n;
} tt_numbers;

/* ---- the calling end (room_line.c) ---- */

/* Connects to the waiting room of a rendezvous, and makes both sides prove that they know the key. rank: used only
 * in messages. Returns the same errors as a connection to the rendezvous itself. */
tutti_status tt_room_open(const tt_rendezvous *r, int rank, double limit, tt_meet_line *l);
void tt_room_close(tt_meet_line *l);
/* Sends one frame, whose payload is both parts. */
tutti_status tt_room_send(tt_meet_line *l, int kind, const void *head, size_t n, const void *bytes,
                          size_t more);
/* Returns true if at least a part of a reply has arrived. Otherwise returns false, and sets errno to ETIMEDOUT or
 * ECANCELED as tt_meet_ready does. */
bool tt_room_ready(const tt_meet_line *l, double until);
/* Receives one reply. If the reply has an error status, sets this error and returns it. until: time limit on the clock of
 * tt_seconds. *kind: set to the status of the reply. The caller frees *body. Returns TUTTI_ERR_TIMEOUT if nothing has arrived. */
tutti_status tt_room_recv(tt_meet_line *l, double until, int *kind, char **body, size_t *bytes);

#endif
