/* plan_cache.h - the plans of a communicator: made once per kind of call.
 *
 * Idea       A call gets its plan from a small table. For a new kind of call, a plan is chosen, proven and prepared first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAN_CACHE_H
#define TT_PLAN_CACHE_H

#include "call_plan.h"
#include "comm.h"
#include "ext.h"
#include "rival.h"

enum { TT_PLANS = 64 };

/* Plans for communicators with helpers, which are the last ranks and contribute no data (comm/helpers.c). The first places belong
 * to the ranks with data, in the order of their levels, and the remaining places belong to the helpers. */
typedef struct tt_helped {
  tt_chooser *chooser;
  int *order, *place; /* as in tt_plan_cache */
  int *position;      /* position of each place in the levels of all ranks; NULL: its number */
  int *host;          /* host at each place, as in tt_plan_cache */
  tt_chooser *flat;   /* without levels; only if `order` is set */
} tt_helped;

/* Plans for calls with compressed messages (coding.c). The first such call creates them. */
typedef struct tt_code_verdict { /* a measurement (tune/measure_codes.c) */
  uint64_t kind;                 /* hash of call and code */
  uint64_t bytes;
  bool coded; /* it was faster with codes */
} tt_code_verdict;
typedef struct tt_coded_plans {
  tt_chooser *chooser, *flat; /* as in tt_plan_cache */
  tt_code_wish of;            /* codes for which they were made */
  int *node, *node_of_place;  /* of each rank; of each place; equal if ranks share memory */
  uint8_t *far; /* far[r] is 1 if rank r shares no memory with this one; requests refer to it */
  tt_code_verdict *verdict;
  uint32_t verdicts, capacity;
} tt_coded_plans;

typedef struct tt_plan_cache {
  tt_setting setting;  /* the input of the cost model */
  tt_chooser *chooser; /* for calls with data of all ranks */
  tt_helped helped;    /* for calls without data of helpers */
  int *order, *place; /* rank at each place of the levels' tree; place of each rank; NULL: ranks are
                          already in the order of the tree */
  tt_chooser *flat;   /* without levels, for plans made for ranks; only if `order` is set */
  /* host[r] is the number of rank r's host in the profile, and host_at has the host at each place. Both are NULL if the profile
   * has no parameters for individual hosts. */
  int *host, *host_at;
  void *ext[TT_EXTS]; /* data of each extension; NULL: it is not open */
  tt_coded_plans coded;
  tt_wisdom wisdom; /* the same on all ranks (comm_wisdom.c) */
  tt_plan plan[TT_PLANS];
  tt_prepared *prepared;
  tt_rival *rivals;
  tt_rival_size size[TT_PLAN_SIZES];
  uint32_t warned;   /* collectives whose forced algorithm was refused */
  size_t alone_from; /* buffers of a list with at least this many bytes are separate operations;
                        0: not known yet */
} tt_plan_cache;

/* proof_table.c: Returns TUTTI_OK if the schedules for these ranks are proven, or too large to prove (choose/proven.c). Otherwise
 * returns TUTTI_ERR_SCHEDULE, with the message of the prover. Sets *is to the result of the proof. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, int slices, tt_proven *is);
/* Returns true if this process already knows that the plan is proven. */
bool tt_proof_known(const tt_ask *ask, int slices);
void tt_plans_forget(tutti_comm *comm); /* plans are chosen again; prepared schedules stay */
/* Forgets the plans for one collective, so that they are chosen again. Other calls may be in flight (plan_wisdom.c). */
void tt_plans_choose_again(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* called when the communicator is destroyed */

/* coding.c: Replaces a plan without compression by a plan with compression if that is cheaper. */
tutti_status tt_coding_choose(tutti_comm *comm, const tt_call *call, const tt_problem *plain,
                              tt_choice *choice);
/* Appends to `t` what was measured about compression for such a call, if anything. */
void tt_coding_verdict_say(const tutti_comm *comm, const tt_call *call, tt_text *t);
/* Sets the codes that later calls on the communicator may use. */
void tt_coding_set(tutti_comm *comm, const tt_code_wish *wish);
void tt_coded_plans_free(tt_coded_plans *coded);
/* plan_cache.c: Returns true if the call is planned for ranks, and false if it is planned for places in the levels. */
bool tt_planned_for_ranks(const tutti_comm *comm, const tt_call *call);

/* Returns true if measured wisdom may choose the plan of such a call. This excludes tutti's internal calls, calls with varying
 * counts, and calls for which the contract forbids it. */
bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call);

/* Logs which plan runs for such a call, and why. Only rank 0 logs. */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);

#endif
