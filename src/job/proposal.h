/* proposal.h - the members of a communicator that is to be made, as ranks agree on them.
 *
 * Idea       The rank that decides writes a proposal into its heap; joiners are invited to it
 *            (joiners.h). The settings are the API's.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROPOSAL_H
#define TT_PROPOSAL_H

#include "heap.h"

/* The decision's contents, written by the decider in its heap. Order of members: ranks that
 * continue, joiners, then helpers, which stay last. */
enum { TT_SETTINGS = 8192, TT_PROPOSAL_WHY = 240 };
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

#endif
