/* comm_wisdom.h - the wisdom of a communicator: the entries of its placement.
 *
 * Invariant  between the same two calls, a communicator's list is the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_WISDOM_H
#define TT_COMM_WISDOM_H

#include "comm_view.h"
#include "process_wisdom.h"

/* Adopts the first rank's wisdom on a new communicator; `said`: its announcement. Collective. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said);
/* The same for all ranks of one process, called by one thread. */
tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n);
/* The root's text comes to the others, who free it; length 0: there is none. Collective; a failure breaks the communicator. */
tutti_status tt_text_share(tutti_comm *comm, const char *who, int root, tt_text *text);

#endif
