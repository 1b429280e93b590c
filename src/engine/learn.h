/* learn.h - learns which of two ways to do the same is faster, from the time that calls take.
 *
 * Idea       Rank 0 keeps a learner for calls of about one size. Most calls use the usual way. In each period a few calls use
 *            the other way. If their median is clearly less than that of the same number of usual calls, the other way becomes
 *            the usual one. Rank 0 asks for the way of the next call; the user of the learner decides when it takes effect.
 * Time       A median, because a rank that loses its core for a moment makes one call long, and a rank that arrives last makes
 *            one short. The first calls after a change find lines as the other way left them, and do not count.
 * Cost       Some additions per call, on rank 0. After the first two periods at most 1 % of the calls' time is spent on the
 *            other way; two trials never follow each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LEARN_H
#define TT_LEARN_H

#include "core.h"

/* Calls: those after a change that do not count; those that count of either way; those after which a trial ends in any case;
 * those of a period at least, and of the first one. */
enum {
  TT_LEARN_WARM = 3,
  TT_LEARN_COUNT = 8,
  TT_LEARN_TRIAL = 32,
  TT_LEARN_PERIOD = 4096,
  TT_LEARN_FIRST = 256
};

typedef struct tt_learner {
  uint64_t ticks[2][TT_LEARN_COUNT]; /* of the calls of this period that count, by either way; the shortest first */
  uint32_t calls;      /* of this period */
  uint32_t period;     /* calls that it has; 0: not known yet */
  uint32_t other;      /* calls of this period that used the other way */
  uint8_t usual, next; /* way of most calls; of the next call, if it can be */
  uint8_t last, row;   /* way of the last call; number of earlier calls that used the same way */
  uint8_t counted[2];
  bool settled; /* one period is over */
} tt_learner;

/* expected: the way that is expected to be faster. */
void tt_learner_begin(tt_learner *x, int expected);
/* A call that used this way has ended. ticks: its time; 0: not known. Sets x->next. */
void tt_learn(tt_learner *x, int way, uint64_t ticks);

#endif
