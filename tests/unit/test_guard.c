/* The supervisor of exported memory. After a communicator has ended, no peer can write to a rank's memory, even
 * if the peer was stopped while it was writing. If the system shows that the peer is stopped, the rank does not
 * wait for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "pass_time.h"
#include "process_state.h"
#include "wires.h"

enum { RANKS = 2, BYTES = 3 * 4096 + 17 };

typedef struct member {
  tt_heap *heap;
  tt_wire *wire;
} member;

/* Two ranks as separate processes: each with its own mapping. */
static void sit_down(member *layout) {
  const int members[RANKS] = {0, 1};
  uint64_t ctrls[RANKS];
  int fd;
  assert_int_equal(tt_segment_create(RANKS, 0, 0, 1, &fd), TUTTI_OK);
  for (int r = 0; r < RANKS; r++) {
    tt_segment *segment;
    assert_int_equal(tt_segment_map(fd, RANKS, &segment), TUTTI_OK);
    assert_int_equal(tt_heap_open(segment, r, &layout[r].heap), TUTTI_OK);
    tt_heap_intro(segment, r)->pid = (int)getpid();
    tt_heap_intro(segment, r)->space = tt_pid_space();
    tt_heap_head(segment, r)->l2 = 1 << 20;
    ctrls[r] = tt_shm_ctrl_new(layout[r].heap, RANKS, r == 0);
    assert_true(ctrls[r]);
  }
  for (int r = 0; r < RANKS; r++)
    assert_int_equal(tt_shm_wire(layout[r].heap, r, RANKS, members, ctrls, &layout[r].wire),
                     TUTTI_OK);
  close(fd);
}

static void get_up(member *layout) {
  for (int r = 0; r < RANKS; r++) {
    layout[r].wire->peer->close(layout[r].wire);
    tt_heap_close(layout[r].heap);
  }
}

static void nobody_enters_what_is_over(void **state) {
  (void)state;
  member layout[RANKS];
  sit_down(layout);
  tt_wire *a = layout[0].wire, *b = layout[1].wire;
  assert_true(b->memory->enter(b));
  b->memory->leave(b);
  a->peer->abort(a, TUTTI_ERR_ABORTED, "over");
  assert_true(a->memory->quiesce(a));
  assert_false(b->memory->enter(b));
  assert_false(a->memory->enter(a));
  assert_true(b->memory->quiesce(b)); /* a refused rank is not inside */
  get_up(layout);
}

static void who_is_stopped_inside_writes_to_nobody(void **state) {
  (void)state;
  member layout[RANKS];
  sit_down(layout);
  tt_wire *a = layout[0].wire, *b = layout[1].wire;
  char *vector = a->memory->alloc(a, BYTES);
  assert_non_null(vector);
  memset(vector, 1, BYTES);
  const uint64_t name = a->memory->export(a, vector, BYTES);
  assert_true(name);
  char *theirs = b->memory->writable(b, name);
  assert_ptr_not_equal(theirs, vector);
  assert_int_equal(theirs[BYTES - 1], 1);
  assert_true(b->memory->enter(b)); /* and is stopped there */
  a->peer->abort(a, TUTTI_ERR_ABORTED, "over");
  assert_false(a->memory->quiesce(a));
  a->memory->revoke(a, vector, BYTES);
  memset(theirs, 2, BYTES); /* and resumes */
  for (int i = 0; i < BYTES; i++) assert_int_equal(vector[i], 1);
  assert_int_equal(a->memory->export(a, vector, BYTES), 0); /* peers would not see it */
  assert_true(a->memory->free(a, vector));
  for (int i = 0; i < 4; i++) { /* and the memory is not allocated again */
    char *next = a->memory->alloc(a, BYTES);
    assert_non_null(next);
    assert_true(next + BYTES <= vector || vector + BYTES <= next);
  }
  get_up(layout);
}

/* Seconds until rank 0 gives up waiting for rank 1, which this process plays and which is inside. */
static double waits_for(pid_t pid) {
  member layout[RANKS];
  sit_down(layout);
  tt_wire *a = layout[0].wire, *b = layout[1].wire;
  tt_heap_intro(tt_heap_segment(layout[1].heap), 1)->pid = (int)pid;
  assert_true(b->memory->enter(b));
  a->peer->abort(a, TUTTI_ERR_ABORTED, "over");
  const double before = tt_seconds();
  assert_false(a->memory->quiesce(a));
  const double seconds = tt_seconds() - before;
  get_up(layout);
  return seconds;
}

