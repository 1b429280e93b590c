/* mp_composed.c - every composition that the chooser proposes for a machine, and every plan of `transposed`, on
 * real ranks: sums of integers are right, and sums of floats have the same bits on all ranks, in place and not.
 * tools/gallery.py draws them.
 *
 * Ranks: 8 12
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "by_name.h"
#include "candidates.h"
#include "engine.h"
#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

enum { MOST = 5000 };

static const struct {
  int ranks;
  const char *levels, *figures;
} machines[] = {
    {8, "node:4 core:2", ""},
    {8, "node:2 core:4", "gamma=0.05ns,alpha=1us,delay=2us,beta=200Gbit/s"},
    {8, "rack:2 node:2 core:2", ""},
    {12, "node:3 core:4", ""},
    {12, "node:6 core:2", "processor=1us,alpha=0.2us,delay=1.5us,gamma=0.2ns,beta=100Gbit/s"},
    {12, "rack:2 node:2 core:3", "rack.alpha=3us,node.alpha=2us,core.alpha=0.5us"},
};

/* Inputs for which sums over different ranks differ. */
static float part_of(int rank, size_t i) {
  return (float)(1 + (rank * 31 + (int)(i % 97)) % 1009) / 1013.0f;
}

/* Compares this rank's result with rank 0's, bit by bit. */
static const char *same_bits(tutti_comm *comm, tutti_comm *side, size_t n, bool in_place) {
  static float src[MOST], dst[MOST], first[MOST];
  for (size_t i = 0; i < n; i++) src[i] = part_of(tutti_comm_rank(comm), i);
  if (in_place) memcpy(dst, src, n * sizeof *dst);
  if (tutti_allreduce(comm, in_place ? dst : src, dst, n, TUTTI_FLOAT, TUTTI_SUM))
    return tutti_error();
  memcpy(first, dst, n * sizeof *dst);
  if (tutti_broadcast(side, first, first, n, TUTTI_FLOAT, 0)) return tutti_error();
  return memcmp(first, dst, n * sizeof *dst) ? "rank 0 has other bits" : NULL;
}

static const char *right_sum(tutti_comm *comm, size_t n, bool in_place) {
  static int64_t src[MOST], dst[MOST];
  const int64_t ranks = tutti_comm_size(comm), me = tutti_comm_rank(comm);
  for (size_t i = 0; i < n; i++) src[i] = (me + 1) * (int64_t)(i + 1);
  if (in_place) memcpy(dst, src, n * sizeof *dst);
  if (tutti_allreduce(comm, in_place ? dst : src, dst, n, TUTTI_INT64, TUTTI_SUM))
    return tutti_error();
  for (size_t i = 0; i < n; i++)
    if (dst[i] != ranks * (ranks + 1) / 2 * (int64_t)(i + 1)) return "a wrong sum";
  return NULL;
}

/* Does this plan run? Another one runs if it is refused. */
static const char *is_taken(tutti_comm *comm, const char *plan) {
  char name[NAME];
  if (tutti_comm_plan(comm, TUTTI_ALLREDUCE, MOST, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name))
    return tutti_error();
  return strcmp(name, plan) != 0 ? "another plan runs instead" : NULL;
}

/* Runs one plan on some lengths, until a result is wrong on this rank. */
static const char *run(tutti_comm *comm, tutti_comm *side, const char *plan) {
  static const size_t lengths[] = {1, 7, 60, MOST};
  const char *wrong = comm_set_algorithm(comm, plan) ? tutti_error() : is_taken(comm, plan);
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths && !wrong; k++)
    for (int in_place = 0; in_place < 2 && !wrong; in_place++) {
      wrong = right_sum(comm, lengths[k], in_place);
      if (!wrong) wrong = same_bits(comm, side, lengths[k], in_place);
    }
  return wrong;
}

/* Runs all compositions for a machine; returns how many failed on this rank. */
static int run_all(tutti_comm *comm, tutti_comm *side, size_t m, int *ran) {
  tt_setting s = {.ranks = machines[m].ranks, .flight = TT_FLIGHT};
  tt_chooser *c = NULL;
  int failed = 0;
  snprintf(s.levels, sizeof s.levels, "%s", machines[m].levels);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, machines[m].figures, "the figures") || tt_chooser_new(&s, &c))
    return 1;
  const tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
  for (int i = 0; list && i < list->n; i++) {
    const char *name = list->at[i].plan->text;
    if (!tt_is_composition(list->at[i].plan) && strncmp(name, "transposed(", 11) != 0) continue;
    const char *wrong = run(comm, side, name);
    ++*ran;
    failed += wrong != NULL;
    if (wrong) printf("# rank %d: %s: %s\n", tutti_comm_rank(comm), name, wrong);
  }
  tt_chooser_free(c);
  return failed;
}

int main(void) {
  tutti_comm *comm, *side;
  end_after(200);
  if (start_comm(&comm) || tutti_comm_dup(comm, &side)) return 1;
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    if (machines[m].ranks != tutti_comm_size(comm)) continue;
    int ran = 0;
    int32_t failed = run_all(comm, side, m, &ran);
    if (tutti_allreduce(side, &failed, &failed, 1, TUTTI_INT32, TUTTI_SUM)) failed = 1;
    if (tutti_comm_rank(side)) continue;
    printf("%s - %d compositions of %s\n", failed || !ran ? "not ok" : "ok", ran,
           machines[m].levels);
    fflush(stdout);
  }
  tutti_comm_free(side);
  tutti_comm_free(comm);
  return start_end() ? 1 : 0;
}
