/* process_state.h - whether a rank's process is alive or stopped, and how it ended.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_STATE_H
#define TT_PROCESS_STATE_H

#include "heap.h"

/* Returns the state of a process as in /proc: 'R' is running, 'S' and 'D' sleeping, 'T' and 't' stopped, 'Z' and 'X'
 * dead. Returns 0 if the process does not exist, or if /proc shows a PID namespace other than that of the caller.
 * *started, unless NULL, is set to the start time of the process, which differs from that of later processes with
 * the same pid; 0 means unknown. */
char tt_process_state(long pid, uint64_t *started);
/* Returns a number that identifies the PID namespace of this process, or 0 if unknown. A pid has the same meaning
 * only within one namespace. */
uint64_t tt_pid_space(void);
/* Returns true if the pid that the rank has published names the same process in the PID namespace of the caller. */
bool tt_rank_visible(const tt_intro *intro);
/* Returns the state of the rank's process as in /proc, or 0 if the process has ended or is not visible. */
char tt_rank_state(const tt_intro *intro);
static inline bool tt_state_stopped(char state) {
  return state == 'T' || state == 't';
}
static inline bool tt_state_dead(char state) {
  return !state || state == 'Z' || state == 'X';
}

/* Called by the launcher when a rank has ended. status: as returned by waitpid. */
void tt_exit_publish(tt_intro *intro, int status);
/* Returns false if the rank's process is known to have ended. A process that is not visible counts as alive until
 * its launcher reports that it has ended. */
bool tt_rank_alive(const tt_intro *intro);
bool tt_process_alive(int pid);
/* Writes how a dead rank ended, as the rest of a sentence: for example ", killed by SIGKILL", or "" if unknown. If
 * `told`, the launcher publishes exit statuses in this segment, and the function waits briefly for the status. */
void tt_exit_words(const tt_intro *intro, bool told, char *words, size_t size);

#endif
