/* simulate.h - runs schedules on numbers, in a random order, independently of the prover. It shows
 * the result that a mutant actually computes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "prove.h"

typedef enum outcome { RIGHT, WRONG, STUCK, NONSENSE } outcome;

/* The semantics of wires (src/prove/SEMANTICS.md, "Events"). */
typedef enum delivery { WHOLE, PER_MESSAGE, BUFFERED, DELIVERIES } delivery;

/* Runs one order of events, chosen by `seed`. Blocks move one by one, whenever the schedule allows it. The outcome is
 * RIGHT if every result is the expected sum. */
outcome simulate(tt_sched *const *all, int ranks, delivery how, uint64_t seed);

/* Returns a deep copy. */
tt_sched *clone_schedule(const tt_sched *s);

#endif
