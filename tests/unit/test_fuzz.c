/* test_fuzz.c - invalid schedule text gives a status and an error message, never a crash, in bounded time and
 * memory.
 *
 * Idea       texts that tutti prints, with bytes changed, lost, doubled, swapped or
 *            cut off, or numbers made huge; the seed is fixed (TUTTI_TEST_SEED).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "cover.h"
#include "names.h"
#include "seconds.h"
#include "tutti.h"
#include "tutti_plan.h"

enum { CAPACITY = 1 << 16 };

static uint64_t state;
static size_t below(size_t n) {
  state = cover_mix(state + 0x9e3779b97f4a7c15u);
  return (size_t)(state >> 16) % n;
}

/* Prints a random valid schedule. */
static void original(char *text) {
  int P = 1 + (int)below(6);
  char *printed = NULL;
  names list = names_for(P, 3, (int)below(50));
  while (tutti_schedule_text(list.at[below((size_t)list.n)], (tutti_coll)below(TUTTI_COLL_COUNT), P,
                             -1, (int)below((size_t)P), (int)below(2), &printed))
    continue;
  names_free(&list);
  snprintf(text, CAPACITY, "%s", printed);
  tutti_text_free(printed);
}

/* Replaces a number in the text by another. */
static void another_number(char *text) {
  static const char *const numbers[] = {
      "0",          "1",          "2",    "7",     "65535",
      "65537",      "16777215",   "-1",   "1e9",   "4294967295",
      "4294967296", "2147483648", "0x10", "00001", "99999999999999999999999"};
  char *at = text + below(strlen(text)), rest[CAPACITY];
  while (*at && !isdigit((unsigned char)*at)) at++;
  size_t n = strspn(at, "0123456789");
  snprintf(rest, sizeof rest, "%s%s", numbers[below(sizeof numbers / sizeof *numbers)], at + n);
  snprintf(at, (size_t)(text + CAPACITY - at), "%s", rest);
}

static void mutate(char *text) {
  static const char letters[] = " \n\t0123456789[].,()<->=#:+*srcdtmpafeinv\x01\xff";
  size_t n = strlen(text), at = below(n + 1), other = below(n + 1), many = below(30);
  switch (n ? below(16) : 0) {
    case 0: text[at] = letters[below(sizeof letters)]; break; /* the last letter is 0 */
    case 1: text[at] = 0; break;
    case 2: memmove(text + at, text + at + (at < n), n - at + (at == n)); break;
    case 3:
      if (n + many + 1 < CAPACITY && at + many <= n)
        memmove(text + at + many, text + at, n - at + 1);
      break;
    case 4: text[at] = at < n ? text[other < n ? other : 0] : 0; break;
    case 5: text[at] = at < n ? (char)(text[at] ^ 1 << below(8)) : 0; break;
    default: another_number(text);
  }
}

static void is_bad(const char *text, const char *words) {
  tutti_report report = {.size = sizeof report};
  assert_int_equal(tutti_schedule_check(text, &report), TUTTI_ERR_SCHEDULE);
  assert_non_null(strstr(tutti_error(), "line "));
  assert_non_null(strstr(tutti_error(), "column "));
  assert_non_null(strstr(tutti_error(), words));
}

static void nonsense(void **unused) {
  (void)unused;
  is_bad("", "tutti-schedule");
  is_bad("hello", "'hello'");
  is_bad("\xff\xfe\x01", "tutti-schedule");
  is_bad("tutti-schedule 2 allreduce x P=2", "");
  is_bad("tutti-schedule 1 allgossip x P=2", "");
  is_bad("tutti-schedule 1 allreduce x P=0", "");
  is_bad("tutti-schedule 1 allreduce x P=-5", "");
  is_bad("tutti-schedule 1 allreduce x P=99999999999999999999", "");
  is_bad("tutti-schedule 1 allreduce x P=2\nrank 2\n", "");
  is_bad("tutti-schedule 1 allreduce x P=2\nrank 0\n  0 send ->7 src[0]\n", "");
  is_bad("tutti-schedule 1 allreduce x P=2\nrank 0\n  0 send ->1 src[4294967295]\n", "");
  is_bad("tutti-schedule 1 allreduce x P=2\nrank 0\n  0 send ->1 src[0] after 0\n", "");
  is_bad("tutti-schedule 1 allreduce x P=2\nrank 0\n  0 jump ->1 src[0]\n", "");
}

static void arguments(void **unused) {
  tutti_report report = {.size = 3};
  char *text;
  (void)unused;
  assert_int_equal(tutti_schedule_check(NULL, &report), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_check("", NULL), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_check("", &report), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "report->size is 3"));
  assert_int_equal(tutti_schedule_text(NULL, TUTTI_REDUCE, 2, 0, 0, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_REDUCE, 2, 0, 0, 0, NULL), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_REDUCE, 0, 0, 0, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_REDUCE, 2, 2, 0, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_REDUCE, 2, -2, 0, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_REDUCE, 2, 0, 5, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("naive", TUTTI_COLL_COUNT, 2, 0, 0, 0, &text),
                   TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_text("nave", TUTTI_REDUCE, 2, 0, 0, 0, &text), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "did you mean 'naive'"));
  assert_int_equal(tutti_schedule_text("fold(ring)", TUTTI_REDUCE, 2, 0, 0, 0, &text),
                   TUTTI_ERR_UNSUPPORTED);
}

