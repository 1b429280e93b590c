/* interrupt.c - interruptible waits (tutti_interrupt_set).
 *
 * Idea       A waiting thread periodically checks whether to continue. Only the thread that set the function calls it,
 *            because its interpreter runs the signal handlers there.
 * Cost       One atomic load per poll if no function is set; otherwise one clock read.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <unistd.h>

#include "process.h"

static const double PAUSE = 0.02; /* between two calls, in s */

void tutti_interrupt_set(tutti_interrupt_fn *fn, void *ctx) {
  /* order: threads set a function one after another */
  atomic_store(&tt_process.interrupt.fn, NULL);
  tt_process.interrupt.ctx = ctx;
  tt_process.interrupt.thread = pthread_self();
  atomic_store_explicit(&tt_process.interrupt.fn, fn,
                        memory_order_release); /* model: publish:set */
}

bool tt_may_be_interrupted(void) {
  /* model: publish:find */
  return atomic_load_explicit(&tt_process.interrupt.fn, memory_order_acquire) &&
         pthread_equal(pthread_self(), tt_process.interrupt.thread);
}

int tutti_interrupted(void) {
  if (!tt_may_be_interrupted()) return 0;
  /* model: publish:find */
  tutti_interrupt_fn *fn = atomic_load_explicit(&tt_process.interrupt.fn, memory_order_acquire);
  return fn && fn(tt_process.interrupt.ctx);
}

bool tt_interrupted(double *asked) {
  if (!tt_may_be_interrupted()) return false;
  const double now = tt_seconds();
  const bool first = *asked <= 0;
  if (!first && now - *asked < PAUSE) return false;
  *asked = now;
  return !first && tutti_interrupted();
}

enum { YIELDS = 200, NAPS = 5000, NAP_US = 200, LONG_NAP_US = 2000 };

tutti_status tt_wait_until(const char *who, tt_poll_fn *poll, void *ctx) {
  double asked = 0;
  for (unsigned turn = 0;; turn++) {
    tutti_status status = TUTTI_OK;
    if (poll(ctx, turn, &status) || status) return status;
    if (who && tt_interrupted(&asked)) return tt_say_interrupted(who);
    if (turn < YIELDS)
      sched_yield();
    else
      usleep(turn < NAPS ? NAP_US : LONG_NAP_US);
  }
}

tutti_status tt_say_interrupted(const char *what) {
  return tt_fail(TUTTI_ERR_INTERRUPTED, "%s was interrupted while it waited for other ranks", what);
}
