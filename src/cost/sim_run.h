/* sim_run.h - a simulation that runs: the events that are ready, and what they wait for.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_RUN_H
#define TT_SIM_RUN_H

#include "sim.h"

#define TT_NOTHING UINT32_MAX

typedef struct tt_server {
  double free;
  uint32_t last;  /* its last user */
  uint32_t first; /* of a slice: whose turn it is; of a port: 1 + the first that shares it, or 0 */
} tt_server;

/* A message of a paced rank whose messages wait for receives (sim_receive.c). */
typedef struct tt_coming {
  double since, left;   /* when it set out; s for which a port would still be busy with it alone */
  tt_server *port;      /* that it shares */
  uint32_t next;        /* 1 + the next one that shares the port; 0: none */
  bool waits;           /* for its turn to leave */
  bool travels, shares; /* it is on its way to the port; it shares the port */
} tt_coming;

typedef struct tt_running {
  const tt_sim *sim;
  double bytes, moved;    /* of the vector; as an equivalent number of bytes in the cache */
  double spilt, per_byte; /* `moved` as a line in `bytes` */
  tt_sim_timing *timing;
  tt_sim_event *heap;
  uint32_t waiting, ended;
  uint32_t cores; /* shared by the simulated ranks; 0: each rank has its own */
  int ports;      /* the most that a rank has */
  tt_server *o, *out, *in, *slice, *pair;
  tt_coming *coming; /* of each message; NULL: none waits for a turn */
} tt_running;

/* ---- the heap (sim_heap.c): earliest first; then steps, departures, arrivals; then as in the schedule of the port's rank ---- */

void tt_heap_push(tt_running *s, double at, uint32_t what);
tt_sim_event tt_heap_pop(tt_running *s);

/* ---- sim.c ---- */

/* Seconds until a message's reader can go on. */
double tt_sim_delay(const tt_sim *sim, uint32_t d);
/* What a message takes: s before its first byte reaches the port; s of a port that it has to itself, for its header, and for all. */
typedef struct tt_takes {
  double before, header, port;
} tt_takes;
tt_takes tt_sim_takes(const tt_running *s, uint32_t d);
/* The server of a slice's messages on their sender, which sends them one at a time. */
tt_server *tt_slice_of(const tt_running *s, uint32_t d);

/* ---- messages that wait for receives (sim_receive.c) ---- */

/* Does the message wait until its reader has the last one of the same rank? */
bool tt_sim_meets(const tt_running *s, uint32_t d);
/* Is it the turn of this message of its slice? If not, it waits for it. */
bool tt_sim_has_turn(tt_running *s, uint32_t d);
/* A message of a slice has come, or left without waiting: the next one may leave from `at` on, because of the event `cause`. */
void tt_sim_pass_turn(tt_running *s, uint32_t d, double at, uint32_t cause);
/* Does what waited (a message that leaves, or one that arrives) wait until this message was there, and not for a port? */
bool tt_sim_awaits(const tt_running *s, uint32_t waited, uint32_t d);
/* Adds to a message's cost what it took longer because others shared its port. */
void tt_sim_stretch(const tt_running *s, uint32_t d, tt_line *cost);
/* A message arrives at a port that it shares with others. False: it has not come yet, and has an event later. */
bool tt_sim_has_come(tt_running *s, tt_server *port, double at, uint32_t d);

#endif
