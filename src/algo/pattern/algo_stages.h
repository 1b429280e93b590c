/* algo_stages.h - a composition: a separate algorithm for every level of the machine.
 *
 * Idea       stages=A/B/C names one algorithm for each level of more than one rank, outermost first.
 *            The innermost level begins. A stage that can scatter its sums does so, and the levels
 *            outside it continue with the part that this rank got; on the way back it gathers. Any other
 *            stage sums the whole part on all its ranks and has no way back. The outermost level is
 *            always of that kind.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_STAGES_H
#define TT_ALGO_STAGES_H

#include "algo.h"

#define TT_STAGES_WRONG \
  "stages must name one algorithm for each level of more than one rank, with slashes between"
/* NULL, or why the parameter stages= and these levels do not fit. Only building shows whether the stages
 * can be composed. */
const char *tt_stages_refuse(const tt_ask *ask, const tt_tree *tree);
void tt_stages_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree);
/* As in tt_algo_uniform, on a machine with levels `machine`, or without (NULL). */
bool tt_stages_uniform(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine);

/* As tt_algo_stages. */
int tt_stages_list(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine,
                   tt_level_stage *list);

/* Appends the i-th composition for these sizes, outermost first: as a sample, of which two or three
 * levels have TT_STAGE_SAMPLES; and as a plan. False past the last. */
enum { TT_STAGE_SAMPLES = 38 };
bool tt_stages_sample(const int *sizes, int levels, int i, tt_text *params);
bool tt_stages_plan(const int *sizes, int levels, int i, tt_text *params);

#endif
