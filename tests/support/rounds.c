/* rounds.c - repeats a scene with one faulty rank.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "cover.h"

unsigned rounds_play(tutti_comm *base, int rounds, const char *text, const char *what,
                     round_fn *play) {
  const bool first = tutti_comm_rank(base) == 0;
  uint64_t seed = text ? strtoull(text, NULL, 10) : cover_seed();
  unsigned failed = 0;
  double most = 0, ms = 0;
  tutti_broadcast(base, &seed, &seed, 1, TUTTI_UINT64, 0);
  if (first) printf("# seed %llu\n", (unsigned long long)seed);
  for (int i = 0; i < rounds; i++) {
    uint32_t bad = !play(base, seed % 1000000000 + (uint64_t)i, &ms);
    if (tutti_allreduce(base, &bad, &bad, 1, TUTTI_UINT32, TUTTI_SUM)) bad = 1;
    if (tutti_allreduce(base, &ms, &most, 1, TUTTI_DOUBLE, TUTTI_MAX)) bad = 1;
    failed += bad != 0;
    if (first) printf("# %s after %.1f ms\n", bad ? "wrong" : "named", most);
  }
  if (first)
    printf("%s - %d of %d %s\n1..1\n", failed ? "not ok" : "ok", rounds - (int)failed, rounds,
           what);
  return failed;
}
