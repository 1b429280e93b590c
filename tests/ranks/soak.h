/* soak.h - a rank that makes random calls and checks the results.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOAK_H
#define SOAK_H

#include "cover.h"

enum { SOAK_RANKS = 32, SOAK_COMMS = 4, SOAK_WORDS = 900 };
typedef struct soak_flight soak_flight; /* vectors of messages and exact sums */

typedef struct soak {
  int first;                     /* this rank's number in the first communicator */
  bool alone;                    /* base is its only communicator */
  bool calm;                     /* no rank dies; plays also scenes that fail if a rank dies */
  tutti_comm *base;              /* all live ranks: used to agree */
  tutti_comm *parent;            /* the same ranks again; or base, if alone */
  tutti_comm *comms[SOAK_COMMS]; /* communicators of this rank: all ranks, all reversed, some */
  const cover_ops *ops;          /* indexed by the rank's number in a communicator */
  soak_flight *flight;
  char act[SOAK_WORDS]; /* the current action, */
  char why[SOAK_WORDS]; /* and the error of the last failed call */
  uint64_t calls, bytes, mismatches;
} soak;

/* The process's user-defined ops, SOAK_RANKS of each; NULL: failed. */
const cover_ops *soak_make_ops(void);
bool soak_drop_ops(void);
/* Allocates a rank's other resources, kept until it ends; false: out of memory. */
bool soak_arm(soak *s);
void soak_disarm(soak *s);
/* Runs the action that the random number `u` selects; `u` is the same on all ranks of base. Returns
 * TUTTI_OK, or the status of a failed call, with s->why. */
tutti_status soak_act(soak *s, uint64_t u);
/* Records why a call failed; returns the status. */
tutti_status soak_note(soak *s, tutti_status status);
/* Reports an error and ends the process. */
_Noreturn void soak_wrong(const soak *s, const char *what, const char *more);

#endif
