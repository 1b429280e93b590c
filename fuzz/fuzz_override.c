/* fuzz_override.c - fuzzes overrides of the plan (TUTTI_ALGO), and the parameters in plan names.
 *
 * Invariant  an override is rejected with a message, or it can be looked up. A plan of that name is
 *            built and proven, or rejected with a message.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "override.h"
#include "prove.h"
#include "tutti_plan.h"

static const int ranks_of[] = {1, 4, 7};

static void is_built(const tt_plan_spec *plan, int ranks, tutti_coll coll) {
  const tt_ask ask = {.plan = plan, .coll = coll, .ranks = ranks, .root = ranks - 1};
  tutti_report report = {.size = sizeof report};
  tt_sched **all;
  if (tt_algo_build_all(&ask, &all)) {
    need(*tutti_error());
    return;
  }
  need(tt_prove(all, ranks, &report) == TUTTI_OK && report.proven);
  tt_sched_free_all(all, ranks);
}

static void look_up(const tt_override *override, int ranks) {
  for (uint64_t bytes = 0; bytes < (uint64_t)1 << 40; bytes = 3 * bytes + 1) {
    const tt_plan_spec *plan = tt_override_for(override, bytes), *ring;
    if (plan) need(tt_algo_find(plan->family->name, strlen(plan->family->name)) == plan->family);
    need(tt_plan_spec_named("ring", &ring) == TUTTI_OK);
    tt_override_forbids(override, ring, bytes);
  }
  for (int i = 0; i < override->n; i++) {
    need(override->item[i].from < override->item[i].to && override->item[i].plan);
    if (override->item[i].never || i >= 2) continue; /* two are enough for one input */
    is_built(override->item[i].plan, ranks, TUTTI_ALLREDUCE);
    is_built(override->item[i].plan, ranks, TUTTI_REDUCE_SCATTER);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  for (size_t i = 0; i < sizeof ranks_of / sizeof *ranks_of; i++) {
    tt_override override;
    if (tt_override_parse(text, ranks_of[i], &override) == TUTTI_OK)
      look_up(&override, ranks_of[i]);
    else
      need(*tutti_error());
  }
  free(text);
  return 0;
}
