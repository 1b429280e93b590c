/* test_tcp.c - the network over sockets, by TCP and by TLS: messages of all sizes, in any order of calls;
 * connections that both ends open; a byte changed in transit; a process without the secret; a network that
 * closes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "tcp_play.h"

enum { MOST = 5 << 20 };

/* ---- messages ---- */

static void fill(unsigned char *bytes, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(tt_mix(seed + i / 8) >> 8 * (i % 8));
}

/* The receive begins before the send, after the message has arrived, or while it arrives. The receiver may be
 * the sender. */
static void all_sizes_arrive(void **state) {
  static const size_t sizes[] = {
      0,   1, 16, 8 << 10, (16 << 10) - 17, (16 << 10) - 16, 16 << 10, 32 << 10, (32 << 10) + 1,
      MOST};
  static unsigned char out[MOST], in[MOST];
  ends j;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int how = 0; how < 12; how++) {
      const size_t n = sizes[k];
      const int first = how & 1, sure = how >> 1 & 1, to = how < 8 ? 1 : 0, any = how & 4;
      fill(out, n, (unsigned)(k * 12) + (unsigned)how);
      memset(in, 0, n);
      if (first)
        assert_int_equal(ends_recv(&j, to, 1, any ? TUTTI_NET_ANY : 0, 3, in, sizeof in), 0);
      assert_int_equal(ends_send(&j, 0, 0, to, 3, out, n, sure), 0);
      if (!first && !sure && n < (32 << 10)) ends_await(&j, 0, 0);
      if (!first)
        assert_int_equal(ends_recv(&j, to, 1, any ? TUTTI_NET_ANY : 0, 3, in, sizeof in), 0);
      const tutti_net_done d = ends_await(&j, to, 1);
      assert_int_equal(d.failed, 0);
      assert_int_equal(d.peer, 0);
      assert_int_equal(d.bytes, n);
      assert_memory_equal(in, out, n);
      if (first || sure || n >= (32 << 10)) assert_int_equal(ends_await(&j, 0, 0).failed, 0);
      assert_int_equal(j.net[0].leaving(j.net[0].self), 0);
    }
  ends_close(&j);
}

/* Messages of all lengths fill the socket, so one is sent in parts while others are queued. */
static void messages_queue_behind_a_full_socket(void **state) {
  enum { N = 24 };
  static const size_t sizes[] = {MOST, 3, 70000, 0, 16, 1 << 20};
  static unsigned char out[N][MOST], in[MOST];
  ends j;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  for (unsigned i = 0; i < N; i++) {
    const size_t n = sizes[i % 6];
    fill(out[i], n, i);
    const int more = i % 3 && i < N - 1 ? TUTTI_NET_MORE : 0;
    assert_int_equal(ends_send(&j, 0, (int)i, 1, 3, out[i], n, more), 0);
  }
  for (unsigned i = 0; i < N; i++) {
    ends_recv(&j, 1, 0, 0, 3, in, sizeof in);
    const tutti_net_done d = ends_await(&j, 1, 0);
    assert_int_equal(d.failed, 0);
    assert_int_equal(d.bytes, sizes[i % 6]);
    assert_memory_equal(in, out[i], d.bytes);
  }
  for (int i = 0; i < N; i++) assert_int_equal(ends_await(&j, 0, i).failed, 0);
  assert_int_equal(j.net[0].leaving(j.net[0].self), 0);
  ends_close(&j);
}

static void a_sure_send_waits_for_its_receive(void **state) {
  ends j;
  int in = 0, out = 5;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  ends_send(&j, 0, 0, 1, 9, &out, sizeof out, 1);
  ends_send(&j, 0, 1, 1, 8, &out, sizeof out, 0); /* sent later, on the same connection */
  ends_recv(&j, 1, 0, 0, 8, &in, sizeof in);
  ends_await(&j, 1, 0);
  for (int i = 0; i < 100; i++) {
    tutti_net_done d;
    int n = 0;
    j.net[0].poll(j.net[0].self, 8, &d, 1, &n);
    assert_true(!n || d.slot == 1);
  }
  ends_recv(&j, 1, 1, 0, 9, &in, sizeof in);
  assert_int_equal(ends_await(&j, 0, 0).failed, 0);
  assert_int_equal(ends_await(&j, 1, 1).bytes, sizeof in);
  ends_close(&j);
}

