/* fences.h - fences on other processors, so that a rank that publishes needs none.
 *
 * Idea       A rank that publishes a word and then checks whether a peer sleeps needs a full fence between the two.
 *            On cores that share no cache such a fence takes hundreds of nanoseconds, for every piece and every call,
 *            although peers hardly ever sleep. The cost can be moved to the rare side: before a sleeper checks for
 *            the last time, it makes every running thread of all ranks execute a fence (the system call membarrier).
 *            The same holds for a rank that ends a communicator and then checks which peers are still using its
 *            memory.
 * Invariant  Used only if every rank has joined; otherwise each publishing rank executes its own fence.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_FENCES_H
#define TT_FENCES_H

#include <stdbool.h>

/* Allows other processes to make the threads of this process execute a memory fence. Returns false if the system
 * does not support this, or if TUTTI_FENCES=own. */
bool tt_fences_join(void);
/* Makes every thread of every process that has called tt_fences_join execute a memory fence, and returns when all
 * have done so. If this process has not called tt_fences_join, executes only a fence in the calling thread. */
void tt_fence_everywhere(void);

#endif
