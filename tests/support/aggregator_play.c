/* aggregator_play.c - runs an in-network reduction server (aggregator) in a thread, and plays
 * members of its sessions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator_play.h"
#include "seconds.h"
#include "tutti_launch.h"

/* does not use cmocka, because programs without it also link this file */
#define MUST(x) ((x) ? (void)0 : must_not(__LINE__, #x))

static void must_not(int line, const char *what) {
  fprintf(stderr, "aggregator_play.c:%d: not so: %s: %s\n", line, what, tutti_error());
  abort();
}

/* ---- the daemon ---- */

static atomic_int port, ends;

static int has_to_end(void *ctx) {
  (void)ctx;
  return ends;
}

static void is_ready(void *ctx, int at) {
  (void)ctx;
  port = at;
}

static void *serve(void *what) {
  tutti_interrupt_set(has_to_end, NULL);
  return (void *)(intptr_t)tutti_aggregator_serve(what);
}

static void set_port(running *d, int at) {
  d->port = at;
  snprintf(d->where, sizeof d->where, "127.0.0.1:%d", at);
}

void play_serve(running *d, int jobs, size_t memory) {
  *d = (running){.a = {.size = sizeof d->a,
                       .jobs = jobs,
                       .memory = memory,
                       .key = "of the tests",
                       .ready = is_ready}};
  port = ends = 0;
  MUST(pthread_create(&d->thread, NULL, serve, &d->a) == 0);
  for (const double from = seconds(); !port && seconds() < from + LIMIT;) usleep(1000);
  set_port(d, port);
}

static void tell_port(void *pipe, int at) {
  MUST(write(*(int *)pipe, &at, sizeof at) == sizeof at);
}

void play_serve_below(running *d, const running *above) {
  int fd[2], at;
  *d = (running){.a = {.size = sizeof d->a,
                       .key = "of the tests",
                       .ready = tell_port,
                       .ctx = &fd[1],
                       .above = above ? above->where : NULL}};
  MUST(pipe(fd) == 0);
  d->process = fork();
  MUST(d->process >= 0);
  if (!d->process) _exit(tutti_aggregator_serve(&d->a) != TUTTI_OK);
  MUST(read(fd[0], &at, sizeof at) == sizeof at);
  close(fd[0]);
  close(fd[1]);
  set_port(d, at);
}

void play_end(running *d) {
  void *status;
  if (d->process) {
    MUST(kill(d->process, SIGKILL) == 0 && waitpid(d->process, NULL, 0) == d->process);
    return;
  }
  ends = 1;
  MUST(pthread_join(d->thread, &status) == 0);
  MUST((intptr_t)status == TUTTI_OK);
}

/* ---- members ---- */

tutti_status play_join(const running *d, uint64_t session, int member, int n, tt_wire **wire) {
  return play_join_rack(d, session, member, n, 0, 0, wire);
}

tutti_status play_join_rack(const running *d, uint64_t session, int member, int n, int rack,
                            int racks, tt_wire **wire) {
  const tt_aggregator_seat seat = {.session = {session, 7},
                                   .member = (uint32_t)member,
                                   .members = (uint32_t)n,
                                   .above = (uint32_t)rack,
                                   .aboves = (uint32_t)racks};
  tt_connection to;
  char key[TT_KEY + 1], of_session[TT_KEY + 1];
  tt_aggregator_key(NULL, key);
  tt_aggregator_session_key(key, session, of_session);
  const tutti_status status = tt_aggregator_visit(d->where, &seat, false, of_session, LIMIT, &to);
  return status ? status : tt_aggregator_wire(to, d->where, member, n, wire);
}

party play_gather(const running *d, uint64_t session, int n) {
  party p = {.n = n};
  for (int i = 0; i < n; i++) MUST(play_join(d, session, i, n, &p.wire[i]) == TUTTI_OK);
  return p;
}

void play_leave(tt_wire **wire) {
  if (*wire) (*wire)->peer->close(*wire);
  *wire = NULL;
}

