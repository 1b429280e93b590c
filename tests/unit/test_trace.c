/* test_trace.c - the output of TUTTI_TRACE for ranks that are threads. With a word as its argument, the program
 * is a rank of a job that tests/sh/cli_trace.sh checks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
/* cmocka.h needs some of the headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "tutti.h"
#include "tutti_plan.h"

enum { COUNT = 5000, CALLS = 7 };

static double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CALLS blocking sums, as many non-blocking ones in flight together, one mark. */
static int sums(tutti_comm *comm) {
  static const int many = CALLS;
  double *x = malloc((size_t)(many + 1) * COUNT * sizeof *x);
  tutti_request *requests[CALLS];
  int bad = x == NULL;
  for (int i = 0; x && i < (many + 1) * COUNT; i++) x[i] = 1;
  for (int i = 0; x && i < many; i++)
    bad += tutti_allreduce(comm, x, x + COUNT, COUNT, TUTTI_DOUBLE, TUTTI_SUM) != TUTTI_OK;
  const double begin = clock_now();
  for (int i = 0; x && i < many; i++)
    bad += tutti_allreduce_start(comm, x, x + (i + 1) * COUNT, COUNT, TUTTI_DOUBLE, TUTTI_MAX,
                                 &requests[i]) != TUTTI_OK;
  tutti_trace_mark(comm, "a \"mark\"", begin, clock_now());
  for (int i = 0; x && i < many; i++) bad += tutti_request_wait(&requests[i]) != TUTTI_OK;
  free(x);
  return bad;
}

/* ---- a rank of a job ---- */

static int splits(tutti_comm *comm) {
  tutti_comm *half = NULL, *twice = NULL;
  const int rank = tutti_comm_rank(comm);
  return sums(comm) || tutti_comm_split(comm, rank % 2, -rank, &half) || sums(half) ||
         tutti_comm_dup(half, &twice) || sums(twice) || tutti_comm_free(half) ||
         tutti_comm_free(twice) || tutti_barrier(comm);
}

/* Rank 1 is killed between two sums; the others detect it, and exit normally. */
static int dies(tutti_comm *comm) {
  double x = 1, y;
  if (sums(comm)) return 1;
  if (tutti_comm_rank(comm) == 1) raise(SIGKILL);
  for (int i = 0; i < 100000; i++)
    if (tutti_allreduce(comm, &x, &y, 1, TUTTI_DOUBLE, TUTTI_SUM) != TUTTI_OK) return 0;
  return 1;
}

/* Rank 1 is 250 ms late, three times. */
static int late(tutti_comm *comm) {
  static double x[1 << 15], y[1 << 15];
  static const size_t counts[] = {4, 1 << 15, 1 << 15};
  int bad = 0;
  for (int i = 0; i < 3; i++) {
    bad += i == 2 && comm_set_algorithm(comm, "fold(ring)");
    bad += tutti_barrier(comm) != TUTTI_OK;
    if (tutti_comm_rank(comm) == 1) usleep(250000);
    bad += tutti_allreduce(comm, x, y, counts[i], TUTTI_DOUBLE, TUTTI_SUM) != TUTTI_OK;
  }
  return bad;
}

static int play(const char *what) {
  tutti_comm *comm;
  if (tutti_comm_from_env(&comm)) return 1;
  int bad = strcmp(what, "splits") == 0 ? splits(comm) : 0;
  if (strcmp(what, "dies") == 0) bad = dies(comm);
  if (strcmp(what, "late") == 0) bad = late(comm);
  if (strcmp(what, "leaves") == 0) exit(sums(comm)); /* frees nothing, closes nothing */
  return bad || tutti_comm_free(comm) || tutti_finalize();
}

/* ---- threads ---- */

/* One call has a tag; the communicator gets a name. */
static int tagged(tutti_comm *comm) {
  int x = 1;
  const tutti_config config = {.size = sizeof config, .name = "three \"ranks\""};
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_BROADCAST,
                           .src = &x,
                           .dst = &x,
                           .count = 1,
                           .type = TUTTI_INT32,
                           .tag = "layer \"3\""};
  tutti_request *r;
  return tutti_comm_configure(comm, &config) || tutti_call_start(comm, &call, &r) ||
         tutti_request_wait(&r);
}

static void *tagged_rank_of(void *comm) {
  const intptr_t bad = tagged(comm) || tutti_comm_free(comm);
  return (void *)bad;
}

static void *rank_of(void *comm) {
  const intptr_t bad = sums(comm) || tutti_comm_free(comm);
  return (void *)bad;
}

static int threads(int n, void *(*run)(void *)) {
  tutti_comm *comms[8];
  pthread_t threads_of[8];
  int bad = tutti_comm_from_threads(n, comms) != TUTTI_OK;
  for (int i = 0; !bad && i < n; i++)
    bad = pthread_create(&threads_of[i], NULL, run, comms[i]) != 0;
  for (int i = 0; !bad && i < n; i++) {
    void *failed = NULL;
    bad = pthread_join(threads_of[i], &failed) != 0 || failed;
  }
  return bad;
}

static int warnings;
static char warning[400];
static void hear(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == 0 && strstr(line, "TRACE"))
    warnings++, snprintf(warning, sizeof warning, "%s", line);
}

static char path[64], *text;

/* Counts the text's occurrences in the file. */
static int count(const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)); at++) n++;
  return n;
}

