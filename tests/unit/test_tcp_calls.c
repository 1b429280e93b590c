/* test_tcp_calls.c - incoming connections of the network over sockets, by TCP and by TLS: which hosts are
 * watched, connections that are not authenticated, and processes that claim a wrong rank.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "tcp_play.h"

static void pass_one(const ends *j, int from, int to) {
  int in = 0, out = 5;
  ends_recv(j, to, 0, from, 0, &in, sizeof in);
  ends_send(j, from, 1, to, 0, &out, sizeof out, 0);
  assert_int_equal(ends_await(j, to, 0).failed, 0);
  assert_int_equal(ends_await(j, from, 1).failed, 0);
  assert_int_equal(in, 5);
}

static const tcp_peer *peer_of_end(const ends *j, int rank, int peer) {
  const tcp_world *w = j->end[rank];
  return w->peers[peer];
}

/* Processes on the same host are not watched; those on another host are, unless TUTTI_SILENCE=0. */
static void other_hosts_are_watched(void **state) {
  static const struct {
    bool other;
    int silence;
  } cases[] = {{false, 30}, {true, 30}, {true, 0}};
  if (*state && !ends_have_tls()) skip();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ends j;
    ends_open(&j, 2, cases[i].silence, *state != NULL);
    for (int r = 0; r < 2; r++)
      if (cases[i].other) snprintf(j.at[r][!r].home.host, sizeof j.at[r][!r].home.host, "another");
    ends_join(&j, -1);
    pass_one(&j, 0, 1);
    for (int r = 0; r < 2; r++) {
      const tcp_peer *p = peer_of_end(&j, r, !r);
      const bool wanted = cases[i].other && cases[i].silence;
      const double until = tt_seconds() + 20;
      assert_int_equal(p->watch.fd >= 0, wanted);
      while (wanted && !p->stands && tt_seconds() < until) tcp_progress(j.end[r]);
      assert_int_equal(p->stands, wanted);
    }
    ends_close(&j);
  }
}

/* Silent connections occupy a bounded number of slots, and a rank's connection is still accepted. */
static void silent_callers_are_bounded(void **state) {
  enum { CALLERS = 100, MOST = 64 + 2 };
  int fd[CALLERS];
  ends j;
  kit_place at;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, 2, 0, *state != NULL);
  ends_join(&j, -1);
  const tcp_world *w = j.end[1];
  assert_true(kit_place_at(&w->own.home, &w->links, &w->own.home, 0, &at));
  for (int i = 0; i < CALLERS; i++) {
    fd[i] = kit_dial(&at, w->own.port, 0);
    assert_true(fd[i] >= 0);
    for (int k = 0; k < 10; k++) tcp_progress(j.end[1]);
    assert_true(w->strangers <= MOST);
  }
  const double until = tt_seconds() + 20;
  while (w->strangers < MOST && tt_seconds() < until) tcp_progress(j.end[1]);
  assert_int_equal(w->strangers, MOST);
  pass_one(&j, 0, 1);
  for (int i = 0; i < CALLERS; i++) close(fd[i]);
  ends_close(&j);
}

/* The process at a rank's address has the secret but is another rank. It is not taken for the first one. */
static void another_rank_is_not_taken_for_it(void **state) {
  ends j;
  int in = 0, out = 5;
  if (*state && !ends_have_tls()) skip();
  ends_open(&j, ENDS, 0, *state != NULL);
  j.at[0][1] = j.at[0][2]; /* the address of rank 1 leads to rank 2 */
  ends_join(&j, -1);
  ends_recv(&j, 2, 0, TUTTI_NET_ANY, 0, &in, sizeof in);
  ends_send(&j, 0, 0, 1, 0, &out, sizeof out, 0);
  assert_int_equal(ends_await(&j, 0, 0).failed, TUTTI_NET_LOST);
  assert_int_equal(ends_await(&j, 0, -1).peer, 1);
  assert_int_equal(in, 0);
  ends_close(&j);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      OVER_BOTH(other_hosts_are_watched),
      OVER_BOTH(silent_callers_are_bounded),
      OVER_BOTH(another_rank_is_not_taken_for_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
