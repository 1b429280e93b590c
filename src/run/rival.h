/* rival.h - another plan for the same calls, with the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_RIVAL_H
#define TT_RIVAL_H

#include "call_plan.h"
#include "learn.h"

/* The rival of a plan, for vectors of one size: one for each power of two. */
typedef struct tt_rival {
  struct tt_rival *next;
  const tt_prepared *usual; /* whose rival it is; with the next three: the key */
  unsigned needs;
  int weight, size;
  bool sought, forgotten;
  const tt_program *program; /* NULL: the plan has no rival */
  uint16_t pair;             /* a hash of both plans' names, not 0 */
  bool second;               /* of the two, its name is the second; so it is way 1 */
} tt_rival;

/* What is known of calls with vectors of one size. */
typedef struct tt_rival_size {
  uint32_t calls; /* so far, while no rival has been sought */
  /* on rank 0 */
  tt_learner learner;
  uint16_t pair; /* that it learns about; 0: none yet */
  uint8_t way;   /* of the last such call; 2: of another pair */
  uint64_t since, took; /* ticks: when that call began; its time; 0: not known */
  uint64_t seq;         /* its number */
} tt_rival_size;

/* Where the plan's calls may have a rival, finds or makes the place for it; else NULL. The same on all ranks, but for memory.
 * The communicator owns it, and keeps it until tt_rivals_free. */
tt_rival *tt_rival_for(tutti_comm *comm, const tt_call *call, const tt_choice *choice,
                       const tt_plan *plan);
/* An operation of this plan begins, as flight->seq. Does the rival run? */
bool tt_rival_runs(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* The call that began the last operation of this plan has ended. */
void tt_rival_over(tutti_comm *comm, const tt_plan *plan);
/* Appends what was learned of such calls. */
void tt_rival_say(const tutti_comm *comm, const tt_problem *problem, tt_text *t);
void tt_rivals_forget(tutti_comm *comm); /* plans are chosen again */
void tt_rivals_free(tutti_comm *comm);

#endif
