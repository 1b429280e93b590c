/* A wake_fd: another process's signal wakes the thread that sleeps on it, and earlier signals do
 * not; it belongs to one thread; if the number now belongs to another pipe, it is not signalled but
 * closed for good. A thread that has none naps instead. Sleeps on the futex word.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "shm_wire.h"

enum { MINE, PEER, HEAPS };

static int readable(int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, ms);
}

/* Sends `times` signals from a process that shares only the segment with this one. */
static void peer_signals(int memory, int times, int ms_before) {
  const pid_t child = fork();
  if (child == 0) {
    tt_segment *theirs;
    usleep(1000 * (useconds_t)ms_before);
    if (tt_segment_map(memory, HEAPS, &theirs)) _exit(1);
    while (times--) tt_wake_fd_signal(theirs, tt_heap_head(theirs, MINE), MINE);
    _exit(theirs->wake_fds[MINE] > 0 ? 0 : 2);
  }
  if (ms_before) return;
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
}

static int begin(tt_segment **segment) {
  int memory;
  assert_int_equal(tt_segment_create(HEAPS, 0, 0, 1, &memory), TUTTI_OK);
  assert_int_equal(tt_segment_map(memory, HEAPS, segment), TUTTI_OK);
  tt_heap_intro(*segment, MINE)->pid = (int)getpid();
  return memory;
}

static void a_signal_wakes(void **state) {
  (void)state;
  tt_segment *segment;
  const int memory = begin(&segment);
  peer_signals(memory, 3, 0); /* no thread sleeps */
  const int wake_fd = tt_wake_fd_open(segment, MINE);
  assert_true(wake_fd >= 0);
  assert_int_equal(readable(wake_fd, 0), 0);
  assert_int_equal(tt_wake_fd_open(segment, MINE), -1); /* another thread */
  peer_signals(memory, 1, 50);
  assert_int_equal(readable(wake_fd, 10000), 1);
  assert_true(wait(NULL) > 0);
  tt_wake_fd_close(segment, MINE, wake_fd);
  for (int times = 1; times <= 1 << 17; times *= 512) { /* even more than a pipe holds */
    assert_int_equal(tt_wake_fd_open(segment, MINE), wake_fd);
    assert_int_equal(readable(wake_fd, 0), 0);
    peer_signals(memory, times, 0);
    assert_int_equal(readable(wake_fd, 0), 1);
    tt_wake_fd_close(segment, MINE, wake_fd);
  }
  tt_segment_release(segment);
  close(memory);
}

static void another_pipe_is_not_signalled(void **state) {
  (void)state;
  tt_segment *segment;
  const int memory = begin(&segment);
  const int wake_fd = tt_wake_fd_open(segment, MINE);
  tt_heap_head(segment, MINE)->wake_inode++;
  peer_signals(memory, 1, 0);
  assert_int_equal(readable(wake_fd, 0), 0);
  tt_wake_fd_close(segment, MINE, wake_fd);
  assert_int_equal(tt_wake_fd_open(segment, MINE), -1);
  tt_segment_release(segment);
  close(memory);
}

/* If the process has no free descriptor, it cannot create the pipe. Its threads then nap, also after descriptors are freed. */
static void without_descriptors_threads_nap(void **state) {
  (void)state;
  tt_segment *segment;
  struct rlimit limit;
  const int memory = begin(&segment), pipes = dup(memory);
  close(pipes);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const struct rlimit none = {.rlim_cur = (rlim_t)pipes, .rlim_max = limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  assert_int_equal(tt_wake_fd_open(segment, MINE), -1);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  assert_int_equal(tt_wake_fd_open(segment, MINE), -1);
  assert_int_equal(tt_heap_head(segment, MINE)->wake_fd, 0);
  tt_segment_release(segment);
  close(memory);
}

/* While a rank sleeps on its wake_fd it is counted, so that its peers wake it; a second thread of the rank naps. */
static void sleepers_are_counted(void **state) {
  (void)state;
  tt_segment *segment;
  atomic_uint sleepers = 0;
  const int memory = begin(&segment);
  tt_shm rank = {.segment = segment, .sleepers_anywhere = &sleepers};
  assert_int_equal(tt_heap_open(segment, MINE, &rank.heap), TUTTI_OK);
  for (int turn = 0; turn < 2; turn++) {
    const int fd = tt_sleep_fd_open(&rank.wire);
    assert_true(fd >= 0);
    assert_int_equal(sleepers, 1);
    assert_int_equal(tt_sleep_fd_open(&rank.wire), -1);
    assert_int_equal(sleepers, 1);
    tt_sleep_fd_close(&rank.wire, fd);
    assert_int_equal(sleepers, 0);
  }
  tt_heap_close(rank.heap); /* and the segment */
  close(memory);
}

static int open_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* The owner and a peer, both in this process, hold a descriptor each, and close it. */
static void descriptors_are_closed(void **state) {
  (void)state;
  tt_segment *segment, *theirs;
  const int before = open_descriptors(), memory = begin(&segment), with_memory = open_descriptors();
  assert_int_equal(tt_segment_map(memory, HEAPS, &theirs), TUTTI_OK);
  const int wake_fd = tt_wake_fd_open(segment, MINE);
  for (int times = 0; times < 3; times++)
    tt_wake_fd_signal(theirs, tt_heap_head(theirs, MINE), MINE);
  assert_int_equal(readable(wake_fd, 0), 1);
  assert_int_equal(open_descriptors(), with_memory + 2);
  tt_segment_release(theirs);
  tt_segment_release(segment);
  close(memory);
  assert_int_equal(open_descriptors(), before);
}

/* A rank sleeps as long as it may, unless it was woken since it began. */
static void sleeps_are_bounded(void **state) {
  (void)state;
  enum { LIMIT_US = 20000 };
  tt_segment *segment;
  atomic_uint sleepers = 0;
  const int memory = begin(&segment);
  tt_shm rank = {.head = tt_heap_head(segment, MINE), .sleepers_anywhere = &sleepers};
  uint32_t futex = tt_sleep_begin(&rank.wire);
  const double from = tt_seconds();
  tt_sleep(&rank.wire, futex, LIMIT_US);
  assert_true(tt_seconds() - from >= 1e-6 * LIMIT_US);
  tt_futex_wake(rank.head);
  tt_sleep(&rank.wire, futex, UINT32_MAX); /* returns immediately */
  tt_sleep_end(&rank.wire);
  assert_int_equal(sleepers, 0);
  assert_int_equal(rank.head->sleepers, 0);
  tt_segment_release(segment);
  close(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_signal_wakes),
                                     cmocka_unit_test(another_pipe_is_not_signalled),
                                     cmocka_unit_test(without_descriptors_threads_nap),
                                     cmocka_unit_test(sleepers_are_counted),
                                     cmocka_unit_test(descriptors_are_closed),
                                     cmocka_unit_test(sleeps_are_bounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
