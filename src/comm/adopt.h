/* adopt.h - communicators that succeed another one, and processes that join.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ADOPT_H
#define TT_ADOPT_H

#include "agree.h"
#include "build_comm.h"

/* What a new communicator inherits from the old one; the same on all its ranks. */
typedef struct tt_heritage {
  tt_profile profile;
  tt_settings settings;
  tt_load load;
  int32_t helpers;
  uint64_t trace, job; /* numbers of its trace; 0: none */
} tt_heritage;

/* ---- the new communicator (adopt.c) ---- */

/* Writes what is inherited from `old` into a proposal; its ranks are complete. */
void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *proposal);
/* Builds the communicator for this rank, number `member` of the proposal; old: the communicator it
 * was in, or NULL. If it fails, the other ranks are informed. */
tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *proposal, int member,
                             const tutti_comm *old, tutti_comm **out);

/* ---- a process that joins (joiner.c) ---- */

/* Waits until it is admitted; *out: its communicator. */
tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out);

#endif
