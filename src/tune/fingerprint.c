/* fingerprint.c - the placement of ranks as a fingerprint: measurements apply where it is equal.
 *
 * Idea       it covers all that makes other plans win: number of ranks, transport, ranks per core,
 *            levels and nodes, the processor. It exists in words, and mixed to a number, which
 *            also covers every rank's node.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_wisdom.h"
#include "topo.h"

static void format_placement(char words[TT_PLACEMENT_TEXT], const char *ranks,
                             double ranks_per_core) {
  char machine[90], share[40] = "a core each";
  const int tenths = (int)(10 * ranks_per_core + 0.5);
  if (tenths > 10) snprintf(share, sizeof share, "%d.%d to a core", tenths / 10, tenths % 10);
  snprintf(words, TT_PLACEMENT_TEXT, "%.64s, %s; %s", ranks, share,
           tt_machine_name(machine, sizeof machine));
}

static bool one_process(const tutti_comm *comm) {
  for (int r = 1; r < comm->ranks; r++)
    if (comm->info[r].pid != comm->info[0].pid) return false;
  return true;
}

uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]) {
  const bool over = tt_over_net(comm);
  char ranks[400];
  if (over)
    snprintf(ranks, sizeof ranks, "%d ranks over %.40s%s%s", comm->ranks, comm->net->traits.name,
             *comm->plans->setting.levels ? ", " : "", comm->plans->setting.levels);
  else
    snprintf(ranks, sizeof ranks, "%d %s share memory", comm->ranks,
             one_process(comm) ? "threads" : "processes");
  format_placement(words, ranks, over ? comm->load.host_ranks_per_core : comm->load.ranks_per_core);
  uint64_t h = tt_mix_text(tt_mix_text(1, words), over ? comm->plans->setting.levels : "");
  for (int r = 0; over && r < comm->ranks; r++) { /* which ranks share a node */
    int first = 0;
    while (comm->info[first].placement.node != comm->info[r].placement.node) first++;
    h = tt_mix(h ^ (uint64_t)(uint32_t)first ^ (uint64_t)(comm->info[r].index >= 0) << 32);
    if (comm->plans->place) h = tt_mix(h ^ (uint64_t)(uint32_t)comm->plans->place[r]);
  }
  return (uint32_t)h;
}

uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]) {
  cpu_set_t mine;
  char text[40];
  tt_cores_mine(&mine);
  const double quota = tt_cores_quota(), all = CPU_COUNT(&mine), cores = quota < all ? quota : all;
  snprintf(text, sizeof text, "%d processes share memory", ranks);
  format_placement(words, text, ranks / (cores > 0 ? cores : 1));
  return (uint32_t)tt_mix_text(tt_mix_text(1, words), "");
}
