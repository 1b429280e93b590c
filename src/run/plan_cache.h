/* plan_cache.h - the plans of a communicator: made once per kind of call.
 *
 * Idea       a call gets its plan from a small table; a new kind of call is chosen, proven and
 *            prepared first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAN_CACHE_H
#define TT_PLAN_CACHE_H

#include "comm.h"

enum { TT_PLANS = 64 };

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
  uint32_t hash;    /* of call and plan: the same on all ranks */
  uint32_t counts;  /* of a call with varying counts: their hash, not 0 */
  uint64_t wisdom;  /* measured time (ns), if wisdom chose it; else 0 */
  tt_proven proven; /* proven before it ran, or what else is known */
  uint64_t *table;  /* offsets that exec uses */
} tt_plan;

typedef struct tt_plan_cache {
  tt_setting setting;           /* the input of the cost model */
  tt_chooser *chooser, *helped; /* for calls with data of all ranks; or of all but helpers */
  int *order, *place;           /* rank at a place of the levels' tree; place of a rank; NULL:
                                   ranks are in the tree's order already */
  tt_chooser *flat;             /* if `order` is set: without levels, for plans made for ranks */
  tt_wisdom wisdom;             /* the same on all ranks (comm_wisdom.c) */
  tt_plan plan[TT_PLANS];
  tt_prepared *prepared;
  uint32_t warned;   /* collectives whose forced algorithm was refused */
  size_t alone_from; /* size (bytes) from which on a buffer of a list is an operation; 0: not
                        known yet */
} tt_plan_cache;

tutti_status tt_plan_for(tutti_comm *comm, const tt_call *call, bool in_place,
                         const tt_plan **plan);
/* The problem that the chooser solves for a call. */
tt_problem tt_problem_of(const tutti_comm *comm, const tt_call *call);
/* Makes a plan from a choice and stores it in no table; its prepared schedules stay cached. */
tutti_status tt_plan_make(tutti_comm *comm, const tt_call *call, bool in_place,
                          const tt_choice *choice, tt_plan *plan);
/* proof_table.c: TUTTI_OK if what these ranks will run is proven, or too large to prove
 * (choose/proven.c); else TUTTI_ERR_SCHEDULE with the prover's message. *is: the result. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, const char *name, int slices,
                          tt_proven *is);
/* Has this process the answer already? */
bool tt_proof_known(const tt_ask *ask, const char *name, int slices);
tt_verify tt_proof_setting(void);       /* TUTTI_VERIFY */
void tt_plans_forget(tutti_comm *comm); /* choose again; prepared schedules stay */
void tt_plans_forget_coll(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* when the communicator is destroyed */

/* May wisdom decide what runs for such a call? Not for tutti's own calls, nor with varying counts,
 * nor where the contract forbids that measurements decide (plan_cache.c). */
bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call);
/* Is the call planned for places, not ranks? (plan_cache.c) */
bool tt_call_arranged(const tutti_comm *comm, const tt_call *call);

/* ---- explanations (explain.c) ---- */

/* Says what runs for such a problem, and why: words, or JSON; the caller frees *text (explain.c).
 * exact: 1 + the type of numbers that are summed exactly; 0: not exact. */
tutti_status tt_explain(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                        int exact, int json, char **text);
tutti_status tt_explain_call(tutti_comm *comm, const tt_call *call, int json, char **text);
tutti_status tt_text_hand_over(tt_text *t, char **text);
/* Rank 0 logs what runs for such a call, and why. */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);

#endif
