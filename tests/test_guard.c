/* The guard: when a communicator is over, a rank's memory is its own again, also
 * from a peer that was stopped while it wrote to it; and soon, if it can be seen that it is.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "shm.h"

enum { RANKS = 2, BYTES = 3 * 4096 + 17 };

typedef struct seat {
  tt_heap *heap;
  tt_wire *wire;
} seat;

/* Two ranks as two processes would see them: each with a mapping of its own. */
static void sit_down(seat *seats) {
  const int members[RANKS] = {0, 1};
  uint64_t rooms[RANKS];
  int fd;
  assert_int_equal(tt_segment_create(RANKS, &fd), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    tt_segment *segment;
    assert_int_equal(tt_segment_map(fd, RANKS, &segment), TUTTI_OK);
    assert_int_equal(tt_heap_open(segment, r, &seats[r].heap), TUTTI_OK);
    tt_heap_head(segment, r)->pid = (int)getpid();
    tt_heap_head(segment, r)->l2 = 1 << 20;
    rooms[r] = tt_shm_room(seats[r].heap, RANKS, r == 0);
    assert_true(rooms[r]);
  }
  for (int r = 0; r < RANKS; r++)
    assert_int_equal(tt_shm_wire(seats[r].heap, r, RANKS, members, rooms, &seats[r].wire),
                     TUTTI_OK);
  close(fd);
}

static void get_up(seat *seats) {
  for (int r = 0; r < RANKS; r++) {
    seats[r].wire->ops->close(seats[r].wire);
    tt_heap_close(seats[r].heap);
  }
}

static void nobody_enters_what_is_over(void **state) {
  (void)state;
  seat seats[RANKS];
  sit_down(seats);
  tt_wire *a = seats[0].wire, *b = seats[1].wire;
  assert_true(b->ops->enter(b));
  b->ops->leave(b);
  a->ops->abort(a, TUTTI_ERR_ABORTED, "over");
  assert_true(a->ops->settle(a));
  assert_false(b->ops->enter(b));
  assert_false(a->ops->enter(a));
  assert_true(b->ops->settle(b)); /* who was refused is not inside */
  get_up(seats);
}

static void who_is_stopped_inside_writes_to_nobody(void **state) {
  (void)state;
  seat seats[RANKS];
  sit_down(seats);
  tt_wire *a = seats[0].wire, *b = seats[1].wire;
  char *vector = a->ops->alloc(a, BYTES);
  assert_non_null(vector);
  memset(vector, 1, BYTES);
  const uint64_t name = a->ops->lend(a, vector, BYTES);
  assert_true(name);
  char *theirs = b->ops->writable(b, name);
  assert_ptr_not_equal(theirs, vector);
  assert_int_equal(theirs[BYTES - 1], 1);
  assert_true(b->ops->enter(b)); /* and is stopped */
  a->ops->abort(a, TUTTI_ERR_ABORTED, "over");
  assert_false(a->ops->settle(a));
  a->ops->withdraw(a, vector, BYTES);
  memset(theirs, 2, BYTES); /* and wakes up */
  for (int i = 0; i < BYTES; i++) assert_int_equal(vector[i], 1);
  assert_int_equal(a->ops->lend(a, vector, BYTES), 0); /* peers would not see it */
  assert_true(a->ops->free(a, vector));
  for (int i = 0; i < 4; i++) { /* nor is it handed out again */
    char *next = a->ops->alloc(a, BYTES);
    assert_non_null(next);
    assert_true(next + BYTES <= vector || vector + BYTES <= next);
  }
  get_up(seats);
}

/* Seconds until rank 0 gives up waiting for rank 1, which is this process, inside. */
static double waits_for(pid_t pid) {
  seat seats[RANKS];
  sit_down(seats);
  tt_wire *a = seats[0].wire, *b = seats[1].wire;
  tt_heap_head(tt_heap_segment(seats[1].heap), 1)->pid = (int)pid;
  assert_true(b->ops->enter(b));
  a->ops->abort(a, TUTTI_ERR_ABORTED, "over");
  const double before = tt_seconds();
  assert_false(a->ops->settle(a));
  const double seconds = tt_seconds() - before;
  get_up(seats);
  return seconds;
}

static void who_is_seen_to_be_stopped_is_not_waited_for(void **state) {
  (void)state;
  int status;
  const pid_t pid = fork();
  if (pid == 0)
    for (;;) pause();
  assert_true(waits_for(pid) > 1.5);
  kill(pid, SIGSTOP);
  waitpid(pid, &status, WUNTRACED);
  assert_true(WIFSTOPPED(status));
  assert_true(waits_for(pid) < 1);
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
}

/* Who could not make a communicator does not know whether others did, in its room. */
static void a_room_that_others_may_be_in_stays(void **state) {
  (void)state;
  seat seats[RANKS];
  sit_down(seats);
  tt_heap *heap = seats[0].heap;
  const uint64_t room = tt_shm_room(heap, 3, false);
  tt_shm_room_leave(heap, room, TUTTI_ERR_PEER_LOST, "somebody died");
  for (int i = 0; i < 4; i++) assert_int_not_equal(tt_shm_room(heap, 3, false), room);
  const uint64_t another = tt_shm_room(heap, 3, false);
  tt_shm_room_fewer(heap, room, 2); /* as they leave */
  tt_shm_room_leave(heap, another, TUTTI_ERR_PEER_LOST, "somebody died");
  assert_int_equal(tt_shm_room(heap, 3, false), room);
  get_up(seats);
}

/* ... and those who did, and come into theirs, hear why it does not come. */
static void who_stands_hears_who_does_not(void **state) {
  (void)state;
  const int members[RANKS] = {0, 1};
  char why[200] = "";
  seat seats[RANKS];
  uint64_t rooms[RANKS];
  tt_wire *a;
  sit_down(seats);
  for (int r = 0; r < RANKS; r++) rooms[r] = tt_shm_room(seats[r].heap, RANKS, r == 0);
  assert_int_equal(tt_shm_wire(seats[0].heap, 0, RANKS, members, rooms, &a), TUTTI_OK);
  assert_int_equal(a->ops->aborted(a, why, sizeof why), TUTTI_OK);
  tt_shm_room_leave(seats[1].heap, rooms[1], TUTTI_ERR_PEER_LOST, "somebody died");
  assert_int_equal(a->ops->aborted(a, why, sizeof why), TUTTI_ERR_PEER_LOST);
  assert_string_equal(why, "somebody died");
  a->ops->close(a);
  get_up(seats);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_enters_what_is_over),
      cmocka_unit_test(who_is_stopped_inside_writes_to_nobody),
      cmocka_unit_test(who_is_seen_to_be_stopped_is_not_waited_for),
      cmocka_unit_test(a_room_that_others_may_be_in_stays),
      cmocka_unit_test(who_stands_hears_who_does_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
