/* rounds.h - repeats a scene with one faulty rank.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* Collective. Returns true if this rank got the right error. *ms is the time until then. */
typedef bool round_fn(tutti_comm *base, uint64_t seed, double *ms);

/* Plays `rounds` rounds. Each has a different seed, which is random unless `seed` is given. Rank 0 prints the seed,
 * each round's time, and one line of TAP, "N of M WHAT". Returns the number of rounds that failed on at least one
 * rank. */
unsigned rounds_play(tutti_comm *base, int rounds, const char *seed, const char *what,
                     round_fn *play);

#endif
