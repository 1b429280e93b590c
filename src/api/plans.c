/* plans.c - tutti_comm_plan and tutti_comm_measure: what runs for a call, and what would be faster.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "call.h"
#include "comm_wisdom.h"
#include "exact.h"
#include "why.h"

tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                             tutti_op op, char *name, size_t size) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_plan");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  const tt_plan *plan;
  char time[24];
  if (!name || !size)
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_plan: there is no room for the name");
  if (!status) status = tt_call_check_kind("tutti_comm_plan", &call);
  if (!status) status = tt_exact_check(comm, "tutti_comm_plan", &call);
  if (!status) status = tt_plan_for(comm, &call, false, &plan);
  if (!status) {
    int n = snprintf(name, size, "%s%s", tt_call_is_exact(comm, &call) ? "exact, " : "",
                     plan->prepared->sched->name);
    if (plan->exec.slices > 1 && n >= 0 && (size_t)n < size)
      n += snprintf(name + n, size - (size_t)n, " in %d slices", plan->exec.slices);
    if (plan->wisdom && n >= 0 && (size_t)n < size)
      n += snprintf(name + n, size - (size_t)n, ", measured %s",
                    tt_time_words(1e-9 * (double)plan->wisdom, time));
    if (plan->exec.if_exported != plan->exec.program->shape && n >= 0 && (size_t)n < size)
      n += snprintf(name + n, size - (size_t)n, ", two-shot if nothing is copied");
    if (plan->proven != TT_PROVEN && n >= 0 && (size_t)n < size)
      snprintf(name + n, size - (size_t)n,
               plan->proven == TT_PROVEN_FORM ? ", proven by its form" : ", not proven");
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_set_measure(tutti_comm *comm, int on) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_measure");
  if (status) return status;
  comm->settings.measures = on != 0;
  tt_comm_leave(comm);
  return TUTTI_OK;
}

tutti_status tutti_comm_measure(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                                tutti_op op, tutti_measured *measured) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_measure");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  if (measured)
    status = tt_size_check("tutti_comm_measure", "measured", measured->size, sizeof *measured);
  if (!status && measured) *measured = (tutti_measured){.size = sizeof *measured};
  if (!status) status = tt_call_check_kind("tutti_comm_measure", &call);
  if (!status && count > (size_t)PTRDIFF_MAX / 16 / (size_t)comm->ranks)
    status =
        tt_fail(TUTTI_ERR_ARG, "tutti_comm_measure: count %zu is larger than any memory", count);
  if (coll == TUTTI_BARRIER && !status) call.src = call.dst = comm->token;
  const char *why =
      status ? NULL : tt_measure_refusal(comm, &call, tt_problem_of(comm, &call).bytes);
  if (!status && why && measured) snprintf(measured->why, sizeof measured->why, "%s", why);
  if (!status && !why) status = tt_measure_plans(comm, &call, measured);
  tt_comm_leave(comm);
  return status;
}
