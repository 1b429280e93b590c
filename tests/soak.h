/* soak.h - a rank that calls anything, and checks what it gets.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOAK_H
#define SOAK_H

#include "cover.h"

enum { SOAK_RANKS = 16, SOAK_COMMS = 4, SOAK_WORDS = 900 };
typedef struct soak_flight soak_flight; /* vectors that are under way */

typedef struct soak {
  int first;                     /* this rank's number when it began */
  bool alone;                    /* base is all it has */
  bool calm;                     /* nobody dies: what would take a death for wrong is played, too */
  tutti_comm *base;              /* of all that live: where they agree */
  tutti_comm *parent;            /* the same ranks once more; or base, if alone */
  tutti_comm *comms[SOAK_COMMS]; /* which this rank is in: of all, of all backwards, of some */
  const cover_ops *ops;          /* of whoever has this number in a communicator */
  soak_flight *flight;
  char act[SOAK_WORDS]; /* what it does, */
  char why[SOAK_WORDS]; /* and how the last call failed */
  uint64_t calls, bytes, mismatches;
} soak;

/* The process's user-defined ops, SOAK_RANKS of each; NULL: it cannot be. */
const cover_ops *soak_make_ops(void);
bool soak_drop_ops(void);
/* What a rank needs besides, until it ends; false: there is no memory. */
bool soak_arm(soak *s);
void soak_disarm(soak *s);
/* What follows from the lot `u`, which all ranks of base have alike. TUTTI_OK, or how a call
 * failed, and s->why. */
tutti_status soak_act(soak *s, uint64_t u);
/* Keeps why a call failed; returns the status. */
tutti_status soak_note(soak *s, tutti_status status);
/* Tells what is wrong, and ends the process. */
_Noreturn void soak_wrong(const soak *s, const char *what, const char *more);

#endif