void play_part(party *p) {
  for (int i = 0; i < p->n; i++) play_leave(&p->wire[i]);
}

void play_begin(run *r) {
  r->sent = r->got = 0;
  r->over = r->differs = false;
  r->share.first = r->wire->ranks;
  r->wire->outside->ops->begin(r->wire, &r->share);
}

/* Returns the virtual rank to which byte `at` of one direction belongs, and sets *rest to the number of bytes left
 * for that rank. */
static int peer_at(const run *r, const uint64_t *bytes, uint64_t at, size_t *rest) {
  int part = 0;
  while (part < TT_PARTS && at >= bytes[part]) at -= bytes[part++];
  *rest = part < TT_PARTS ? (size_t)(bytes[part] - at) : 0;
  return r->wire->ranks + part;
}

static size_t push(run *r, int peer, size_t n) {
  uint64_t ticket;
  tutti_status status = TUTTI_OK;
  const size_t taken = r->wire->channel->push(r->wire, peer, r->share.lane, r->share.stamp,
                                              r->src + r->sent, n, n, &ticket, &status);
  MUST(status == TUTTI_OK);
  return taken;
}

bool play_send(run *r) {
  size_t rest;
  const int to = peer_at(r, r->share.given, r->sent, &rest);
  if (!rest) return false;
  if (to + 1 < r->wire->ranks + TT_PARTS) MUST(push(r, to + 1, rest) == 0); /* violates the order */
  const size_t n = push(r, to, rest);
  r->sent += n;
  return n;
}

bool play_take(run *r) {
  tt_stamp stamp;
  tutti_status status = TUTTI_OK;
  size_t rest;
  const int from = peer_at(r, r->share.wanted, r->got, &rest);
  const bool alone = !r->share.gives.bytes || !r->share.wants.bytes; /* the reply is only a head */
  if (alone) r->wire->outside->ops->drive(r->wire);
  const size_t n = r->wire->channel->head(r->wire, from, r->share.lane, &stamp);
  if (!r->over) r->wire->outside->ops->over(r->wire, r->share.lane, &status);
  r->differs = status == TUTTI_ERR_MISMATCH;
  if (!n || r->differs) return false;
  MUST(stamp.seq == r->share.stamp.seq && stamp.hash == r->share.stamp.hash);
  MUST(n <= rest);
  MUST(r->wire->channel->pull(r->wire, from, r->share.lane, r->dst + r->got, n, &status));
  r->got += n;
  return true;
}

bool play_over(run *r) {
  tutti_status status = TUTTI_OK;
  if (r->over) return true;
  r->over = r->sent == r->share.gives.bytes && r->got == r->share.wants.bytes &&
            r->wire->outside->ops->over(r->wire, r->share.lane, &status);
  return r->over;
}

bool play_finish(run *r, int n, double patience) {
  for (double since = seconds(); seconds() < since + patience;) {
    bool over = true;
    for (int i = n - 1; i >= 0; i--) {
      if (play_send(&r[i]) | play_take(&r[i])) since = seconds();
      over &= play_over(&r[i]);
    }
    if (over) return true;
  }
  return false;
}

tt_share play_share(uint64_t seq, tutti_type type, tutti_op op, size_t count, int parts, int data) {
  const uint64_t element = tutti_type_size(type);
  tt_share s = {.lane = (int)(seq % TT_WINDOW) * TT_FLIGHT,
                .stamp = {seq, 1000 + seq},
                .slices = 1,
                .type = (uint32_t)type,
                .op = (uint32_t)op,
                .data = (uint32_t)data,
                .bytes = count * element};
  for (int i = 0; i < parts; i++)
    s.given[i] = s.wanted[i] =
        (count * (size_t)(i + 1) / (size_t)parts - count * (size_t)i / (size_t)parts) * element;
  s.gives.bytes = s.wants.bytes = s.bytes;
  return s;
}
