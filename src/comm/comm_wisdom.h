/* comm_wisdom.h - the wisdom of a communicator: the entries for its placement.
 *
 * Invariant  Between the same two calls, a communicator has the same list of entries on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_WISDOM_H
#define TT_COMM_WISDOM_H

#include "comm_view.h"
#include "process_wisdom.h"

/* Copies the first rank's wisdom to all ranks of a new communicator. said: the first rank's announcement.
 * Collective. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said);
/* Does the same as tt_wisdom_share for all ranks of one process. Called by one thread. */
tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n);
/* Sends the text of rank `root` to all other ranks, which free it; its length is 0 if it is empty or missing.
 * Collective; a failure breaks the communicator. */
tutti_status tt_text_share(tutti_comm *comm, const char *who, int root, tt_text *text);

#endif
