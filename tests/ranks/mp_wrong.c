/* mp_wrong.c - one rank makes a different call: another count, type, op, root or collective, or another order.
 * All ranks fail with one error message that names the rank and both calls.
 *
 * Ranks: 2 3 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plots.h"
#include "rounds.h"
#include "start.h"

int main(int argc, char **argv) {
  const char *all = getenv("TUTTI_TEST_ALL");
  const int rounds = argc > 1 ? atoi(argv[1]) : all && *all == '1' ? 70 : 10;
  tutti_comm *base;
  alarm(20 + 12 * (unsigned)rounds);
  if (start_comm(&base)) return printf("not ok - a communicator: %s\n", tutti_error()) > 0;
  const unsigned failed = rounds_play(base, rounds, argc > 2 ? argv[2] : NULL,
                                      "mismatches are named, with both calls", plot_play);
  return tutti_comm_free(base) || start_end() || failed;
}
