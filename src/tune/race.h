/* race.h - runs plans against each other (race.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_RACE_H
#define TT_RACE_H

#include "call_plan.h"

enum { TT_RACE_MOST = 6, TT_RACE_ROUNDS = 7 };
#define TT_RACE_SLOW 0.02 /* in s; calls that take longer get fewer plans and rounds */

typedef struct tt_runner {
  const tt_plan_spec *spec; /* valid as in tt_choice */
  int slices;
  double price;
  tt_plan plan;
  bool out; /* dropped out as clearly not the fastest */
  int rounds;
  double times[TT_RACE_ROUNDS], median, noise; /* in s */
} tt_runner;

typedef struct tt_race {
  tutti_comm *comm;
  const tt_call *asked;
  tt_call call; /* the call to measure, on scratch memory */
  tt_problem problem;
  tt_sched outline;           /* of the call to measure */
  tt_runner at[TT_RACE_MOST]; /* the first plan is the one with the least predicted time */
  int n, calls;               /* calls: number of calls in each round */
  char *memory;
  size_t writes, reads; /* size of the vectors, in bytes */
  size_t from, first;   /* offsets of the vectors within the vector of all blocks, in bytes */
  bool in_place;        /* the caller's vectors are in place */
  double touch;         /* time to write and read the vectors, in s */
  bool exportable;      /* peers can access the memory directly, as they can the caller's */
  bool real;            /* the vector contains the caller's numbers, not zeros */
  bool starved;         /* some rank was out of memory */
} tt_race;

/* Initializes a race without plans. */
void tt_race_begin(tt_race *s, tutti_comm *comm, const tt_call *asked);
/* Adds a plan to the race, unless it already takes part. */
tutti_status tt_race_add(tt_race *s, const tt_choice *choice, double price);
/* Runs the race if it has several plans and all ranks have enough memory. Sets *won to the index of the fastest plan, or to
 * -1. `mine` is this rank's status from finding the plans. If finding them failed on one rank, all ranks get an error. Sets
 * *may_record if `reserved` is true on all ranks, which means that they have memory for the result. */
tutti_status tt_race_run(tt_race *s, tutti_status mine, bool reserved, int *won, bool *may_record);

#endif
