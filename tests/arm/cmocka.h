/* cmocka.h - the part of cmocka that the tests use, for targets without cmocka.
 *
 * Idea       `make check-arm` compiles the tests for another processor, for which
 *            cmocka is not available. The tests run one after another; a failed
 *            assertion leaves its test by longjmp; the output is TAP. Nothing is
 *            cleaned up after a failure.
 * Invariant  one test at a time, and only its own thread asserts.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_ARM_CMOCKA_H
#define TESTS_ARM_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void cmocka_test(void **state);
typedef int cmocka_fixture(void **state);

struct CMUnitTest {
  const char *name;
  cmocka_test *test;
  cmocka_fixture *setup, *teardown;
  void *state;
};

#define cmocka_unit_test(f) \
  { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_prestate(f, state) \
  { #f, f, NULL, NULL, state }
#define cmocka_unit_test_setup_teardown(f, up, down) \
  { #f, f, up, down, NULL }

static jmp_buf cmocka_end;
enum { CMOCKA_OK, CMOCKA_FAILED, CMOCKA_SKIPPED };

static inline void cmocka_say(const char *format, ...) {
  va_list args;
  printf("# ");
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
}

/* Evaluates `sure` once; prints the message if it is false. */
#define cmocka_require(sure, ...)                         \
  do {                                                    \
    if (!(sure)) {                                        \
      cmocka_say("%s:%d: %s", __FILE__, __LINE__, #sure); \
      cmocka_say(__VA_ARGS__);                            \
      longjmp(cmocka_end, CMOCKA_FAILED);                 \
    }                                                     \
  } while (0)

#define assert_true(x)            cmocka_require(x, "not true")
#define assert_false(x)           cmocka_require(!(x), "not false")
#define assert_null(x)            cmocka_require((x) == NULL, "not NULL")
#define assert_non_null(x)        cmocka_require((x) != NULL, "NULL")
#define assert_int_equal(a, b)    cmocka_require((intmax_t)(a) == (intmax_t)(b), "not equal")
#define assert_string_equal(a, b) cmocka_require(strcmp(a, b) == 0, "not the same text")
#define assert_memory_equal(a, b, size) \
  cmocka_require(memcmp(a, b, size) == 0, "not the same bytes")
#define fail_msg(...)      cmocka_require(!"failed", __VA_ARGS__)
#define print_error(...)   cmocka_say(__VA_ARGS__)
#define print_message(...) cmocka_say(__VA_ARGS__)
#define skip()             longjmp(cmocka_end, CMOCKA_SKIPPED)

static inline int cmocka_run(const struct CMUnitTest *tests, int n) {
  volatile int failed = 0;
  printf("1..%d\n", n);
  for (volatile int i = 0; i < n; i++) {
    void *state = tests[i].state;
    int end = setjmp(cmocka_end);
    if (end == CMOCKA_OK) {
      if (tests[i].setup && tests[i].setup(&state)) cmocka_say("the set-up failed");
      tests[i].test(&state);
      if (tests[i].teardown) tests[i].teardown(&state);
    }
    failed += end == CMOCKA_FAILED;
    printf("%sok %d - %s%s\n", end == CMOCKA_FAILED ? "not " : "", i + 1, tests[i].name,
           end == CMOCKA_SKIPPED ? " # SKIP" : "");
    fflush(stdout);
  }
  return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run(tests, (int)(sizeof(tests) / sizeof *(tests)))

#endif
