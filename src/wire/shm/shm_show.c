/* shm_show.c - which control blocks of a rank are visible from outside: a table in its heap header.
 *
 * Invariant  An entry holds a complete control block, or 0; threads of a rank may claim entries
 *            concurrently. If the table is full, further control blocks are not visible.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ctrl.h"

/* each ctrls, ctrls_made: order: the command that looks from outside checks it */

static bool swap(tt_head *head, uint64_t from, uint64_t to) {
  for (int i = 0; i < TT_CTRLS; i++) {
    unsigned long long was = from;
    if (atomic_compare_exchange_strong(&head->ctrls[i], &was, to)) return true;
  }
  return false;
}

void tt_shm_show(tt_head *head, uint64_t ctrl) {
  swap(head, 0, ctrl);
  atomic_fetch_add(&head->ctrls_made, 1);
}

void tt_shm_hide(tt_head *head, uint64_t ctrl) {
  swap(head, ctrl, 0);
}
