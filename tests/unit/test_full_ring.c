/* test_full_ring.c - an in-network reduction server (aggregator) with a session whose ring of sums is full to
 * the last byte. The next operation waits, whatever its heads say, and no sum is lost.
 *
 * Idea       Two members receive nothing and send operations until the ring is full. Then they send the heads of one more
 *            operation, valid or to be refused. Only then do they receive.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "aggregator_daemon.h"

enum {
  MEMBERS = 2,
  TURNS = 4,
  HEAD = sizeof(tt_aggregator_sum),
  LEAST = 4096 /* bytes of a piece of such a short vector */
};

typedef struct play {
  tt_session *session;
  int fd[MEMBERS];       /* the members' ends */
  size_t waste[MEMBERS]; /* bytes before the first sum */
} play;

static void begin(play *p) {
  static const char waste[4096];
  const tt_aggregator_seat seat = {.members = MEMBERS};
  p->session = tt_session_new(&seat);
  assert_non_null(p->session);
  for (int i = 0; i < MEMBERS; i++) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    p->waste[i] = 0;
    for (size_t n = sizeof waste; n;) {
      const ssize_t left = send(pair[0], waste, n, MSG_NOSIGNAL);
      p->waste[i] += left > 0 ? (size_t)left : 0;
      if (left < 0) n /= 2;
    }
    p->session->member[i].fd = pair[0];
    p->fd[i] = pair[1];
  }
  p->session->here = MEMBERS;
}

static void end(play *p) {
  for (int i = 0; i < MEMBERS; i++) {
    close(p->session->member[i].fd);
    close(p->fd[i]);
  }
  tt_session_free(p->session);
}

static tt_aggregator_head head_of(uint64_t bytes) {
  return (tt_aggregator_head){.type = TUTTI_UINT8,
                              .op = TUTTI_SUM,
                              .data = MEMBERS,
                              .bytes = bytes,
                              .gives = {0, bytes},
                              .wants = {0, bytes}};
}

static void say(play *p, int i, const void *bytes, size_t n) {
  for (const char *at = bytes; n;) {
    const ssize_t part = send(p->fd[i], at, n, MSG_NOSIGNAL);
    if (part > 0) at += part, n -= (size_t)part;
    tt_session_go_on(p->session);
    assert_false(p->session->over);
  }
}

/* One operation: member i contributes bytes of value 1 + i. */
static void sum(play *p, size_t bytes) {
  static char vector[1 << 12];
  const tt_aggregator_head head = head_of(bytes);
  for (int i = 0; i < MEMBERS; i++) say(p, i, &head, sizeof head);
  for (size_t at = 0; at < bytes;
       at += sizeof vector) /* alternating between the members, because a session reads from each of them alternately */
    for (int i = 0; i < MEMBERS; i++) {
      memset(vector, 1 + i, sizeof vector);
      say(p, i, vector, tt_min(sizeof vector, bytes - at));
    }
  tt_session_go_on(p->session);
  assert_int_equal(p->session->stage, TT_HEADS);
}

static size_t room(const play *p) {
  return TT_AGGREGATOR_RING - (size_t)p->session->made; /* no member has received a byte */
}

/* The bytes of each operation. A piece starts only where a whole piece fits, so the last pieces are whole, or
 * belong to short vectors. */
static void fill(play *p, size_t turn[TURNS]) {
  sum(p, turn[0] = TT_AGGREGATOR_RING - 2 * TT_AGGREGATOR_PIECE);
  sum(p, turn[1] = room(p) - TT_AGGREGATOR_PIECE - HEAD);
  sum(p, turn[2] = room(p) - 2 * HEAD - LEAST);
  sum(p, turn[3] = LEAST);
  assert_int_equal(room(p), 0);
}

static void hear(play *p, int i, void *bytes, size_t n) {
  for (char *at = bytes; n;) {
    const ssize_t part = recv(p->fd[i], at, n, 0);
    if (part > 0) at += part, n -= (size_t)part;
    assert_true(part > 0 ||
                p->session->member[i].out < p->session->made); /* otherwise nothing more will arrive */
    tt_session_go_on(p->session);
  }
}

/* Receives the next sum and checks its status and its size. */
static void hear_sum(play *p, int i, tutti_status status, size_t bytes) {
  tt_aggregator_sum is;
  char *sums = malloc(bytes + 1);
  assert_non_null(sums);
  hear(p, i, &is, sizeof is);
  assert_int_equal(is.status, status);
  assert_int_equal(is.bytes, status ? 0 : bytes);
  hear(p, i, sums, status ? 0 : bytes);
  for (size_t b = 0; !status && b < bytes; b++)
    if (sums[b] != 1 + 2) fail_msg("byte %zu of a sum is %d", b, sums[b]);
  free(sums);
}

static void a_full_ring_waits(void **state) {
  static const struct {
    const char *what;
    uint64_t bytes[MEMBERS]; /* the sizes in the heads of the last operation */
    tutti_status status;
  } turns[] = {{"right heads", {4, 4}, TUTTI_OK},
               {"members differ", {4, 8}, TUTTI_ERR_MISMATCH},
               {"a vector of nothing", {0, 0}, TUTTI_ERR_MISMATCH}};
  (void)state;
  for (size_t t = 0; t < sizeof turns / sizeof *turns; t++) {
    play p;
    size_t turn[TURNS];
    begin(&p);
    fill(&p, turn);
    const uint64_t made = p.session->made;
    for (int i = 0; i < MEMBERS; i++) {
      const tt_aggregator_head head = head_of(turns[t].bytes[i]);
      say(&p, i, &head, sizeof head);
      if (!turns[t].status) say(&p, i, (const char[]){1 + i, 1 + i, 1 + i, 1 + i}, 4);
    }
    if (p.session->made != made)
      fail_msg("%s: something is written into a full ring", turns[t].what);
    for (int i = 0; i < MEMBERS; i++) {
      for (char waste[4096]; p.waste[i];) {
        const ssize_t part = recv(p.fd[i], waste, tt_min(sizeof waste, p.waste[i]), 0);
        assert_true(part > 0);
        p.waste[i] -= (size_t)part;
      }
      for (int k = 0; k < TURNS; k++) hear_sum(&p, i, TUTTI_OK, turn[k]);
    }
    for (int i = 0; i < MEMBERS; i++) hear_sum(&p, i, turns[t].status, (size_t)turns[t].bytes[0]);
    assert_int_equal(p.session->over, turns[t].status != TUTTI_OK);
    end(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_ring_waits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
