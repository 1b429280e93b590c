/* order_sample.h - the sample of blocks that determines the order of a schedule's steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ORDER_SAMPLE_H
#define TT_ORDER_SAMPLE_H

#include "schedule.h"

typedef struct tt_window { /* blocks lo .. hi - 1 */
  uint32_t lo, hi;
} tt_window;

/* Windows of a buffer, in ascending order. If n is 0, every block must be examined. */
typedef struct tt_sample {
  tt_window *window;
  uint32_t n;
} tt_sample;

/* Finds the windows to examine in a buffer. The caller frees sample->window. May fail with TUTTI_ERR_MEMORY. */
tutti_status tt_order_sample(const tt_sched *s, uint32_t buf, tt_sample *sample);
/* Visits the runs of neighbouring blocks of a span that lie within the windows. Returns false, without visiting
 * anything, if the sample is empty or if the span does not repeat. */
typedef void tt_visit(void *of, uint32_t block, uint32_t end);
bool tt_sample_visit(const tt_sample *sample, const tt_span *span, tt_visit *visit, void *of);

#endif
