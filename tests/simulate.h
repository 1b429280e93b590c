/* simulate.h - runs schedules on numbers, in a random order, with no help from
 * the prover's reasoning: what a mutant really computes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "prove.h"

typedef enum outcome { RIGHT, WRONG, STUCK, NONSENSE } outcome;

/* What wires do (src/prove/SEMANTICS.md, "Events"). */
typedef enum delivery { WHOLE, PER_MESSAGE, BUFFERED, DELIVERIES } delivery;

/* One order of events, chosen by `seed`: blocks move one by one, at any time that
 * the schedule leaves open. RIGHT if every result is the sum it should be. */
outcome simulate(tt_sched *const *all, int ranks, delivery how, uint64_t seed);

/* A deep copy. */
tt_sched *clone_schedule(const tt_sched *s);

#endif
