/* The doctor. Whatever a job's memory contains, the report consists of whole lines of printable characters, or
 * an error gives the reason. The doctor also describes a process's state correctly.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "cover.h"
#include "job_look.h"
#include "process_state.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

enum { RANKS = 4, ROUNDS = 400 };

static uint64_t draw(uint64_t *seed) {
  return cover_mix(++*seed);
}

static void scribble(uint64_t *seed, void *to, size_t n) {
  for (size_t i = 0; i < n; i++) ((unsigned char *)to)[i] = (unsigned char)draw(seed);
}

/* Checks JSON's braces and strings. */
static bool balanced(const char *text) {
  int depth = 0;
  bool inside = false;
  for (; *text; text++) {
    if (inside && *text == '\\')
      text++;
    else if (*text == '"')
      inside = !inside;
    else if (!inside && strchr("{[", *text))
      depth++;
    else if (!inside && strchr("}]", *text) && --depth < 0)
      return false;
  }
  return !inside && depth == 0;
}

static bool printable(const char *text) {
  for (; *text; text++)
    if (*text != '\n' && (*text < 32 || *text > 126)) return false;
  return true;
}

/* 1: there was a report, and it was well formed. */
static int report(int json) {
  char *text = NULL;
  const tutti_status status = tutti_job_report((long)getpid(), json, &text);
  if (status) {
    assert_int_equal(status, TUTTI_ERR_SYSTEM);
    assert_null(text);
    return 0;
  }
  assert_non_null(text);
  assert_true(printable(text));
  assert_true(!json || balanced(text));
  assert_true(json || text[strlen(text) - 1] == '\n');
  tutti_text_free(text);
  return 1;
}

/* Writes a valid or almost valid control block. */
static void reserve(uint64_t *seed, tt_segment *s, uint64_t at) {
  tt_ctrl *ctrl = (tt_ctrl *)(void *)(s->base + at);
  scribble(seed, ctrl, offsetof(tt_ctrl, flags));
  const uint64_t lot = draw(seed);
  if (lot % 8) atomic_store(&ctrl->aborted, 0);
  if (lot % 16 == 1) return;
  ctrl->shown.ranks = 1 + (uint32_t)(lot / 16 % RANKS);
  ctrl->shown.rank = (uint32_t)(lot / 256 % ctrl->shown.ranks);
  ctrl->shown.home = lot / 4096 % 3;
  atomic_store(&ctrl->shown.waits_for, (unsigned)(lot / 65536 % RANKS));
  atomic_store(&ctrl->shown.waits_near, (unsigned)(lot / 1048576 % (RANKS + 1)));
  atomic_store(&ctrl->shown.since, lot % 3 ? 1 : 0);
  atomic_store(&ctrl->shown.message, (unsigned)(lot >> 32 & 3));
  atomic_store(&ctrl->shown.seen, lot >> 40 & 1 ? UINT64_MAX / 2 : draw(seed));
  atomic_store(&ctrl->newest, (unsigned)(lot >> 42 & 63));
  atomic_store(&ctrl->shown.over, (unsigned)(lot >> 48 & 63));
  for (unsigned seq = 0; seq < 64; seq++)
    if (draw(seed) % 2) atomic_store(&ctrl->records[seq % TT_RECORDS].seq, seq);
}

static void make_rank(uint64_t *seed, tt_segment *s, int rank) {
  tt_head *head = tt_heap_head(s, rank);
  tt_intro *intro = tt_heap_intro(s, rank);
  const uint64_t low = s->first + s->stride * (uint64_t)rank;
  scribble(seed, head, sizeof *head);
  scribble(seed, intro, sizeof *intro);
  intro->pid = draw(seed) % 8 ? (int)getpid() : (int)(draw(seed) % 40000);
  if (draw(seed) % 8) tt_process_state(intro->pid, &intro->started);
  for (int i = 0; i < TT_CTRLS; i++) {
    const uint64_t lot = draw(seed), at = low + (1 + lot / 16 % 64) * 131072;
    if (lot % 4) {
      atomic_store(&head->ctrls[i], 0);
    } else if (lot % 16 == 4) {
      atomic_store(&head->ctrls[i], low + s->stride - lot / 16 % 65536 * 128);
    } else if (lot % 16) {
      reserve(seed, s, at);
      atomic_store(&head->ctrls[i], at);
    } /* in the remaining case the slot stays as it is */
  }
}

