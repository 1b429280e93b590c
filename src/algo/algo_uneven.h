/* algo_uneven.h - a fold over nested groups of different sizes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_UNEVEN_H
#define TT_ALGO_UNEVEN_H

#include "algo_group.h"
#include "topo_tree.h"

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *tree, const tt_fold_spec *how);
uint32_t tt_uneven_blocks(const tt_tree *tree);
void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree,
                     const tt_fold_spec *how);

#endif
