/* proposal.h - the members of a new communicator, on which ranks agree.
 *
 * Idea       The deciding rank writes a proposal into its heap, and joiners are invited to it (joiners.c). The
 *            settings are those of the API.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROPOSAL_H
#define TT_PROPOSAL_H

#include "heap.h"

/* The contents of a decision. The deciding rank writes them into its heap. Members are listed in this order: ranks
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
/* Drops this rank's reference to the proposal. Called when the rank will not read the proposal again. */
void tt_proposal_release(const tt_proposal *proposal);

/* ---- processes that join a running job (joiners.c) ---- */

/* Returns the number of joiners that are ready, run this version of tutti, and are claimed by no communicator but `by`. */
int tt_joiners_ready(const tt_segment *segment, uint64_t by);
/* Returns an upper bound for the number of joiners that can still be admitted. Joiners that have already arrived are included. */
int tt_joiners_possible(const tt_segment *segment);
/* Claims up to `most` ready joiners for the communicator `by` and writes them to `members`. Returns their number. */
int tt_joiners_claim(const tt_segment *segment, uint64_t by, tt_member *members, int most);
/* Releases all joiners that were claimed for the communicator `by` and are not in the proposal. The proposal may be NULL. */
void tt_joiners_release(const tt_segment *segment, uint64_t by, const tt_proposal *proposal);
/* Invites all joiners that are in the proposal. */
void tt_joiners_admit(const tt_segment *segment, const tt_proposal *proposal);
/* Makes this process the owner of the heap. If the heap already has an owner, returns false and sets *owner to the
 * owner's pid in the owner's PID namespace. *self then tells whether the owner is this process. */
bool tt_heap_own(tt_head *head, int *owner, bool *self);
/* Called by a joiner that is ready. Sets *proposal to the proposal that admits the joiner, or to NULL if the joiner
 * has not been invited yet. Returns TUTTI_ERR_SYSTEM if the joiner cannot be admitted. */
tutti_status tt_joiner_admitted(const tt_segment *segment, int index, const tt_proposal **proposal);
/* Returns true if any rank that could admit the joiner may still be alive. */
bool tt_joiner_has_host(const tt_segment *segment, int index);
/* Returns a nonzero number that identifies the version of this library and of its memory layout, for heap headers. */
uint32_t tt_version_number(void);

#endif
