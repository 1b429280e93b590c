/* test_secure.c - the protection of a connection between hosts: data that was changed in transit is never
 * accepted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "meet_peers_play.h"
#include "secure.h"

static const tt_tls *tls_or_null(void) {
  const tt_tls *tls = NULL;
  setenv("TUTTI_TLS", "all", 1);
  if (tt_tls_find(&tls)) tls = NULL;
  unsetenv("TUTTI_TLS");
  return tls;
}

/* ---- many bytes, in pieces of any size ---- */

typedef struct way {
  tt_secure *from, *to;
  int out, in;
} way;

/* The sizes of the sender's and the receiver's calls differ, and a call after EAGAIN may pass fewer bytes. */
static void pass_bytes(const way *w) {
  enum { BYTES = 300000 };
  static unsigned char sent[BYTES], got[BYTES];
  unsigned seed = 3;
  size_t out = 0, in = 0;
  for (size_t i = 0; i < BYTES; i++) sent[i] = (unsigned char)rand_r(&seed);
  memset(got, 0, sizeof got);
  for (int turn = 0; in < BYTES; turn++) {
    const size_t most =
        turn % 3 == 0 ? 1 + (size_t)rand_r(&seed) % 100000 : 1 + (size_t)rand_r(&seed) % 50;
    if (out < BYTES) {
      const ssize_t n = tt_secure_send(w->from, w->out, sent + out, tt_min(most, BYTES - out));
      assert_true(n >= 0 || errno == EAGAIN);
      if (n > 0) out += (size_t)n;
    }
    const ssize_t n = tt_secure_recv(w->to, w->in, got + in, tt_min(most / 2 + 1, BYTES - in));
    assert_true(n > 0 || (n < 0 && errno == EAGAIN));
    if (n > 0) in += (size_t)n;
    if (n < 0) assert_int_equal(tt_secure_waiting(w->to), 0);
  }
  assert_memory_equal(sent, got, sizeof got);
}

static int find_own(const void *secret, const char *name, unsigned char found[TT_TLS_SECRET]) {
  if (strcmp(name, "ours") != 0) return 0;
  memcpy(found, secret, TT_TLS_SECRET);
  return 1;
}

static void *answer(
    void *way_of) { /* the server's part of a handshake: until the first byte arrives */
  const way *w = way_of;
  char byte;
  struct pollfd p = {.fd = w->in, .events = POLLIN};
  while (poll(&p, 1, 10000) == 1 && tt_secure_recv(w->to, w->in, &byte, 1) < 0 && errno == EAGAIN)
    continue;
  return NULL;
}

static int small_pair(int fd[2]) {
  const int small = 5000;
  const int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd);
  for (int i = 0; i < 2; i++) setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  return failed;
}

static void all_bytes_pass(void **state) {
  static const unsigned char secret[TT_TLS_SECRET] = {2};
  const tt_tls *tls = tls_or_null();
  int fd[2], how = TT_TLS_DONE;
  pthread_t thread;
  char byte;
  (void)state;
  if (!tls) skip();
  assert_int_equal(small_pair(fd), 0);
  way w = {.out = fd[0], .in = fd[1], .to = tt_tls_serve(tls, fd[1], find_own, secret)};
  pthread_create(&thread, NULL, answer, &w);
  w.from = tt_tls_call(tls, fd[0], "ours", secret, tt_seconds() + 20, &how);
  assert_non_null(w.from);
  assert_int_equal(tt_secure_send(w.from, fd[0], "!", 1), 1);
  pthread_join(thread, NULL);
  pass_bytes(&w);
  const way back = {w.to, w.from, w.in, w.out};
  pass_bytes(&back);
  tt_secure_drop(&w.from);
  close(fd[0]);
  assert_int_equal(tt_secure_recv(w.to, fd[1], &byte, 1), 0);
  tt_secure_drop(&w.to);
  close(fd[1]);
}

