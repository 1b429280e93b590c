/* meet_peers.h - inside the rendezvous: what id.c, rendezvous.c and meet_peers.c share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_PEERS_H
#define TT_MEET_PEERS_H

#include "meet.h"

/* Gives it hosts and a key, if it has none. */
tutti_status tt_rendezvous_name(tt_rendezvous *r);

typedef struct tt_meet_peer { /* a connection */
  int fd;                     /* < 0: free */
  int rank;                   /* < 0: it has not said who it is */
  double since;               /* s, when it came */
  char *in;                   /* what it says: a hello, then a round */
  size_t have, want;
  bool brought;    /* its part of this round is all there */
  const char *out; /* what it is told: `told` of `tell` bytes */
  size_t sent, to_send;
  bool leaves;     /* after that */
  bool waits;      /* for this meeting to be over, and the next one to begin */
  bool challenged; /* it has said hello, and is to prove that it knows the key */
  tt_hello hello;
  unsigned char nonce[TT_DIGEST]; /* that it was challenged with */
} tt_meet_peer;

enum { TT_ABSENT = -1, TT_LEFT = -2 };

typedef struct tt_service {
  int listener;
  bool lasting;
  char key[TT_KEY];
  tt_meet_peer *peers;
  int npeers, known;
  int ranks, *peer_of;      /* ranks: the first one's, 0: nobody came; by rank, or one of these: */
  double first, limit;      /* s: when the first came; how long it waits for the others */
  uint32_t bytes;           /* of each in this round; 0: nobody has said */
  int round, brought, gone; /* gone: between rounds; */
  char left[128];           /* ... the first of them */
  char *answer, *before; /* to the last round, or why it is over; with its head. The one before */
  size_t answer_bytes;
  bool over;     /* all was said; it ends when all was told */
  double failed; /* s, since when those that come late may hear why; 0: they need not */
} tt_service;

/* Say the same to all that are known, and it is over. */
void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A guest has said all that it had to say next, or left. */
void tt_meet_peer_said(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_left(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_close(tt_service *s, tt_meet_peer *g);
/* A meeting is over; the next one begins with those that wait for it. */
void tt_service_renew(tt_service *s);

#endif
