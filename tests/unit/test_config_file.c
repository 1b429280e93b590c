/* test_config_file.c - configuration files: which lines are read, which win, and what the log says of the others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "core.h"
#include "tutti_plan.h"

static char path[] = "/tmp/tutti-conf-XXXXXX";
static char said[16][400];
static int nsaid;

static void hear(void *ctx, int level, const char *line) {
  (void)ctx, (void)level;
  if (nsaid < 16) snprintf(said[nsaid++], sizeof *said, "%s", line);
}

static int one_says(const char *words) {
  int n = 0;
  for (int i = 0; i < nsaid; i++) n += strstr(said[i], words) != NULL;
  return n == 1;
}

static void a_line_is_a_name_and_a_value(void **state) {
  static const struct {
    const char *line, *name, *value;
  } table[] = {
      {"TUTTI_ALGO=ring", "TUTTI_ALGO", "ring"},
      {"  TUTTI_ALGO\t =  fold(ring) \r", "TUTTI_ALGO", "fold(ring)"},
      {"TUTTI_ALGO = 'fold(ring)'", "TUTTI_ALGO", "fold(ring)"},
      {"TUTTI_TOPO = \"rack:2 node:8\" # two racks", "TUTTI_TOPO", "rack:2 node:8"},
      {"TUTTI_KEY = 'a # b'", "TUTTI_KEY", "a # b"},
      {"TUTTI_KEY = a#b # c", "TUTTI_KEY", "a#b"},
      {"TUTTI_CODE = error=1e-2", "TUTTI_CODE", "error=1e-2"},
      {"TUTTI_LOG =", "TUTTI_LOG", ""},
      {"TUTTI_LOG = # nothing", "TUTTI_LOG", ""},
      {"TUTTI_LOG = ''", "TUTTI_LOG", ""},
      {"TUTTI_LOG", NULL, "expected TUTTI_NAME = value"},
      {"ALGO = ring", NULL, "expected TUTTI_NAME = value"},
      {"export TUTTI_ALGO=ring", NULL, "expected TUTTI_NAME = value"},
      {"TUTTI_ALGO x = ring", NULL, "expected TUTTI_NAME = value"},
      {"TUTTI_ALGO = 'ring", NULL, "expected TUTTI_NAME = value"},
      {"TUTTI_ALGO = 'ring' tree", NULL, "expected TUTTI_NAME = value"},
      {"= ring", NULL, "expected TUTTI_NAME = value"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char text[200];
    tt_config_line line[2];
    snprintf(text, sizeof text, "# comment\n\n  # TUTTI_NET = tcp\n%s", table[i].line);
    assert_int_equal(tt_config_parse("F", text, line, 2), 1);
    assert_int_equal(line->line, 4);
    assert_string_equal(line->file, "F");
    assert_string_equal(line->value, table[i].value);
    if (table[i].name)
      assert_string_equal(line->name, table[i].name);
    else
      assert_null(line->name);
  }
}

static void lines_beyond_the_limit_are_left_out(void **state) {
  char text[] = "TUTTI_A=1\nTUTTI_B=2\nTUTTI_C=3\n";
  tt_config_line line[2];
  (void)state;
  assert_int_equal(tt_config_parse("F", text, line, 2), 2);
  assert_string_equal(line[1].name, "TUTTI_B");
}

static void the_environment_wins(void **state) {
  (void)state;
  unsetenv("TUTTI_NET");
  assert_string_equal(tt_env("TUTTI_NET"), "tls"); /* the last line of a name wins */
  setenv("TUTTI_NET", "ucx", 1);
  assert_string_equal(tt_env("TUTTI_NET"), "ucx");
  setenv("TUTTI_NET", "", 1); /* hides the file's */
  assert_null(tt_env("TUTTI_NET"));
  unsetenv("TUTTI_NET");
  assert_int_equal(tt_env_int("TUTTI_TRACE_EVENTS", 0, 1000, 0), 77);
  assert_string_equal(tutti_setting("TUTTI_NET"), "tls");
  assert_string_equal(tutti_setting("TUTTI_CONF"), path);
  assert_null(tutti_setting("TUTTI_ALGO"));
  assert_null(tutti_setting(NULL));
}

static void some_variables_are_of_the_environment_only(void **state) {
  (void)state;
  assert_null(tt_env("TUTTI_RANK"));
  assert_null(tt_env("HOME_OF_TUTTI"));
}

static void wrong_lines_are_told_once(void **state) {
  char words[200];
  (void)state;
  for (int i = 0; i < 2; i++) tt_variables_check();
  snprintf(words, sizeof words, "%s:3: expected TUTTI_NAME = value", path);
  assert_true(one_says(words));
  snprintf(words, sizeof words,
           "%s:4: TUTTI_TIMOUT is not a variable of tutti and has no effect; did you mean "
           "TUTTI_TIMEOUT?",
           path);
  assert_true(one_says(words));
  snprintf(words, sizeof words, "%s:5: TUTTI_RANK has no effect in a file", path);
  assert_true(one_says(words));
  assert_int_equal(nsaid, 3);
}

int main(void) {
  static const char text[] =
      "TUTTI_NET = tcp\nTUTTI_TRACE_EVENTS = 77\nTUTTI_NET tcp\nTUTTI_TIMOUT = 3\nTUTTI_RANK = 1\n"
      "TUTTI_NET = tls\n";
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_a_name_and_a_value),
      cmocka_unit_test(lines_beyond_the_limit_are_left_out),
      cmocka_unit_test(the_environment_wins),
      cmocka_unit_test(some_variables_are_of_the_environment_only),
      cmocka_unit_test(wrong_lines_are_told_once),
  };
  const int fd = mkstemp(path);
  if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1) return 1;
  setenv("TUTTI_CONF", path, 1);
  tutti_log_set(hear, NULL);
  const int failed = cmocka_run_group_tests_name("configuration files", tests, NULL, NULL);
  close(fd);
  unlink(path);
  return failed;
}