static void who_is_seen_to_be_stopped_is_not_waited_for(void **state) {
  (void)state;
  int status;
  const pid_t pid = fork();
  if (pid == 0)
    for (;;) pause();
  fly_time();
  assert_true(waits_for(pid) > 1.5);
  stop_time_flying();
  kill(pid, SIGSTOP);
  waitpid(pid, &status, WUNTRACED);
  assert_true(WIFSTOPPED(status));
  double least = 2; /* of several tries: other processes can take the core from this one */
  for (int i = 0; i < 10 && least >= 1; i++) {
    const double seconds = waits_for(pid);
    if (seconds < least) least = seconds;
  }
  assert_true(least < 1);
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
}

/* Rank 1 leaves only after some time, longer than a rank in another process would wait. */
static void *leaves_late(void *arg) {
  tt_wire *b = arg;
  for (const double from = tt_seconds(); tt_seconds() < from + 5;) usleep(1000);
  b->memory->leave(b);
  return NULL;
}

/* The pages of ranks that are threads cannot be replaced, so a rank waits until its peers have left. */
static void threads_wait_until_their_memory_is_theirs(void **state) {
  (void)state;
  pthread_t thread;
  member layout[RANKS];
  sit_down(layout);
  tt_wire *a = layout[0].wire, *b = layout[1].wire;
  tt_heap_segment(layout[0].heap)->threads = true;
  assert_true(b->memory->enter(b));
  a->peer->abort(a, TUTTI_ERR_ABORTED, "over");
  fly_time();
  assert_int_equal(pthread_create(&thread, NULL, leaves_late, b), 0);
  assert_true(a->memory->quiesce(a));
  pthread_join(thread, NULL);
  stop_time_flying();
  get_up(layout);
}

static void a_ctrl_that_others_may_use_stays(void **state) {
  (void)state;
  member layout[RANKS];
  sit_down(layout);
  tt_heap *heap = layout[0].heap;
  const uint64_t ctrl = tt_shm_ctrl_new(heap, 3, false);
  tt_shm_ctrl_abandon(heap, ctrl, TUTTI_ERR_PEER_LOST, "somebody died");
  for (int i = 0; i < 4; i++) assert_int_not_equal(tt_shm_ctrl_new(heap, 3, false), ctrl);
  const uint64_t another = tt_shm_ctrl_new(heap, 3, false);
  tt_shm_ctrl_drop_refs(heap, ctrl, 2); /* as the other ranks do when they leave */
  tt_shm_ctrl_abandon(heap, another, TUTTI_ERR_PEER_LOST, "somebody died");
  assert_int_equal(tt_shm_ctrl_new(heap, 3, false), ctrl);
  get_up(layout);
}

/* A rank that has made the communicator, and attaches to its control block, gets the reason why another rank
 * failed to make it. */
static void who_stands_hears_who_does_not(void **state) {
  (void)state;
  const int members[RANKS] = {0, 1};
  char why[200] = "";
  member layout[RANKS];
  uint64_t ctrls[RANKS];
  tt_wire *a;
  sit_down(layout);
  for (int r = 0; r < RANKS; r++) ctrls[r] = tt_shm_ctrl_new(layout[r].heap, RANKS, r == 0);
  assert_int_equal(tt_shm_wire(layout[0].heap, 0, RANKS, members, ctrls, &a), TUTTI_OK);
  assert_int_equal(a->peer->aborted(a, why, sizeof why), TUTTI_OK);
  tt_shm_ctrl_abandon(layout[1].heap, ctrls[1], TUTTI_ERR_PEER_LOST, "somebody died");
  assert_int_equal(a->peer->aborted(a, why, sizeof why), TUTTI_ERR_PEER_LOST);
  assert_string_equal(why, "somebody died");
  a->peer->close(a);
  get_up(layout);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_enters_what_is_over),
      cmocka_unit_test(who_is_stopped_inside_writes_to_nobody),
      cmocka_unit_test(who_is_seen_to_be_stopped_is_not_waited_for),
      cmocka_unit_test(threads_wait_until_their_memory_is_theirs),
      cmocka_unit_test(a_ctrl_that_others_may_use_stays),
      cmocka_unit_test(who_stands_hears_who_does_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
