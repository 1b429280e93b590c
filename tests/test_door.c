/* A door: who stands at it is woken by a knock from another process, and by none from before; it
 * is one thread's; a number that has become another pipe's is not knocked at, but shut for good.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the first three above first */
#include <cmocka.h>

#include "shm_room.h"

enum { MINE, PEER, HEAPS };

static int readable(int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, ms);
}

/* So many knocks, by a process that has nothing of this one's but what both see. */
static void peer_knocks(int memory, int times, int ms_before) {
  const pid_t child = fork();
  if (child == 0) {
    tt_segment *theirs;
    usleep(1000 * (useconds_t)ms_before);
    if (tt_segment_map(memory, HEAPS, &theirs)) _exit(1);
    while (times--) tt_door_knock(theirs, MINE);
    _exit(theirs->doors[MINE] > 0 ? 0 : 2);
  }
  if (ms_before) return;
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
}

static int begin(tt_segment **segment) {
  int memory;
  assert_int_equal(tt_segment_create(HEAPS, &memory), TUTTI_OK);
  assert_int_equal(tt_segment_map(memory, HEAPS, segment), TUTTI_OK);
  tt_heap_head(*segment, MINE)->pid = (int)getpid();
  return memory;
}

static void a_knock_wakes(void **state) {
  (void)state;
  tt_segment *segment;
  const int memory = begin(&segment);
  peer_knocks(memory, 3, 0); /* at nobody */
  const int door = tt_door_stand(segment, MINE);
  assert_true(door >= 0);
  assert_int_equal(readable(door, 0), 0);
  assert_int_equal(tt_door_stand(segment, MINE), -1); /* another thread */
  peer_knocks(memory, 1, 50);
  assert_int_equal(readable(door, 10000), 1);
  assert_true(wait(NULL) > 0);
  tt_door_leave(segment, MINE, door);
  for (int times = 1; times <= 1 << 17; times *= 512) { /* more than a pipe holds, too */
    assert_int_equal(tt_door_stand(segment, MINE), door);
    assert_int_equal(readable(door, 0), 0);
    peer_knocks(memory, times, 0);
    assert_int_equal(readable(door, 0), 1);
    tt_door_leave(segment, MINE, door);
  }
  tt_segment_release(segment);
  close(memory);
}

static void another_pipe_is_not_knocked_at(void **state) {
  (void)state;
  tt_segment *segment;
  const int memory = begin(&segment);
  const int door = tt_door_stand(segment, MINE);
  tt_heap_head(segment, MINE)->door_inode++;
  peer_knocks(memory, 1, 0);
  assert_int_equal(readable(door, 0), 0);
  tt_door_leave(segment, MINE, door);
  assert_int_equal(tt_door_stand(segment, MINE), -1);
  tt_segment_release(segment);
  close(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_knock_wakes),
                                     cmocka_unit_test(another_pipe_is_not_knocked_at)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
