/* test_lost_aggregator.c - the wire to an in-network reduction server (aggregator) that exits or sends wrong
 * data: operations receive nothing wrong, do not complete, and the wire reports the loss.
 *
 * The test plays the aggregator, at the other end of a socket pair.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "aggregator_play.h"
#include "seconds.h"

enum { COUNT = 100, BYTES = COUNT * sizeof(int32_t), SEQ = 7 };

typedef struct scene {
  tt_wire *wire;
  int fd; /* the aggregator's end */
  run r;
  int32_t src[COUNT], dst[COUNT];
} scene;

/* A member whose vector has been sent. wants: it is to receive the sum; otherwise only a head. */
static void begin(scene *s, bool wants) {
  int fd[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
  *s = (scene){.fd = fd[1]};
  assert_int_equal(tt_aggregator_wire((tt_connection){.fd = fd[0]}, "n9:4747", 0, 3, &s->wire),
                   TUTTI_OK);
  s->r = (run){.wire = s->wire,
               .share = play_share(SEQ, TUTTI_INT32, TUTTI_SUM, COUNT, 1, 3),
               .src = (const char *)s->src,
               .dst = (char *)s->dst};
  if (!wants) s->r.share.wants.bytes = s->r.share.wanted[0] = 0;
  play_begin(&s->r);
  while (play_send(&s->r)) continue;
  assert_int_equal(s->r.sent, BYTES);
}

static void end(scene *s) {
  play_leave(&s->wire);
  if (s->fd >= 0) close(s->fd);
}

static void hang_up(scene *s) {
  close(s->fd);
  s->fd = -1;
}

static void say(const scene *s, tt_aggregator_sum sum, size_t of_head, size_t bytes) {
  static const char vector[BYTES];
  assert_int_equal(send(s->fd, &sum, of_head, 0), of_head);
  if (bytes) assert_int_equal(send(s->fd, vector, bytes, 0), bytes);
}

static const tt_aggregator_sum right = {.seq = SEQ, .bytes = BYTES};

/* Receives what is available, several times; returns whether the operation has completed. */
static bool takes_all(scene *s) {
  for (int look = 0; look < 5; look++) {
    s->wire->outside->ops->drive(s->wire);
    while (play_take(&s->r)) continue;
    s->wire->peer->alive(s->wire, s->wire->ranks);
  }
  return play_over(&s->r);
}

static bool is_alive(const scene *s) {
  return s->wire->peer->alive(s->wire, s->wire->ranks);
}

static void no_other_sum_is_taken(void **state) {
  static const struct {
    const char *name;
    tt_aggregator_sum sum;
  } wrong[] = {{"of the operation before", {.seq = SEQ - 1, .bytes = BYTES}},
               {"of a later operation", {.seq = SEQ + 1, .bytes = BYTES}},
               {"of a shorter vector", {.seq = SEQ, .bytes = BYTES - 4}},
               {"of a longer vector", {.seq = SEQ, .bytes = UINT64_MAX}},
               {"with a status", {.status = TUTTI_ERR_MEMORY, .seq = SEQ, .bytes = BYTES}},
               {"with an unknown status", {.status = 77, .seq = SEQ, .bytes = BYTES}}};
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    for (int wants = 0; wants < 2; wants++) {
      scene s;
      begin(&s, wants);
      say(&s, wrong[k].sum, sizeof right, BYTES);
      say(&s, right, sizeof right, wants ? BYTES : 0); /* too late */
      if (takes_all(&s) || s.r.got) fail_msg("a sum %s is taken", wrong[k].name);
      if (is_alive(&s)) fail_msg("a sum %s does not end it", wrong[k].name);
      assert_string_equal(s.wire->outside->ops->why(s.wire),
                          "it has sent data that is not the sum of this operation");
      assert_false(s.wire->outside->ops->answers(s.wire));
      end(&s);
    }
}

/* The aggregator disconnects after each possible number of bytes of an answer. */
static void it_ends_at_every_byte(void **state) {
  const size_t head = sizeof right, whole = head + BYTES;
  (void)state;
  for (size_t n = 0; n <= whole; n++) {
    scene s;
    begin(&s, true);
    say(&s, right, tt_min(n, head), n > head ? n - head : 0);
    hang_up(&s);
    if (takes_all(&s) != (n == whole)) fail_msg("over after %zu bytes of %zu", n, whole);
    assert_int_equal(s.r.got, n > head ? n - head : 0);
    assert_false(is_alive(&s));
    assert_string_equal(s.wire->outside->ops->why(s.wire), "it has closed the connection");
    end(&s);
  }
  for (size_t n = 0; n <= head; n++) {
    scene s;
    begin(&s, false);
    say(&s, right, n, 0);
    hang_up(&s);
    if (takes_all(&s) != (n == head)) fail_msg("over after %zu bytes of a head of %zu", n, head);
    assert_false(is_alive(&s));
    end(&s);
  }
}

/* If the connection closes, an operation does not complete, whatever has arrived for it. The same holds for one
 * that starts later. */
static void nothing_is_sent_any_more(void **state) {
  scene s;
  (void)state;
  begin(&s, true);
  hang_up(&s);
  assert_false(takes_all(&s));
  run later = s.r;
  later.share.stamp.seq = SEQ + 1;
  later.share.lane = (SEQ + 1) % TT_WINDOW * TT_FLIGHT;
  play_begin(&later);
  assert_false(play_send(&later) || play_take(&later) || play_over(&later));
  assert_false(is_alive(&s));
  end(&s);
}

/* A closed connection stays readable. A rank that waits for others must still be able to sleep. */
static void its_end_wakes_nobody(void **state) {
  scene s;
  (void)state;
  begin(&s, true);
  assert_true(s.wire->outside->ops->sleep_fd(s.wire, -1) >= 0);
  hang_up(&s);
  assert_false(is_alive(&s));
  assert_int_equal(s.wire->outside->ops->sleep_fd(s.wire, -1), -1);
  assert_int_equal(s.wire->outside->ops->sleep_fd(s.wire, 5), 5);
  end(&s);
}

/* Connects to a listener at 127.0.0.1; returns both ends. */
static int listen_and_connect(int *ours, int *theirs) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t n = sizeof at;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  *ours = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(listen(listener, 5), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
  assert_int_equal(connect(*ours, (struct sockaddr *)&at, sizeof at), 0);
  *theirs = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
  return listener;
}

/* The server closed the connection. As long as it listens it is alive, and may have ended the session for
 * another reason. */
static void whether_it_answers(void **state) {
  (void)state;
  for (int listens = 0; listens < 2; listens++) {
    int ours, theirs;
    tt_wire *w;
    const int listener = listen_and_connect(&ours, &theirs);
    assert_int_equal(tt_aggregator_wire((tt_connection){.fd = ours}, "n9:4747", 0, 3, &w),
                     TUTTI_OK);
    assert_true(w->peer->alive(w, 3));
    if (!listens) close(listener);
    close(theirs);
    for (const double until = seconds() + LIMIT; w->peer->alive(w, 3);)
      assert_true(seconds() < until);
    assert_int_equal(w->outside->ops->answers(w), listens);
    play_leave(&w);
    if (listens) close(listener);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_other_sum_is_taken), cmocka_unit_test(it_ends_at_every_byte),
      cmocka_unit_test(nothing_is_sent_any_more), cmocka_unit_test(its_end_wakes_nobody),
      cmocka_unit_test(whether_it_answers)};
  end_after(60);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
