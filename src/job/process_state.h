/* process_state.h - whether a rank's process is alive, or stopped, and how it ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_STATE_H
#define TT_PROCESS_STATE_H

#include "heap.h"

/* State from /proc: 'R' runs, 'S' and 'D' sleep, 'T' and 't' are stopped, 'Z' and 'X' dead; 0: no
 * such process, or /proc shows another PID namespace than this process's. *started, unless NULL: its start time, which
 * distinguishes it from later processes with this pid; 0: unknown. */
char tt_process_state(long pid, uint64_t *started);
/* Names this process's PID namespace: only there its pid means the same process. 0: not known. */
uint64_t tt_pid_space(void);
/* Does the rank's pid name its process here, too? */
bool tt_rank_visible(const tt_intro *intro);
/* The state of the rank's process; 0: it is gone, or not visible. */
char tt_rank_state(const tt_intro *intro);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

/* Called by the launcher: the rank has ended, with this waitpid status. */
void tt_exit_publish(tt_intro *intro, int status);
/* False if the process is known to be gone: a rank that is not visible lives until its launcher says otherwise. */
bool tt_rank_alive(const tt_intro *intro);
bool tt_process_alive(int pid);
/* How a dead rank ended, as the rest of a sentence: ", killed by SIGKILL", or "" if unknown. Waits
 * briefly for the launcher to publish the status, if this segment has one that does (`told`). */
void tt_exit_words(const tt_intro *intro, bool told, char *words, size_t size);

#endif
