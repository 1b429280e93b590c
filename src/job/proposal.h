/* proposal.h - the members of a communicator that is to be made, as ranks agree on them.
 *
 * Idea       The rank that decides writes a proposal into its heap; joiners are invited to it
 *            (joiners.c). The settings are the API's.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROPOSAL_H
#define TT_PROPOSAL_H

#include "heap.h"

/* The decision's contents, written by the decider in its heap. Order of members: ranks that
 * continue, joiners, then helpers, which stay last. */
enum { TT_SETTINGS = 8448, TT_PROPOSAL_WHY = 240 };
typedef struct tt_member {
  int32_t index;  /* of its heap */
  int32_t joiner; /* 1: it is a joiner */
  uint64_t ctrl;
} tt_member;
typedef struct tt_proposal {
  alignas(TT_PAIR) atomic_uint refs; /* ranks that may still read this */
  int32_t status;                    /* TUTTI_OK; else no result, see `why` */
  char why[TT_PROPOSAL_WHY];
  uint32_t bytes;             /* of settings */
  int32_t ranks;              /* members */
  uint64_t wisdom;            /* the leader's wisdom flags (comm_wisdom.h) */
  char settings[TT_SETTINGS]; /* of the new communicator */
  tt_member member[];
} tt_proposal;
/* The caller will not read the proposal again. */
void tt_proposal_release(const tt_proposal *proposal);

/* ---- processes that join a running job (joiners.c) ---- */

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
/* Take this heap; false if it has an owner already: its pid there, and whether it is this process. */
bool tt_heap_own(tt_head *head, int *owner, bool *self);
/* Called by a ready joiner. NULL: not yet; TUTTI_ERR_SYSTEM: it cannot be admitted. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Is any rank alive that could admit the joiner? */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* Of this library, for heap headers. */
uint32_t tt_version_number(void);

#endif