static void read_file(void) {
  FILE *f = fopen(path, "r");
  free(text);
  text = calloc(1, 1 << 24);
  assert_non_null(text);
  assert_non_null(f);
  assert_true(fread(text, 1, (1 << 24) - 1, f) > 0);
  fclose(f);
}

static int set_up(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/tutti-test-trace-%d.json", (int)getpid());
  unlink(path);
  setenv("TUTTI_TRACE", path, 1);
  unsetenv("TUTTI_TRACE_EVENTS");
  tutti_log_set(hear, NULL);
  warnings = 0;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free(text);
  text = NULL;
  rmdir(path);
  unlink(path);
  return 0;
}

static void a_lane_per_rank(void **state) {
  (void)state;
  assert_int_equal(threads(3, rank_of), 0);
  read_file();
  assert_int_equal(count("\"cat\":\"call\""), 3 * CALLS);
  assert_int_equal(count("\"ph\":\"b\""), 3 * CALLS);
  assert_int_equal(count("\"ph\":\"e\""), 3 * CALLS);
  assert_int_equal(count("\"cat\":\"mark\""), 3);
  assert_int_equal(count("\"name\":\"a ?mark?\""), 3);
  for (int r = 0; r < 3; r++) {
    char name[40];
    snprintf(name, sizeof name, "\"thread_name\",\"ph\":\"M\",\"pid\":%d", r);
    assert_int_equal(count(name), 2);
  }
  assert_true(count("\"cat\":\"reduce\"") >= 3 * 2 * CALLS);
  assert_int_equal(warnings, 0);
}

static void tags_and_names(void **state) {
  (void)state;
  assert_int_equal(threads(3, tagged_rank_of), 0);
  read_file();
  assert_int_equal(count("\"tag\":\"layer ?3?\""), 3 * 2);
  assert_true(count("broadcast 4 B, layer ?3?") >= 3);
  assert_int_equal(count("of three ?ranks?"), 3);
}

static void later_communicators_add(void **state) {
  (void)state;
  assert_int_equal(threads(2, rank_of), 0);
  assert_int_equal(threads(3, rank_of), 0);
  read_file();
  assert_int_equal(count("\"cat\":\"call\""), 5 * CALLS);
  assert_int_equal(count("tutti_trace"), 1);
  assert_string_equal(text + strlen(text) - 3, "\n]\n");
}

static void a_full_tape_says_so(void **state) {
  (void)state;
  setenv("TUTTI_TRACE_EVENTS", "16", 1);
  assert_int_equal(threads(2, rank_of), 0);
  read_file();
  assert_int_equal(count("\"events\":16,\"dropped\":"), 2);
  assert_int_equal(count("\"events\":16,\"dropped\":0"), 0);
  assert_int_equal(count("\"ph\":\"X\"") + count("\"ph\":\"b\""), 2 * 16 + 2);
}

/* Adds 70 marks with different names, and one more mark with the first name. A trace keeps 64 names. */
static void *marks_of(void *comm) {
  const double now = clock_now();
  char name[16];
  for (int i = 0; i < 71; i++) {
    snprintf(name, sizeof name, "mark %d", i % 70);
    tutti_trace_mark(comm, name, now, now);
  }
  return (void *)(intptr_t)tutti_comm_free(comm);
}

static void marks_beyond_64_names_have_none(void **state) {
  (void)state;
  assert_int_equal(threads(2, marks_of), 0);
  read_file();
  assert_int_equal(count("\"cat\":\"mark\""), 2 * 71);
  assert_int_equal(count("\"name\":\"mark 0\""), 2 * 2);
  assert_int_equal(count("\"name\":\"mark 63\""), 2);
  assert_int_equal(count("\"name\":\"mark\""), 2 * 6);
}

/* The incomplete line of a killed rank is removed, and later events are appended to the file. */
static void half_a_line_is_cut_off(void **state) {
  (void)state;
  assert_int_equal(threads(2, rank_of), 0);
  read_file();
  const int before = count("\n") - 2;
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(truncate(path, s.st_size - 40), 0);
  assert_int_equal(threads(2, rank_of), 0);
  read_file();
  assert_int_equal(count("tutti_trace"), 1);
  assert_int_equal(count("\n") - 2 >= before - 1, 1);
  assert_string_equal(text + strlen(text) - 3, "\n]\n");
  assert_int_equal(count("\n{"), count("}}"));
  assert_int_equal(count("}}\n]"), 1);
}

static void no_trace_is_left_alone(void **state) {
  (void)state;
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("my thesis\n", f);
  fclose(f);
  assert_int_equal(threads(2, rank_of), 0);
  read_file();
  assert_string_equal(text, "my thesis\n");
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(warning, "is not a trace of tutti's"));
}

static void a_folder_is_no_file(void **state) {
  (void)state;
  assert_int_equal(mkdir(path, 0700), 0);
  assert_int_equal(threads(2, rank_of), 0);
  assert_int_equal(warnings, 0); /* one per process */
}

int main(int argc, char **argv) {
  if (argc > 1) return play(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_lane_per_rank, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tags_and_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(later_communicators_add, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_full_tape_says_so, set_up, tear_down),
      cmocka_unit_test_setup_teardown(marks_beyond_64_names_have_none, set_up, tear_down),
      cmocka_unit_test_setup_teardown(half_a_line_is_cut_off, set_up, tear_down),
      cmocka_unit_test_setup_teardown(no_trace_is_left_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_folder_is_no_file, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
