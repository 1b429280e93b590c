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

enum { HEAD = 36 /* bytes of a record before its text */ };
static const char KEY[TT_KEY] = "0123456789abcdef0123456789abcdef";

/* Both ends of a connection. Data sent by one end is held until the test delivers it to the other. */
typedef struct both {
  tt_secure *end[2];
  int fd[2], between[2];
} both;

static const tt_tls *tls_or_null(void) {
  const tt_tls *tls = NULL;
  setenv("TUTTI_TLS", "meeting", 1);
  if (tt_tls_find(&tls)) tls = NULL;
  unsetenv("TUTTI_TLS");
  return tls;
}

static both open_both(unsigned char nonce) {
  both b;
  const tt_hello hello = {.magic = TT_MEET_MAGIC, .rank = 1};
  const unsigned char nonces[TT_DIGEST] = {nonce};
  for (int i = 0; i < 2; i++) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    b.fd[i] = pair[0];
    b.between[i] = pair[1];
    b.end[i] = tt_digests_new(i ? TT_RENDEZVOUS : TT_VISITOR, KEY, &hello, nonces);
    assert_non_null(b.end[i]);
  }
  return b;
}

static void close_both(both *b) {
  for (int i = 0; i < 2; i++) {
    tt_secure_drop(&b->end[i]);
    close(b->fd[i]);
    close(b->between[i]);
  }
}

/* One record of end 0, as it is sent. */
static size_t travels(both *b, const char *text, char *bytes, size_t size) {
  assert_int_equal(tt_secure_send(b->end[0], b->fd[0], text, strlen(text)), strlen(text));
  const ssize_t n = read(b->between[0], bytes, size);
  assert_int_equal(n, HEAD + strlen(text));
  return (size_t)n;
}

static void arrives(both *b, int end, const char *bytes, size_t n) {
  assert_int_equal(write(b->between[end], bytes, n), n);
}

static void takes(both *b, int end, const char *text) {
  char got[100] = "";
  assert_int_equal(tt_secure_recv(b->end[end], b->fd[end], got, sizeof got), strlen(text));
  assert_string_equal(got, text);
}

static void refuses(both *b, int end) {
  char got[100];
  for (int twice = 0; twice < 2; twice++) {
    assert_int_equal(tt_secure_recv(b->end[end], b->fd[end], got, sizeof got), -1);
    assert_int_equal(errno, EBADMSG);
  }
}

static void takes_nothing_yet(both *b, int end) {
  char got[100];
  assert_int_equal(tt_secure_recv(b->end[end], b->fd[end], got, sizeof got), -1);
  assert_int_equal(errno, EAGAIN);
}

