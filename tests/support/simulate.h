/* simulate.h - runs schedules on numbers, in a random order, independently of the prover: the result that a
 * mutant really computes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "prove.h"

typedef enum outcome { RIGHT, WRONG, STUCK, NONSENSE } outcome;

/* The semantics of wires (src/prove/SEMANTICS.md, "Events"). */
typedef enum delivery { WHOLE, PER_MESSAGE, BUFFERED, DELIVERIES } delivery;

/* Runs one order of events, chosen by `seed`: blocks move one by one, whenever the schedule allows it. RIGHT:
 * every result is the expected sum. */
outcome simulate(tt_sched *const *all, int ranks, delivery how, uint64_t seed);

/* A deep copy. */
tt_sched *clone_schedule(const tt_sched *s);

#endif
