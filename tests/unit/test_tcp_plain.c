/* test_tcp_plain.c - authentication in plain TCP. Connections that send nothing, data of another protocol, or
 * the proofs of another connection are refused, and the job continues. A connection that delivers its bytes one
 * by one is accepted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
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

#include "hmac.h"
#include "tcp_play.h"

enum { OPENING = 32, REPLY = OPENING + TT_DIGEST };
static const unsigned char secret[TT_TLS_SECRET] = {7}; /* the secret that ends_join gives to all */

static int call_end_of(const ends *j, int rank) {
  const tcp_world *w = j->end[rank];
  kit_place at;
  assert_true(kit_place_at(&w->own.home, &w->links, &w->own.home, 0, &at));
  const int fd = kit_dial(&at, w->own.port, 0);
  assert_true(fd >= 0);
  return fd;
}

/* Polls rank 1 until this connection has n bytes or is closed; returns the number of bytes. */
static size_t hear_reply(const ends *j, int fd, unsigned char *bytes, size_t n) {
  const double until = tt_seconds() + 20;
  size_t have = 0;
  while (have < n && tt_seconds() < until) {
    tcp_progress(j->end[1]);
    const ssize_t come = recv(fd, bytes + have, n - have, MSG_DONTWAIT);
    if (come > 0) have += (size_t)come;
    if (come == 0 || (come < 0 && errno == ECONNRESET)) return have;
  }
  assert_int_equal(have, n);
  return have;
}

/* Is the connection closed, with no further byte? */
static bool is_closed(const ends *j, int fd) {
  unsigned char byte;
  return hear_reply(j, fd, &byte, 1) == 0;
}

static void open_with(unsigned char opening[OPENING], unsigned char fill) {
  memset(opening, fill, OPENING);
  memcpy(opening, "tutti t1", 8);
}

static void prove_as(const unsigned char key[TT_TLS_SECRET], char side, const void *caller,
                     const void *server, unsigned char proof[TT_DIGEST]) {
  const tt_piece pieces[] = {{&side, 1}, {caller, OPENING}, {server, OPENING}};
  tt_hmac(key, TT_TLS_SECRET, pieces, 3, proof);
}

/* A message between the two ranks. */
static void job_goes_on(const ends *j) {
  int in = 0;
  const int out = 5;
  ends_recv(j, 1, 0, 0, 0, &in, sizeof in);
  ends_send(j, 0, 1, 1, 0, &out, sizeof out, 0);
  assert_int_equal(ends_await(j, 1, 0).failed, 0);
  assert_int_equal(ends_await(j, 0, 1).failed, 0);
  assert_int_equal(in, 5);
}

static void send_all(int fd, const void *bytes, size_t n) {
  assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* The proof that a caller sends after the reply. Only RIGHT is accepted. */
typedef enum proof { RIGHT, ZEROS, OTHER_KEY, REFLECTED, OLD } proof;

static void only_the_right_proof_is_heard(void **state) {
  unsigned char opening[OPENING], reply[REPLY], mine[TT_DIGEST], old[TT_DIGEST],
      expected[TT_DIGEST];
  const unsigned char other[TT_TLS_SECRET] = {8};
  ends j;
  (void)state;
  ends_open(&j, 2, 0, false);
  ends_join(&j, -1);
  for (proof how = RIGHT; how <= OLD; how++) {
    const int fd = call_end_of(&j, 1);
    open_with(opening, 'x'); /* the same again: only the other end's nonce is new */
    send_all(fd, opening, OPENING);
    assert_int_equal(hear_reply(&j, fd, reply, REPLY), REPLY);
    prove_as(secret, 's', opening, reply, expected);
    assert_memory_equal(reply + OPENING, expected, TT_DIGEST);
    memset(mine, 0, sizeof mine);
    if (how == RIGHT) prove_as(secret, 'c', opening, reply, mine);
    if (how == RIGHT) memcpy(old, mine, sizeof old);
    if (how == OTHER_KEY) prove_as(other, 'c', opening, reply, mine);
    if (how == REFLECTED) memcpy(mine, expected, sizeof mine);
    if (how == OLD) memcpy(mine, old, sizeof mine);
    send_all(fd, mine, sizeof mine);
    if (how == RIGHT) { /* accepted, but it claims a rank that the job does not have */
      const uint32_t hello[4] = {TCP_HELLO, 2, 1, 0};
      for (int i = 0; i < 1000; i++) tcp_progress(j.end[1]);
      assert_int_equal(((const tcp_world *)j.end[1])->strangers, 1);
      send_all(fd, hello, sizeof hello);
    }
    assert_true(is_closed(&j, fd));
    close(fd);
    assert_int_equal(((const tcp_world *)j.end[1])->strangers, 0);
  }
  job_goes_on(&j);
  ends_close(&j);
}

static void other_protocols_are_refused(void **state) {
  static const char *const words[] = {"GET / HTTP/1.0\r\n\r\n", "tutti t2", "t\n", "\x16\x03\x01"};
  ends j;
  (void)state;
  ends_open(&j, 2, 0, false);
  ends_join(&j, -1);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const int fd = call_end_of(&j, 1);
    send_all(fd, words[i], strlen(words[i]));
    assert_true(is_closed(&j, fd));
    close(fd);
  }
  job_goes_on(&j);
  ends_close(&j);
}

