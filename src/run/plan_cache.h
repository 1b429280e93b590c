/* plan_cache.h - the plans of a communicator: made once per kind of call.
 *
 * Idea       a call gets its plan from a small table; a new kind of call is chosen, proven and
 *            prepared first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAN_CACHE_H
#define TT_PLAN_CACHE_H

#include "call_plan.h"
#include "comm.h"
#include "rival.h"

enum { TT_PLANS = 64 };

/* Plans for calls of communicators with helpers: the last ranks, which contribute no data (comm/helpers.c). The first positions
 * belong to the ranks with data, in the order of their levels, the others to the helpers. */
typedef struct tt_helped {
  tt_chooser *chooser;
  int *order, *place; /* as in tt_plan_cache */
  int *position;      /* of each place in the levels of all ranks; NULL: as it is numbered */
  int *host;          /* of each place, as in tt_plan_cache */
  tt_chooser *flat;   /* if `order` is set: without levels */
} tt_helped;

/* Plans for calls that an aggregator sums. The last ranks of these schedules are virtual: they represent the aggregator, and
 * no process of the job runs them. Each sums a part of the vector, so that several parts of a long vector can be in transit. */
typedef struct tt_aggregated {
  tt_chooser *chooser;      /* of one plan; NULL: the communicator has no aggregator */
  const tt_plan_spec *plan; /* that one, which is kept */
  int helpers;              /* virtual ranks */
  int parts;                /* of the vector; a rank sends each to one of the virtual ranks */
  int hosts;                /* that have one vector each */
  int links;                /* an aggregator's: that many vectors come over its link, at most */
  double share;             /* of the vector that the aggregator sums; the ranks fold the rest */
  int *order; /* the rank of each place, as in tt_plan_cache; of virtual ones their number */
} tt_aggregated;
/* The whole of a short, a longer and a long vector; a share of it combined with fold(halving), and with fold(ring). */
enum { TT_AGGREGATED = 5 };
/* How calls are planned whose messages are coded (coding.c); made when the first comes. */
typedef struct tt_code_verdict { /* measured (tune/measure_codes.c) */
  uint64_t kind;                 /* of call and code */
  uint64_t bytes;
  bool coded; /* that was faster */
} tt_code_verdict;
typedef struct tt_coded_plans {
  tt_chooser *chooser, *flat; /* as in tt_plan_cache */
  tt_code_wish of;            /* what they were made for */
  int *node, *node_of_place;  /* per rank; per place: those that share memory have one number */
  uint8_t *far; /* per rank: 1: it shares no memory with this one; requests refer to it */
  tt_code_verdict *verdict;
  uint32_t verdicts, capacity;
} tt_coded_plans;

typedef struct tt_plan_cache {
  tt_setting setting;  /* the input of the cost model */
  tt_chooser *chooser; /* for calls with data of all ranks */
  tt_helped helped;    /* or of all but helpers */
  int *order, *place;  /* rank at a place of the levels' tree; place of a rank; NULL:
                                   ranks are in the tree's order already */
  tt_chooser *flat;    /* if `order` is set: without levels, for plans made for ranks */
  int *host,
      *host_at; /* the number of each rank's host in the profile; of the host at each place. NULL: the
                          profile has no figures of single hosts */
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

/* proof_table.c: TUTTI_OK if what these ranks will run is proven, or too large to prove
 * (choose/proven.c); else TUTTI_ERR_SCHEDULE with the prover's message. *is: the result. */
tutti_status tt_proof_ask(tutti_comm *comm, const tt_ask *ask, int slices, tt_proven *is);
/* Has this process the answer already? */
bool tt_proof_known(const tt_ask *ask, int slices);
void tt_plans_forget(tutti_comm *comm); /* choose again; prepared schedules stay */
/* The same for calls of one collective, while others are in flight (plan_wisdom.c). */
void tt_plans_choose_again(tutti_comm *comm, tutti_coll coll);
void tt_plans_drop(tutti_comm *comm); /* when the communicator is destroyed */

/* coding.c: given the choice for a call without codes, replaces it by one with codes if that is cheaper. */
tutti_status tt_coding_choose(tutti_comm *comm, const tt_call *call, const tt_problem *plain,
                              tt_choice *choice);
/* Appends the measurements of such a call with codes, if any. */
void tt_coding_verdict_say(const tutti_comm *comm, const tt_call *call, tt_text *t);
/* From now on calls may be coded so. */
void tt_coding_set(tutti_comm *comm, const tt_code_wish *wish);
void tt_coded_plans_free(tt_coded_plans *coded);
/* plan_cache.c: is the call planned for ranks, not for places in the levels? */
bool tt_planned_for_ranks(const tutti_comm *comm, const tt_call *call);

/* May wisdom choose the plan of such a call? Not for tutti's internal calls, nor with varying
 * counts, nor if the contract forbids it. */
bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call);

/* Seconds per byte of the aggregator's link; *delay: the time of a sum there, in addition to its messages. */
double tt_aggregator_link(const tutti_comm *comm, double *delay);
/* What to do once the aggregator is lost: the end of a sentence. */
const char *tt_without_aggregator(const tutti_comm *comm);
/* If an aggregator may sum such a call, and this is cheaper than the best plan without it, or requested by
 * the user, chooses it (aggregated.c). TUTTI_ERR_MEMORY. */
tutti_status tt_aggregated_choose(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                                  tt_choice *choice);
/* Appends whether and why. */
tutti_status tt_aggregated_say(tutti_comm *comm, const tt_call *call, tt_text *t);

/* Rank 0 logs the plan of such a call, with the reason. */
void tt_comm_say_why(tutti_comm *comm, const tt_call *call);

#endif
