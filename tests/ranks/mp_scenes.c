/* mp_scenes.c - runs the scenes on ranks that are processes.
 *
 * Usage      mp_scenes [WORD]: only the scenes whose names have this word
 * Ranks: 1 2 3 4 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"
#include "scenes.h"
#include "seconds.h"
#include "start.h"

int main(int argc, char **argv) {
  tutti_comm *comm;
  end_after(120);
  if (start_comm(&comm)) return 1;
  uint64_t seed = cover_seed();
  int failed = 0, n = 0;
  tutti_broadcast(comm, &seed, &seed, 1, TUTTI_UINT64, 0);
  if (tutti_comm_rank(comm) == 0) printf("# seed %llu\n", (unsigned long long)seed);
  for (const scene *s = scenes; s->name; s++) {
    if (argc > 1 && !strstr(s->name, argv[1])) continue;
    uint32_t bad = !s->play(comm, seed);
    if (tutti_allreduce(comm, &bad, &bad, 1, TUTTI_UINT32, TUTTI_SUM)) bad = 1;
    if (tutti_comm_rank(comm) == 0) printf("%s - %s\n", bad ? "not ok" : "ok", s->name);
    fflush(stdout);
    failed += bad != 0;
    n++;
  }
  if (tutti_comm_rank(comm) == 0) printf("1..%d\n", n);
  return tutti_comm_free(comm) || start_end() || failed;
}
