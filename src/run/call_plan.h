/* call_plan.h - the plan of a call: what runs, why, and which measurements may decide that.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_PLAN_H
#define TT_CALL_PLAN_H

#include "comm_view.h"

/* A prepared schedule; looked up by name, collective, root and whether it is in place. */
typedef struct tt_prepared {
  tt_sched *sched;
  tt_program *program;
  struct tt_prepared *next;
} tt_prepared;

/* How one kind of call is run. */
typedef struct tt_plan {
  uint64_t key; /* of the call; 0: free */
  tt_prepared *prepared;
  tt_execution exec;
  uint32_t hash;       /* of call and plan: the same on all ranks */
  uint32_t counts;     /* of a call with varying counts: their hash, not 0 */
  uint64_t wisdom;     /* measured time (ns), if wisdom chose it; else 0 */
  double seconds;      /* that it takes, as far as it is known, where there is a device; else 0 */
  tt_proven proven;    /* proven before it ran, or what else is known */
  uint64_t *table;     /* offsets that exec uses */
  tt_chooser *chooser; /* that has its price */
  struct tt_rival *rival; /* another plan, which may run in its place (rival.c); NULL: none */
} tt_plan;

/* ---- plans (plan_cache.c) ---- */

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan);
/* May such a call be planned for positions instead of ranks? */
bool tt_goes_by_places(tutti_coll coll, unsigned needs);
/* The problem that the chooser solves for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
/* Makes a plan from a choice and stores it in no table; its prepared schedules stay cached. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
tt_verify tt_proof_setting(void); /* TUTTI_VERIFY (proof_table.c) */
/* Runs a checked call by its plan until it completes (blocking.c). The comm is entered. */
tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan);

/* ---- measurements (plan_wisdom.c) ---- */

/* The reason why such a call cannot be measured; NULL: it can. The same on all ranks. */
const char *tt_measure_refusal(const tutti_comm *comm, const tt_call *call, uint64_t bytes);
/* Is it to be measured before it is planned? */
bool tt_measure_wanted(const tutti_comm *comm, const tt_call *call);
/* Adds an entry to the communicator's wisdom, and drops the plans that it may change; false: out of
 * memory. After tt_plans_reserve there is memory for one entry. */
bool tt_plans_learn(tutti_comm *comm, const tt_wisdom_entry *entry);
bool tt_plans_reserve(tutti_comm *comm);
/* The fingerprint that is stored with a communicator's wisdom, also in words. It is the same for ranks with the same
 * placement on machines of the same kind. Valid on the first rank. */
uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]);
/* The same for `ranks` processes that `tutti run` would start here; and their ranks per core, as
 * tt_heap_ranks_per_core finds it. */
uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]);
double tt_here_ranks_per_core(int ranks);

/* coding.c: the chooser of a call whose messages may be coded; *chooser NULL: they are not. The comm
 * owns it. */
tutti_status tt_coding_chooser(tutti_comm *comm, const tt_call *call, tt_chooser **chooser);
/* The choice without codes, and the best with them; *coded.plan NULL: codes cannot be used, or plain.way is set. With
 * their prices, s. */
typedef struct tt_code_pair {
  tt_choice plain, coded;
  double without, with;
  bool pays; /* compression is faster, by these estimates */
} tt_code_pair;
tutti_status tt_coding_pair(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                            tt_code_pair *pair);
/* Is it to be measured whether messages of such a call are coded? Keeps room for the verdict: false: out of memory. And
 * keeps that verdict, which holds for sizes from half to twice as large. */
bool tt_coding_is_open(tutti_comm *comm, const tt_call *call);
bool tt_coding_reserve(tutti_comm *comm);
void tt_coding_learn(tutti_comm *comm, const tt_call *call, bool coded);
/* *by: the chooser whose choice runs, with codes or without (coding.c); *asked: codes may be used. */
tutti_status tt_coding_decide(tutti_comm *comm, const tt_call *call, tt_problem *problem,
                              tt_chooser **by, bool *asked);

/* ---- explanations (explain.c) ---- */

/* Explains the plan for such a problem, as words or JSON; the caller frees *text (explain.c).
 * exact: 1 + the type of numbers that are summed exactly; 0: not exact. */
tutti_status tt_explain(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                        int exact, int json, char **text);
tutti_status tt_explain_call(tutti_comm *comm, const tt_call *call, int json, char **text);
tutti_status tt_text_hand_over(tt_text *t, char **text);

#endif
