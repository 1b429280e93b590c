/* state.h - what the shim knows of a communicator of the program's.
 *
 * Idea       a communicator is looked at when it is made, and never again: it has a
 *            communicator of tutti's, or a reason why not, the same on all its ranks. A
 *            collective only looks it up by its handle.
 * Invariant  it goes when the program frees the communicator, before the MPI may use the
 *            handle again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_STATE_H
#define SHIM_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "next.h"
#include "report.h"
#include "tutti.h"

typedef struct async async; /* async.h */

typedef struct state {
  MPI_Comm mpi;
  tutti_comm *comm; /* NULL: */
  shim_why why;     /* ... this is why */
  int rank, ranks;
  size_t *counts; /* room for one per rank */
  char *scratch;  /* for what cannot stay where the program has it */
  size_t room;
  last_row last[SHIM_FUNCTIONS]; /* for the report */
  async *async;                  /* NULL until a non-blocking collective was begun */
  int form;                      /* of what is called: 0 blocking, 1 non-blocking, 2 persistent */
} state;

/* MPI has been initialized: the settings are read, MPI_COMM_WORLD is looked at. 0: it is
 * another MPI than this library is for. */
int state_begin(void);
/* MPI is about to end: all go, and so does what the shim holds of MPI. */
void state_end(void);
/* A communicator was made, or none for this rank (MPI_COMM_NULL): of the ranks of `old`, all of
 * which call this, too; or, if that is MPI_COMM_NULL, collective over itself. */
void state_add(MPI_Comm old, MPI_Comm comm);
/* It is about to be freed. */
void state_remove(MPI_Comm comm);
/* NULL and *why if the communicator is not served. */
state *state_look(MPI_Comm comm, shim_why *why);
/* The same, and what was begun on it before is over; or the state that this thread acts as. */
state *state_find(MPI_Comm comm, shim_why *why);
/* From now on this thread is that of a non-blocking collective, or (NULL) not; it may only
 * ask whether that can be served. */
void state_act_as(state *s, bool only_asks);
bool state_only_asks(void);
/* Scratch of so many bytes; NULL: out of memory. */
char *state_scratch(state *s, size_t bytes);

#endif
