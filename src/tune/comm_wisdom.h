/* comm_wisdom.h - inside the API: the wisdom of a communicator, and of the process.
 *
 * Idea       the process keeps all entries that it has read or measured. A communicator has those
 *            that fit its placement: the first rank picks and shares them.
 * Invariant  between the same two calls, a communicator's list is the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_WISDOM_H
#define TT_COMM_WISDOM_H

#include "comm_view.h"

/* Ranks per core, as tt_heap_ranks_per_core finds it for processes that `tutti run` starts here. */
double tt_here_ranks_per_core(int ranks);

/* ---- making a communicator (comm_wisdom.c) ---- */

/* What the first rank sends to the others before a communicator exists. */
enum { TT_WISDOM_MEASURES = 1, TT_WISDOM_EXISTS = 2 };
/* This process's flags; reads TUTTI_WISDOM the first time. */
uint32_t tt_wisdom_announce(void);
/* Adopts the first rank's wisdom on a new communicator; `said`: its announcement. Collective. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said);
/* The same for all ranks of one process, called by one thread. */
tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n);

/* ---- adding entries (comm_wisdom.c) ---- */

/* Adds an entry to the communicator's wisdom on all ranks, and on rank 0 to the process's. */
tutti_status tt_wisdom_learn(tutti_comm *comm, tt_wisdom_entry *entry);
/* At the end: writes the measured entries to the file. */
void tt_wisdom_end(void);

/* ---- measuring (measure.c) ---- */

/* Why such a call is not measured; NULL: it can be. The same on all ranks. */
const char *tt_measure_refusal(const tutti_comm *comm, const tt_call *call, uint64_t bytes);
/* Measures the plans of a checked call on scratch memory; measured (may be NULL): the result. */
tutti_status tt_measure_plans(tutti_comm *comm, const tt_call *call, tutti_measured *measured);
/* Before a blocking call is planned: measures what wisdom does not cover. The comm is entered. */
tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call);

#endif