/* Every bit of a record is authenticated, as well as its sequence number, direction and connection. */
static void a_record_is_taken_once_and_whole(void **state) {
  char first[200], second[200];
  (void)state;
  for (size_t bit = 0; bit < 8 * (HEAD + 5); bit++) {
    both b = open_both(1);
    const size_t n = travels(&b, "first", first, sizeof first);
    first[bit / 8] = (char)(first[bit / 8] ^ 1 << bit % 8);
    arrives(&b, 1, first, n);
    uint32_t bytes;
    memcpy(&bytes, first, sizeof bytes);
    if (bytes > 5 && bytes <= 16 << 10) /* longer than the data so far: more may be in transit */
      takes_nothing_yet(&b, 1);
    else
      refuses(&b, 1);
    close_both(&b);
  }
  for (int attack = 0; attack < 5; attack++) {
    both b = open_both(1), other = open_both(2);
    const size_t n = travels(&b, "first", first, sizeof first),
                 m = travels(&b, "second", second, sizeof second);
    switch (attack) {
      case 0: /* unchanged */
        arrives(&b, 1, first, n), arrives(&b, 1, second, m);
        takes(&b, 1, "first"), takes(&b, 1, "second");
        break;
      case 1: /* repeated */
        arrives(&b, 1, first, n), arrives(&b, 1, first, n);
        takes(&b, 1, "first"), refuses(&b, 1);
        break;
      case 2: arrives(&b, 1, second, m), refuses(&b, 1); break; /* the first record is dropped */
      case 3: arrives(&b, 0, first, n), refuses(&b, 0); break;  /* reflected */
      case 4: arrives(&other, 1, first, n), refuses(&other, 1); break;
      default: break;
    }
    close_both(&b);
    close_both(&other);
  }
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
  const tt_hello hello = {.magic = TT_MEET_MAGIC};
  static const unsigned char nonce[TT_DIGEST] = {1}, secret[TT_TLS_SECRET] = {2};
  const tt_tls *tls = tls_or_null();
  (void)state;
  for (int by_tls = 0; by_tls < 1 + !!tls; by_tls++) {
    int fd[2], how = TT_TLS_DONE;
    assert_int_equal(small_pair(fd), 0);
    way w = {.out = fd[0], .in = fd[1]};
    if (by_tls) {
      pthread_t thread;
      w.to = tt_tls_serve(tls, fd[1], find_own, secret);
      pthread_create(&thread, NULL, answer, &w);
      w.from = tt_tls_call(tls, fd[0], "ours", secret, tt_seconds() + 20, &how);
      assert_non_null(w.from);
      assert_int_equal(tt_secure_send(w.from, fd[0], "!", 1), 1);
      pthread_join(thread, NULL);
    } else {
      w.from = tt_digests_new(TT_VISITOR, KEY, &hello, nonce);
      w.to = tt_digests_new(TT_RENDEZVOUS, KEY, &hello, nonce);
    }
    pass_bytes(&w);
    const way back = {w.to, w.from, w.in, w.out};
    pass_bytes(&back);
    tt_secure_drop(&w.from);
    close(fd[0]);
    char byte;
    assert_int_equal(tt_secure_recv(w.to, fd[1], &byte, 1), 0);
    tt_secure_drop(&w.to);
    close(fd[1]);
  }
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
  enum { UP = sizeof(tt_hello) + TT_DIGEST, DOWN = sizeof(tt_challenge) + sizeof TT_MEET_MAGIC };
  const struct {
    thief thief;
    bool tls;
    const char *why[2];
  } cases[] = {
      {{.at = UP + 10}, false, {all_hear, "has closed"}},       /* the digest of the card's head */
      {{.at = UP + HEAD + 1}, false, {all_hear, "has closed"}}, /* the head */
      {{.at = UP + 2 * HEAD + 80}, false, {all_hear, "has closed"}},          /* the card */
      {{.down = 1, .at = DOWN + HEAD}, false, {"left before all", all_hear}}, /* the reply to it */
      {{.down = 1, .at = DOWN + HEAD, .repeats = true}, false, {"left before all", all_hear}},
      {{.at = 700}, true, {all_hear, "rank 1"}},                  /* the card */
      {{.down = 1, .at = 300}, true, {"did not come", all_hear}}, /* the challenge */
      {{.at = 80}, true, {"did not come", "does not"}},           /* the handshake */
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    pthread_t thread;
    if (cases[i].tls && !tls_or_null()) continue;
    if (cases[i].tls) setenv("TUTTI_TLS", "meeting", 1);
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
    unsetenv("TUTTI_TLS");
    assert_true(t.did);
    for (int r = 0; r < 2; r++) {
      if (!strstr(g[r].why, cases[i].why[r])) printf("# case %zu, rank %d: %s\n", i, r, g[r].why);
      assert_non_null(strstr(g[r].why, cases[i].why[r]));
      assert_int_not_equal(g[r].status, TUTTI_OK);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_record_is_taken_once_and_whole),
      cmocka_unit_test(all_bytes_pass),
      cmocka_unit_test(tls_refuses_others),
      cmocka_unit_test(what_is_changed_between_hosts_ends_the_meeting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
