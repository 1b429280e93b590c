/* request_lanes.h - tutti communicators for persistent collectives.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_REQUEST_LANES_H
#define SHIM_REQUEST_LANES_H

#include "state.h"

typedef struct lane {
  lanes *of; /* NULL: the communicator belongs to no list of lanes */
  int index;
  tutti_comm *comm;
} lane;

/* Collective over a communicator that tutti serves: a lane that no other request uses, on any rank. False, on all ranks: there is
 * none. */
bool lane_take(state *s, lane *l);
/* Local: the next request may have it. */
void lane_give(lane *l);
/* The communicator is being freed; its lanes stay as long as requests use them. */
void lanes_leave(lanes *all);

#endif
