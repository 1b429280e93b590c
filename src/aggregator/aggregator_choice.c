/* aggregator_choice.c - decides whether an aggregator sums a call, by comparing the estimate with that of the best plan without an
 * aggregator.
 *
 * Idea       Each way to use the aggregator is a plan, aggregate(...), with virtual ranks that represent the aggregator.
 *            The estimate of this plan is computed like any other, as if no virtual rank had to wait for a link. It is at
 *            least the time that the aggregator's only link takes to carry a vector for every host, or rack, that sends
 *            to it (`aggregator.beta` of the profile). With a share, the aggregator sums only a part of the vector, while
 *            the ranks sum the rest among themselves.
 * Invariant  The decision is a pure function of data that all ranks share, so all ranks decide the same way.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregator_ways.h"
#include "why.h"

/* Limits on the size of a part of the vector, in bytes. Parts shorter than LEAST_OF_PART are not worth a separate system call.
 * MOST_OF_PART is less than the aggregator stores per session, because a rank does not read the sum of a part until it has sent
 * the whole part (aggregator/session.c). */
enum { LEAST_OF_PART = 1024, MOST_OF_PART = 3 << 19, SLICE_BYTES = 8 << 20 };

/* bytes_of_part returns the average size of a part of the vector, most_of_part the maximum, in bytes. Long vectors are divided
 * into slices (plan_cache.c), unless each rank owns a block. In that case a part consists of whole blocks, or is empty. */
static uint64_t bytes_of_part(const tt_aggregated *a, const tt_problem *p) {
  const bool whole = tt_coll_owned(p->coll);
  const double all = (double)(whole ? p->bytes : tt_min(p->bytes, TT_FLIGHT * SLICE_BYTES));
  return (uint64_t)(a->share * all) / (uint64_t)a->parts;
}

static uint64_t most_of_part(const tt_aggregated *a, const tt_problem *p, int ranks) {
  const int blocks = (ranks + a->parts - 1) / a->parts;
  if (tt_coll_owned(p->coll)) return p->bytes / (uint64_t)ranks * (uint64_t)blocks;
  return bytes_of_part(a, p);
}

static bool fits(const tt_aggregated *a, const tt_problem *p, int ranks) {
  if (!a->chooser || most_of_part(a, p, ranks) > MOST_OF_PART) return false;
  return a->parts == 1 || bytes_of_part(a, p) >= LEAST_OF_PART;
}

static bool does(tutti_coll coll) {
  return coll == TUTTI_ALLREDUCE || coll == TUTTI_BARRIER || coll == TUTTI_REDUCE ||
         coll == TUTTI_BROADCAST || coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_ALLGATHER;
}

/* Returns the reason why the aggregator does not sum such calls, or NULL if it may. */
static const char *refusal(const tutti_comm *comm, const tt_call *c) {
  const bool alone = tt_aggregated_of(comm)->hosts == comm->ranks; /* one rank per host */
  if (!does(c->coll)) return "the aggregator has no such collective";
  if (c->coll == TUTTI_BARRIER && !alone)
    return "on hosts with several ranks the aggregator does no barrier";
  if (tt_coll_owned(c->coll) && comm->plans->order)
    return "the ranks of a host do not follow each other, so the aggregator would get their blocks "
           "in pieces";
  if (c->varied) return "the aggregator accepts only blocks of one length";
  if (c->op >= TUTTI_OP_COUNT) return "the aggregator has no ops that a program defines";
  if (comm->helpers) return "ranks of the job help already (helpers of tutti_config)";
  if (comm->settings.plain.slices) return "the number of slices is set (TUTTI_SLICES)";
  return NULL;
}

static bool may_sum(const tutti_comm *comm, const tt_call *c) {
  return !c->everyone && c->count && !refusal(comm, c);
}

double tt_aggregator_link(const tutti_comm *comm, double *delay) {
  const tt_profile *p = &comm->plans->setting.profile;
  double beta = p->net.beta;
  *delay = 0;
  for (int l = 0; l < p->levels; l++) {
    if (strcmp(p->level[l].name, "aggregator") != 0) continue;
    if (p->level[l].is.beta >= 0) beta = p->level[l].is.beta;
    if (p->level[l].is.L >= 0) *delay = p->level[l].is.L;
  }
  return beta;
}

/* Finds the cheapest plan that uses the aggregator. Unless `family` is NULL, considers only that family. Returns the number of
 * the plan, starting at 1, and sets *seconds to its estimated time. Returns 0 if no plan is possible. If out of memory, returns 0
 * and sets *seconds to -1. */
