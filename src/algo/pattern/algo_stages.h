/* algo_stages.h - a composition: each level of the machine uses a different algorithm.
 *
 * Idea       stages=A/B/C names one algorithm for each level of more than one rank, outermost first. The innermost level
 *            runs first. If a stage can scatter its sums it does so, and the levels outside it continue with the part
 *            that this rank received; in the reverse phase the stage gathers. Any other stage sums its whole part on all
 *            its ranks and has no reverse phase. The outermost level is always of that kind.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_STAGES_H
#define TT_ALGO_STAGES_H

#include "algo.h"

#define TT_STAGES_WRONG \
  "stages must name one algorithm for each level of more than one rank, with slashes between"
/* Returns NULL, or the reason why the parameter stages= does not match these levels. Whether the stages fit together is
 * only known once they are built. */
const char *tt_stages_refuse(const tt_ask *ask, const tt_tree *tree);
void tt_stages_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree);
/* Returns true if the composition is uniform (see tt_algo_uniform). `machine` is NULL for a machine without levels. */
bool tt_stages_uniform(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine);

/* As tt_algo_stages. */
int tt_stages_list(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine,
                   tt_level_stage *list);

/* Appends the i-th plan for these sizes, outermost first. Returns false past the last. */
bool tt_stages_plan(const int *sizes, int levels, int i, tt_text *params);

#endif
