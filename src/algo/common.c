/* common.c - callbacks that several families share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

uint32_t tt_one_block(const tt_ask *ask) {
  (void)ask;
  return 1;
}

uint32_t tt_block_per_rank(const tt_ask *ask) {
  return (uint32_t)ask->ranks;
}

bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree) {
  (void)ask;
  return !tree;
}

/* If no rank is folded in. */
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree) {
  return !tree && (ask->ranks & (ask->ranks - 1)) == 0;
}
