/* order_sample.h - the sample of blocks that determines the order of a schedule's steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ORDER_SAMPLE_H
#define TT_ORDER_SAMPLE_H

#include "schedule.h"

typedef struct tt_window { /* blocks lo .. hi - 1 */
  uint32_t lo, hi;
} tt_window;

/* Windows in ascending order. If n is 0, all blocks must be examined. */
typedef struct tt_sample {
  tt_window *window;
  uint32_t n;
} tt_sample;

/* Finds the windows of a buffer. The caller frees sample->window. May fail with TUTTI_ERR_MEMORY. */
tutti_status tt_order_sample(const tt_sched *s, uint32_t buf, tt_sample *sample);
/* If the sample has windows and the span repeats, visits the span's runs of neighbouring blocks within the windows.
 * Otherwise returns false. */
typedef void tt_visit(void *of, uint32_t block, uint32_t end);
bool tt_sample_visit(const tt_sample *sample, const tt_span *span, tt_visit *visit, void *of);

#endif
