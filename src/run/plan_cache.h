/* plan_cache.h - the plans of a communicator: made once per kind of call.
 *
 * Idea       A call gets its plan from a small table. For a new kind of call, a plan is chosen, proven and prepared first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAN_CACHE_H
#define TT_PLAN_CACHE_H

#include "call_plan.h"
#include "comm.h"
#include "rival.h"

enum { TT_PLANS = 64 };

/* Plans for calls of communicators with helpers: the last ranks, which contribute no data (comm/helpers.c). The first places
 * belong to the ranks with data, in the order of their levels, the others to the helpers. */
typedef struct tt_helped {
  tt_chooser *chooser;
  int *order, *place; /* as in tt_plan_cache */
  int *position;      /* position of each place in the levels of all ranks; NULL: its number */
  int *host;          /* host at each place, as in tt_plan_cache */
  tt_chooser *flat;   /* without levels; only if `order` is set */
} tt_helped;

/* Plans for calls that an aggregator sums. The last ranks of these schedules are virtual: they represent the aggregator, and
 * no process of the job runs them. Each sums a part of the vector, so that several parts of a long vector can be in transit. */
typedef struct tt_aggregated {
  tt_chooser *chooser;      /* chooser for one plan; NULL: the communicator has no aggregator */
  const tt_plan_spec *plan; /* that plan, which is kept */
  int helpers;              /* number of virtual ranks */
  int parts;    /* number of parts of the vector; a rank sends each part to one virtual rank */
  int hosts;    /* number of hosts, which have one vector each */
  int links;    /* maximum number of vectors that arrive over the link of one aggregator */
  double share; /* share of the vector that the aggregator sums; the ranks fold the rest */
  int *order;   /* rank at each place, as in tt_plan_cache; for virtual ranks, their number */
} tt_aggregated;
/* Plans for the whole of a short, a longer and a long vector, and for a share combined with fold(halving) and with
 * fold(ring). */
enum { TT_AGGREGATED = 5 };
/* Plans for calls with coded messages (coding.c), created by the first such call. */
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
  /* The number of each rank's host in the profile, and of the host at each place. NULL: the profile has no parameters of
   * single hosts. */
  int *host, *host_at;
  tt_aggregated aggregated[TT_AGGREGATED];
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

/* proof_table.c: returns TUTTI_OK if the schedules that these ranks will run are proven, or too large to prove
 * (choose/proven.c); otherwise TUTTI_ERR_SCHEDULE with the prover's message. *is is the result. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, int slices, tt_proven *is);
/* Returns true if this process knows that the plan is proven. */
bool tt_proof_known(const tt_ask *ask, int slices);
void tt_plans_forget(tutti_comm *comm); /* plans are chosen again; prepared schedules stay */
/* As above, for calls of one collective, while others are in flight (plan_wisdom.c). */
void tt_plans_choose_again(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* called when the communicator is destroyed */

/* coding.c: given the choice for a call without codes, replaces it by one with codes if that is cheaper. */
tutti_status tt_coding_choose(tutti_comm *comm, const tt_call *call, const tt_problem *plain,
                              tt_choice *choice);
/* Appends the measurements of such a call with codes, if any. */
void tt_coding_verdict_say(const tutti_comm *comm, const tt_call *call, tt_text *t);
/* Sets the codes that later calls may use. */
void tt_coding_set(tutti_comm *comm, const tt_code_wish *wish);
void tt_coded_plans_free(tt_coded_plans *coded);
/* plan_cache.c: returns true if the call is planned for ranks, and not for places in the levels. */
bool tt_planned_for_ranks(const tutti_comm *comm, const tt_call *call);

/* Returns true if wisdom may choose the plan of such a call: not for tutti's internal calls, nor with varying counts,
 * nor if the contract forbids it. */
bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call);

/* Returns the seconds per byte of the aggregator's link. *delay is the time of a sum there, in addition to its messages. */
double tt_aggregator_link(const tutti_comm *comm, double *delay);
/* Returns the advice to give once the aggregator is lost: the end of a sentence. */
const char *tt_without_aggregator(const tutti_comm *comm);
/* Chooses an aggregator if it may sum such a call, and this is cheaper than the best plan without it, or requested by the
 * user (aggregated.c). Returns TUTTI_ERR_MEMORY if out of memory. */
tutti_status tt_aggregated_choose(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                                  tt_choice *choice);
/* Appends whether an aggregator sums the call, and why. */
tutti_status tt_aggregated_say(tutti_comm *comm, const tt_call *call, tt_text *t);

/* Rank 0 logs the plan of such a call, with the reason. */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);

#endif
