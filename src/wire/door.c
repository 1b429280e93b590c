/* door.c - a descriptor by which ranks of one host wake one who sleeps on descriptors.
 *
 * Idea       who waits for a network too sleeps in poll, where no futex is heard. So each process
 *            has a pipe, its door, which its peers open through /proc; who stands at it says so
 *            in its head, and who acts for it writes a byte, a knock.
 * Invariant  no knock is lost, for the reason why no ring is (doze.c): who acts publishes, then
 *            looks whether somebody is at the door; who sleeps says that he is, then looks once
 *            more; both sequentially consistent. Old knocks are taken in before that look.
 * Else       one thread stands at a door at a time, others nap. Who cannot open it shuts it, for
 *            good: its owner naps, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm_room.h"

enum { SHUT = -1 };

/* Descriptors are kept one higher, for 0 is none yet. Another thread may have been first. */
/* each door, doors, SHUT: model: doze:door */

static int keep(atomic_int *door, int fd) {
  int before = 0;
  if (fd >= 0 && atomic_compare_exchange_strong(door, &before, fd + 1)) return fd;
  if (fd >= 0) close(fd);
  if (fd < 0) atomic_compare_exchange_strong(door, &before, SHUT);
  return before > 0 ? before - 1 : -1;
}

/* To read and to write, whose it may be: it has a reader and a writer as long as it is open. */
static int open_it(long pid, int fd) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", pid, fd);
  return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int own(tt_segment *segment, int index) {
  atomic_int *door = &segment->doors[index];
  const int have = atomic_load(door);
  if (have) return have > 0 ? have - 1 : -1;
  int ends[2];
  struct stat st;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return keep(door, -1);
  const int fd = open_it((long)getpid(), ends[0]);
  close(ends[0]);
  close(ends[1]);
  if (fd >= 0 && fstat(fd, &st) == 0) tt_heap_head(segment, index)->door_inode = st.st_ino;
  return keep(door, fd);
}

int tt_door_stand(tt_segment *segment, int index) {
  char knocks[64];
  int nobody = 0;
  const int fd = own(segment, index);
  if (fd < 0 ||
      !atomic_compare_exchange_strong(&tt_heap_head(segment, index)->door, &nobody, fd + 1))
    return -1;
  while (read(fd, knocks, sizeof knocks) == (ssize_t)sizeof knocks) continue;
  /* model: doze:fence */
  atomic_thread_fence(memory_order_seq_cst);
  return fd;
}

void tt_door_leave(tt_segment *segment, int index, int fd) {
  int there = fd + 1;
  atomic_compare_exchange_strong(&tt_heap_head(segment, index)->door, &there, 0);
}

/* The pipe that the head speaks of, not that of another process that has its number now. */
static int of_peer(tt_segment *segment, int index, int there) {
  const tt_head *head = tt_heap_head(segment, index);
  struct stat st;
  int fd = open_it(head->pid, there - 1);
  if (fd >= 0 && (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != head->door_inode)) {
    close(fd);
    fd = -1;
  }
  return keep(&segment->doors[index], fd);
}

void tt_door_knock(tt_segment *segment, int index) {
  atomic_int *door = &tt_heap_head(segment, index)->door;
  /* model: doze:sleepers-look */
  const int there = atomic_load(door);
  if (there <= 0) return;
  const int have = atomic_load(&segment->doors[index]);
  const int fd = have ? have - 1 : of_peer(segment, index, there);
  if (fd < 0)
    atomic_store(door, SHUT);
  else if (write(fd, "", 1) < 0)
    return; /* it is full of knocks */
}
