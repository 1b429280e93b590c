/* algo_index.h - Bruck's all-to-all, which he calls the index operation.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_INDEX_H
#define TT_ALGO_INDEX_H

#include "algo.h"

void tt_bruck_index(tt_builder *b, const tt_ask *ask, int radix);

#endif
