/* state.h - the shim's state of a communicator of the program's.
 *
 * Idea       A communicator is inspected once, when it is made: it gets a tutti communicator, or a
 *            reason why not, the same on all its ranks. A collective only looks it up by its
 *            handle.
 * Invariant  The state is removed when the program frees the communicator, before the MPI may reuse
 *            the handle.
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
  tutti_comm *comm; /* NULL: not served, see `why` */
  shim_why why;     /* the reason if not served */
  int rank, ranks;
  size_t *counts; /* capacity for one per rank */
  char *scratch;  /* for data that cannot stay in the program's buffers */
  size_t room;
  last_row last[SHIM_FUNCTIONS]; /* for the report */
  async *async;                  /* NULL until a non-blocking collective is started */
  int form;                      /* form of the call: 0 blocking, 1 non-blocking, 2 persistent */
} state;

/* Called after MPI_Init: read the settings. 0: it is another MPI than this library is for. */
int state_begin(void);
/* Then inspect the predefined communicators. */
void state_world(void);
/* Called when MPI_Finalize begins: remove all states, and release the shim's MPI objects. */
void state_end(void);
/* A communicator was made, or none for this rank (MPI_COMM_NULL). Either from the ranks of `old`,
 * all of which call this, too; or, if `old` is MPI_COMM_NULL, the call is collective over `comm`
 * itself. */
void state_add(MPI_Comm old, MPI_Comm comm);
/* It is about to be freed. */
void state_remove(MPI_Comm comm);
/* NULL and *why if the communicator is not served. */
state *state_look(MPI_Comm comm, shim_why *why);
/* The same, after waiting for the collectives in progress on it; or the state that this thread acts
 * as. */
state *state_find(MPI_Comm comm, shim_why *why);
/* From now on this thread performs a non-blocking collective (NULL: no more); only_asks: it only
 * checks whether that can be served. */
void state_act_as(state *s, bool only_asks);
bool state_only_asks(void);
/* Scratch of that many bytes; NULL: out of memory. */
char *state_scratch(state *s, size_t bytes);

#endif
