/* call_plan.h - the plan of a call: what runs, why, and which measurements may determine it.
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
  uint64_t key; /* key of the call; 0: this entry is free */
  tt_prepared *prepared;
  tt_execution exec;
  uint32_t hash;       /* hash of call and plan; the same on all ranks */
  uint32_t counts;     /* if counts vary: their hash, not 0 */
  uint64_t wisdom;     /* measured time in ns if wisdom chose it, else 0 */
  double seconds;      /* measured or predicted time if the process has a device, else 0 */
  tt_proven proven;    /* whether, and how, it was proven before it ran */
  uint64_t *table;     /* offsets that exec uses */
  tt_chooser *chooser; /* the chooser that estimated it */
  struct tt_rival *rival; /* another plan that may run instead (rival.c), or NULL */
} tt_plan;

/* ---- plans (plan_cache.c) ---- */

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan);
/* Returns true if such a call may be planned for positions instead of ranks. */
bool tt_goes_by_places(tutti_coll coll, unsigned needs);
/* The problem that the chooser solves for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
/* Makes a plan from a choice without storing it in a table; its prepared schedules stay cached. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
tt_verify tt_proof_setting(void); /* TUTTI_VERIFY (proof_table.c) */
/* Runs a checked call with its plan until it completes (blocking.c). The comm is entered. */
tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan);

/* ---- measurements (plan_wisdom.c) ---- */

/* Returns the reason why such a call cannot be measured, or NULL if it can. It is the same on all ranks. */
const char *tt_measure_refusal(const tutti_comm *comm, const tt_call *call, uint64_t bytes);
/* Returns true if the call is to be measured before it is planned. */
bool tt_measure_wanted(const tutti_comm *comm, const tt_call *call);
/* Adds an entry to the communicator's wisdom, and drops the plans that it may change. Returns false if out of memory.
 * tt_plans_reserve reserves memory for one entry. */
bool tt_plans_learn(tutti_comm *comm, const tt_wisdom_entry *entry);
bool tt_plans_reserve(tutti_comm *comm);
/* Returns the fingerprint that is stored with a communicator's wisdom, also in words. It is the same for ranks with the
 * same placement on machines of the same kind. Valid on the first rank. */
uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]);
/* The same for `ranks` processes that `tutti run` would start here, and their ranks per core, computed as in
 * tt_heap_ranks_per_core. */
uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]);
double tt_here_ranks_per_core(int ranks);

/* coding.c: returns the chooser of a call whose messages may be coded, or NULL in *chooser if they may not be. The comm
 * owns it. */
tutti_status tt_coding_chooser(tutti_comm *comm, const tt_call *call, tt_chooser **chooser);
/* The best choices without and with codes, and their estimates in seconds. coded.plan is NULL if codes cannot be used, or if
 * plain.way is set. */
typedef struct tt_code_pair {
  tt_choice plain, coded;
  double without, with;
  bool pays; /* compression is faster, by these estimates */
} tt_code_pair;
tutti_status tt_coding_pair(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                            tt_code_pair *pair);
/* tt_coding_is_open returns true if it should be measured whether coding the messages of such a call is faster.
 * tt_coding_reserve reserves memory for the verdict, and returns false if out of memory. tt_coding_learn stores the verdict,
 * which holds for sizes from half to twice as large. */
bool tt_coding_is_open(tutti_comm *comm, const tt_call *call);
bool tt_coding_reserve(tutti_comm *comm);
void tt_coding_learn(tutti_comm *comm, const tt_call *call, bool coded);
/* Sets *by to the chooser whose choice runs, with codes or without (coding.c). Sets *asked if codes may be used. */
tutti_status tt_coding_decide(tutti_comm *comm, const tt_call *call, tt_problem *problem,
                              tt_chooser **by, bool *asked);

/* ---- explanations (explain.c) ---- */

/* Explains the plan for such a problem, in words or JSON. The caller frees *text. exact is 1 + the type of the numbers
 * that are summed exactly, or 0. */
tutti_status tt_explain(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                        int exact, int json, char **text);
tutti_status tt_explain_call(tutti_comm *comm, const tt_call *call, int json, char **text);
tutti_status tt_text_hand_over(tt_text *t, char **text);

#endif
