/* process_state.c - whether a rank's process is alive or stopped, and how it ended.
 *
 * Idea       The launcher reaps the process and writes the exit status into the rank's introduction. Without a
 *            launcher, or before it has written the status, a pidfd shows that all threads of the process have ended,
 *            even while the process is a zombie (kill would still find it).
 * Invariant  A process that is reported as gone executes no further instruction, and its part of the shared memory
 *            stays unchanged. A pid names a process in one PID namespace only, and only until the system reuses it.
 *            Therefore a pid is used only in the rank's own namespace, and the start time distinguishes the rank from
 *            later processes with the same pid.
 * Cost       A check whether a rank is alive takes three system calls and reads a file in /proc.
 * Source     proc_pid_stat(5). The name in parentheses may contain anything, so only the text after the last
 *            parenthesis is parsed: the state, and 19 fields later the start time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_state.h"

/* each ended: order: one word says all */

enum { ENDED = 1 << 16, MOMENT_MS = 200 };

void tt_exit_publish(tt_intro *intro, int status) {
  atomic_store(&intro->ended, ENDED | (unsigned)(status & 0xffff));
}

bool tt_process_alive(int pid) {
  if (pid <= 0) return true;
#ifdef SYS_pidfd_open
  const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    const bool over = poll(&p, 1, 0) == 1;
    close(fd);
    return !over;
  }
#endif
  return kill(pid, 0) == 0 || errno != ESRCH; /* for systems without pidfd_open */
}

uint64_t tt_pid_space(void) {
  struct stat st;
  return stat("/proc/self/ns/pid", &st)
             ? 0
             : tt_mix((uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 48) | 1;
}

bool tt_rank_visible(const tt_intro *intro) {
  return intro->space && intro->space == tt_pid_space();
}

/* Returns true if this pid still belongs to the rank's process. Compares the start times if both are known. */
static bool is_same(uint64_t began, const tt_intro *intro) {
  return !began || !intro->started || began == intro->started;
}

bool tt_rank_alive(const tt_intro *intro) {
  uint64_t began;
  if (atomic_load(&intro->ended)) return false;
  if (!tt_rank_visible(intro)) return true;
  if (!tt_process_alive(intro->pid)) return false;
  tt_process_state(intro->pid, &began);
  return is_same(began, intro);
}

char tt_rank_state(const tt_intro *intro) {
  uint64_t began;
  if (!tt_rank_visible(intro)) return 0;
  const char state = tt_process_state(intro->pid, &began);
  return is_same(began, intro) ? state : 0;
}

void tt_exit_words(const tt_intro *intro, bool told, char *words, size_t size) {
  const int most = told ? MOMENT_MS : 0;
  unsigned ended;
  for (int ms = 0; !(ended = atomic_load(&intro->ended)) && ms < most; ms++) usleep(1000);
  const int status = (int)(ended & 0xffff);
  words[0] = 0;
  if (ended && WIFEXITED(status)) {
    snprintf(words, size, ", it exited with status %d", WEXITSTATUS(status));
  } else if (ended && WIFSIGNALED(status)) {
    const char *name = sigabbrev_np(WTERMSIG(status));
    snprintf(words, size, ", killed by SIG%s", name ? name : "RT");
  }
}

/* Returns true if /proc shows the PID namespace of this process. After a process has entered a new namespace, /proc
 * shows the old one until it is mounted again. */
static bool is_own_proc(void) {
  char name[20];
  const ssize_t n = readlink("/proc/self", name, sizeof name - 1);
  if (n > 0) name[n] = 0;
  return n > 0 && strtol(name, NULL, 10) == (long)getpid();
}

char tt_process_state(long pid, uint64_t *started) {
  char path[40] = "/proc/self/stat", text[1024], state = 0;
  unsigned long long began = 0;
  if (started) *started = 0;
  const bool self = pid == (long)getpid();
  if (!self) snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *f = pid > 0 && (self || is_own_proc()) ? fopen(path, "re") : NULL;
  const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  const char *at = strrchr(text, ')');
  if (!at || sscanf(at + 1, " %c", &state) != 1) return 0;
  for (int field = 2; *at && field < 22; at++) field += *at == ' ';
  if (started && sscanf(at, "%llu", &began) == 1) *started = began;
  return state;
}