static void drawings(void **unused) {
  static const char one[] =
      "tutti-schedule 1 broadcast mine P=2 blocks=1\nrank 0\n  0 copy dst[0] = src[0]\n"
      "  1 send ->1 src[0]\nrank 1\n  0 recv <-0 dst[0]\n";
  tutti_drawing how = {.size = sizeof how, .rank = -1};
  char *text;
  (void)unused;
  assert_int_equal(tutti_schedule_draw(NULL, &how, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_draw(one, NULL, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_draw(one, &how, NULL), TUTTI_ERR_ARG);
  assert_int_equal(tutti_schedule_draw("hello", &how, &text), TUTTI_ERR_SCHEDULE);
  assert_int_equal(tutti_schedule_draw("tutti-schedule 1 broadcast x P=2 blocks=1", &how, &text),
                   TUTTI_ERR_SCHEDULE);
  for (int kind = 0; kind < TUTTI_PICTURE_COUNT; kind++) {
    how.picture = (tutti_picture)kind;
    assert_int_equal(tutti_schedule_draw(one, &how, &text), TUTTI_OK);
    assert_non_null(strstr(text, "mine"));
    tutti_text_free(text);
  }
  how.rank = 2;
  assert_int_equal(tutti_schedule_draw(one, &how, &text), TUTTI_ERR_ARG);
  how.rank = -1;
  how.width = 6;
  how.picture = TUTTI_PICTURE_TERMINAL;
  assert_int_equal(tutti_schedule_draw(one, &how, &text), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "2 ranks need 7 columns"));
  how.picture = TUTTI_PICTURE_COUNT;
  assert_int_equal(tutti_schedule_draw(one, &how, &text), TUTTI_ERR_ARG);
  how.size = 3;
  assert_int_equal(tutti_schedule_draw(one, &how, &text), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "drawing->size is 3"));
  assert_null(tutti_algo_source(-1));
}

/* Valid text can be drawn, unless it is too large, and with any name. */
static void drawn(const char *text, int kind) {
  const tutti_drawing how = {.size = sizeof how, .picture = (tutti_picture)kind, .rank = -1};
  char *picture = NULL;
  tutti_status status = tutti_schedule_draw(text, &how, &picture);
  if (status == TUTTI_ERR_ARG) assert_non_null(strstr(tutti_error(), "too many for a picture"));
  assert_true(status == TUTTI_OK ? strlen(picture) > 20
                                 : status == TUTTI_ERR_ARG || status == TUTTI_ERR_MEMORY);
  if (!status) tutti_text_free(picture);
}

static void mutated(void **unused) {
  static char text[CAPACITY], before[CAPACITY];
  const int rounds = cover_all() ? 200000 : 8000;
  int refused = 0, proven = 0;
  double longest = 0;
  (void)unused;
  for (int i = 0; i < rounds; i++) {
    tutti_report report = {.size = sizeof report};
    original(text);
    for (size_t n = 1 + below(3); n > 0; n--) mutate(text);
    memcpy(before, text, sizeof text);
    double since = seconds();
    tutti_status status = tutti_schedule_check(text, &report);
    since = seconds() - since;
    if (since > longest) longest = since;
    if (since > 10) print_error("took %.1f s:\n%s\n", since, text);
    assert_true(since <= 60);
    assert_memory_equal(text, before, sizeof text);
    if (status == TUTTI_OK) {
      proven += report.proven;
      assert_true(report.proven || report.witness[0]);
      if (report.proven && proven % 8 == 0) drawn(text, proven / 8 % TUTTI_PICTURE_COUNT);
      continue;
    }
    if (status != TUTTI_ERR_MEMORY) {
      assert_int_equal(status, TUTTI_ERR_SCHEDULE);
      assert_non_null(strstr(tutti_error(), "line "));
      assert_non_null(strstr(tutti_error(), "column "));
    }
    refused++;
  }
  printf("# %d texts: %d are not schedules, %d are still right; the longest took %.2f s\n", rounds,
         refused, proven, longest);
  assert_true(refused > rounds / 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nonsense), cmocka_unit_test(arguments),
                                     cmocka_unit_test(drawings), cmocka_unit_test(mutated)};
  const char *seed = getenv("TUTTI_TEST_SEED");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30}; /* bounds memory use */
  setrlimit(RLIMIT_AS, &limit);
#endif
  end_after(cover_all() ? 3600 : 200);
  state = seed ? strtoull(seed, NULL, 10) : 20260101;
  printf("# seed %llu\n", (unsigned long long)state);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
