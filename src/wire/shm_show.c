/* shm_show.c - which rooms of a rank can be found from outside: a row of places in its head.
 *
 * Invariant  a place holds a room that is complete, or 0; threads of a rank take places at once.
 *            Where there are more rooms than places the last ones cannot be found.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm.h"

/* each rooms, rooms_made: order: the command that looks from outside checks it */

static bool swap(tt_head *head, uint64_t from, uint64_t to) {
  for (int i = 0; i < TT_ROOMS; i++) {
    unsigned long long was = from;
    if (atomic_compare_exchange_strong(&head->rooms[i], &was, to)) return true;
  }
  return false;
}

void tt_shm_show(tt_head *head, uint64_t room) {
  swap(head, 0, room);
  atomic_fetch_add(&head->rooms_made, 1);
}

void tt_shm_hide(tt_head *head, uint64_t room) {
  swap(head, room, 0);
}
