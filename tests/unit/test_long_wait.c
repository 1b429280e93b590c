/* Waits outside operations: when the log warns about them, and what the doctor shows of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "core.h"
#include "long_wait.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

static int warnings;
static char last[300];

static void take_line(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == 0 && ++warnings) snprintf(last, sizeof last, "%s", line);
}

/* Does the doctor show these words for this process? */
static bool shown(const char *words) {
  char *text = NULL;
  const bool found = !tutti_job_report((long)getpid(), 0, &text) && strstr(text, words);
  free(text);
  return found;
}

static tt_long_wait begun_before(double seconds) {
  tt_long_wait w = tt_long_wait_begin("tutti_test");
  w.since -= seconds;
  return w;
}

static void test_when(void **state) {
  (void)state;
  static const struct {
    double waited; /* s */
    bool shown;
    int warnings;
  } when[] = {{0, false, 0}, {0.05, false, 0}, {0.2, true, 0},
              {9, true, 0},  {10.5, true, 1},  {30, true, 1}};
  for (size_t i = 0; i < sizeof when / sizeof *when; i++) {
    tt_long_wait w = begun_before(when[i].waited);
    warnings = 0;
    for (int k = 0; k < 3; k++) tt_long_wait_for(&w, "rank %d (pid %d)", 3, 77);
    assert_int_equal(when[i].shown, shown("tutti_test waits for rank 3 (pid 77), for "));
    assert_int_equal(when[i].warnings, warnings);
    if (warnings) assert_non_null(strstr(last, "s for rank 3 (pid 77)"));
    assert_true(tt_long_wait_due(&w) <= 1);
    tt_long_wait_end(&w);
    assert_false(shown("tutti_test"));
  }
}

/* A warning comes once, however long the wait, and later words replace earlier ones. */
static void test_later(void **state) {
  (void)state;
  tt_long_wait w = begun_before(9);
  warnings = 0;
  tt_long_wait_for(&w, "rank 1");
  for (int k = 0; k < 5; k++) {
    w.since -= 2, w.announced -= 2;
    tt_long_wait_for(&w, "rank 2");
  }
  assert_int_equal(1, warnings);
  assert_true(shown("waits for rank 2"));
  assert_false(shown("waits for rank 1"));
  tt_long_wait_end(&w);
}

/* If there are more waits than slots, every one warns. */
static void test_many(void **state) {
  (void)state;
  enum { MANY = TT_WAIT_NOTES + 5 };
  tt_long_wait w[MANY];
  warnings = 0;
  for (int i = 0; i < MANY; i++) w[i] = begun_before(11);
  for (int i = 0; i < MANY; i++) tt_long_wait_for(&w[i], "rank %d.", i);
  assert_int_equal(MANY, warnings);
  assert_true(shown("rank 0."));
  assert_true(shown("rank 14."));
  assert_false(shown("rank 15."));
  for (int i = 0; i < MANY; i++) tt_long_wait_end(&w[i]);
  w[0] = begun_before(1);
  tt_long_wait_for(&w[0], "rank 40");
  assert_true(shown("rank 40"));
  tt_long_wait_end(&w[0]);
}

/* No byte that a process writes reaches a terminal unchecked. */
static void test_printable(void **state) {
  (void)state;
  tt_long_wait w = begun_before(0);
  tt_long_wait_show(&w, "\033[2Jrank 1");
  assert_true(shown("waits for ?[2Jrank 1"));
  tt_long_wait_end(&w);
}

static void test_fork(void **state) {
  (void)state;
  tt_long_wait w = begun_before(1);
  tt_long_wait_for(&w, "the parent's rank");
  const pid_t child = fork();
  if (!child) {
    tt_long_wait_end(&w); /* the parent's wait remains */
    tt_long_wait mine = begun_before(1);
    tt_long_wait_for(&mine, "the child's rank");
    _exit(shown("the child's rank") ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(child, waitpid(child, &status, 0));
  assert_int_equal(0, status);
  assert_true(shown("the parent's rank"));
  assert_false(shown("the child's rank"));
  tt_long_wait_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_when), cmocka_unit_test(test_later),
                                     cmocka_unit_test(test_many), cmocka_unit_test(test_printable),
                                     cmocka_unit_test(test_fork)};
  tutti_log_set(take_line, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
