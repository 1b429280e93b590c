/* joiners.h - processes that join a running job.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_JOINERS_H
#define TT_JOINERS_H

#include "proposal.h"

/* Number of joiners that are ready, of our version, and not claimed by others than `by`. */
int tt_joiners_ready(const tt_segment *segment, uint64_t by);
/* Upper bound of the joiners that can still come, including those already here. */
int tt_joiners_possible(const tt_segment *segment);
/* Claim up to `most` ready joiners and write them to `members`; returns their number. */
int tt_joiners_claim(const tt_segment *segment, uint64_t by, tt_member *members, int most);
/* Release the joiners that `by` has claimed and that are not in the proposal. */
void tt_joiners_release(const tt_segment *segment, uint64_t by, const tt_proposal *proposal);
/* Invite all joiners in the proposal. */
void tt_joiners_admit(const tt_segment *segment, const tt_proposal *proposal);
/* Called by a joiner before it is ready: take this heap; false if another process owns it. */
bool tt_heap_own(tt_head *head, int *owner);
/* Called by a ready joiner. NULL: not yet; TUTTI_ERR_SYSTEM: it cannot be admitted. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Is any rank alive that could admit the joiner? */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* Of this library, for heap headers. */
uint32_t tt_version_number(void);

#endif
