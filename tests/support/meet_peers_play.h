/* meet_peers_play.h - runs ranks as threads that connect. Each records its result.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEET_PEERS_PLAY_H
#define MEET_PEERS_PLAY_H

#include <pthread.h>

#include "meet_line.h"

enum { ROUNDS = 3 };

typedef struct peer {
  pthread_t thread;
  tt_rendezvous at;
  const tutti_store *store;
  tutti_gather_fn *gather; /* used with ctx, instead of `at` and `store` */
  void *ctx;
  uint64_t host;           /* ranks with the same number share an agent */
  int rank, ranks, rounds; /* the rank leaves after `rounds` rounds */
  int fails_in;            /* the rank fails in this round, counted from 1; 0: never */
  double limit, took;
  bool stays; /* waits for a while before it leaves */
  tutti_status status;
  bool right;
  char why[400];
} peer;

void *meeting_visit(void *peer); /* runs in the calling thread */
void meeting_begin(peer *g);     /* runs in a new thread */
void meeting_finish(peer *g);
/* Checks the rank's status, and that its error contains the words, separated by '|'. */
void meeting_expect(const peer *g, tutti_status status, const char *words);
/* Starts a rendezvous on a free port. */
tt_rendezvous meeting_serve(void);
tt_rendezvous meeting_serve_for(bool lasting);
/* Connects to a port of this host. */
int meeting_call(int port);

#endif
