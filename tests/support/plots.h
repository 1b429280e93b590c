/* plots.h - one rank makes another call than the others; all ranks must get an error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLOTS_H
#define PLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* One fault on a new communicator of 2 to 16 ranks; collective over `base`; the seed determines the fault.
 * Returns true if this rank's call failed with an error that names the faulty rank, another rank, and both
 * calls; otherwise prints the result. *ms: duration of the failed call. */
bool plot_play(tutti_comm *base, uint64_t seed, double *ms);

#endif
