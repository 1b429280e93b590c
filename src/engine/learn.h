/* learn.h - learns which of two ways to do the same work is faster, from the duration of calls.
 *
 * Idea       Rank 0 has a learner for calls of similar size. Most calls use the usual way. In each period a few calls use
 *            the other way. If their median is clearly less than that of the same number of usual calls, the other way
 *            becomes the usual one. Rank 0 requests the way of the next call; the user of the learner decides when it
 *            takes effect.
 * Time       The median is used because a rank that loses its core for a moment makes one call long, and a rank that arrives
 *            last makes one short. The first calls after a change do not count: they find lines as the other way left them.
 * Cost       A few additions per call, on rank 0. After the first two periods, at most 1 % of the calls' time is spent on
 *            the other way, and trials never follow each other directly.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LEARN_H
#define TT_LEARN_H

#include "core.h"

/* TT_LEARN_WARM calls are not counted after a change, and then TT_LEARN_COUNT calls are counted for each way. A trial has at most
 * TT_LEARN_TRIAL calls. A period has at least TT_LEARN_PERIOD calls, except for the first, which has TT_LEARN_FIRST. */
enum {
  TT_LEARN_WARM = 3,
  TT_LEARN_COUNT = 8,
  TT_LEARN_TRIAL = 32,
  TT_LEARN_PERIOD = 4096,
  TT_LEARN_FIRST = 256
};

typedef struct tt_learner {
  uint64_t ticks[2][TT_LEARN_COUNT]; /* durations of the counted calls of each way, ascending */
  uint32_t calls;                    /* number of calls in this period so far */
  uint32_t period;                   /* length of this period, in calls; 0: not known yet */
  uint32_t other;      /* calls of this period that used the other way */
  uint8_t usual, next; /* way of most calls; way requested for the next call */
  uint8_t last, row;   /* way of the last call; number of earlier calls that used the same way */
  uint8_t counted[2];
  bool settled; /* at least one period has ended */
} tt_learner;

/* Prepares a learner. `expected` is the way that is expected to be faster. */
void tt_learner_begin(tt_learner *x, int expected);
/* Records that a call used this way and took `ticks`, or 0 if the time is not known. Sets x->next. */
void tt_learn(tt_learner *x, int way, uint64_t ticks);

#endif
