/* device_way.c - decides whether kernels or the host sum an allreduce on device vectors.
 *
 * Idea       Once it is known that the devices can access each other's memory, the method with the lower estimate is used
 *            (device_price.h). The plan must be one-shot or two-shot; over several hosts, its first stage must be that of
 *            two-shot within a host. A rank offers kernels only if they are cheaper, and they run only if all ranks of its
 *            host offer them (device_sum.c, device_near.c).
 * Invariant  The decision is a pure function of data that all ranks share, so no rank offers kernels alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "flight.h"

static bool is_shaped(tt_shape shape) {
  return shape == TT_SHAPE_ONE_SHOT || shape == TT_SHAPE_TWO_SHOT;
}

/* Estimates how long a sum takes on the device and on the host. Returns false if it is not known how ranks share devices. */
static bool price(const tutti_comm *comm, uint64_t bytes, double plan, tt_device_price *price) {
  const int devices = tt_stager_devices(comm->flight->stager);
  const tt_profile *p = &comm->plans->setting.profile;
  if (!devices) return false;
  if (!comm->wire->near.wire) {
    *price = tt_price_on_devices(&p->device, comm->ranks, devices, bytes, plan);
    return true;
  }
  const int near = comm->wire->near.wire->ranks; /* each reads its block of the others' vectors */
  const double stage = (double)bytes * (near - 1) / near * (p->shm.copy + p->gamma);
  *price = tt_price_near_devices(&p->device, near, devices, bytes, plan, stage);
  return true;
}

static bool prefers_kernels(const tutti_comm *comm, const tt_device_price *p) {
  return p->kernels < p->host || tt_stager_wish(comm->flight->stager) == TT_SUMS_BY_KERNELS;
}

bool tt_kernels_pay(const tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  tt_device_price p;
  if (call->coll != TUTTI_ALLREDUCE ||
      !price(comm, tt_problem_of(comm, call).bytes, plan->seconds, &p))
    return true;
  return prefers_kernels(comm, &p);
}

/* Sets *fits to whether kernels can replace the whole plan, or its first steps. */
static tutti_status fits(tutti_comm *comm, const tt_call *call, const tt_plan_spec *plan,
                         bool *fits) {
  tt_ask ask = {.plan = plan,
                .coll = call->coll,
                .ranks = comm->ranks,
                .rank = comm->rank,
                .root = call->root,
                .data = tt_call_data(comm, call)};
  tt_sched *sched = NULL;
  tt_program *program = NULL;
  tt_shape shape = TT_SHAPE_NONE;
  *fits = false;
  if (call->coll != TUTTI_ALLREDUCE) return TUTTI_OK;
  tutti_status status = tt_algo_build(&ask, &sched);
  if (!status && tt_comm_near(comm, NULL) == comm->ranks) {
    status = tt_shape_of(&sched, 1, &shape);
    *fits = is_shaped(shape);
  } else if (!status && comm->wire->near.wire) {
    program = tt_program_new(sched, comm->plans->order, TT_SHAPE_NONE);
    if (!program) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory to explain %s", plan->text);
    *fits = program && tt_near_first(program, comm->wire);
  }
  free(program);
  tt_sched_free(sched);
  return status;
}

/* Returns the reason why the host must compute the sum, whatever the estimates are, or NULL if kernels may. */
static const char *refusal(const tutti_comm *comm, const tt_call *call, bool fits) {
  const tt_wire *among =
      comm->wire->near.wire ? comm->wire->near.wire : comm->wire; /* ranks that kernels serve */
  const tt_stager *s = comm->flight->stager;
  if (call->coll != TUTTI_ALLREDUCE) return "kernels sum allreduce alone";
  if (tt_call_is_exact(comm, call)) return "exact sums are made on the host";
  if (tt_stager_wish(s) == TT_SUMS_BY_HOST) return "TUTTI_DEVICE_SUMS=host";
  if (among->ranks > TT_SUMMED_MOST) return "kernels sum the vectors of at most 64 ranks";
  if (!fits)
    return "kernels take the place of one-shot and two-shot alone, and of two-shot within hosts as "
           "a plan's first stage";
  if (tt_problem_of(comm, call).bytes <= among->size.flag)
    return "the host sums vectors that are so short";
  if (tt_stager_compiled(s, call->type, call->op) < 0) return "kernels do not have this op";
  if (tt_stager_reach(s) == TT_REACHES_NOT) return "a device does not reach another rank's memory";
  if (tt_stager_reach(s) == TT_REACHES_UNKNOWN && comm->wire->near.wire)
    return "the first such call finds out whether kernels can sum";
  if (tt_stager_reach(s) == TT_REACHES_UNKNOWN)
    return "the first such call goes so, and finds out whether kernels can sum the next ones";
  return NULL;
}

tutti_status tt_device_way_of(tutti_comm *comm, const tt_call *call, const tt_plan_spec *plan,
                              double seconds, tt_device_way *way) {
  bool possible = false;
  const tutti_status status = fits(comm, call, plan, &possible);
  *way = (tt_device_way){.device = tt_device()->name,
                         .within_hosts = comm->wire->near.wire != NULL,
                         .why = refusal(comm, call, possible)};
  way->priced = !way->why && price(comm, tt_problem_of(comm, call).bytes, seconds, &way->price);
  way->kernels = way->priced && prefers_kernels(comm, &way->price);
  return status;
}