/* Every process connects to every other before any has polled. One connection per pair remains. */
static void all_may_call_at_once(void **state) {
  ends j;
  int in[ENDS][ENDS], out[ENDS];
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, ENDS, 0, *state != NULL);
  ends_join(&j, -1);
  for (int r = 0; r < ENDS; r++)
    for (int to = 0; to < ENDS; to++) {
      out[r] = 100 + r;
      ends_send(&j, r, 2 * to, to, 0, &out[r], sizeof out[r], 1);
      ends_recv(&j, r, 2 * to + 1, to, 0, &in[r][to], sizeof in[r][to]);
    }
  for (int r = 0; r < ENDS; r++)
    for (int to = 0; to < ENDS; to++) {
      assert_int_equal(ends_await(&j, r, 2 * to).failed, 0);
      assert_int_equal(ends_await(&j, r, 2 * to + 1).failed, 0);
      assert_int_equal(in[r][to], 100 + to);
    }
  for (int r = 0; r < ENDS; r++) {
    int lines = 0;
    for (int i = 0; i < 100; i++) {
      tutti_net_done d;
      int n = 0;
      for (int k = 0; k < ENDS; k++) j.net[k].poll(j.net[k].self, 8, &d, 1, &n);
      assert_int_equal(n, 0);
    }
    const tcp_world *w = j.end[r];
    for (const tcp_line *line = w->lines; line; line = line->next) lines++;
    assert_int_equal(lines, ENDS - 1);
    assert_int_equal(w->strangers, 0);
  }
  ends_close(&j);
}

/* A message for a network that its receiver creates later; cancelled receives; a network that closes with
 * queued messages. */
static void networks_keep_their_messages(void **state) {
  static char big[MOST], room[MOST];
  const int both[] = {0, 1};
  ends j;
  tutti_net second[2];
  int in = 0, out = 77;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  assert_int_equal(j.net[0].pick(j.net[0].self, j.net[0].fresh(j.net[0].self), both, 2, &second[0]),
                   0);
  second[0].send(second[0].self, 0, 1, 0, &out, sizeof out, 0);
  ends_send(&j, 0, 0, 1, 0, big, sizeof big, 0);
  ends_recv(&j, 1, 0, 0, 0, room, sizeof room);
  ends_await(&j, 1, 0);
  assert_int_equal(ends_await(&j, 0, 0).failed, 0);
  assert_int_equal(j.net[1].pick(j.net[1].self, 1, both, 2, &second[1]), 0);
  assert_int_equal(j.net[1].pick(j.net[1].self, 1, both, 2, &second[1]), TUTTI_NET_TAKEN);
  second[1].recv(second[1].self, 0, 0, 0, &in, sizeof in);
  for (int n = 0; !n;) {
    tutti_net_done d;
    assert_int_equal(second[1].poll(second[1].self, 1, &d, 1, &n), 0);
  }
  assert_int_equal(in, 77);
  /* one receive is cancelled before its message arrives, another while it arrives */
  ends_recv(&j, 1, 0, 0, 1, room, sizeof room);
  assert_int_equal(j.net[1].cancel(j.net[1].self, 0), 0);
  ends_recv(&j, 1, 1, 0, 2, room, sizeof room);
  ends_send(&j, 0, 1, 1, 2, big, sizeof big, 0);
  for (int i = 0; i < 20; i++) {
    tutti_net_done d;
    int n = 0;
    j.net[i % 2].poll(j.net[i % 2].self, 8, &d, 1, &n);
    assert_true(!n || i % 2 == 0);
    if (n) break;
  }
  assert_int_equal(j.net[1].cancel(j.net[1].self, 1), 0);
  /* messages that are still queued are sent after the network is closed */
  second[0].send(second[0].self, 0, 1, 0, big, sizeof big, 0);
  second[0].close(second[0].self, 0);
  second[1].close(second[1].self, 0);
  ends_send(&j, 0, 2, 1, 4, &out, sizeof out, 0);
  in = 0;
  ends_recv(&j, 1, 2, 0, 4, &in, sizeof in);
  ends_await(&j, 1, 2);
  assert_int_equal(in, 77);
  ends_close(&j);
}

