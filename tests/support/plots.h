/* plots.h - one rank makes a different call from the others, and all ranks must get an error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLOTS_H
#define PLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* Injects one fault on a new communicator of 2 to 16 ranks. Collective over `base`. The seed determines the fault.
 * Returns true if this rank's call failed with an error that names the faulty rank, another rank, and both calls.
 * Otherwise prints the result. *ms is the duration of the failed call. */
bool plot_play(tutti_comm *base, uint64_t seed, double *ms);

#endif
