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

/* Call members_begin after MPI_Init, and members_end when MPI_Finalize begins. members_begin returns false if MPI has failed,
 * or if out of memory. */
bool members_begin(int rank, int ranks);
void members_end(void);
/* Returns a new number. No other process receives the same number. */
uint64_t members_number(void);
/* Calls `done(ctx)` repeatedly until it returns a nonzero value. Used to wait for ranks that are late for the first
 * collective on a communicator. After 10 s, a warning is logged, and `tutti doctor` shows the wait. */
void members_await(int (*done)(void *), void *ctx);
/* Returns true if every member has passed true. All members must call this. */
bool members_agree(const members *m, bool yes);
/* Creates a communicator for the members. All members must call this. If any member fails, returns false on all members, and
 * the reason is reported. */
bool members_comm(const members *m, tutti_comm *world, tutti_comm **out);

#endif
