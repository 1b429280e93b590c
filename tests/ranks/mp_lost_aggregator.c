/* mp_lost_aggregator.c - an in-network reduction server (aggregator) is killed, restarted, or loses one
 * connection, before a call and during one. The call fails on all ranks, and shrinking gives a communicator of
 * the same ranks without it.
 *
 * Usage      mp_lost_aggregator TUTTI COLLECTIVE, where the job has an aggregator, which stays. In each scene rank 0 starts
 *            another one with the command TUTTI, all ranks make a communicator over it, and rank 0 loses it.
 * Idea       During a call: rank 0 drives its call itself, and stops when the first numbers have arrived. The vector is longer
 *            than all buffers between ranks and aggregator, so no rank can have all of it at that point.
 * Ranks: none; tests/sh/aggregator.sh starts it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../../cli/configure.h"
#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

enum { COUNT = 4 << 20, SAMPLES = 64, FEW = 5000, ROOT = 0, BROADCASTER = 1, SCENES = 12 };
static int64_t x[COUNT], y[COUNT];
static tutti_comm *world; /* no call on it needs an aggregator */
static int me, P, bad;
static const char *scene;

#define MUST(is) ((is) ? (void)0 : must_not(__LINE__, #is))

static void must_not(int line, const char *what) {
  printf("rank %d: %s: line %d: not so: %s: %s\n", me, scene, line, what, tutti_error());
  fflush(stdout);
  bad++;
}

/* ---- the aggregator ---- */

typedef enum loss { KILLED, RESTARTED, CUT } loss;

extern char **environ;
static pid_t running;   /* on rank 0; 0: none */
static int port;        /* of this scene's aggregator */
static char first[100]; /* address of the job's aggregator */

/* Starts an aggregator; *at: its port, 0: any port. */
static void start_aggregator(char *tutti, int *at) {
  char number[12], line[200] = "";
  char *argv[] = {tutti, "aggregator", "-p", number, NULL};
  int fd[2];
  size_t have = 0;
  posix_spawn_file_actions_t acts;
  snprintf(number, sizeof number, "%d", *at);
  MUST(pipe(fd) == 0);
  posix_spawn_file_actions_init(&acts);
  posix_spawn_file_actions_adddup2(&acts, fd[1], 1);
  posix_spawn_file_actions_addclose(&acts, fd[0]);
  posix_spawn_file_actions_addclose(&acts, fd[1]);
  MUST(posix_spawn(&running, tutti, &acts, NULL, argv, environ) == 0);
  posix_spawn_file_actions_destroy(&acts);
  close(fd[1]);
  for (ssize_t n = 1; n > 0 && !strchr(line, '\n') && have < sizeof line - 1; have += (size_t)n)
    n = read(fd[0], line + have, sizeof line - 1 - have);
  close(fd[0]);
  const char *says = strstr(line, "on port ");
  MUST(says && sscanf(says, "on port %d", at) == 1);
}

static void kill_aggregator(void) {
  if (!running) return;
  MUST(kill(running, SIGKILL) == 0 && waitpid(running, NULL, 0) == running);
  running = 0;
}

/* Ends this process's connections to it. */
static void cut_connections(void) {
  int cut = 0;
  for (int fd = 3; fd < 1024; fd++) {
    struct sockaddr_in to;
    socklen_t n = sizeof to;
    if (getpeername(fd, (struct sockaddr *)&to, &n) || to.sin_family != AF_INET ||
        ntohs(to.sin_port) != port)
      continue;
    MUST(shutdown(fd, SHUT_RDWR) == 0);
    cut++;
  }
  MUST(cut == 1);
}

static void lose(char *tutti, loss how) {
  if (me) return;
  if (how == CUT) cut_connections();
  if (how != CUT) kill_aggregator();
  if (how == RESTARTED) start_aggregator(tutti, &port);
}

/* ---- calls ---- */

typedef struct call {
  tutti_coll coll;
  const char *name;
  bool in_place, starts;
} call;

static int64_t own(int rank, size_t k) {
  return rank * 1000003 + (int64_t)k;
}

