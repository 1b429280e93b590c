/* test_args.c - bad input: every call that cannot be made says so, in a status and
 * a sentence that names the thing.
 *
 * Idea       what ends a process's use of tutti (finalize, fork, limits, a strange
 *            environment) is played by this program started anew with an argument.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cover.h"
#include "tutti.h"

/* ---- saying what was expected ---- */

static int check_error(tutti_status got, tutti_status want, const char *words, int line) {
  char copy[300], *save = NULL;
  const char *missing = NULL, *sentence = tutti_error();
  snprintf(copy, sizeof copy, "%s", words);
  for (char *w = strtok_r(copy, "|", &save); w && !missing; w = strtok_r(NULL, "|", &save))
    if (!strstr(sentence, w)) missing = w;
  if (got == want && !missing) return 0;
  fprintf(stderr, "line %d: expected '%s' with '%s', got '%s': %s\n", line, tutti_strerror(want),
          words, tutti_strerror(got), got ? sentence : "");
  return 1;
}
#define BAD(call, want, words)     (check_error((call), (want), (words), __LINE__))
#define REFUSES(call, want, words) assert_int_equal(BAD(call, want, words), 0)

static tutti_comm *comms[3]; /* three ranks, of which one thread makes bad calls */

static int make(void **state) {
  (void)state;
  return tutti_comm_from_threads(3, comms);
}
static int drop(void **state) {
  (void)state;
  for (int r = 0; r < 3; r++)
    if (tutti_comm_free(comms[r])) return 1;
  return 0;
}

/* ---- arguments of collectives ---- */

