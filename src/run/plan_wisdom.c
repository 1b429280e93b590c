/* plan_wisdom.c - decides which measurements apply to a communicator.
 *
 * Placement  Measurements apply if the fingerprint of the ranks' placement is equal. It covers everything that may make
 *            another plan faster: number of ranks, transport, ranks per core, levels and nodes, and the processor. It
 *            exists in words and as a hash, which also covers every rank's node.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "flight.h"
#include "topo.h"

/* ---- placement ---- */

static void format_placement(char words[TT_PLACEMENT_TEXT], const char *ranks,
                             double ranks_per_core) {
  char machine[90], share[40] = "a core each";
  const int tenths = (int)(10 * ranks_per_core + 0.5);
  if (tenths > 10) snprintf(share, sizeof share, "%d.%d to a core", tenths / 10, tenths % 10);
  snprintf(words, TT_PLACEMENT_TEXT, "%.64s, %s; %s", ranks, share,
           tt_machine_name(machine, sizeof machine));
}

uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]) {
  const bool over = tt_over_net(comm);
  const char *levels = comm->plans->setting.levels;
  char ranks[400];
  if (over)
    snprintf(ranks, sizeof ranks, "%d ranks over %.40s%s%s", comm->ranks, comm->net->traits.name,
             *levels ? ", " : "", levels);
  else
    snprintf(ranks, sizeof ranks, "%d %s share memory%s%s", comm->ranks,
             tt_heap_segment(comm->heap)->threads ? "threads" : "processes", *levels ? ", " : "",
             levels);
  format_placement(words, ranks, over ? comm->load.host_ranks_per_core : comm->load.ranks_per_core);
  uint64_t h = tt_mix_text(tt_mix_text(1, words), levels);
  for (int r = 0; (over || *levels) && r < comm->ranks; r++) { /* which ranks share a node */
    int first = 0;
    while (comm->info[first].placement.node != comm->info[r].placement.node) first++;
    h = tt_mix(h ^ (uint64_t)(uint32_t)first ^ (uint64_t)(comm->info[r].index >= 0) << 32);
    if (comm->plans->place) h = tt_mix(h ^ (uint64_t)(uint32_t)comm->plans->place[r]);
  }
  return (uint32_t)h;
}

double tt_here_ranks_per_core(int ranks) {
  tt_cpu_bits mine;
  tt_cores_mine(&mine);
  const double quota = tt_cores_quota(), all = tt_cpus_count(&mine),
               cores = quota < all ? quota : all;
  return ranks / (cores > 0 ? cores : 1);
}

uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]) {
  char text[40];
  snprintf(text, sizeof text, "%d processes share memory", ranks);
  format_placement(words, text, tt_here_ranks_per_core(ranks));
  return (uint32_t)tt_mix_text(tt_mix_text(1, words), "");
}

/* ---- entries ---- */

static const uint64_t TOO_LONG = 64 << 20;

bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call) {
  return !call->everyone && !call->varied && comm->settings.plain.contract != TUTTI_CONTRACT_RUN &&
         comm->settings.plain.contract != TUTTI_CONTRACT_EXACT;
}

const char *tt_measure_refusal(const tutti_comm *comm, const tt_call *c, uint64_t bytes) {
  if (comm->ranks < 2) return "there is one rank";
  if (comm->net && comm->net->traits.simulated) return "ranks are simulated";
  if (c->varied) return "counts vary";
  if (!tt_wisdom_applies(comm, c)) return "the contract forbids choices that depend on timing";
  if (tt_override_for(tt_call_override(comm, c), bytes)) return "a plan is asked for by name";
  if (comm->settings.plain.slices) return "the number of slices is set";
  if (!bytes) return "the vector is empty";
  return bytes > TOO_LONG ? "it is longer than 64 MiB" : NULL;
}

bool tt_measure_wanted(const tutti_comm *comm, const tt_call *call) {
  if (!comm->settings.plain.measures) return false;
  const tt_problem p = tt_problem_of(comm, call);
  return !tt_measure_refusal(comm, call, p.bytes) &&
         !tt_wisdom_find(&comm->plans->wisdom, &p.key, p.bytes);
}

bool tt_plans_reserve(tutti_comm *comm) {
  return tt_wisdom_reserve(&comm->plans->wisdom, 1);
}

void tt_plans_choose_again(tutti_comm *comm, tutti_coll coll) {
  for (int i = 0; i < TT_PLANS; i++)
    if (comm->plans->plan[i].key && comm->plans->plan[i].prepared->sched->coll == coll)
      comm->plans->plan[i].key = 0;
  tt_recent_forget(comm);
}

bool tt_plans_learn(tutti_comm *comm, const tt_wisdom_entry *entry) {
  if (!tt_wisdom_set(&comm->plans->wisdom, entry)) return false;
  tt_plans_choose_again(comm, entry->key.coll);
  return true;
}
