/* process_state.h - whether a rank's process is alive or stopped, and how it ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_STATE_H
#define TT_PROCESS_STATE_H

#include "heap.h"

/* Returns the state from /proc: 'R' is running, 'S' and 'D' sleeping, 'T' and 't' stopped, 'Z' and 'X' dead. Returns
 * 0 if the process does not exist, or if /proc shows another PID namespace than that of this process. If `started` is
 * not NULL, *started is set to the start time, which distinguishes the process from later ones with the same pid; 0
 * means unknown. */
char tt_process_state(long pid, uint64_t *started);
/* Identifies this process's PID namespace. A pid names the same process only inside one namespace. Returns 0 if
 * unknown. */
uint64_t tt_pid_space(void);
/* Returns true if the rank's pid names the rank's process in this process's PID namespace as well. */
bool tt_rank_visible(const tt_intro *intro);
/* Returns the state of the rank's process, or 0 if the process has ended or is not visible. */
char tt_rank_state(const tt_intro *intro);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

/* Called by the launcher when the rank has ended. status: as waitpid returned it. */
void tt_exit_publish(tt_intro *intro, int status);
/* Returns false if the process is known to have ended. A rank that is not visible counts as alive until its launcher
 * reports its end. */
bool tt_rank_alive(const tt_intro *intro);
bool tt_process_alive(int pid);
/* Describes how a dead rank ended, as the rest of a sentence: ", killed by SIGKILL", or "" if unknown. If the
 * launcher publishes exit statuses in this segment (`told`), waits briefly for the status. */
void tt_exit_words(const tt_intro *intro, bool told, char *words, size_t size);

#endif