static void null_pointers(void **state) {
  double x[12] = {0}, y[12];
  tutti_comm *c = comms[1];
  tutti_request *r;
  int done;
  (void)state;
  REFUSES(tutti_allreduce(NULL, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|comm is NULL");
  REFUSES(tutti_barrier(NULL), TUTTI_ERR_ARG, "tutti_barrier|comm is NULL");
  REFUSES(tutti_barrier_start(NULL, &r), TUTTI_ERR_ARG, "tutti_barrier_start|comm is NULL");
  REFUSES(tutti_allreduce(c, NULL, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|src is NULL");
  REFUSES(tutti_allreduce(c, x, NULL, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_allreduce|dst is NULL");
  REFUSES(tutti_reduce_scatter(c, NULL, y, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_reduce_scatter|src is NULL");
  REFUSES(tutti_all_gather(c, x, NULL, 4, TUTTI_DOUBLE), TUTTI_ERR_ARG,
          "tutti_all_gather|dst is NULL");
  REFUSES(tutti_broadcast(c, NULL, y, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_ARG,
          "tutti_broadcast|src is NULL");
  REFUSES(tutti_broadcast(c, NULL, NULL, 4, TUTTI_DOUBLE, 0), TUTTI_ERR_ARG,
          "tutti_broadcast|dst is NULL");
  REFUSES(tutti_reduce(c, x, NULL, 4, TUTTI_DOUBLE, TUTTI_SUM, 1), TUTTI_ERR_ARG,
          "tutti_reduce|dst is NULL");
  REFUSES(tutti_allreduce_start(c, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM, NULL), TUTTI_ERR_ARG,
          "tutti_allreduce_start|request is NULL");
  REFUSES(tutti_barrier_init(c, NULL), TUTTI_ERR_ARG, "tutti_barrier_init|request is NULL");
  REFUSES(tutti_request_start(NULL), TUTTI_ERR_ARG, "tutti_request_start|request is NULL");
  REFUSES(tutti_request_wait(NULL), TUTTI_ERR_ARG, "tutti_request_wait|request is NULL");
  REFUSES(tutti_request_test(NULL, &done), TUTTI_ERR_ARG, "tutti_request_test|request is NULL");
  r = NULL;
  REFUSES(tutti_request_test(&r, NULL), TUTTI_ERR_ARG, "tutti_request_test|done is NULL");
  assert_int_equal(tutti_request_test(&r, &done), TUTTI_OK);
  assert_int_equal(done, 1);
  assert_int_equal(tutti_request_wait(&r), TUTTI_OK);
  assert_int_equal(tutti_request_free(&r), TUTTI_OK);
  assert_int_equal(tutti_request_free(NULL), TUTTI_OK);
  assert_int_equal(tutti_comm_free(NULL), TUTTI_OK);
  assert_int_equal(tutti_comm_rank(NULL), -1);
  assert_int_equal(tutti_comm_size(NULL), -1);
  assert_int_equal(tutti_comm_helpers(NULL), -1);
}

static void numbers(void **state) {
  double x[12] = {0}, y[12];
  char name[80];
  tutti_comm *c = comms[1];
  const size_t minus = (size_t)-1, huge = SIZE_MAX / 16 + 1;
  (void)state;
  REFUSES(tutti_allreduce(c, x, y, minus, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count|negative");
  REFUSES(tutti_allreduce(c, x, y, huge, TUTTI_COMPLEX_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count 1152921504606846976");
  REFUSES(tutti_allreduce(c, x, y, (size_t)1 << 60, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "count");
  REFUSES(tutti_all_gather(c, x, y, SIZE_MAX / 24, TUTTI_DOUBLE), TUTTI_ERR_ARG, "count");
  REFUSES(tutti_reduce_scatter(c, x, y, (size_t)INT64_MAX / 8, TUTTI_DOUBLE, TUTTI_SUM),
          TUTTI_ERR_ARG, "count");
  REFUSES(tutti_allreduce(c, x, y, 4, (tutti_type)TUTTI_TYPE_COUNT, TUTTI_SUM), TUTTI_ERR_TYPE,
          "type 19");
  REFUSES(tutti_allreduce(c, x, y, 4, (tutti_type)-1, TUTTI_SUM), TUTTI_ERR_TYPE, "type -1");
  REFUSES(tutti_broadcast(c, x, y, 4, (tutti_type)77, 0), TUTTI_ERR_TYPE, "type 77");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)TUTTI_OP_COUNT), TUTTI_ERR_OP,
          "op 13");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)-3), TUTTI_ERR_OP, "op -3");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, (tutti_op)1999), TUTTI_ERR_OP, "op 1999");
  REFUSES(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, TUTTI_BAND), TUTTI_ERR_OP,
          "double has no op band");
  REFUSES(tutti_reduce(c, x, y, 4, TUTTI_COMPLEX_FLOAT, TUTTI_MAX, 0), TUTTI_ERR_OP,
          "complex_float has no op max");
  REFUSES(tutti_reduce_scatter(c, x, y, 1, TUTTI_INT_INT, TUTTI_SUM), TUTTI_ERR_OP,
          "int_int has no op sum");
  REFUSES(tutti_broadcast(c, x, y, 4, TUTTI_DOUBLE, 3), TUTTI_ERR_ARG, "root 3|0..2");
  REFUSES(tutti_broadcast(c, x, y, 4, TUTTI_DOUBLE, -1), TUTTI_ERR_ARG, "root -1");
  REFUSES(tutti_reduce(c, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM, 1 << 30), TUTTI_ERR_ARG,
          "root 1073741824");
  REFUSES(tutti_comm_plan(c, TUTTI_COLL_COUNT, 1, TUTTI_INT8, TUTTI_SUM, name, 80), TUTTI_ERR_ARG,
          "no such collective");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, NULL, 80), TUTTI_ERR_ARG,
          "room");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, (tutti_type)50, TUTTI_SUM, name, 80), TUTTI_ERR_TYPE,
          "type 50");
  REFUSES(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_FLOAT, TUTTI_BOR, name, 80), TUTTI_ERR_OP,
          "float has no op bor");
  assert_int_equal(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, name, 3), TUTTI_OK);
  assert_int_equal(strlen(name), 2);
  assert_int_equal(tutti_type_size((tutti_type)99), 0);
  assert_string_equal(tutti_type_name((tutti_type)-9), "?");
  assert_string_equal(tutti_op_name((tutti_op)999), "?");
  assert_string_equal(tutti_coll_name((tutti_coll)6), "?");
  assert_int_equal(tutti_type_has_op((tutti_type)99, TUTTI_SUM), 0);
  assert_string_equal(tutti_strerror((tutti_status)7), "unknown status");
}