static int cheapest_way(tutti_comm *comm, const tt_problem *p, const tt_override *override,
                        const tt_plan_spec *family, double *seconds) {
  double delay;
  const double beta = tt_aggregator_link(comm, &delay);
  int way = 0;
  *seconds = HUGE_VAL;
  for (int k = 0; k < TT_AGGREGATED; k++) {
    const tt_aggregated *a = &tt_aggregated_of(comm)[k];
    if (!fits(a, p, comm->ranks) || (family && !tt_plan_spec_is_one_of(a->plan, family)) ||
        tt_override_forbids(override, a->plan, p->bytes))
      continue;
    const double alone = tt_price_of(a->chooser, p, a->plan, 1);
    if (alone < 0) return *seconds = -1, 0;
    /* sums that have arrived are sent on when a part of the vector is complete */
    const double link = beta * a->links * a->share * (double)p->bytes * (1 + 1.0 / a->parts);
    const double price = delay + (alone > link ? alone : link);
    if (price < *seconds) *seconds = price, way = k + 1;
  }
  return way;
}

/* Returns the plan that the user has requested, or NULL. Sets *aggregates if plans of that family use an aggregator. */
static const tt_plan_spec *requested(const tutti_comm *comm, const tt_problem *p,
                                     const tt_override *override, bool *aggregates) {
  const tt_plan_spec *plan = tt_override_for(override, p->bytes);
  for (const tt_aggregated *a = tt_aggregated_of(comm), *end = a + TT_AGGREGATED; a < end; a++)
    *aggregates |= plan && a->plan && tt_plan_spec_is_one_of(a->plan, plan);
  return plan;
}

static tutti_status choose(tutti_comm *comm, const tt_call *c, const tt_problem *p,
                           tt_choice *choice) {
  bool aggregates = false;
  double seconds;
  if (!comm->wire->outside) return TUTTI_OK;
  const tt_plan_spec *other = requested(comm, p, tt_call_override(comm, c), &aggregates);
  if (aggregates) {
    const char *why = refusal(comm, c);
    snprintf(choice->refusal, sizeof choice->refusal, "%s", why ? why : "");
  }
  if (!may_sum(comm, c)) return TUTTI_OK;
  if (other && !aggregates) return TUTTI_OK;
  const int way = cheapest_way(comm, p, tt_call_override(comm, c), other, &seconds);
  const double alone = choice->wisdom
                           ? 1e-9 * (double)choice->wisdom->took
                           : tt_price_of(tt_chooser_for(comm, c), p, choice->plan, choice->slices);
  if (seconds < 0 || alone < 0)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the choice of a plan");
  if (!way || (!aggregates && seconds >= alone)) return TUTTI_OK;
  *choice = (tt_choice){.plan = tt_aggregated_of(comm)[way - 1].plan,
                        .slices = 1,
                        .overridden = aggregates,
                        .ext = &tt_ext_aggregator,
                        .way = way};
  return TUTTI_OK;
}

static tt_ext_ranks ranks_of(const tutti_comm *comm, int way) {
  const tt_aggregated *a = &tt_aggregated_of(comm)[way - 1];
  return (tt_ext_ranks){a->helpers, a->order, a->chooser};
}

static tutti_status explain(tutti_comm *comm, const tt_call *c, tt_text *t) {
  const tt_outside *out = comm->wire->outside;
  if (!out) return TUTTI_OK;
  const char *where = out->ops->where(out->wire), *why = refusal(comm, c);
  const tt_problem p = tt_problem_of(comm, c);
  char time[24], other[24];
  double seconds;
  tt_choice choice;
  if (why) {
    tt_text_add(t, "%s (it is at %s)\n", why, where);
    return TUTTI_OK;
  }
  tutti_status status = tt_choose(tt_chooser_for(comm, c), &p, tt_call_override(comm, c), &choice);
  if (status) return status;
  const tt_choice alone = choice;
  status = choose(comm, c, &p, &choice);
  const int way = status ? 0 : cheapest_way(comm, &p, tt_call_override(comm, c), NULL, &seconds);
  if (status || !way) return status;
  const double without = tt_price_of(tt_chooser_for(comm, c), &p, alone.plan, alone.slices);
  tt_text_add(t, "the aggregator at %s %s: %s, %s; among the ranks alone %s", where,
              choice.ext ? "sums it" : "does not sum it",
              tt_aggregated_of(comm)[way - 1].plan->text, tt_time_words(seconds, time),
              alone.plan->text);
  if (without >= 0 && without < HUGE_VAL) tt_text_add(t, ", %s", tt_time_words(without, other));
  tt_text_add(t, "\n");
  return TUTTI_OK;
}

static bool wanted(void) {
  return tt_env("TUTTI_AGGREGATOR") != NULL;
}

const tt_ext tt_ext_aggregator = {.wanted = wanted,
                                  .open = tt_aggregator_open,
                                  .close = tt_aggregator_close,
                                  .choose = choose,
                                  .ranks = ranks_of,
                                  .explain = explain};
