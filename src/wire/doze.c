/* doze.c - sleeping until a peer acts, without a system call unless somebody
 * sleeps.
 *
 * Idea       sleeper: raise `sleepers`, look once more, sleep on `bell` as it was.
 *            waker: publish, then look at `sleepers`; if raised, change the bell and
 *            wake. Publishing and the waker's look are sequentially consistent, and a fence
 *            is before the sleeper's, which only acquires: so one of the two sees the other
 *            (models/doze.pml); sleeps are bounded all the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm_room.h"

void tt_ring(tt_head *head) {
  /* model: doze:sleepers-look */
  if (atomic_load(&head->sleepers) == 0) return;
  /* model: doze:ring */
  atomic_fetch_add(&head->bell, 1);
  syscall(SYS_futex, &head->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t tt_lie_down(tt_head *head) {
  /* model: doze:bell */
  uint32_t bell = atomic_load(&head->bell);
  /* model: doze:sleepers */
  atomic_fetch_add(&head->sleepers, 1);
  /* model: doze:fence */
  atomic_thread_fence(memory_order_seq_cst);
  return bell;
}

void tt_sleep(tt_head *head, uint32_t bell, uint32_t limit_us) {
  struct timespec limit = {limit_us / 1000000, (long)(limit_us % 1000000) * 1000};
  syscall(SYS_futex, &head->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
}

void tt_get_up(tt_head *head) {
  /* model: doze:up */
  atomic_fetch_sub(&head->sleepers, 1);
}
