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

/* Reads the shim's settings; called after MPI_Init. Returns 0 if this library was made for another MPI than the running
 * one. */
int state_begin(void);
/* Checks whether tutti can serve the predefined communicators; called after state_begin. */
void state_world(void);
/* Removes the states of all communicators and frees the shim's MPI objects. Called when MPI_Finalize begins. */
void state_end(void);
/* Removes the state of a communicator. Called when the program is about to free the communicator. */
void state_remove(MPI_Comm comm);
/* Returns the state of a communicator. If tutti cannot serve the communicator, returns NULL and stores the reason in *why. */
state *state_look(MPI_Comm comm, shim_why *why);
/* Returns true if tutti has a communicator for this state. If it does not exist yet, creates it, and all ranks must call this. If
 * this returns false, s->why has the reason. */
bool state_serves(state *s);
/* Starts to agree on the number of a communicator, during a collective that must not wait. Returns false if MPI has
 * failed. */
bool state_number(state *s);
/* Returns the state of a communicator, after waiting for the collectives in progress on the communicator. Returns NULL with
 * the reason in *why if tutti cannot serve it. In a thread that has called state_act_as, returns the state given there. */
state *state_find(MPI_Comm comm, shim_why *why);
/* Makes state_find return `s` in this thread, while the thread performs a nonblocking collective. NULL ends this. only_asks:
 * the thread only checks whether tutti can serve the collective. */
void state_act_as(state *s, bool only_asks);
bool state_only_asks(void);
/* Returns scratch memory of at least `bytes` bytes, which belongs to the state, or NULL if out of memory. */
char *state_scratch(state *s, size_t bytes);

#endif
