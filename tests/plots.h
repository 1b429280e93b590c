/* plots.h - plots: one rank calls something else than the others, who all hear of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLOTS_H
#define PLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

/* One plot on a communicator of its own, of 2 to 16 ranks, collective over `base`; which one, the
 * seed says. True if this rank's call failed with a sentence that names the odd one, another rank,
 * and both calls; else it has said what it got. *ms: how long the call that failed took. */
bool plot_play(tutti_comm *base, uint64_t seed, double *ms);

#endif
