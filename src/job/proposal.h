/* proposal.h - the members of a new communicator, on which ranks agree.
 *
 * Idea       The deciding rank writes a proposal into its heap, and joiners are invited to it (joiners.c). The
 *            settings are those of the API.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROPOSAL_H
#define TT_PROPOSAL_H

#include "heap.h"

/* The contents of a decision, written by the deciding rank into its heap. Members are listed in this order: ranks
 * that continue, joiners, helpers. */
enum { TT_SETTINGS = 8448, TT_PROPOSAL_WHY = 240 };
typedef struct tt_member {
  int32_t index;  /* of the member's heap */
  int32_t joiner; /* 1: the member is a joiner */
  uint64_t ctrl;
} tt_member;
typedef struct tt_proposal {
  alignas(TT_PAIR) atomic_uint refs; /* ranks that may still read this proposal */
  int32_t status;                    /* TUTTI_OK, or an error, with the reason in `why` */
  char why[TT_PROPOSAL_WHY];
  uint32_t bytes;             /* size of `settings` */
  int32_t ranks;              /* number of members */
  uint64_t wisdom;            /* the leader's wisdom flags (comm_wisdom.h) */
  char settings[TT_SETTINGS]; /* of the new communicator */
  tt_member member[];
} tt_proposal;
/* Called when this rank will not read the proposal again. */
void tt_proposal_release(const tt_proposal *proposal);

/* ---- processes that join a running job (joiners.c) ---- */

/* Returns the number of joiners that are ready, run this version of tutti, and are not claimed by anyone but `by`. */
int tt_joiners_ready(const tt_segment *segment, uint64_t by);
/* Returns an upper bound of the number of joiners that can still be admitted, including those that have arrived
 * already. */
int tt_joiners_possible(const tt_segment *segment);
/* Claims up to `most` ready joiners and writes them to `members`. Returns their number. */
int tt_joiners_claim(const tt_segment *segment, uint64_t by, tt_member *members, int most);
/* Releases the joiners that `by` has claimed and that are not in the proposal. The proposal may be NULL. */
void tt_joiners_release(const tt_segment *segment, uint64_t by, const tt_proposal *proposal);
/* Invites all joiners that are in the proposal. */
void tt_joiners_admit(const tt_segment *segment, const tt_proposal *proposal);
/* Makes this process the owner of the heap. Returns false if the heap has an owner already: *owner is then that
 * owner's pid in its own namespace, and *self is true if it is this process. */
bool tt_heap_own(tt_head *head, int *owner, bool *self);
/* Called by a ready joiner. Sets *proposal to the proposal that admits it, or to NULL if it has not been invited yet.
 * Returns TUTTI_ERR_SYSTEM if it cannot be admitted. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Returns true if any rank that could admit the joiner is alive. */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* Returns a number for the version of this library and its layout, used in heap headers. It is never 0. */
uint32_t tt_version_number(void);

#endif
