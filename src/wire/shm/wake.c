/* wake.c - sleeping until a peer acts. Peers make no system calls while no rank sleeps.
 *
 * Idea       A sleeper increments `sleepers`, polls once more, and sleeps on the old value of the futex word. A
 *            waker publishes its change, then checks `sleepers`; if it is nonzero, it changes the futex word
 *            and wakes. The sleeper makes all ranks pass a fence before it polls, so one of the two sees the
 *            other (job/fences.h, models/wake.pml). Sleeps are bounded nevertheless.
 * Pipes      A rank that also waits for a network sleeps in poll, which a futex cannot end. Each
 *            process therefore has a pipe, its wake_fd, which its peers open through /proc. A
 *            sleeper announces the descriptor in its heap header, and drains old bytes before it
 *            polls once more. A peer that changes something for it writes a byte.
 * Otherwise  Only one thread per rank sleeps on the wake_fd; other threads sleep for short times. A peer that
 *            cannot open the pipe marks it SHUT permanently, and its owner then sleeps for short times, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fences.h"
#include "shm_wire.h"

/* ---- the futex word ---- */

void tt_futex_wake(tt_head *head) {
  /* model: wake:sleepers-look */
  if (atomic_load(&head->sleepers) == 0) return;
  /* model: wake:ring */
  atomic_fetch_add(&head->futex, 1);
  syscall(SYS_futex, &head->futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t tt_sleep_begin(tt_wire *w) {
  const tt_shm *s = tt_shm_of(w);
  /* model: wake:dozing */
  atomic_fetch_add(s->sleepers_anywhere, 1);
  /* model: wake:bell */
  uint32_t futex = atomic_load(&s->head->futex);
  /* model: wake:sleepers */
  atomic_fetch_add(&s->head->sleepers, 1);
  tt_fence_everywhere();
  return futex;
}

void tt_sleep(tt_wire *w, uint32_t futex, uint32_t limit_us) {
  struct timespec limit = {limit_us / 1000000, (long)(limit_us % 1000000) * 1000};
  syscall(SYS_futex, &tt_shm_of(w)->head->futex, FUTEX_WAIT, futex, &limit, NULL, 0);
}

void tt_sleep_end(tt_wire *w) {
  /* model: wake:dozing-less */
  atomic_fetch_sub(tt_shm_of(w)->sleepers_anywhere, 1);
  /* model: wake:up */
  atomic_fetch_sub(&tt_shm_of(w)->head->sleepers, 1);
}

/* ---- the pipe ---- */

enum { SHUT = -1 };

/* Stores fd + 1 in *wake_fd, where 0 means that no descriptor has been stored. If another thread was faster, closes fd. */
/* each wake_fd, wake_fds, SHUT: model: wake:door */

static int keep(atomic_int *wake_fd, int fd) {
  int before = 0;
  if (fd >= 0 && atomic_compare_exchange_strong(wake_fd, &before, fd + 1)) return fd;
  if (fd >= 0) close(fd);
  if (fd < 0) atomic_compare_exchange_strong(wake_fd, &before, SHUT);
  return before > 0 ? before - 1 : -1;
}

/* Opens the pipe for reading and writing. Owner and peer both do this, so an open pipe always has a reader and a writer. */
static int open_it(const char *process, int fd) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/fd/%d", process, fd);
  return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_own_wake_fd(tt_segment *segment, int index) {
  atomic_int *wake_fd = &segment->wake_fds[index];
  const int have = atomic_load(wake_fd);
  if (have) return have > 0 ? have - 1 : -1;
  int ends[2];
  struct stat st;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return keep(wake_fd, -1);
  const int fd = open_it("self", ends[0]);
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
  tt_fence_everywhere();
  return fd;
}

void tt_wake_fd_close(tt_segment *segment, int index, int fd) {
  int there = fd + 1;
  atomic_compare_exchange_strong(&tt_heap_head(segment, index)->wake_fd, &there, 0);
}

/* Opens the peer's pipe. Checks that the pipe does not belong to another process that has been given the peer's pid since. */
static int of_peer(tt_segment *segment, int index, int there) {
  const uint64_t inode = tt_heap_head(segment, index)->wake_inode;
  struct stat st;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", tt_heap_intro(segment, index)->pid);
  int fd = open_it(pid, there - 1);
  if (fd >= 0 && (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != inode)) {
    close(fd);
    fd = -1;
  }
  return keep(&segment->wake_fds[index], fd);
}

void tt_wake_fd_signal(tt_segment *segment, tt_head *head, int index) {
  atomic_int *wake_fd = &head->wake_fd;
  /* model: wake:sleepers-look */
  const int there = atomic_load(wake_fd);
  if (there <= 0) return;
  const int have = atomic_load(&segment->wake_fds[index]);
  const int fd = have ? have - 1 : of_peer(segment, index, there);
  if (fd < 0)
    atomic_store(wake_fd, SHUT);
  else if (write(fd, "", 1) < 0)
    return; /* the pipe is already full of wake-up bytes */
}

int tt_sleep_fd_open(tt_wire *w) {
  const tt_shm *s = tt_shm_of(w);
  atomic_fetch_add(s->sleepers_anywhere, 1); /* model: wake:dozing */
  const int fd = tt_wake_fd_open(s->segment, tt_heap_index(s->heap));
  if (fd < 0) atomic_fetch_sub(s->sleepers_anywhere, 1); /* model: wake:dozing-less */
  return fd;
}

void tt_sleep_fd_close(tt_wire *w, int fd) {
  const tt_shm *s = tt_shm_of(w);
  tt_wake_fd_close(s->segment, tt_heap_index(s->heap), fd);
  atomic_fetch_sub(s->sleepers_anywhere, 1); /* model: wake:dozing-less */
}