static void buffers(void **state) {
  _Alignas(16) char room[800] = {0};
  double *x = (double *)(void *)room;
  tutti_comm *c = comms[1];
  (void)state;
  REFUSES(tutti_allreduce(c, x, x + 1, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "tutti_allreduce|overlap");
  REFUSES(tutti_allreduce(c, x + 3, x, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_all_gather(c, x, x, 4, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP,
          "overlap"); /* rank 1's place is x + 4 */
  REFUSES(tutti_all_gather(c, x + 11, x, 4, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatter(c, x, x, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatter(c, x, x + 11, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "overlap");
  REFUSES(tutti_broadcast(c, x, x + 3, 4, TUTTI_DOUBLE, 1), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce(c, x, x + 3, 4, TUTTI_DOUBLE, TUTTI_SUM, 1), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_allreduce(c, room + 1, room + 400, 4, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "src|aligned on 8");
  REFUSES(tutti_allreduce(c, room, room + 402, 4, TUTTI_FLOAT, TUTTI_SUM), TUTTI_ERR_ARG,
          "dst|aligned on 4");
  REFUSES(tutti_allreduce(c, room + 4, room + 400, 4, TUTTI_LONG_INT, TUTTI_MINLOC), TUTTI_ERR_ARG,
          "src|aligned on 8");
  REFUSES(tutti_allreduce(c, (void *)(UINTPTR_MAX - 15), room, 4, TUTTI_DOUBLE, TUTTI_SUM),
          TUTTI_ERR_ARG, "src|address space");
}

/* Counts for each rank; a thread that makes bad calls is rank 1 of 3. */
static void counts(void **state) {
  double x[12] = {0}, y[12];
  tutti_comm *c = comms[1];
  const size_t four[] = {4, 4, 4}, minus[] = {4, 4, (size_t)-1}, hole[] = {4, 0, 4};
  const size_t wraps[] = {(size_t)1 << 63, (size_t)1 << 63, 4};
  const size_t above[] = {(size_t)INT64_MAX / 8, 0, 1};
  (void)state;
  REFUSES(tutti_reduce_scatter_v(c, x, y, NULL, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "tutti_reduce_scatter_v|counts is NULL");
  REFUSES(tutti_all_gather_v(c, x, y, NULL, TUTTI_DOUBLE), TUTTI_ERR_ARG,
          "tutti_all_gather_v|counts is NULL");
  REFUSES(tutti_all_gather_v(NULL, x, y, NULL, TUTTI_DOUBLE), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_all_gather_v(c, x, y, minus, TUTTI_DOUBLE), TUTTI_ERR_ARG, "counts[2]|negative");
  REFUSES(tutti_reduce_scatter_v(c, x, y, wraps, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "counts[0] 9223372036854775808 is larger");
  REFUSES(tutti_reduce_scatter_v(c, x, y, above, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "counts[2]|with those before it");
  REFUSES(tutti_all_gather_v(c, NULL, y, four, TUTTI_DOUBLE), TUTTI_ERR_ARG, "src is NULL");
  REFUSES(tutti_reduce_scatter_v(c, x, NULL, four, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_ARG,
          "dst is NULL");
  REFUSES(tutti_all_gather_v(c, NULL, NULL, hole, TUTTI_DOUBLE), TUTTI_ERR_ARG, "dst is NULL");
  REFUSES(tutti_reduce_scatter_v(c, x, x + 5, four, TUTTI_DOUBLE, TUTTI_SUM), TUTTI_ERR_OVERLAP,
          "overlap"); /* rank 1's place is x + 4 */
  REFUSES(tutti_all_gather_v(c, y + 3, y, four, TUTTI_DOUBLE), TUTTI_ERR_OVERLAP, "overlap");
  REFUSES(tutti_reduce_scatter_v(c, x, y, four, TUTTI_DOUBLE, TUTTI_BAND), TUTTI_ERR_OP, "no op");
  REFUSES(tutti_all_gather_v_start(c, x, y, four, TUTTI_DOUBLE, NULL), TUTTI_ERR_ARG,
          "tutti_all_gather_v_start|request is NULL");
}

static void others(void **state) {
  tutti_comm *c, *out[1];
  tutti_op op;
  void *memory = &op, *inside;
  tutti_job *job;
  (void)state;
  REFUSES(tutti_comm_from_env(NULL), TUTTI_ERR_ARG, "tutti_comm_from_env|comm is NULL");
  REFUSES(tutti_comm_from_threads(0, out), TUTTI_ERR_ARG, "n must be from 1");
  REFUSES(tutti_comm_from_threads(-4, out), TUTTI_ERR_ARG, "n must be from 1");
  REFUSES(tutti_comm_from_threads(1 << 30, out), TUTTI_ERR_ARG, "n must be from 1 to 4096");
  REFUSES(tutti_comm_from_threads(2, NULL), TUTTI_ERR_ARG, "comms is NULL");
  REFUSES(tutti_comm_split(NULL, 0, 0, &c), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_comm_split(comms[0], 0, 0, NULL), TUTTI_ERR_ARG, "out is NULL");
  REFUSES(tutti_comm_dup(NULL, &c), TUTTI_ERR_ARG, "tutti_comm_dup|comm is NULL");
  REFUSES(tutti_comm_dup(comms[0], NULL), TUTTI_ERR_ARG, "tutti_comm_dup|out is NULL");
  REFUSES(tutti_comm_abort(NULL, ""), TUTTI_ERR_ARG, "tutti_comm_abort|comm is NULL");
  REFUSES(tutti_comm_set_algo(NULL, ""), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_comm_set_algo(comms[0], "rign"), TUTTI_ERR_ARG, "'rign'|did you mean");
  REFUSES(tutti_comm_set_algo(comms[0], "fold(nonsense)"), TUTTI_ERR_ARG, "nonsense");
  REFUSES(tutti_comm_set_algo(comms[0], "fold(ring"), TUTTI_ERR_ARG, "parenthes");
  REFUSES(tutti_comm_set_algo(comms[0], ")("), TUTTI_ERR_ARG, "no algorithm");
  REFUSES(tutti_comm_set_slices(comms[0], -1), TUTTI_ERR_ARG, "-1|0 to");
  REFUSES(tutti_comm_set_slices(comms[0], INT32_MAX), TUTTI_ERR_ARG, "2147483647");
  REFUSES(tutti_comm_set_helpers(NULL, 1), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_comm_set_helpers(comms[0], -1), TUTTI_ERR_ARG, "-1 is not from 0 to 2");
  REFUSES(tutti_comm_set_helpers(comms[0], 3), TUTTI_ERR_ARG, "3 is not from 0 to 2");
  REFUSES(tutti_op_create(NULL, NULL, 1, &op), TUTTI_ERR_ARG, "fn is NULL");
  REFUSES(tutti_op_create(cover_user_op, NULL, 1, NULL), TUTTI_ERR_ARG, "op is NULL");
  REFUSES(tutti_op_free(TUTTI_SUM), TUTTI_ERR_OP, "0 is no user-defined op");
  REFUSES(tutti_op_free((tutti_op)1500), TUTTI_ERR_OP, "1500");
  REFUSES(tutti_mem_alloc(NULL, 8, &memory), TUTTI_ERR_ARG, "comm is NULL");
  REFUSES(tutti_mem_alloc(comms[0], 8, NULL), TUTTI_ERR_ARG, "memory is NULL");
  REFUSES(tutti_mem_alloc(comms[0], SIZE_MAX, &memory), TUTTI_ERR_MEMORY,
          "18446744073709551615 bytes");
  REFUSES(tutti_mem_alloc(comms[0], SIZE_MAX / 2, &memory), TUTTI_ERR_MEMORY, "bytes");
  REFUSES(tutti_mem_alloc(comms[0], (size_t)1 << 50, &memory), TUTTI_ERR_MEMORY, "bytes");
  assert_null(memory);
  assert_int_equal(tutti_mem_alloc(comms[0], 0, &memory), TUTTI_OK);
  assert_null(memory);
  assert_int_equal(tutti_mem_free(comms[0], NULL), TUTTI_OK);
  REFUSES(tutti_mem_free(comms[0], &op), TUTTI_ERR_ARG, "not from tutti_mem_alloc");
  REFUSES(tutti_mem_free(NULL, &op), TUTTI_ERR_ARG, "comm is NULL");
  assert_int_equal(tutti_mem_alloc(comms[0], 100, &memory), TUTTI_OK);
  inside = (char *)memory + 64;
  REFUSES(tutti_mem_free(comms[0], inside), TUTTI_ERR_ARG, "not from");
  REFUSES(tutti_mem_free(comms[1], memory), TUTTI_ERR_ARG, "not from");
  assert_int_equal(tutti_mem_free(comms[0], memory), TUTTI_OK);
  REFUSES(tutti_mem_free(comms[0], memory), TUTTI_ERR_ARG, "not from");
  REFUSES(tutti_job_create(0, &job), TUTTI_ERR_ARG, "0 ranks");
  REFUSES(tutti_job_create(1 << 20, &job), TUTTI_ERR_ARG, "1048576 ranks");
  REFUSES(tutti_job_create(2, NULL), TUTTI_ERR_ARG, "job is NULL");
  assert_int_equal(tutti_job_fd(NULL), -1);
  assert_null(tutti_job_env(NULL, 0, 0));
  tutti_job_free(NULL);
}

/* ---- a thousand ops, and no more ---- */

static void too_many_ops(void **state) {
  static tutti_op ops[1001];
  int n = 0;
  (void)state;
  while (n < 1001 && tutti_op_create(cover_user_op, NULL, 1, &ops[n]) == TUTTI_OK) n++;
  assert_int_equal(n, 1000);
  REFUSES(tutti_op_create(cover_user_op, NULL, 1, &ops[n]), TUTTI_ERR_MEMORY, "free some");
  while (n > 0) assert_int_equal(tutti_op_free(ops[--n]), TUTTI_OK);
  REFUSES(tutti_op_free(ops[0]), TUTTI_ERR_OP, "no user-defined op");
}

/* ---- scenes for a process of their own ---- */

static int everything_is_refused(tutti_comm *c, tutti_request *idle, const char *words) {
  double x[4] = {0}, y[4];
  tutti_comm *out;
  tutti_request *r = idle;
  tutti_op op;
  tutti_job *job;
  void *memory;
  char name[80], *text;
  tutti_report report = {.size = sizeof report};
  const tutti_drawing drawing = {.size = sizeof drawing, .rank = -1};
  int done;
  const tutti_status no = TUTTI_ERR_STATE;
  return BAD(tutti_allreduce(c, x, y, 4, TUTTI_DOUBLE, TUTTI_SUM), no, words) +
         BAD(tutti_barrier(c), no, words) + BAD(tutti_barrier_start(c, &r), no, words) +
         BAD(tutti_barrier_init(c, &r), no, words) + BAD(tutti_request_start(idle), no, words) +
         BAD(tutti_request_wait(&idle), no, words) +
         BAD(tutti_request_test(&idle, &done), no, words) +
         BAD(tutti_request_free(&idle), no, words) + BAD(tutti_comm_free(c), no, words) +
         BAD(tutti_comm_abort(c, "x"), no, words) + BAD(tutti_comm_dup(c, &out), no, words) +
         BAD(tutti_comm_split(c, 0, 0, &out), no, words) +
         BAD(tutti_comm_from_env(&out), no, words) +
         BAD(tutti_comm_from_threads(1, &out), no, words) +
         BAD(tutti_comm_set_algo(c, 0), no, words) + BAD(tutti_comm_set_helpers(c, 0), no, words) +
         BAD(tutti_comm_set_slices(c, 1), no, words) +
         BAD(tutti_mem_alloc(c, 8, &memory), no, words) + BAD(tutti_mem_free(c, x), no, words) +
         BAD(tutti_finalize(), no, words) +
         BAD(tutti_op_create(cover_user_op, NULL, 1, &op), no, words) +
         BAD(tutti_op_free(TUTTI_OP_USER), no, words) + BAD(tutti_job_create(1, &job), no, words) +
         BAD(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, name, 80), no, words) +
         BAD(tutti_schedule_text("naive", TUTTI_ALLREDUCE, 2, -1, 0, 0, &text), no, words) +
         BAD(tutti_schedule_check("", &report), no, words) +
         BAD(tutti_schedule_draw("", &drawing, &text), no, words);
}

static int after_finalize(void) {
  tutti_comm *c;
  tutti_request *idle = NULL;
  int bad = tutti_comm_from_env(&c) || tutti_barrier_init(c, &idle) || tutti_finalize();
  return bad + everything_is_refused(c, idle, "tutti_finalize was called");
}

static int after_fork(void) {
  tutti_comm *c;
  tutti_request *idle;
  int status;
  if (tutti_comm_from_env(&c) || tutti_barrier_init(c, &idle)) return 1;
  pid_t child = fork();
  if (child == 0) _exit(everything_is_refused(c, idle, "forked|tutti run") != 0);
  if (waitpid(child, &status, 0) != child || status) return 1;
  return tutti_barrier(c) || tutti_request_free(&idle) || tutti_comm_free(c) || tutti_finalize();
}

static int little_memory(void) {
  struct rlimit limit = {64 << 20, 64 << 20};
  tutti_comm *c, *many[64];
  setrlimit(RLIMIT_AS, &limit);
  return BAD(tutti_comm_from_env(&c), TUTTI_ERR_MEMORY, "map|bytes") +
         BAD(tutti_comm_from_threads(64, many), TUTTI_ERR_MEMORY, "map|64 times");
}

static int few_descriptors(void) {
  struct rlimit limit = {3, 3};
  tutti_job *job;
  setrlimit(RLIMIT_NOFILE, &limit);
  return BAD(tutti_job_create(2, &job), TUTTI_ERR_SYSTEM, "2 ranks|Too many open files");
}

/* Allocates until there is no more, in small limits: statuses all the way. */
static int runs_out(void) {
  tutti_comm *c[2], *dup;
  struct rlimit limit;
  void *memory;
  if (tutti_comm_from_threads(1, c)) return 1;
  getrlimit(RLIMIT_AS, &limit);
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) return 1;
  fclose(f);
  limit.rlim_cur = (rlim_t)pages * 4096 + (1 << 20);
  setrlimit(RLIMIT_AS, &limit);
  int n = 0;
  tutti_status status = TUTTI_OK;
  while (!status && n++ < 100000) status = tutti_comm_dup(c[0], &dup);
  return BAD(status, TUTTI_ERR_MEMORY, "memory") + (tutti_mem_alloc(c[0], 64, &memory) > 0);
}

/* argv: wanted status, words */
static int environment(char **argv) {
  tutti_comm *c;
  return BAD(tutti_comm_from_env(&c), (tutti_status)atoi(argv[0]), argv[1]);
}

static int play(char **argv) {
  if (strcmp(argv[1], "finalize") == 0) return after_finalize();
  if (strcmp(argv[1], "fork") == 0) return after_fork();
  if (strcmp(argv[1], "memory") == 0) return little_memory();
  if (strcmp(argv[1], "descriptors") == 0) return few_descriptors();
  if (strcmp(argv[1], "out") == 0) return runs_out();
  return environment(argv + 2);
}

/* Start this program anew with arguments and environment; its status. */
static int anew(const char *scene, const char *env, const char *want, const char *words) {
  char copy[300], *save = NULL;
  int status;
  pid_t child = fork();
  if (child == 0) {
    snprintf(copy, sizeof copy, "%s", env);
    for (char *e = strtok_r(copy, " ", &save); e; e = strtok_r(NULL, " ", &save)) putenv(e);
    execl("/proc/self/exe", "test_args", scene, want, words, (char *)NULL);
    _exit(99);
  }
  alarm(60);
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void ends(void **state) {
  assert_int_equal(anew(*state, "", "0", ""), 0);
}

static void limits(void **state) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* sanitizers map terabytes */
#endif
  ends(state);
}

static void environments(void **state) {
  int file = open("/dev/null", O_RDONLY), plain = memfd_create("plain", 0);
  tutti_job *job;
  char env[200];
  (void)state;
  assert_int_equal(tutti_job_create(2, &job), TUTTI_OK);
  const int fd = tutti_job_fd(job);
  const struct {
    const char *format;
    int fd;
    const char *want, *words;
  } cases[] = {
      {"TUTTI_RANK=2 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_RANK|tutti run"},
      {"TUTTI_RANK=-1 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_RANK"},
      {"TUTTI_RANK=one TUTTI_SIZE=2 TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_RANK"},
      {"TUTTI_RANK=0 TUTTI_SIZE=0 TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_SIZE"},
      {"TUTTI_RANK=0 TUTTI_SIZE=99999999999 TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_SIZE"},
      {"TUTTI_RANK=0 TUTTI_SIZE=%d", 2, "-11", "TUTTI_SHM_FD"},
      {"TUTTI_SHM_FD=%d", fd, "-11", "TUTTI_SIZE"},
      {"TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", 987, "-11", "descriptor 987 is not|closed"},
      {"TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", file, "-11", "is not the shared memory"},
      {"TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", plain, "-11", "is not the shared memory"},
      {"TUTTI_RANK=0 TUTTI_SIZE=7 TUTTI_SHM_FD=%d", fd, "-11", "another size than 7"},
      {"TUTTI_ALGO=nonsense%d", 1, "-1", "TUTTI_ALGO|'nonsense1'|did you mean"},
      {"TUTTI_ALGO=fold(ring,x=%d", 1, "-1", "TUTTI_ALGO|parenthes"},
      {"TUTTI_CONNECT_TIMEOUT=1 TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", fd, "-8",
       "rank 1 of 2 did not call|TUTTI_CONNECT_TIMEOUT"},
      {"TUTTI_SLICES=many TUTTI_VERIFY=%d", 7, "0", ""}, /* warned about, not fatal */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(env, sizeof env, cases[i].format, cases[i].fd);
    int status = anew("environment", env, cases[i].want, cases[i].words);
    if (status) print_error("with %s\n", env);
    assert_int_equal(status, 0);
  }
  tutti_job_free(job);
  close(file);
  close(plain);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(null_pointers, make, drop),
      cmocka_unit_test_setup_teardown(numbers, make, drop),
      cmocka_unit_test_setup_teardown(buffers, make, drop),
      cmocka_unit_test_setup_teardown(counts, make, drop),
      cmocka_unit_test_setup_teardown(others, make, drop),
      cmocka_unit_test(too_many_ops),
      cmocka_unit_test(environments),
      {"after finalize", ends, NULL, NULL, "finalize"},
      {"after fork", ends, NULL, NULL, "fork"},
      {"little memory", limits, NULL, NULL, "memory"},
      {"few descriptors", limits, NULL, NULL, "descriptors"},
      {"memory that runs out", limits, NULL, NULL, "out"},
  };
  if (argc > 1) _exit(play(argv) != 0); /* what it leaves behind is not looked at */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
