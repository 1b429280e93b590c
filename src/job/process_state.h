/* process_state.h - is a process running, sleeping, stopped, or dead?
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_STATE_H
#define TT_PROCESS_STATE_H

#include "core.h"

/* State from /proc: 'R' runs, 'S' and 'D' sleep, 'T' and 't' are stopped, 'Z' and 'X' dead; 0: no
 * such process. *started, unless NULL: its start time, which tells it from later processes with
 * this pid. */
char tt_process_state(long pid, uint64_t *started);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

#endif
