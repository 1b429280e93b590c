/* ucx_board.c - the state of remote processes, shared by the processes of a host.
 *
 * Idea       The board has one byte per process of the job: whether any process of this host uses it, and whether its
 *            host has stopped answering. The first process of a host creates the board in shared memory and publishes its
 *            path (in /proc) in its beacon. One process holds a lock on the board and watches the other hosts for all of
 *            them (ucx_watch.c).
 * Invariant  The kernel releases the lock when its process ends for any reason, and another process takes it. A
 *            process that cannot open the shared board creates a private one and watches for itself.
 * Cost       One byte per process of the job on each host, and one descriptor per process.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ucx.h"

static size_t bytes_of(int ranks) {
  return sizeof(ucx_board) + (size_t)ranks;
}

void ucx_board_make(ucx_watch *h) {
  ucx_beacon *b = &h->beacon;
  b->pid = (int32_t)getpid();
  b->board = h->fd = memfd_create("tutti-hosts", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool drawn = getrandom(&b->id, sizeof b->id, GRND_NONBLOCK) == sizeof b->id;
  b->id |= 1;
  if (h->fd >= 0 && drawn && pwrite(h->fd, &b->id, sizeof b->id, 0) == sizeof b->id &&
      !fcntl(h->fd, F_ADD_SEALS, F_SEAL_SHRINK))
    return;
  if (h->fd >= 0) close(h->fd);
  b->board = h->fd = -1;
}

/* Opens the shared memory that a beacon refers to. Returns -1 if it cannot be opened, or if it is not the memory that the
 * beacon was written for. */
static int find(const ucx_beacon *b, int ranks) {
  char path[64];
  uint64_t id = 0;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)b->pid, (int)b->board);
  const int fd = b->board < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && seals & F_SEAL_SHRINK && pread(fd, &id, sizeof id, 0) == sizeof id &&
      id == b->id && !ftruncate(fd, (off_t)bytes_of(ranks))) /* all processes do this, with the same
                                                                size */
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

int ucx_board_open(ucx_watch *h, const ucx_beacon *first, int ranks) {
  const int flags = MAP_SHARED, own = h->fd;
  void *at = MAP_FAILED;
  h->bytes = bytes_of(ranks);
  h->fd = first->id == h->beacon.id && own >= 0 ? own : find(first, ranks);
  if (h->fd == own && own >= 0 && ftruncate(own, (off_t)h->bytes)) h->fd = -1;
  if (own >= 0 && own != h->fd) close(own);
  if (h->fd >= 0) at = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, flags, h->fd, 0);
  if (at == MAP_FAILED) {
    if (h->fd >= 0) close(h->fd);
    h->fd = -1;
    at = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  }
  h->board = at == MAP_FAILED ? NULL : at;
  return !h->board;
}

int ucx_board_lock(const ucx_watch *h) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return h->fd < 0 || !fcntl(h->fd, F_SETLK, &all);
}

void ucx_board_close(ucx_watch *h) {
  if (h->board) munmap(h->board, h->bytes);
  if (h->fd >= 0) close(h->fd);
  h->board = NULL;
  h->fd = -1;
}
