/* mp_cover.c - the covering table on ranks that are processes.
 *
 * Usage      TUTTI_TEST_SEED=n repeats a run, TUTTI_TEST_CASE='...' one case.
 * Ranks: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"
#include "seconds.h"
#include "short.h"
#include "start.h"

static tutti_comm *comm, *side;
static cover_ops ops;
static int rank, ranks;

static int run(const cover_case *c, bool *over) {
  char line[400], why[700];
  if (cover_run(comm, side, &ops, c, over, why, sizeof why)) return 0;
  cover_print(c, line, sizeof line);
  printf("# rank %d: %s\n# repeat it: TUTTI_TEST_CASE='%s' tutti run -n %d mp_cover\n", rank, why,
         line, ranks);
  fflush(stdout);
  return 1;
}

/* One of this many cases runs. A simulated device is slow, and cases over a network in the short form have
 * already run in shared memory. */
static size_t each_of(void) {
  return cover_all() ? 1 : cover_cards() ? 5 : getenv("TUTTI_NODES") ? (size_t)shorter(1, 3) : 1;
}

/* Returns rank 0's seed on all ranks. */
static uint64_t agree_on_seed(void) {
  uint64_t seed = cover_seed();
  if (tutti_broadcast(side, &seed, &seed, 1, TUTTI_UINT64, 0)) return 0;
  return seed;
}

int main(void) {
  end_after(cover_all() ? 3600 : 200);
  if (start_comm(&comm) || tutti_comm_dup(comm, &side) ||
      tutti_op_create(cover_user_op, NULL, 1, &ops.user) ||
      tutti_op_create(cover_ordered_op, NULL, 0, &ops.ordered)) {
    printf("not ok - a communicator # %s\n", tutti_error());
    return 1;
  }
  rank = tutti_comm_rank(comm);
  if (!cover_make_scaled(&ops, rank) || !cover_open_card(rank)) return 1;
  ranks = tutti_comm_size(comm);
  uint64_t seed = agree_on_seed(), failed = 0, n = 0;
  const char *only = getenv("TUTTI_TEST_CASE");
  bool over = false;
  cover_case c;
  if (only && (!cover_parse(only, &c) || c.ranks != ranks)) return 2;
  const size_t each = each_of();
  for (size_t i = only || each == 1 ? 0 : seed % each; !over && i < (only ? 1 : cover_cases(ranks));
       i += each, n++) {
    if (!only) c = cover_case_at(ranks, seed, i);
    failed += (uint64_t)run(&c, &over);
  }
  char why[200];
  const int never = only || over || each > 1 ? 0 : cover_never_ran(ranks, why, sizeof why);
  if (never && rank == 0) printf("# %s; %d such\n", why, never);
  failed += (uint64_t)never;
  if (!over && tutti_allreduce(side, &failed, &failed, 1, TUTTI_UINT64, TUTTI_SUM)) {
    printf("# rank %d: the last sum failed: %s\n", rank, tutti_error());
    over = true;
  }
  if (rank == 0) {
    printf("# seed %llu\n", (unsigned long long)seed);
    printf("%s - %llu cases on %d processes\n1..1\n", failed || over ? "not ok" : "ok",
           (unsigned long long)n, ranks);
  }
  if (tutti_comm_free(side) || tutti_comm_free(comm) || start_end()) return 1;
  return failed || over;
}
