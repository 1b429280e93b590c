/* rival.h - another plan for the same calls, which gives the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_RIVAL_H
#define TT_RIVAL_H

#include "call_plan.h"
#include "learn.h"

/* The rival of a plan, for vectors of one size class. There is one class for each power of two. */
typedef struct tt_rival {
  struct tt_rival *next;
  const tt_prepared *usual; /* the plan whose rival it is; with the next three fields: the key */
  unsigned needs;
  int weight, size;
  bool sought, forgotten;
  const tt_program *program; /* NULL: the plan has no rival */
  uint16_t pair;             /* a hash of both plans' names, not 0 */
  bool second;               /* its name is the second of the two, so it is way 1 */
} tt_rival;

/* What is known about calls with vectors of one size class. */
typedef struct tt_rival_size {
  uint32_t calls; /* number of calls before the rival was searched for */
  /* on rank 0 */
  tt_learner learner;
  uint16_t pair;        /* the pair that it learns about; 0: none yet */
  uint8_t way;          /* way of the last such call; 2: it used another pair */
  uint64_t since, took; /* in ticks: start of that call; its duration; 0: not known */
  uint64_t seq;         /* number of that call */
} tt_rival_size;

/* Finds or creates the entry for the rival of a plan. Returns NULL if calls of the plan cannot have a rival. All ranks get the
 * same result unless memory runs out. The communicator owns the entry and keeps it until tt_rivals_free. */
tt_rival *tt_rival_for(tutti_comm *comm, const tt_call *call, const tt_choice *choice,
                       const tt_plan *plan);
/* Called when an operation that uses the plan starts with number flight->seq. Returns true if it must run the rival. */
bool tt_rival_runs(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* Called at the end of the public call that started the last operation with this plan. */
void tt_rival_over(tutti_comm *comm, const tt_plan *plan);
/* Appends to `t` which of the two plans was found to be faster. */
void tt_rival_say(const tutti_comm *comm, const tt_problem *problem, tt_text *t);
void tt_rivals_forget(tutti_comm *comm); /* plans are chosen again */
void tt_rivals_free(tutti_comm *comm);

#endif
