/* The exit status of a rank's process. A zombie counts as ended; the error message describes how a process
 * ended; and a rank that died while announcing why a communicator is broken does not keep its peer waiting.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "process_state.h"
#include "shm_ctrl.h"
#include "tutti.h"
#include "tutti_launch.h"

static useconds_t slept_us;
int usleep(useconds_t us) { /* overrides usleep, for the library, too */
  slept_us += us;
  return 0;
}

static void who_is_not_reaped_is_gone(void **state) {
  (void)state;
  int ends[2];
  siginfo_t info;
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    close(ends[1]);
    if (read(ends[0], &c, 1) < 0) _exit(1);
    _exit(0);
  }
  assert_true(tt_process_alive((int)child));
  assert_true(tt_process_alive((int)getpid()));
  close(ends[0]);
  close(ends[1]); /* now it ends */
  assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
#ifdef SYS_pidfd_open
  const int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (fd >= 0) assert_false(tt_process_alive((int)child)); /* without it the system cannot tell */
  close(fd);
#endif
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_false(tt_process_alive((int)child));
}

static void how_it_ended_in_words(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *words;
  } table[] = {{0, ", it exited with status 0"},
               {7 << 8, ", it exited with status 7"},
               {255 << 8, ", it exited with status 255"},
               {9, ", killed by SIGKILL"},
               {11, ", killed by SIGSEGV"},
               {11 | 0x80, ", killed by SIGSEGV"},
               {15, ", killed by SIGTERM"},
               {40, ", killed by SIGRT"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tt_intro intro = {.pid = (int)getpid(), .space = tt_pid_space()};
    char words[64];
    assert_true(tt_rank_alive(&intro));
    tt_exit_publish(&intro, table[i].status);
    assert_false(tt_rank_alive(&intro));
    tt_exit_words(&intro, true, words, sizeof words);
    assert_string_equal(words, table[i].words);
  }
}

/* A pid identifies a process only in its own PID namespace, and only until the pid is reused. */
static void a_pid_is_no_identity(void **state) {
  (void)state;
  uint64_t began;
  const uint64_t here = tt_pid_space();
  assert_int_not_equal(tt_process_state(getpid(), &began), 0);
  assert_true(here && began);
  const int gone = (int)fork();
  if (gone == 0) _exit(0);
  assert_int_equal(waitpid(gone, NULL, 0), gone);
  const struct {
    const char *what;
    tt_intro intro;
    bool visible, alive, has_state;
  } table[] = {
      {"this process", {.pid = (int)getpid(), .space = here, .started = began}, 1, 1, 1},
      {"a later process", {.pid = (int)getpid(), .space = here, .started = began + 1}, 1, 0, 0},
      {"a process that ended", {.pid = gone, .space = here, .started = began}, 1, 0, 0},
      {"a process elsewhere", {.pid = (int)getpid(), .space = here ^ 2, .started = began}, 0, 1, 0},
      {"one elsewhere, no such pid here", {.pid = gone, .space = here ^ 2}, 0, 1, 0},
      {"no namespace known", {.pid = gone, .space = 0}, 0, 1, 0},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (tt_rank_visible(&table[i].intro) != table[i].visible ||
        tt_rank_alive(&table[i].intro) != table[i].alive ||
        !tt_rank_state(&table[i].intro) == table[i].has_state)
      fail_msg("%s: visible %d, alive %d, state %d", table[i].what,
               tt_rank_visible(&table[i].intro), tt_rank_alive(&table[i].intro),
               tt_rank_state(&table[i].intro));
}

/* A rank waits for the description of a death if a launcher can provide one, and not if the ranks connected
 * without a launcher. */
static void nobody_has_told(void **state) {
  (void)state;
  static const struct {
    long launcher;
    bool told;
  } table[] = {{0, false}, {TT_UNWATCHED, true}, {1, true}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tt_segment *segment;
    char words[64] = "?";
    int fd;
    assert_int_equal(tt_segment_create(2, 0, table[i].launcher, 1, &fd), TUTTI_OK);
    assert_int_equal(tt_segment_map(fd, 2, &segment), TUTTI_OK);
    assert_int_equal(segment->told, table[i].told);
    slept_us = 0;
    tt_exit_words(tt_heap_intro(segment, 1), segment->told, words, sizeof words);
    assert_string_equal(words, "");
    assert_int_equal(slept_us, table[i].told ? 200000 : 0);
    tt_segment_release(segment);
    close(fd);
  }
}

static void who_dies_telling_is_told_of(void **state) {
  (void)state;
  static tt_ctrl room;
  enum { LIVES, DIES, ANOTHER };
  char reason[TT_REASON] = "", want[80];
  tt_segment *segment;
  int fd;
  assert_int_equal(tt_segment_create(2, 0, 0, 1, &fd), TUTTI_OK);
  assert_int_equal(tt_segment_map(fd, 2, &segment), TUTTI_OK);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  tt_intro *intro[] = {tt_heap_intro(segment, LIVES), tt_heap_intro(segment, DIES)};
  intro[LIVES]->pid = (int)getpid(), intro[DIES]->pid = (int)child;
  intro[LIVES]->space = intro[DIES]->space = tt_pid_space();
  room.aborting_by = 1 + LIVES; /* a live announcer is waited for */
  tt_ctrl_finish_abort(&room, segment, ANOTHER);
  assert_int_equal(tt_ctrl_aborted(&room, reason, sizeof reason), TUTTI_OK);
  assert_int_equal(waitpid(child, NULL, 0), child);
  room.aborting_by = 1 + DIES;
  tt_ctrl_abort(&room, ANOTHER, TUTTI_ERR_ABORTED, "he was first");
  assert_int_equal(tt_ctrl_aborted(&room, reason, sizeof reason), TUTTI_OK);
  tt_ctrl_finish_abort(&room, segment, ANOTHER);
  assert_int_equal(tt_ctrl_aborted(&room, reason, sizeof reason), TUTTI_ERR_PEER_LOST);
  snprintf(want, sizeof want, "process %d died while it reported a failure", (int)child);
  assert_string_equal(reason, want);
  tt_ctrl_finish_abort(&room, segment, LIVES); /* only once */
  assert_int_equal(room.aborting_by, 1 + ANOTHER);
  tt_segment_release(segment);
  close(fd);
}

static void launchers_say_which(void **state) {
  (void)state;
  tutti_job *job;
  assert_int_equal(tutti_job_create(2, &job), TUTTI_OK);
  assert_int_equal(tutti_job_ended(NULL, 0, 0), TUTTI_ERR_ARG);
  assert_int_equal(tutti_job_ended(job, 2, 0), TUTTI_ERR_ARG);
  assert_int_equal(tutti_job_ended(job, -1, 0), TUTTI_ERR_ARG);
  assert_int_equal(tutti_job_ended(job, 1, 9), TUTTI_OK);
  tt_segment *segment;
  assert_int_equal(tt_segment_map(tutti_job_fd(job), 2, &segment), TUTTI_OK);
  assert_true(tt_heap_intro(segment, 1)->ended);
  assert_false(tt_heap_intro(segment, 0)->ended);
  tt_segment_release(segment);
  tutti_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_is_not_reaped_is_gone),   cmocka_unit_test(a_pid_is_no_identity),
      cmocka_unit_test(how_it_ended_in_words),       cmocka_unit_test(nobody_has_told),
      cmocka_unit_test(who_dies_telling_is_told_of), cmocka_unit_test(launchers_say_which),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
