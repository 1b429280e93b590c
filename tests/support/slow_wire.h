/* slow_wire.h - a wire on which other ranks may run after each read and each write of a rank (interleave.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SLOW_WIRE_H
#define SLOW_WIRE_H

#include "wire.h"

/* wire_slow replaces the functions of a shared-memory wire. wire_free restores them; call it before the wire is
 * closed. */
void wire_slow(tt_wire *w);
void wire_free(tt_wire *w);

extern bool (*wire_maps)(int rank, const void *bytes); /* true if peers can map its vector */
extern bool wire_time_wakes; /* the passage of time ends a sleep; otherwise only a peer does */
/* Returns true if a peer has woken the rank since it fell asleep. */
bool wire_awake(int rank);
/* Returns true if a rank is counted as asleep, on this wire or in the whole job. */
bool wire_counts_sleepers(const tt_wire *w);

#endif
