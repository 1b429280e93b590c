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

/* The plan for one kind of call. */
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
/* Returns true if the plan of such a call may assign roles to positions in the topology, rather than to ranks. */
bool tt_goes_by_places(tutti_coll coll, unsigned needs);
/* The problem that the chooser solves for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
/* Turns a choice into a plan, without storing it in a table. The prepared schedules of the plan stay cached. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
tt_verify tt_proof_setting(void); /* TUTTI_VERIFY (proof_table.c) */
/* Runs a call to completion, according to its plan (blocking.c). The caller has checked the call and entered the communicator. */
tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan);

/* ---- measurements (plan_wisdom.c) ---- */

/* Returns the reason why such a call cannot be measured, or NULL if it can. All ranks get the same result. */
const char *tt_measure_refusal(const tutti_comm *comm, const tt_call *call, uint64_t bytes);
/* Returns true if plans for the call should be measured before one is chosen. */
bool tt_measure_wanted(const tutti_comm *comm, const tt_call *call);
/* Adds a measurement to the communicator's wisdom, and drops the plans that may change as a result. Returns false if out of
 * memory. tt_plans_reserve reserves memory for one measurement in advance. */
bool tt_plans_learn(tutti_comm *comm, const tt_wisdom_entry *entry);
bool tt_plans_reserve(tutti_comm *comm);
/* Returns the fingerprint that is stored with a communicator's wisdom, and describes it in words. Communicators have the same
 * fingerprint if their ranks are placed in the same way on machines of the same kind. The result is valid on rank 0 only. */
uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]);
/* tt_here_fingerprint returns the fingerprint of `ranks` processes that `tutti run` would start on this machine.
 * tt_here_ranks_per_core returns their number of ranks per core, computed as in tt_heap_ranks_per_core. */
uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]);
double tt_here_ranks_per_core(int ranks);

/* coding.c: Sets *chooser to the chooser for a call whose messages may be compressed, or to NULL if they may not be. The
 * communicator owns the chooser. */
tutti_status tt_coding_chooser(tutti_comm *comm, const tt_call *call, tt_chooser **chooser);
/* The best plan without compression and the best plan with it, and their estimated times in seconds. coded.plan is NULL if the
 * call cannot use compression, or if plain.ext is set. */
typedef struct tt_code_pair {
  tt_choice plain, coded;
  double without, with;
  bool pays; /* compression is faster, by these estimates */
} tt_code_pair;
tutti_status tt_coding_pair(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                            tt_code_pair *pair);
/* tt_coding_is_open returns true if it should be measured whether compression makes such a call faster. tt_coding_reserve
 * reserves memory for the verdict, and returns false if out of memory. tt_coding_learn stores the verdict, which applies to
 * vectors from half to twice the measured size. */
bool tt_coding_is_open(tutti_comm *comm, const tt_call *call);
bool tt_coding_reserve(tutti_comm *comm);
void tt_coding_learn(tutti_comm *comm, const tt_call *call, bool coded);
/* Sets *by to the chooser whose plan runs, with or without compression (coding.c). Sets *asked if compression is allowed. */
tutti_status tt_coding_decide(tutti_comm *comm, const tt_call *call, tt_problem *problem,
                              tt_chooser **by, bool *asked);

/* ---- explanations (explain.c) ---- */

/* Explains, in words or as JSON, which plan runs for a problem. The caller frees *text. `exact` is 0, or 1 + the type of the
 * numbers if they are summed exactly. */
tutti_status tt_explain(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                        int exact, int json, char **text);
tutti_status tt_explain_call(tutti_comm *comm, const tt_call *call, int json, char **text);
tutti_status tt_text_hand_over(tt_text *t, char **text);

#endif