static void what_stands_in_memory(void **state) {
  (void)state;
  tt_segment *s;
  int fd, said = 0;
  uint64_t seed = cover_seed();
  print_message("# seed %llu\n", (unsigned long long)seed);
  assert_int_equal(tt_segment_create(RANKS - 1, 1, 0, 1, &fd), TUTTI_OK);
  assert_int_equal(tt_segment_map(fd, RANKS - 1, &s), TUTTI_OK);
  uint64_t job_header[TT_JOB_WORDS];
  memcpy(job_header, tt_job_head_of(s)->is, sizeof job_header);
  assert_int_equal(job_header[0], TT_JOB_MAGIC);
  assert_int_equal(report(0), 1); /* no rank has started yet */
  for (int round = 0; round < ROUNDS; round++) {
    memcpy(tt_job_head_of(s)->is, job_header, sizeof job_header);
    for (int r = 0; r < RANKS; r++) make_rank(&seed, s, r);
    if (round % 8 == 7) tt_job_head_of(s)->is[1] = job_header[1] ^ draw(&seed) % 64;
    if (round % 8 == 6) tt_job_head_of(s)->is[2] = draw(&seed) % 64;
    said += report(round & 1);
  }
  assert_true(said > ROUNDS / 2);
  tt_segment_release(s);
  close(fd);
}

static void what_is_no_job(void **state) {
  (void)state;
  const uint64_t job_headers[][TT_JOB_WORDS] = {
      {0, 0},
      {TT_JOB_MAGIC, (uint64_t)(TT_LAYOUT + 1) << 32 | 1, 1},
      {TT_JOB_MAGIC, (uint64_t)TT_LAYOUT << 32, 1},
      {TT_JOB_MAGIC, (uint64_t)TT_LAYOUT << 32 | 3, 3},
      {TT_JOB_MAGIC, (uint64_t)TT_LAYOUT << 32 | 1, 0},
      {TT_JOB_MAGIC, (uint64_t)TT_LAYOUT << 32 | 1, 2},
      {TT_JOB_MAGIC, (uint64_t)TT_LAYOUT << 32 | UINT32_MAX, 1}};
  const long sizes[] = {0, 10, 4096, 1 << 20, (1 << 20) + 1};
  for (size_t p = 0; p < sizeof job_headers / sizeof *job_headers; p++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      const int fd = memfd_create("tutti", 0);
      assert_true(fd >= 0);
      if (sizes[i] >= 4096)
        assert_int_equal(
            pwrite(fd, job_headers[p], sizeof job_headers[p], offsetof(tt_job_head, is)),
            sizeof job_headers[p]);
      assert_int_equal(ftruncate(fd, sizes[i]), 0);
      assert_int_equal(report(0), 0);
      close(fd);
    }
  char *text;
  assert_int_equal(tutti_job_report((long)getpid(), 0, &text), TUTTI_ERR_SYSTEM);
  assert_non_null(strstr(tutti_error(), "shares no memory"));
  assert_int_equal(tutti_job_report(-1, 0, &text), TUTTI_ERR_ARG);
  assert_int_equal(tutti_job_report((long)getpid(), 0, NULL), TUTTI_ERR_ARG);
}

/* Waits for a limited time until the process is in that state; returns the last state seen. */
static char state_after(pid_t pid, char want) {
  for (int look = 0; look < 500 && tt_process_state(pid, NULL) != want; look++) usleep(10000);
  return tt_process_state(pid, NULL);
}

static void what_a_process_does(void **state) {
  (void)state;
  uint64_t mine = 0, again = 0, its = 0;
  assert_int_equal(tt_process_state(getpid(), &mine), 'R');
  assert_int_equal(tt_process_state(getpid(), &again), 'R');
  assert_true(mine > 0 && mine == again);
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  assert_int_equal(state_after(child, 'S'), 'S');
  tt_process_state(child, &its);
  assert_true(its >= mine);
  assert_int_equal(kill(child, SIGSTOP), 0);
  assert_true(tt_state_stopped(state_after(child, 'T')));
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_true(tt_state_dead(state_after(child, 'Z')));
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(tt_process_state(child, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_stands_in_memory),
      cmocka_unit_test(what_is_no_job),
      cmocka_unit_test(what_a_process_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
