/* exit_status.h - whether a rank's process is alive, and how it ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_EXIT_STATUS_H
#define TT_EXIT_STATUS_H

#include "heap.h"

/* Called by the launcher: the rank has ended, with this waitpid status. */
void tt_exit_publish(tt_head *head, int status);
/* False if the process is known to be gone. */
bool tt_rank_alive(const tt_head *head);
bool tt_process_alive(int pid);
/* How a dead rank ended, as the rest of a sentence: ", killed by SIGKILL", or "" if unknown. Waits
 * briefly for the launcher to publish the status. */
void tt_exit_words(const tt_head *head, char *words, size_t size);

#endif
