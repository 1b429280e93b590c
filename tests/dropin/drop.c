/* drop.c - start, end and TAP lines of the programs of tests/dropin/.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "drop.h"

#include <unistd.h>

enum { TAG = 31000 };

int drop_rank, drop_ranks;
static int tests, failures;

int drop_start(int *argc, char ***argv, int level) {
  int provided = MPI_THREAD_SINGLE;
  alarm(110);
  if (level == MPI_THREAD_SINGLE)
    MPI_Init(argc, argv);
  else
    MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &drop_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &drop_ranks);
  return provided;
}

void drop_tell(const char *what, bool good) {
  int mine = !good, bad = mine;
  for (int r = 1; r < drop_ranks; r++) {
    if (drop_rank == r) MPI_Send(&mine, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    if (drop_rank > 0) continue;
    MPI_Recv(&mine, 1, MPI_INT, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bad |= mine;
  }
  failures += bad;
  tests++;
  if (drop_rank > 0) return;
  printf("%s - %s\n", bad ? "not ok" : "ok", what);
  fflush(stdout);
}

void drop_plan(void) {
  if (drop_rank > 0) return;
  printf("1..%d\n", tests);
  fflush(stdout);
}

int drop_end(void) {
  drop_plan();
  MPI_Finalize();
  return failures > 0;
}

unsigned drop_mix(unsigned a, unsigned b, unsigned c) {
  unsigned x = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

bool drop_same(const char *what, const int *got, const int *want, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (got[i] == want[i]) continue;
    printf("# rank %d: %s: element %zu of %zu is %d, not %d\n", drop_rank, what, i, n, got[i],
           want[i]);
    return false;
  }
  return true;
}

bool drop_check(bool good, const char *what, const char *file, int line) {
  if (!good) printf("# rank %d: %s:%d: %s\n", drop_rank, file, line, what);
  fflush(stdout);
  return good;
}
