/* state.h - the shim's state for a communicator of the program.
 *
 * Idea       A communicator is inspected at the first collective on it. At the first collective that
 *            tutti can run, all its ranks take part, and it gets a tutti communicator, or a reason
 *            why it has none, the same on all ranks. Until then it costs nothing. Later collectives
 *            only look it up by its handle.
 * Invariant  The state is removed when the program frees the communicator, before the MPI can reuse
 *            the handle.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_STATE_H
#define SHIM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"
#include "report.h"
#include "contest.h"
#include "tutti.h"

typedef struct async async; /* async.h */
typedef struct lanes lanes; /* request_lanes.h */

typedef struct state {
  MPI_Comm mpi;
  _Atomic(tutti_comm *) comm; /* NULL if not served, or not yet; a thread of async.c may make it */
  _Atomic shim_why why;       /* the reason if not served, otherwise WHY_SERVED */
  int rank, ranks;
  size_t *counts;  /* room for two counts per rank */
  int *world;      /* its ranks in MPI_COMM_WORLD; part of the memory at `counts` */
  uint64_t number; /* agreed on before the tutti communicator is made */
  MPI_Request numbering;
  bool numbered; /* the agreement has started */
  char *scratch; /* for data that cannot stay in the program's buffers */
  size_t room;
  last_row last[SHIM_FUNCTIONS]; /* for the report */
  async *async;                  /* NULL until a non-blocking collective is started */
  lanes *lanes;                  /* NULL until a persistent collective is made */
  int form;                      /* form of the call: 0 blocking, 1 non-blocking, 2 persistent */
  turns turns;
} state;

/* Reads the settings; called after MPI_Init. Returns 0 if the running MPI is not the one this library is for. */
int state_begin(void);
/* Inspects the predefined communicators; called after state_begin. */
void state_world(void);
/* Removes all states, and releases the shim's MPI objects; called when MPI_Finalize begins. */
void state_end(void);
/* Removes the state of a communicator that is about to be freed. */
void state_remove(MPI_Comm comm);
/* Returns the state of a communicator, or NULL, with the reason in *why, if it cannot be served. */
state *state_look(MPI_Comm comm, shim_why *why);
/* Returns true if it has a tutti communicator. If it has none yet, this is collective over its ranks. If
 * false, s->why is the reason. */
bool state_serves(state *s);
/* Starts to agree on the number, in a collective that must not wait. Returns false if MPI has failed. */
bool state_number(state *s);
/* Like state_look, after waiting for the collectives in progress on it. If this thread acts as a state,
 * returns that state. */
state *state_find(MPI_Comm comm, shim_why *why);
/* Makes this thread act as a state while it performs a non-blocking collective; NULL ends this.
 * only_asks: the thread only checks whether the collective can be served. */
void state_act_as(state *s, bool only_asks);
bool state_only_asks(void);
/* Returns scratch memory of this size, or NULL if out of memory. */
char *state_scratch(state *s, size_t bytes);

#endif
