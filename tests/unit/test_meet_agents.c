/* test_meet_agents.c - processes that connect through agents, and one that is killed before all have arrived:
 * the agent of a host, another rank of the host, or an agent between other agents and the rendezvous. All
 * others report it quickly.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "meet_peers_play.h"

enum { MOST = 24 };

typedef struct board { /* shared by all processes */
  tt_rendezvous at;
  atomic_bool open;
  peer peer[MOST];
  atomic_bool over[MOST];
} board;

static board *new_board(void) {
  board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(b, MAP_FAILED);
  return b;
}

static pid_t be_rank(board *b, int rank) {
  const pid_t pid = fork();
  if (pid) return pid;
  peer mine = b->peer[rank];
  while (!atomic_load(&b->open)) usleep(1000);
  usleep(20000 * (useconds_t)rank); /* ranks arrive in this order */
  mine.at = b->at;
  mine.rounds = 1;
  meeting_visit(&mine);
  b->peer[rank] = mine;
  atomic_store(&b->over[rank], true);
  _exit(0);
}

static void the_others_hear_it(void **state) {
  static const struct {
    const char *name;
    int ranks, per_host, victim; /* one more rank is expected */
    const char *near, *far;      /* the messages on ranks of its host, and on all others */
  } cases[] = {
      {"the agent of a host", 6, 3, 0, "which connects the ranks of this host",
       "rank 0 (|left before"},
      {"a rank of a host", 6, 3, 4, "rank 4 (|left before", "rank 4 (|left before"},
      {"an agent above others", 20, 1, 1, "", "left before all ranks|gone: an agent"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    board *b = new_board();
    pid_t pids[MOST];
    const int n = cases[i].ranks, host = cases[i].victim / cases[i].per_host;
    for (int r = 0; r < n; r++)
      b->peer[r] = (peer){.rank = r,
                          .ranks = n + 1,
                          .host = (uint64_t)(100 * i) + (uint64_t)(r / cases[i].per_host),
                          .limit = 30};
    for (int r = 0; r < n; r++) pids[r] = be_rank(b, r);
    b->at = meeting_serve();
    atomic_store(&b->open, true);
    usleep(20000 * (useconds_t)n + 500000);
    kill(pids[cases[i].victim], SIGKILL);
    for (int r = 0; r < n; r++) waitpid(pids[r], NULL, 0);
    for (int r = 0; r < n; r++) {
      const peer *p = &b->peer[r];
      if (r == cases[i].victim) continue;
      if (!atomic_load(&b->over[r]) || p->status != TUTTI_ERR_PEER_LOST || p->took > 15)
        fail_msg("%s: rank %d: %s: %s (%.1f s)", cases[i].name, r, tutti_strerror(p->status),
                 p->why, p->took);
      const char *words = r / cases[i].per_host == host ? cases[i].near : cases[i].far;
      if (cases[i].per_host > 1) meeting_expect(p, TUTTI_ERR_PEER_LOST, words);
    }
    munmap(b, sizeof *b);
  }
}

/* An agent accepts as many ranks as its descriptors allow. Further ranks get another agent. */
static void few_descriptors_are_enough(void **state) {
  (void)state;
  board *b = new_board();
  pid_t pids[MOST];
  for (int r = 0; r < MOST; r++)
    b->peer[r] = (peer){.rank = r, .ranks = MOST, .host = 1000, .limit = 30};
  struct rlimit before, few;
  getrlimit(RLIMIT_NOFILE, &before);
  few = before;
  few.rlim_cur = 24; /* 6 ranks for each agent */
  setrlimit(RLIMIT_NOFILE, &few);
  for (int r = 0; r < MOST; r++) pids[r] = be_rank(b, r);
  setrlimit(RLIMIT_NOFILE, &before);
  b->at = meeting_serve();
  atomic_store(&b->open, true);
  for (int r = 0; r < MOST; r++) waitpid(pids[r], NULL, 0);
  for (int r = 0; r < MOST; r++) {
    assert_true(atomic_load(&b->over[r]));
    meeting_expect(&b->peer[r], TUTTI_OK, "");
  }
  munmap(b, sizeof *b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_others_hear_it),
      cmocka_unit_test(few_descriptors_are_enough),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