/* A rank's own handshake, a byte at a time; the hello after it arrives with the last byte. */
static void bytes_may_come_one_by_one(void **state) {
  unsigned char opening[OPENING], reply[REPLY], last[TT_DIGEST + 16];
  ends j;
  (void)state;
  ends_open(&j, 2, 0, false);
  ends_join(&j, -1);
  const int fd = call_end_of(&j, 1);
  open_with(opening, 'y');
  for (int i = 0; i < OPENING; i++) {
    send_all(fd, opening + i, 1);
    for (int k = 0; k < 20; k++) tcp_progress(j.end[1]);
  }
  hear_reply(&j, fd, reply, REPLY);
  prove_as(secret, 'c', opening, reply, last);
  memcpy(last + TT_DIGEST, (const uint32_t[4]){TCP_HELLO, 0, 1, 0}, 16);
  for (size_t i = 0; i < sizeof last; i++) {
    send_all(fd, last + i, 1);
    for (int k = 0; k < 20; k++) tcp_progress(j.end[1]);
  }
  uint32_t welcome[4];
  assert_int_equal(hear_reply(&j, fd, (unsigned char *)welcome, sizeof welcome), sizeof welcome);
  assert_int_equal(welcome[0], TCP_WELCOME);
  assert_int_equal(welcome[1], 1);
  close(fd);
  ends_close(&j);
}

/* Another program listens at a rank's address. The rank cannot be reached, and the error gives the reason. */
static void another_program_listens(void **state) {
  static const char *const words[] = {"220 ready\r\n", "tutti t1"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    struct sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    socklen_t n = sizeof at;
    ends j;
    char why[120] = "";
    const int out = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(listener, 4), 0);
    getsockname(listener, (struct sockaddr *)&at, &n);
    ends_open(&j, 2, 0, false);
    tcp_address *its = &j.at[0][1];
    its->port = ntohs(at.sin_port);
    memset(its->home.addresses, 0, sizeof its->home.addresses);
    its->home.addresses[0] = (struct in6_addr){{{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}};
    ends_join(&j, -1);
    ends_send(&j, 0, 0, 1, 0, &out, sizeof out, 0);
    const int fd = accept(listener, NULL, NULL);
    unsigned char answer[REPLY] = {0};
    memcpy(answer, words[i], strlen(words[i]));
    send_all(fd, answer, i ? sizeof answer : strlen(words[i]));
    assert_int_equal(ends_await(&j, 0, 0).failed, TUTTI_NET_LOST);
    assert_int_equal(j.net[0].fate(j.net[0].self, 1, why, sizeof why), 1);
    assert_string_equal(why,
                        i ? "cannot be reached by TCP: what listens there lacks the job's secret"
                          : "cannot be reached by TCP: Protocol error");
    close(fd);
    close(listener);
    ends_close(&j);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_the_right_proof_is_heard),
      cmocka_unit_test(other_protocols_are_refused),
      cmocka_unit_test(bytes_may_come_one_by_one),
      cmocka_unit_test(another_program_listens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