static int64_t result(const call *c, size_t k) {
  if (c->coll == TUTTI_BROADCAST) return own(BROADCASTER, k);
  return (int64_t)P * (P - 1) / 2 * 1000003 + P * (int64_t)k;
}

static void fill(size_t n) {
  for (size_t k = 0; k < n; k++) x[k] = own(me, k), y[k] = -1;
}

static tutti_status start(tutti_comm *comm, const call *c, size_t n, tutti_request **r) {
  int64_t *to = c->in_place ? x : y;
  if (c->coll == TUTTI_ALLREDUCE)
    return tutti_allreduce_start(comm, x, to, n, TUTTI_INT64, TUTTI_SUM, r);
  if (c->coll == TUTTI_BROADCAST)
    return tutti_broadcast_start(comm, x, to, n, TUTTI_INT64, BROADCASTER, r);
  return tutti_reduce_start(comm, x, me == ROOT ? to : NULL, n, TUTTI_INT64, TUTTI_SUM, ROOT, r);
}

static tutti_status block(tutti_comm *comm, const call *c, size_t n) {
  int64_t *to = c->in_place ? x : y;
  if (c->coll == TUTTI_ALLREDUCE) return tutti_allreduce(comm, x, to, n, TUTTI_INT64, TUTTI_SUM);
  if (c->coll == TUTTI_BROADCAST) return tutti_broadcast(comm, x, to, n, TUTTI_INT64, BROADCASTER);
  return tutti_reduce(comm, x, me == ROOT ? to : NULL, n, TUTTI_INT64, TUTTI_SUM, ROOT);
}

static tutti_status run(tutti_comm *comm, const call *c, size_t n) {
  tutti_request *r = NULL;
  if (!c->starts) return block(comm, c, n);
  const tutti_status status = start(comm, c, n, &r);
  return status ? status : tutti_request_wait(&r);
}

/* Has part of the result arrived? */
static bool has_some(const call *c) {
  const volatile int64_t *to = c->in_place ? x : y;
  bool some = false;
  for (size_t k = 0; k < SAMPLES; k++) {
    const size_t at = k * (COUNT / SAMPLES);
    some |= to[at] != (c->in_place ? own(me, at) : -1);
  }
  return some;
}

/* Rank 0 loses the aggregator during its call. */
static tutti_status lose_in_the_middle(tutti_comm *comm, const call *c, char *tutti, loss how) {
  tutti_request *r = NULL;
  int done = 0;
  tutti_status status = start(comm, c, COUNT, &r);
  while (!status && !done && !has_some(c)) status = tutti_request_test(&r, &done);
  MUST(!status && !done);
  lose(tutti, how);
  return status ? status : tutti_request_wait(&r);
}

/* ---- what holds ---- */

static bool uses_it(tutti_comm *comm, const call *c) {
  char plan[300] = "";
  MUST(!tutti_comm_plan(comm, c->coll, COUNT, TUTTI_INT64, TUTTI_SUM, plan, sizeof plan));
  return strncmp(plan, "aggregate(", 10) == 0;
}

/* The error names the aggregator and the call, and says what to do; later calls return the same. */
static void check_error(tutti_comm *comm, const call *c, tutti_status status) {
  char want[100], text[400];
  MUST(status == TUTTI_ERR_PEER_LOST);
  snprintf(text, sizeof text, "%s", tutti_error());
  snprintf(want, sizeof want, "the aggregator at 127.0.0.1:%d is lost: it has closed ", port);
  MUST(strncmp(text, want, strlen(want)) == 0);
  snprintf(want, sizeof want, " waited for it in %s, operation ", c->name);
  MUST(strstr(text, want) && strstr(text, ". tutti_comm_shrink gives the same ranks without it"));
  MUST(tutti_barrier(comm) == TUTTI_ERR_PEER_LOST && strcmp(tutti_error(), text) == 0);
  for (size_t k = 0; k < COUNT && !c->in_place; k++)
    if (x[k] != own(me, k)) {
      MUST(!"src has changed");
      return;
    }
}

