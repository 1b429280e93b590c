/* sim_run.h - a running simulation: the events that are ready, and their dependencies.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_RUN_H
#define TT_SIM_RUN_H

#include "sim.h"

#define TT_NOTHING UINT32_MAX

typedef struct tt_server {
  double free;
  uint32_t last; /* its last user */
} tt_server;

typedef struct tt_running {
  const tt_sim *sim;
  double bytes, moved;    /* of the vector; as an equivalent number of bytes in the cache */
  double spilt, per_byte; /* `moved` as a line in `bytes` */
  tt_sim_timing *timing;
  tt_sim_event *heap;
  uint32_t waiting, ended;
  uint32_t cores; /* shared by the simulated ranks; 0: each rank has its own */
  int ports;      /* the most that a rank has */
  tt_server *o, *out, *in, *slice;
} tt_running;

/* ---- the heap (sim_heap.c): earliest first; then steps, departures, arrivals; then as in the schedule of the port's rank ---- */

void tt_heap_push(tt_running *s, double at, uint32_t event);
tt_sim_event tt_heap_pop(tt_running *s);

#endif
