/* comm_wisdom.h - the wisdom of a communicator: the entries for its placement.
 *
 * Invariant  Between the same two calls, a communicator has the same list of entries on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_WISDOM_H
#define TT_COMM_WISDOM_H

#include "comm_view.h"
#include "process_wisdom.h"

/* Returns what this process announces to the other ranks before a communicator exists: the flags of its wisdom, and from bit
 * TT_ANNOUNCED_EXTS on the extensions that it wants. */
enum { TT_ANNOUNCED_EXTS = 8 };
uint32_t tt_announce(void);
/* Copies the wisdom of rank 0 to all ranks of a new communicator. said: what rank 0 has announced about its wisdom.
 * Collective. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said);
/* Copies the wisdom to all ranks of a communicator whose ranks are threads of one process. Called by one thread on
 * behalf of all of them. */
tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n);
/* Sends a text from rank `root` to all other ranks, which must free it. An empty or missing text has length 0
 * afterwards. Collective. A failure breaks the communicator. */
tutti_status tt_text_share(tutti_comm *comm, const char *who, int root, tt_text *text);

#endif
