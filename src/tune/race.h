/* race.h - plans that run against each other (race.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_RACE_H
#define TT_RACE_H

#include "call_plan.h"

enum { TT_RACE_MOST = 6, TT_RACE_ROUNDS = 7 };
#define TT_RACE_SLOW 0.02 /* s: calls this long or longer get fewer plans and rounds */

typedef struct tt_runner {
  const tt_plan_spec *spec; /* valid as in tt_choice */
  int slices;
  double price;
  tt_plan plan;
  bool out; /* clearly not the fastest */
  int rounds;
  double times[TT_RACE_ROUNDS], median, noise; /* s */
} tt_runner;

typedef struct tt_race {
  tutti_comm *comm;
  const tt_call *asked;
  tt_call call; /* the asked call, on scratch memory */
  tt_problem problem;
  tt_sched outline;           /* of the asked call */
  tt_runner at[TT_RACE_MOST]; /* the first is the plan of least predicted time */
  int n, calls;               /* calls: in each round */
  char *memory;
  size_t writes, reads; /* bytes of the vectors */
  size_t from, first;   /* their offsets within the vector of all blocks, bytes */
  bool in_place;        /* as the caller's vectors */
  double touch;         /* s, for writing and reading them */
  bool exportable;      /* peers can access the memory directly, as they can the caller's */
  bool real;            /* the vector is the caller's numbers, else zeros */
  bool starved;         /* a rank lacked memory */
} tt_race;

/* No plans yet. */
void tt_race_begin(tt_race *s, tutti_comm *comm, const tt_call *asked);
/* Adds a plan, unless it is there already. */
tutti_status tt_race_add(tt_race *s, const tt_choice *choice, double price);
/* Runs the plans, if they are several and all ranks have memory for it; *won: -1, or which was the fastest. mine: whether
 * this rank has found the plans; reserved: it has memory for the result. All ranks get an error if one has not found
 * them. *may_record: all have memory for the result. */
tutti_status tt_race_run(tt_race *s, tutti_status mine, bool reserved, int *won, bool *may_record);

#endif
