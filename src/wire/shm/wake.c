/* wake.c - sleeping until a peer acts, without system calls while no rank sleeps.
 *
 * Idea       Sleeper: increment `sleepers`, poll once more, sleep on the futex word's old value.
 *            Waker: publish, then check `sleepers`; if nonzero, change the futex word and wake. The
 *            waker's publishing and check are sequentially consistent, and a fence precedes the
 *            sleeper's poll, which only acquires: so one of the two sees the other
 *            (models/wake.pml). Sleeps are bounded all the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm_ctrl.h"

void tt_futex_wake(tt_head *head) {
  /* model: wake:sleepers-look */
  if (atomic_load(&head->sleepers) == 0) return;
  /* model: wake:ring */
  atomic_fetch_add(&head->futex, 1);
  syscall(SYS_futex, &head->futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t tt_futex_wait_begin(tt_head *head) {
  /* model: wake:bell */
  uint32_t futex = atomic_load(&head->futex);
  /* model: wake:sleepers */
  atomic_fetch_add(&head->sleepers, 1);
  /* model: wake:fence */
  atomic_thread_fence(memory_order_seq_cst);
  return futex;
}

void tt_futex_wait(tt_head *head, uint32_t futex, uint32_t limit_us) {
  struct timespec limit = {limit_us / 1000000, (long)(limit_us % 1000000) * 1000};
  syscall(SYS_futex, &head->futex, FUTEX_WAIT, futex, &limit, NULL, 0);
}

void tt_futex_wait_end(tt_head *head) {
  /* model: wake:up */
  atomic_fetch_sub(&head->sleepers, 1);
}
