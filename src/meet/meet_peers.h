/* meet_peers.h - internals of the rendezvous, shared by id.c, rendezvous.c and meet_peers.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MEET_PEERS_H
#define TT_MEET_PEERS_H

#include "meet.h"

/* Sets hosts and a key, if it has none. */
tutti_status tt_rendezvous_name(tt_rendezvous *r);

typedef struct tt_meet_peer { /* a connection */
  int fd;                     /* < 0: free */
  int rank;                   /* < 0: not known yet */
  double since;               /* s, time of the connection */
  char *in;                   /* its input: a hello, then rounds */
  size_t have, want;
  bool brought;    /* its contribution to this round is complete */
  const char *out; /* output: `sent` of `to_send` bytes */
  size_t sent, to_send;
  bool leaves;     /* after the output */
  bool waits;      /* for this meeting to end and the next one to begin */
  bool challenged; /* its hello has come; its proof is awaited */
  tt_hello hello;
  unsigned char nonce[TT_DIGEST]; /* of its challenge */
} tt_meet_peer;

enum { TT_ABSENT = -1, TT_LEFT = -2 };

typedef struct tt_service {
  int listener;
  bool lasting;
  char key[TT_KEY];
  tt_meet_peer *peers;
  int npeers, known;
  /* ranks: as in the first hello; 0: none has come. peer_of, by rank: index of its peer, TT_ABSENT
   * or TT_LEFT. */
  int ranks, *peer_of;
  double first, limit;      /* s: time of the first hello; how long it waits for the others */
  uint32_t bytes;           /* per rank in this round; 0: not known yet */
  int round, brought, gone; /* gone: ranks that left between rounds */
  char left[128];           /* the first of them */
  /* answer: to the last round, or the reason why it is over, with its header; before: the previous
   * answer. */
  char *answer, *before;
  size_t answer_bytes;
  bool over;     /* no more answers; ends when all are sent */
  double failed; /* s, since when late peers may get the reason; 0: they need not */
} tt_service;

/* Send all known peers the same error; the meeting is over. */
void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A peer's expected input is complete, or the peer has left. */
void tt_meet_peer_said(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_left(tt_service *s, tt_meet_peer *g);
void tt_meet_peer_close(tt_service *s, tt_meet_peer *g);
/* The meeting is over; start the next one with the peers that wait for it. */
void tt_service_renew(tt_service *s);

#endif
