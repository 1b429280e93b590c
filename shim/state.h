/* state.h - the shim's state of a communicator of the program.
 *
 * Idea       A communicator is inspected at the first collective on it. At the first collective that
 *            tutti can run, all its ranks take part, and it gets a tutti communicator, or a reason
 *            why not, the same on all ranks. Until then it costs nothing. Later collectives only look
 *            it up by its handle.
 * Invariant  The state is removed when the program frees the communicator, before the MPI may reuse
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
  _Atomic(tutti_comm *) comm; /* NULL: not served, or not yet. A thread of async.c may make it */
  _Atomic shim_why why;       /* the reason if not served, else WHY_SERVED */
  int rank, ranks;
  size_t *counts;  /* capacity for two per rank */
  int *world;      /* its ranks in MPI_COMM_WORLD; a part of the memory at `counts` */
  uint64_t number; /* agreed before the tutti communicator is made */
  MPI_Request numbering;
  bool numbered; /* that has begun */
  char *scratch; /* for data that cannot stay in the program's buffers */
  size_t room;
  last_row last[SHIM_FUNCTIONS]; /* for the report */
  async *async;                  /* NULL until a non-blocking collective is started */
  lanes *lanes;                  /* NULL until a persistent one is made */
  int form;                      /* form of the call: 0 blocking, 1 non-blocking, 2 persistent */
  turns turns;
} state;

/* Called after MPI_Init: read the settings. 0: it is another MPI than this library is for. */
int state_begin(void);
/* Then inspect the predefined communicators. */
void state_world(void);
/* Called when MPI_Finalize begins: remove all states, and release the shim's MPI objects. */
void state_end(void);
/* The communicator is about to be freed. */
void state_remove(MPI_Comm comm);
/* NULL and *why if the communicator cannot be served. */
state *state_look(MPI_Comm comm, shim_why *why);
/* Has it a tutti communicator? Collective where it has none yet, over its ranks. If false, s->why says why. */
bool state_serves(state *s);
/* Begin to agree on that, in a collective that must not wait. False: MPI has failed. */
bool state_number(state *s);
/* As state_look, after waiting for the collectives in progress on it; or the state that this thread acts
 * as. */
state *state_find(MPI_Comm comm, shim_why *why);
/* From now on this thread performs a non-blocking collective (NULL: no more); only_asks: it only
 * checks whether that can be served. */
void state_act_as(state *s, bool only_asks);
bool state_only_asks(void);
/* Scratch of that many bytes; NULL: out of memory. */
char *state_scratch(state *s, size_t bytes);

#endif
