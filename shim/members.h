/* members.h - tutti communicators of some ranks of MPI_COMM_WORLD.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_MEMBERS_H
#define SHIM_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "next.h"
#include "tutti.h"

typedef struct members {
  const int *list; /* their ranks in MPI_COMM_WORLD, in order */
  int n, mine;
  uint64_t number; /* theirs alone, among those that are in use at the same time */
} members;

/* After MPI_Init, and when MPI_Finalize begins. False: MPI has failed, or lacks memory. */
bool members_begin(int rank, int ranks);
void members_end(void);
/* A new number; each process has others. */
uint64_t members_number(void);
/* Wait until `done(ctx)`, which polls, returns other than 0: for ranks that are late for a communicator's first collective. After 10 s
 * the log warns, and `tutti doctor` shows it. */
void members_await(int (*done)(void *), void *ctx);
/* Do all of them say yes? Collective over the members. */
bool members_agree(const members *m, bool yes);
/* Make a communicator of them. Collective. False, on all members: some member could not; the reason is reported. */
bool members_comm(const members *m, tutti_comm *world, tutti_comm **out);

#endif