/* ---- losses ---- */

static void a_stranger_is_refused(void **state) {
  ends j;
  int in = 0, out = 1;
  char words[120] = "";
  if (*state && !ends_have_tls()) skip();
  for (int who = 0; who < 2; who++) {
    ends_open(&j, 2, 0, *state != NULL);
    ends_join(&j, who);
    ends_recv(&j, 1, 0, 0, 0, &in, sizeof in);
    ends_send(&j, 0, 0, 1, 0, &out, sizeof out, 0);
    assert_int_equal(ends_await(&j, 0, 0).failed, TUTTI_NET_LOST);
    assert_int_equal(ends_await(&j, 1, 0).failed, TUTTI_NET_LOST);
    assert_int_equal(ends_await(&j, 0, -1).peer, 1);
    assert_int_equal(ends_await(&j, 1, -1).peer, 0);
    assert_int_equal(j.net[0].fate(j.net[0].self, 1, words, sizeof words), 1);
    assert_string_equal(
        words, *state ? "cannot be reached by TLS 1.3: what listens there lacks the job's secret"
                      : "cannot be reached by TCP: what listens there lacks the job's secret");
    assert_int_equal(in, 0);
    ends_close(&j);
  }
}

/* Data that a process sent before it exited is received; then the process is reported as lost. */
static void a_closed_end_is_lost(void **state) {
  static char big[MOST], room[MOST];
  ends j;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  fill((unsigned char *)big, sizeof big, 3);
  ends_recv(&j, 1, 0, 0, 0, room, 64 << 10);
  ends_send(&j, 0, 0, 1, 0, big, 64 << 10, 0);
  ends_await(&j, 0, 0);
  j.net[0].close(j.net[0].self, 1);
  j.first = 1;
  assert_int_equal(ends_await(&j, 1, 0).failed, 0);
  assert_memory_equal(big, room, 64 << 10);
  assert_int_equal(ends_await(&j, 1, -1).peer, 0);
  ends_recv(&j, 1, 3, 0, 0, room, sizeof room);
  assert_int_equal(ends_await(&j, 1, 3).failed, TUTTI_NET_LOST);
  j.net[1].close(j.net[1].self, 0);
}

/* ---- a man in the middle, between two ranks ---- */

typedef struct tap {
  int listener;
  uint16_t to;   /* the port that it forwards to */
  uint16_t port; /* its own */
  size_t at;     /* which byte of a direction it changes; 0: none */
  bool repeats;  /* it sends this byte twice instead */
  pthread_t thread;
} tap;

static int dial_port(uint16_t port) {
  const struct sockaddr_in to = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!connect(fd, (const struct sockaddr *)&to, sizeof to)) return fd;
  close(fd);
  return -1;
}

