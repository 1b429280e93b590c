/* wake_fd.c - a descriptor by which ranks of one host wake a rank that sleeps on descriptors.
 *
 * Idea       A rank that also waits for a network sleeps in poll, which no futex ends. So each
 *            process has a pipe, its wake_fd, which its peers open through /proc. A sleeper
 *            announces the descriptor in its heap header; a peer that acts for it writes a byte.
 * Invariant  No wake-up is lost, for the same reason as in wake.c: the waker publishes, then checks
 *            for a sleeper; the sleeper announces itself, then polls once more; both sequentially
 *            consistent. Old bytes are drained before that poll.
 * Else       One thread per rank sleeps on the wake_fd at a time, others nap. A peer that cannot
 *            open it marks it SHUT, for good: then its owner naps, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm_ctrl.h"

enum { SHUT = -1 };

/* Descriptors are stored plus one, since 0 means none yet. Another thread may have been first. */
/* each wake_fd, wake_fds, SHUT: model: wake:door */

static int keep(atomic_int *wake_fd, int fd) {
  int before = 0;
  if (fd >= 0 && atomic_compare_exchange_strong(wake_fd, &before, fd + 1)) return fd;
  if (fd >= 0) close(fd);
  if (fd < 0) atomic_compare_exchange_strong(wake_fd, &before, SHUT);
  return before > 0 ? before - 1 : -1;
}

/* Opened for reading and writing by owner and peer, so a reader and a writer exist while it is
 * open. */
static int open_it(long pid, int fd) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", pid, fd);
  return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_own_wake_fd(tt_segment *segment, int index) {
  atomic_int *wake_fd = &segment->wake_fds[index];
  const int have = atomic_load(wake_fd);
  if (have) return have > 0 ? have - 1 : -1;
  int ends[2];
  struct stat st;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return keep(wake_fd, -1);
  const int fd = open_it((long)getpid(), ends[0]);
  close(ends[0]);
  close(ends[1]);
  if (fd >= 0 && fstat(fd, &st) == 0) tt_heap_head(segment, index)->wake_inode = st.st_ino;
  return keep(wake_fd, fd);
}

int tt_wake_fd_open(tt_segment *segment, int index) {
  char signals[64];
  int nobody = 0;
  const int fd = open_own_wake_fd(segment, index);
  if (fd < 0 ||
      !atomic_compare_exchange_strong(&tt_heap_head(segment, index)->wake_fd, &nobody, fd + 1))
    return -1;
  while (read(fd, signals, sizeof signals) == (ssize_t)sizeof signals) continue;
  /* model: wake:fence */
  atomic_thread_fence(memory_order_seq_cst);
  return fd;
}

void tt_wake_fd_close(tt_segment *segment, int index, int fd) {
  int there = fd + 1;
  atomic_compare_exchange_strong(&tt_heap_head(segment, index)->wake_fd, &there, 0);
}

/* Open the peer's pipe; reject a pipe of another process that now has its pid. */
static int of_peer(tt_segment *segment, int index, int there) {
  const tt_head *head = tt_heap_head(segment, index);
  struct stat st;
  int fd = open_it(head->pid, there - 1);
  if (fd >= 0 && (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != head->wake_inode)) {
    close(fd);
    fd = -1;
  }
  return keep(&segment->wake_fds[index], fd);
}

void tt_wake_fd_signal(tt_segment *segment, int index) {
  atomic_int *wake_fd = &tt_heap_head(segment, index)->wake_fd;
  /* model: wake:sleepers-look */
  const int there = atomic_load(wake_fd);
  if (there <= 0) return;
  const int have = atomic_load(&segment->wake_fds[index]);
  const int fd = have ? have - 1 : of_peer(segment, index, there);
  if (fd < 0)
    atomic_store(wake_fd, SHUT);
  else if (write(fd, "", 1) < 0)
    return; /* it is full of wake-ups already */
}
