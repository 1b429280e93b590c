/* members.h - tutti communicators of some ranks of MPI_COMM_WORLD.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_MEMBERS_H
#define SHIM_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "next.h"
#include "tutti.h"

typedef struct members {
  const int *list; /* ranks of the members in MPI_COMM_WORLD, in order */
  int n, mine;
  uint64_t number; /* unique among the groups in use at the same time */
} members;

/* Call begin after MPI_Init, and end when MPI_Finalize begins. begin returns false if MPI has failed, or lacks memory. */
bool members_begin(int rank, int ranks);
void members_end(void);
/* Returns a new number, different from those of all other processes. */
uint64_t members_number(void);
/* Waits until `done(ctx)`, which polls, returns a nonzero value. Used for ranks that are late for a communicator's first
 * collective: after 10 s the log has a warning, and `tutti doctor` shows the wait. */
void members_await(int (*done)(void *), void *ctx);
/* Returns true if all members pass true. Collective over the members. */
bool members_agree(const members *m, bool yes);
/* Makes a communicator of the members. Collective. Returns false on all members if any of them failed; the reason
 * is reported. */
bool members_comm(const members *m, tutti_comm *world, tutti_comm **out);

#endif
