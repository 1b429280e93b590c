/* three_ranks.h - setup and teardown of cmocka tests with three ranks in one thread, which makes
 * invalid calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef THREE_RANKS_H
#define THREE_RANKS_H

#include <tutti.h>

static tutti_comm *comms[3];

static int make(void **state) {
  (void)state;
  return tutti_comm_from_threads(3, comms);
}
static int drop(void **state) {
  (void)state;
  for (int r = 0; r < 3; r++)
    if (tutti_comm_free(comms[r])) return 1;
  return 0;
}

#endif