/* The same ranks without an aggregator, and right results. */
static void check_rest(tutti_comm *comm, const call *c) {
  MUST(tutti_comm_rank(comm) == me && tutti_comm_size(comm) == P);
  MUST(!uses_it(comm, c));
  fill(FEW);
  MUST(run(comm, c, FEW) == TUTTI_OK);
  const int64_t *to = c->in_place ? x : y;
  for (size_t k = 0; k < FEW && (c->coll != TUTTI_REDUCE || me == ROOT); k++)
    if (to[k] != result(c, k)) {
      MUST(!"a result is wrong");
      return;
    }
}

/* Three communicators, each made from the previous: shrunk, shrunk again, and a duplicate. */
static void go_on(tutti_comm *comm, const call *c) {
  tutti_status (*const make[])(tutti_comm *, tutti_comm **) = {tutti_comm_shrink, tutti_comm_shrink,
                                                               tutti_comm_dup};
  for (size_t k = 0; k < sizeof make / sizeof *make; k++) {
    tutti_comm *next = NULL;
    MUST(make[k](comm, &next) == TUTTI_OK);
    if (!next) return;
    MUST(tutti_comm_free(comm) == TUTTI_OK);
    comm = next;
    MUST(comm_set_algorithm(comm, NULL) == TUTTI_OK);
    check_rest(comm, c);
  }
  MUST(tutti_comm_free(comm) == TUTTI_OK);
}

static void play(char *tutti, const call *c, loss how, bool middle) {
  char where[40];
  tutti_comm *comm = NULL;
  port = 0;
  if (!me) start_aggregator(tutti, &port);
  MUST(tutti_broadcast(world, &port, &port, 1, TUTTI_INT32, 0) == TUTTI_OK);
  snprintf(where, sizeof where, "127.0.0.1:%d", port);
  setenv("TUTTI_AGGREGATOR", where, 1);
  MUST(tutti_comm_dup(world, &comm) == TUTTI_OK &&
       comm_set_algorithm(comm, "aggregate") == TUTTI_OK);
  if (!comm) return;
  MUST(uses_it(comm, c));
  MUST(run(comm, c, FEW) == TUTTI_OK);
  fill(COUNT);
  MUST(tutti_barrier(world) == TUTTI_OK);
  if (!middle) lose(tutti, how);
  MUST(tutti_barrier(world) == TUTTI_OK);
  setenv("TUTTI_AGGREGATOR", first, 1); /* the job's, which is alive */
  const tutti_status status =
      middle && !me ? lose_in_the_middle(comm, c, tutti, how) : run(comm, c, COUNT);
  check_error(comm, c, status);
  go_on(comm, c);
  kill_aggregator();
}

int main(int argc, char **argv) {
  static const call calls[] = {{TUTTI_ALLREDUCE, "allreduce", false, false},
                               {TUTTI_REDUCE, "reduce", false, false},
                               {TUTTI_BROADCAST, "broadcast", false, false}};
  char words[100];
  end_after(100);
  if (argc < 3 || start_comm(&world)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  me = tutti_comm_rank(world);
  P = tutti_comm_size(world);
  snprintf(first, sizeof first, "%s", getenv("TUTTI_AGGREGATOR"));
  scene = "the job's aggregator";
  call c = {.name = ""};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(calls[i].name, argv[2]) == 0) c = calls[i];
  MUST(comm_set_algorithm(world, "^aggregate") == TUTTI_OK);
  for (int k = 0; k < SCENES; k++) {
    static const char *const ways[] = {"killed", "started again", "cut off"};
    const loss how = k < 8 ? KILLED : k < 10 ? RESTARTED : CUT;
    const bool middle = k < 8 ? k & 4 : k & 1;
    c.in_place = k & 1;
    c.starts = k & 2;
    snprintf(words, sizeof words, "%s, %s, %s, %s, %s", c.name,
             c.in_place ? "in place" : "not in place", c.starts ? "nonblocking" : "blocking",
             ways[how], middle ? "in the middle" : "between calls");
    scene = words;
    play(argv[1], &c, how, middle);
  }
  printf("rank %d: %s: %d\n", me, c.name, bad);
  fflush(stdout);
  return tutti_comm_free(world) || start_end() || bad;
}
