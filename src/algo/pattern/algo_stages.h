/* algo_stages.h - a composition: every level of the machine has an algorithm of its own.
 *
 * Idea       stages=A/B/C names one algorithm for each level of more than one rank, outermost first.
 *            The innermost level begins. A stage that can scatter its sums does so, and the levels
 *            outside it go on with the part that this rank got; on the way back it gathers. Any other
 *            stage sums the whole part on all its ranks, and is over. The outermost level is always
 *            of that kind.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_STAGES_H
#define TT_ALGO_STAGES_H

#include "algo.h"

/* A composition is made once for all callbacks that get the same ask, if ask->composed says where to keep
 * it; the function that sets it frees the composition afterwards. c may be NULL. */
void tt_composition_free(struct tt_composition *c);

/* NULL, or why the parameter stages= and these levels cannot be composed. */
const char *tt_stages_refuse(const tt_ask *ask, const tt_tree *tree);
/* The next two need a composition that is not refused. */
uint32_t tt_stages_blocks(const tt_ask *ask, const tt_tree *tree);
void tt_stages_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree);
/* As in tt_algo_uniform, on a machine with levels `machine`, or without (NULL). */
bool tt_stages_uniform(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine);

/* As tt_algo_stages. */
int tt_stages_list(const tt_ask *ask, const tt_tree *tree, const tt_tree *machine,
                   tt_level_stage *list);

/* The i-th composition as a sample for these sizes, outermost first: TT_STAGE_SAMPLES for two or three
 * levels; and as a plan. */
enum { TT_STAGE_SAMPLES = 38 };
bool tt_stages_sample(const int *sizes, int levels, int i, char *stages, size_t size);
bool tt_stages_plan(const int *sizes, int levels, int i, char *stages, size_t size);

#endif
