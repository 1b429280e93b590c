/* A wake_fd: another process's signal wakes the thread that sleeps on it, and earlier signals do
 * not; it belongs to one thread; if the number now belongs to another pipe, it is not signalled but
 * closed for good.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the first three headers above */
#include <cmocka.h>

#include "shm_ctrl.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_signal_wakes),
                                     cmocka_unit_test(another_pipe_is_not_signalled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
