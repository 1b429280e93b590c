/* test_ends.c - after finalize, in a forked child, with an unusual environment, without memory or descriptors:
 * every call returns an error that states the cause.
 *
 * Idea       this program restarts itself with an argument for each scene.
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
/* cmocka.h needs some of the headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "cover.h"
#include "lists.h"
#include "refuse.h"
#include "seconds.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

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
         BAD(allreduce_many(c, 0, NULL, NULL, NULL, TUTTI_DOUBLE, TUTTI_SUM), no, words) +
         BAD(tutti_send(c, x, 1, TUTTI_DOUBLE, 0, 0), no, words) +
         BAD(tutti_recv(c, x, 1, TUTTI_DOUBLE, 0, 0, NULL), no, words) +
         BAD(tutti_barrier(c), no, words) + BAD(tutti_barrier_start(c, &r), no, words) +
         BAD(tutti_call_init(c, CALL(BARRIER, .count = 0), &r), no, words) +
         BAD(tutti_request_start(idle), no, words) + BAD(tutti_request_wait(&idle), no, words) +
         BAD(tutti_request_test(&idle, &done), no, words) +
         BAD(tutti_request_free(&idle), no, words) + BAD(tutti_comm_free(c), no, words) +
         BAD(tutti_comm_abort(c, "x"), no, words) + BAD(tutti_comm_dup(c, &out), no, words) +
         BAD(tutti_comm_split(c, 0, 0, &out), no, words) +
         BAD(tutti_comm_from_env(&out), no, words) +
         BAD(tutti_comm_from_threads(1, &out), no, words) +
         BAD(comm_set_algorithm(c, 0), no, words) + BAD(comm_set_helpers(c, 0), no, words) +
         BAD(comm_set_slices(c, 1), no, words) + BAD(tutti_mem_alloc(c, 8, &memory), no, words) +
         BAD(tutti_mem_free(c, x), no, words) + BAD(tutti_finalize(), no, words) +
         BAD(tutti_op_create(cover_user_op, NULL, 1, &op), no, words) +
         BAD(tutti_op_create_scaled(2, &op), no, words) +
         BAD(tutti_op_free(TUTTI_OP_USER), no, words) + BAD(tutti_job_create(1, &job), no, words) +
         BAD(tutti_comm_plan(c, TUTTI_REDUCE, 1, TUTTI_INT8, TUTTI_SUM, name, 80), no, words) +
         BAD(tutti_comm_measure(c, TUTTI_BARRIER, 1, TUTTI_INT8, TUTTI_SUM, NULL), no, words) +
         BAD(comm_set_measure(c, 1), no, words) + BAD(tutti_wisdom_forget(), no, words) +
         BAD(tutti_wisdom_import(""), no, words) + BAD(tutti_wisdom_export(&text), no, words) +
         BAD(tutti_wisdom_here(1, name, 80), no, words) +
         BAD(tutti_wisdom_save("/none/none"), no, words) +
         BAD(tutti_schedule_text("naive", TUTTI_ALLREDUCE, 2, -1, 0, 0, &text), no, words) +
         BAD(tutti_schedule_check("", &report), no, words) +
         BAD(tutti_schedule_draw("", &drawing, &text), no, words);
}

static int after_finalize(void) {
  tutti_comm *c;
  tutti_request *idle = NULL;
  int bad = tutti_comm_from_env(&c) || tutti_call_init(c, CALL(BARRIER, .count = 0), &idle) ||
            tutti_finalize();
  return bad + everything_is_refused(c, idle, "tutti_finalize was called");
}

static int after_fork(void) {
  tutti_comm *c;
  tutti_request *idle;
  int status;
  if (tutti_comm_from_env(&c) || tutti_call_init(c, CALL(BARRIER, .count = 0), &idle)) return 1;
  pid_t child = fork();
  if (child == 0) _exit(everything_is_refused(c, idle, "forked|tutti run") != 0);
  if (waitpid(child, &status, 0) != child || status) return 1;
  return tutti_barrier(c) || tutti_request_free(&idle) || tutti_comm_free(c) || tutti_finalize();
}

static int little_memory(void) {
  struct rlimit limit = {24 << 20, 24 << 20};
  tutti_comm *c, *many[64];
  setrlimit(RLIMIT_AS, &limit);
  return BAD(tutti_comm_from_env(&c), TUTTI_ERR_MEMORY,
             "map|each of 1 ranks|24 MiB of addresses|ulimit -v") +
         BAD(tutti_comm_from_threads(64, many), TUTTI_ERR_MEMORY, "map|each of 64 ranks");
}

static int few_descriptors(void) {
  struct rlimit limit = {3, 3};
  tutti_job *job;
  setrlimit(RLIMIT_NOFILE, &limit);
  return BAD(tutti_job_create(2, &job), TUTTI_ERR_SYSTEM, "2 ranks|Too many open files");
}

/* Allocates until memory runs out, under small limits; every call returns a status. */
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

/* argv: expected status, words */
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

/* Restarts this program with arguments and environment; returns its status. */
static int anew(const char *scene, const char *env, const char *want, const char *words) {
  char copy[300], *save = NULL;
  int status;
  pid_t child = fork();
  if (child == 0) {
    snprintf(copy, sizeof copy, "%s", env);
    for (char *e = strtok_r(copy, " ", &save); e; e = strtok_r(NULL, " ", &save)) putenv(e);
    execl("/proc/self/exe", "test_ends", scene, want, words, (char *)NULL);
    _exit(99);
  }
  end_after(60);
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
      {"TUTTI_ALGO=nonsense%d", 1, "-1", "TUTTI_ALGO|'nonsense1'|tutti plan list"},
      {"TUTTI_ALGO=fold(ring,x=%d", 1, "-1", "TUTTI_ALGO|parenthes"},
      {"TUTTI_CONNECT_TIMEOUT=1 TUTTI_RANK=0 TUTTI_SIZE=2 TUTTI_SHM_FD=%d", fd, "-8",
       "rank 1 of 2 did not call|TUTTI_CONNECT_TIMEOUT"},
      {"TUTTI_SLICES=many TUTTI_VERIFY=%d", 7, "0", ""}, /* a warning, not an error */
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
      cmocka_unit_test(environments),
      {"after finalize", ends, NULL, NULL, "finalize"},
      {"after fork", ends, NULL, NULL, "fork"},
      {"little memory", limits, NULL, NULL, "memory"},
      {"few descriptors", limits, NULL, NULL, "descriptors"},
      {"memory that runs out", limits, NULL, NULL, "out"},
  };
  if (argc > 1) _exit(play(argv) != 0); /* its leaks are not checked */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