/* A wrong secret, a wrong name, and ends that do not speak TLS. */
static void tls_refuses_others(void **state) {
  static const unsigned char ours[TT_TLS_SECRET] = {2}, theirs[TT_TLS_SECRET] = {3};
  static const struct {
    const char *name;
    const unsigned char *secret;
    int how;
  } cases[] = {
      {"ours", ours, TT_TLS_DONE}, {"ours", theirs, TT_TLS_KEY}, {"theirs", ours, TT_TLS_KEY}};
  const tt_tls *tls = tls_or_null();
  (void)state;
  if (!tls) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int fd[2], how;
    assert_int_equal(small_pair(fd), 0);
    way w = {.out = fd[0], .in = fd[1], .to = tt_tls_serve(tls, fd[1], find_own, ours)};
    pthread_t thread;
    pthread_create(&thread, NULL, answer, &w);
    w.from = tt_tls_call(tls, fd[0], cases[i].name, cases[i].secret, tt_seconds() + 20, &how);
    assert_int_equal(how, cases[i].how);
    if (w.from) assert_int_equal(tt_secure_send(w.from, fd[0], "!", 1), 1);
    pthread_join(thread, NULL);
    tt_secure_drop(&w.from);
    tt_secure_drop(&w.to);
    close(fd[0]), close(fd[1]);
  }
  for (int closes = 0; closes < 2; closes++) {
    int fd[2], how;
    assert_int_equal(small_pair(fd), 0);
    if (!closes) assert_int_equal(write(fd[1], "HTTP/1.1 400 Bad Request\r\n", 26), 26);
    shutdown(fd[1], SHUT_WR);
    assert_null(tt_tls_call(tls, fd[0], "ours", ours, tt_seconds() + 20, &how));
    assert_int_equal(how, closes ? TT_TLS_CLOSED : TT_TLS_FOREIGN);
    close(fd[0]), close(fd[1]);
  }
}

/* ---- a man in the middle, between an agent and the rendezvous ---- */

typedef struct thief { /* forwards all bytes, and changes or repeats some */
  int listener, to;
  int down;     /* from the rendezvous; otherwise from the agent */
  size_t at;    /* this byte */
  bool repeats; /* repeats it and the bytes received with it; otherwise changes it */
  bool did;
} thief;

static bool carry(thief *t, int from, int to, size_t *passed, bool mine) {
  char bytes[4096];
  const ssize_t n = read(from, bytes, sizeof bytes);
  if (n <= 0) return false;
  const bool now = mine && !t->did && t->at >= *passed && t->at < *passed + (size_t)n;
  if (now && !t->repeats) bytes[t->at - *passed] ^= 1;
  for (int times = 0; times < 1 + (now && t->repeats); times++)
    if (send(to, bytes, (size_t)n, MSG_NOSIGNAL) < 0) return false;
  t->did |= now;
  *passed += (size_t)n;
  return true;
}

static void *carry_all(void *arg) {
  thief *t = arg;
  const int in = accept(t->listener, NULL, NULL), out = meeting_call(t->to);
  struct pollfd p[] = {{.fd = in, .events = POLLIN}, {.fd = out, .events = POLLIN}};
  size_t up = 0, down = 0;
  while (poll(p, 2, 20000) > 0)
    if ((p[0].revents && !carry(t, in, out, &up, !t->down)) ||
        (p[1].revents && !carry(t, out, in, &down, t->down)))
      break;
  close(in);
  close(out);
  return NULL;
}

static const char all_hear[] = "were changed or repeated on their way";

static void what_is_changed_between_hosts_ends_the_meeting(void **state) {
  const struct {
    thief thief;
    const char *why[2];
  } cases[] = {
      {{.at = 700}, {all_hear, "rank 1"}},                  /* the card */
      {{.down = 1, .at = 300}, {"did not come", all_hear}}, /* the challenge */
      {{.at = 80}, {"did not come", "does not"}},           /* the handshake */
  };
  (void)state;
  if (!tls_or_null()) skip();
  setenv("TUTTI_TLS", "all", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    pthread_t thread;
    const tt_rendezvous real = meeting_serve();
    thief t = cases[i].thief;
    t.to = real.port;
    t.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(t.listener, (struct sockaddr *)&at, sizeof at), 0);
    getsockname(t.listener, (struct sockaddr *)&at, &n);
    listen(t.listener, 4);
    pthread_create(&thread, NULL, carry_all, &t);
    peer g[2] = {{.at = real, .rank = 0, .ranks = 2, .limit = 3},
                 {.at = real, .rank = 1, .ranks = 2, .host = 1, .limit = 3}};
    g[1].at.port = ntohs(at.sin_port);
    for (int r = 0; r < 2; r++) meeting_begin(&g[r]);
    for (int r = 0; r < 2; r++) meeting_finish(&g[r]);
    pthread_join(thread, NULL);
    close(t.listener);
    assert_true(t.did);
    for (int r = 0; r < 2; r++) {
      if (!strstr(g[r].why, cases[i].why[r])) printf("# case %zu, rank %d: %s\n", i, r, g[r].why);
      assert_non_null(strstr(g[r].why, cases[i].why[r]));
      assert_int_not_equal(g[r].status, TUTTI_OK);
    }
  }
  unsetenv("TUTTI_TLS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_bytes_pass),
      cmocka_unit_test(tls_refuses_others),
      cmocka_unit_test(what_is_changed_between_hosts_ends_the_meeting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
