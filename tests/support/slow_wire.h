/* slow_wire.h - a wire on which other ranks go on behind each look and each act of a rank (interleave.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SLOW_WIRE_H
#define SLOW_WIRE_H

#include "wire.h"

/* Makes a wire of shared memory slow; and as it was, before it is closed. */
void wire_slow(tt_wire *w);
void wire_free(tt_wire *w);

extern bool (*wire_maps)(int rank, const void *bytes); /* can peers map the vector of this rank? */
extern bool wire_time_wakes; /* time ends a sleep; else only a peer does */
/* Has a peer woken the rank, since it fell asleep? */
bool wire_awake(int rank);
/* Is a rank said to sleep, this wire's or any of the job? */
bool wire_counts_sleepers(const tt_wire *w);

#endif
