/* fences.h - fences on other processors, so that a rank that publishes needs none.
 *
 * Idea       A rank that publishes a word and then looks whether a peer sleeps needs a full fence
 *            between the two: on cores that share no cache that is hundreds of nanoseconds, for
 *            every piece and every call, though hardly ever does a peer sleep. The rare side can
 *            pay for both: before a sleeper looks for the last time, it makes every running thread
 *            of the ranks pass a fence (the system call membarrier). The same holds for a rank that
 *            ends a communicator and then looks which peers are inside its memory.
 * Invariant  Only where every rank has joined; else each publishing rank fences for itself.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_FENCES_H
#define TT_FENCES_H

#include <stdbool.h>

/* Let other processes fence this one's threads. False: the system does not offer it, or
 * TUTTI_FENCES=own. */
bool tt_fences_join(void);
/* After this call, every thread of every process that has joined has passed a fence. A plain fence
 * if this process has not joined. */
void tt_fence_everywhere(void);

#endif
