/* mp_wrong.c - one rank calls something else: another count, type, op, root, collective, or in
 * another order. All ranks fail, with one sentence that names it and both calls.
 *
 * Ranks: 2 3 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "cover.h"
#include "plots.h"
#include "scenes.h"
#include "start.h"

int main(int argc, char **argv) {
  const char *all = getenv("TUTTI_TEST_ALL");
  const int rounds = argc > 1 ? atoi(argv[1]) : all && *all == '1' ? 70 : 10;
  tutti_comm *base;
  alarm(20 + 12 * (unsigned)rounds);
  if (start_comm(&base)) return printf("not ok - a communicator: %s\n", tutti_error()) > 0;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : cover_seed();
  uint32_t failed = 0;
  double most = 0, ms = 0;
  tutti_broadcast(base, &seed, &seed, 1, TUTTI_UINT64, 0);
  if (tutti_comm_rank(base) == 0) printf("# seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < rounds; i++) {
    uint32_t bad = !plot_play(base, seed % 1000000000 + (uint64_t)i, &ms);
    if (tutti_allreduce(base, &bad, &bad, 1, TUTTI_UINT32, TUTTI_SUM)) bad = 1;
    if (tutti_allreduce(base, &ms, &most, 1, TUTTI_DOUBLE, TUTTI_MAX)) bad = 1;
    failed += bad != 0;
    if (tutti_comm_rank(base) == 0) printf("# %s after %.1f ms\n", bad ? "wrong" : "named", most);
  }
  if (tutti_comm_rank(base) == 0)
    printf("%s - %d of %d mismatches are named, with both calls\n1..1\n", failed ? "not ok" : "ok",
           rounds - (int)failed, rounds);
  return tutti_comm_free(base) || start_end() || failed;
}
