/* meet_peers_play.h - ranks that are threads, and meet; each tells what became of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEET_PEERS_PLAY_H
#define MEET_PEERS_PLAY_H

#include <pthread.h>

#include "meet.h"

enum { ROUNDS = 3 };

typedef struct peer {
  pthread_t thread;
  tt_rendezvous at;
  const tutti_store *store;
  int rank, ranks, rounds; /* it leaves after that many */
  double limit, took;
  bool stays; /* a while, before it leaves */
  tutti_status status;
  bool right;
  char why[400];
} peer;

void *meeting_visit(void *peer); /* in this thread */
void meeting_begin(peer *g);     /* in one of its own */
void meeting_finish(peer *g);
/* Its status, and words of its sentence, with | between. */
void meeting_expect(const peer *g, tutti_status status, const char *words);
/* A rendezvous at a port of its own. */
tt_rendezvous meeting_serve(void);
tt_rendezvous meeting_serve_for(bool lasting);
/* A connection to a port of this host. */
int meeting_call(int port);

#endif
