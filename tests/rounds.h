/* rounds.h - a scene in which one rank fails the others, again and again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* Collective. True if this rank heard what it should; *ms: after how long. */
typedef bool round_fn(tutti_comm *base, uint64_t seed, double *ms);

/* So many rounds with a seed of their own each, drawn unless `seed` says it; rank 0 prints the seed,
 * each round's time, and one line of TAP, "N of M WHAT". How many failed on some rank. */
unsigned rounds_play(tutti_comm *base, int rounds, const char *seed, const char *what,
                     round_fn *play);

#endif
