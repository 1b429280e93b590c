/* request_lanes.h - tutti communicators for persistent collectives.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_REQUEST_LANES_H
#define SHIM_REQUEST_LANES_H

#include "state.h"

typedef struct lane {
  lanes *of; /* NULL if the communicator is not in a list of lanes */
  int index;
  tutti_comm *comm;
} lane;

/* Reserves a lane that no other request uses on any rank. All ranks of the communicator, which tutti must serve, call this.
 * On failure, returns false on all ranks. */
bool lane_take(state *s, lane *l);
/* Makes the lane available to the next request. Local. */
void lane_give(lane *l);
/* Called when a communicator is freed. Its lanes are not freed while requests use them. */
void lanes_leave(lanes *all);

#endif