/* Forwards the bytes of one connection until one side closes it. */
static void carry(const tap *t, int a, int b) {
  struct pollfd p[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
  size_t passed[2] = {0};
  static _Thread_local char bytes[1 << 16];
  while (poll(p, 2, 30000) > 0)
    for (int i = 0; i < 2; i++) {
      if (!p[i].revents) continue;
      const ssize_t n = read(p[i].fd, bytes, sizeof bytes - 1);
      if (n <= 0) return;
      size_t out = (size_t)n;
      const bool hit = t->at && passed[i] <= t->at && t->at < passed[i] + out;
      const size_t k = hit ? t->at - passed[i] : 0;
      passed[i] += out;
      if (hit && !t->repeats) bytes[k] ^= 1;
      if (hit && t->repeats) memmove(bytes + k + 1, bytes + k, out++ - k);
      if (send(p[!i].fd, bytes, out, MSG_NOSIGNAL) != (ssize_t)out) return;
    }
}

static void *listen_in(void *tapped) {
  const tap *t = tapped;
  for (int a; (a = accept(t->listener, NULL, NULL)) >= 0;) {
    const int b = dial_port(t->to);
    if (b >= 0) carry(t, a, b);
    close(a);
    if (b >= 0) close(b);
  }
  return NULL;
}

static void tap_open(tap *t, uint16_t to) {
  struct sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t n = sizeof at;
  t->to = to;
  t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(bind(t->listener, (struct sockaddr *)&at, n), 0);
  assert_int_equal(listen(t->listener, 4), 0);
  getsockname(t->listener, (struct sockaddr *)&at, &n);
  t->port = ntohs(at.sin_port);
  pthread_create(&t->thread, NULL, listen_in, t);
}

typedef struct rank_thread {
  tutti_net net;
  tutti_status status;
  char why[400];
  bool wrong;
  pthread_t thread;
} rank_thread;

static void *sum_until_it_fails(void *self) {
  enum { N = 100000, CALLS = 30 };
  rank_thread *x = self;
  tutti_comm *comm = NULL;
  float *v = malloc(N * sizeof *v);
  const int rank = x->net.rank;
  x->status = tutti_comm_from_net(&x->net, &comm);
  for (int call = 0; !x->status && call < CALLS; call++) {
    for (int i = 0; i < N; i++) v[i] = (float)(rank + i % 7);
    x->status = tutti_allreduce(comm, v, v, N, TUTTI_FLOAT, TUTTI_SUM);
    for (int i = 0; !x->status && i < N; i++) x->wrong |= v[i] != (float)(1 + 2 * (i % 7));
  }
  snprintf(x->why, sizeof x->why, "%s", x->status ? tutti_error() : "");
  if (comm) tutti_comm_free(comm);
  free(v);
  return NULL;
}

/* One byte of the connection is changed, at many positions, in both directions. No rank gets a wrong sum; each
 * gets an error with the reason. */
static void a_changed_byte_is_noticed(void **state) {
  static const struct {
    size_t at;
    bool repeats, fails;
  } cases[] = {{0, false, false},      {5000, false, true},   {100000, false, true},
               {1000001, false, true}, {3000000, true, true}, {50000, true, true}};
  (void)state;
  if (!ends_have_tls()) skip();
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    ends j;
    tap taps[2];
    rank_thread ranks[2] = {{.status = TUTTI_OK}};
    ends_open(&j, 2, 0, true);
    for (int r = 0; r < 2; r++) { /* the others connect to rank r through a tap */
      tcp_address *a = &j.at[!r][r];
      taps[r] = (tap){.at = cases[c].at, .repeats = cases[c].repeats};
      tap_open(&taps[r], a->port);
      a->port = taps[r].port;
      memset(a->home.addresses, 0, sizeof a->home.addresses);
      a->home.addresses[0] = (struct in6_addr){{{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}}};
    }
    ends_join(&j, -1);
    for (int r = 0; r < 2; r++) {
      ranks[r].net = j.net[r];
      pthread_create(&ranks[r].thread, NULL, sum_until_it_fails, &ranks[r]);
    }
    bool said = false;
    for (int r = 0; r < 2; r++) {
      pthread_join(ranks[r].thread, NULL);
      assert_false(ranks[r].wrong);
      if (!ranks[r].status != !cases[c].fails) fail_msg("case %zu: %s", c, ranks[r].why);
      said |=
          strstr(ranks[r].why, "bytes on the way from or to it were changed or repeated") != NULL;
      if (cases[c].fails) assert_non_null(strstr(ranks[r].why, r ? "rank 0 " : "rank 1 "));
    }
    assert_int_equal(said, cases[c].fails);
    for (int r = 0; r < 2; r++) {
      shutdown(taps[r].listener, SHUT_RDWR);
      pthread_join(taps[r].thread, NULL);
      close(taps[r].listener);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      OVER_BOTH(all_sizes_arrive),
      OVER_BOTH(messages_queue_behind_a_full_socket),
      OVER_BOTH(a_sure_send_waits_for_its_receive),
      OVER_BOTH(all_may_call_at_once),
      OVER_BOTH(networks_keep_their_messages),
      OVER_BOTH(a_stranger_is_refused),
      OVER_BOTH(a_closed_end_is_lost),
      cmocka_unit_test(a_changed_byte_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
