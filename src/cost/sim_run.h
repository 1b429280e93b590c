/* sim_run.h - a running simulation: the events that are ready, and their dependencies.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_RUN_H
#define TT_SIM_RUN_H

#include "sim.h"

#define TT_NOTHING UINT32_MAX

typedef struct tt_server {
  double free;
  uint32_t last; /* last event that used it */
} tt_server;

typedef struct tt_running {
  const tt_sim *sim;
  double bytes, moved;    /* size of the vector; the equivalent number of bytes in the cache */
  double spilt, per_byte; /* moved = spilt + per_byte * bytes */
  tt_sim_timing *timing;
  tt_sim_event *heap;
  uint32_t waiting, ended;
  uint32_t cores; /* number of cores that the simulated ranks share; 0: each rank has its own */
  int ports;      /* largest number of ports of a rank */
  tt_server *o, *out, *in, *slice;
} tt_running;

/* ---- the heap (sim_heap.c), ordered by time, kind of event, and position in the schedule of the port's rank ---- */

void tt_heap_push(tt_running *s, double at, uint32_t event);
tt_sim_event tt_heap_pop(tt_running *s);

#endif
