/* aggregator_play.h - for tests: an in-network reduction server (aggregator) in a thread, and members of its
 * sessions.
 *
 * The members are wires in the test's thread, so the test determines the order of their actions.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef AGGREGATOR_PLAY_H
#define AGGREGATOR_PLAY_H

#include <pthread.h>
#include <sys/types.h>

#include "aggregator.h"
#include "tutti_launch.h"

enum { MOST = 6, LIMIT = 20 }; /* members; seconds that only a hang takes */

typedef struct running {
  tutti_aggregator a;
  pthread_t thread;
  int port;
  char where[40];
  pid_t process; /* process of the aggregator; 0 if it is a thread of this process */
} running;

/* Starts an aggregator. Its key is "of the tests". */
void play_serve(running *d, int jobs, size_t memory);
/* Starts an aggregator in a separate process, for tests with several. `above` is the aggregator above it, or NULL. */
void play_serve_below(running *d, const running *above);
void play_end(running *d);

typedef struct party {
  int n;
  tt_wire *wire[MOST];
} party;

tutti_status play_join(const running *d, uint64_t session, int member, int n, tt_wire **wire);
/* Joins a member of a rack's session, in which sums are over `racks` racks. */
tutti_status play_join_rack(const running *d, uint64_t session, int member, int n, int rack,
                            int racks, tt_wire **wire);
party play_gather(const running *d, uint64_t session, int n);
void play_leave(tt_wire **wire);
void play_part(party *p);

/* A member's part of a sum. */
typedef struct run {
  tt_wire *wire;
  tt_share share;
  const char *src;
  char *dst;
  uint64_t sent, got;
  bool differs, over;
} run;

/* Returns the share of an operation with one slice and a vector that is split into parts. */
tt_share play_share(uint64_t seq, tutti_type type, tutti_op op, size_t count, int parts, int data);
void play_begin(run *r);
/* Each of these returns true if data moved. */
bool play_send(run *r);
bool play_take(run *r);
bool play_over(run *r);
/* Advances the runs, the last member first, until all are complete. Returns false if nothing has moved for `patience`
 * seconds. */
bool play_finish(run *r, int n, double patience);

#endif
