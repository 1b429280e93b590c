/* test_tcp_address.c - the network over sockets: in which order a process tries the addresses of another, and
 * over which links; which processes share a host; how long the kernel waits for a host that does not respond.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "tcp.h"

enum { PLACES = 5 };

static struct in6_addr six(const char *text) {
  struct in6_addr a;
  if (inet_pton(AF_INET6, text, &a) != 1) fail_msg("%s", text);
  return a;
}

static kit_home process_at(const char *host, const char *const *addresses) {
  kit_home p = {.host = ""};
  snprintf(p.host, sizeof p.host, "%s", host);
  for (int k = 0; k < KIT_ADDRESSES && addresses[k]; k++) p.addresses[k] = six(addresses[k]);
  return p;
}

/* This process: 10.0.0.1/20, fd00::1/60 and fe80::1/64, on the links 4 and 7. */
static tcp_world *here(void) {
  static const char *const own[KIT_ADDRESSES] = {"::ffff:10.0.0.1", "fd00::1", "fe80::1"};
  tcp_world *w = calloc(1, sizeof *w);
  w->own.home = process_at("n1", own);
  w->links = (kit_links){.bits = {96 + 20, 60, 64}, .link = {[2] = 7}, .look = {4, 7}, .looks = 2};
  return w;
}

typedef struct places {
  const char *addresses[KIT_ADDRESSES];
  struct {
    const char *address;
    unsigned link;
  } tried[PLACES];
} places;

static void expect_places(const tcp_world *w, const char *host, const places *x) {
  const kit_home of = process_at(host, x->addresses);
  kit_place place;
  int n = 0;
  for (; n < PLACES && x->tried[n].address; n++) {
    const struct in6_addr want = six(x->tried[n].address);
    assert_true(kit_place_at(&w->own.home, &w->links, &of, n, &place));
    if (memcmp(&want, &place.address, sizeof want) || place.link != x->tried[n].link)
      fail_msg("place %d is not %s on link %u", n, x->tried[n].address, x->tried[n].link);
  }
  assert_false(kit_place_at(&w->own.home, &w->links, &of, n, &place));
}

/* Addresses in a network of this host come first. A link-local address is tried on each link of this host. */
static void near_ones_come_first(void **state) {
  static const places cases[] = {
      {{"::ffff:10.0.15.9"}, {{"::ffff:10.0.15.9", 0}}},
      {{"::ffff:192.168.0.2", "::ffff:10.0.15.9"}, {{"::ffff:10.0.15.9", 0}, {"::ffff:192.168.0.2", 0}}},
      {{"::ffff:10.0.16.9", "::ffff:10.0.0.9"}, {{"::ffff:10.0.0.9", 0}, {"::ffff:10.0.16.9", 0}}},
      {{"::ffff:10.0.16.9", "fd00:0:0:f::9"}, {{"fd00:0:0:f::9", 0}, {"::ffff:10.0.16.9", 0}}},
      {{"::ffff:10.0.16.9", "fd00:0:0:10::9"}, {{"::ffff:10.0.16.9", 0}, {"fd00:0:0:10::9", 0}}},
      {{"fe80::9"}, {{"fe80::9", 4}, {"fe80::9", 7}}},
      {{"fe80::9", "::ffff:10.9.0.1"}, {{"fe80::9", 4}, {"fe80::9", 7}, {"::ffff:10.9.0.1", 0}}},
      {{NULL}, {{NULL, 0}}},
  };
  tcp_world *w = here();
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_places(w, "n2", &cases[i]);
  free(w);
}

/* The link of this host's own address is known. */
static void own_link_is_known(void **state) {
  static const places own = {{"::ffff:10.0.0.1", "fd00::1", "fe80::1"},
                             {{"::ffff:10.0.0.1", 0}, {"fd00::1", 0}, {"fe80::1", 7}}};
  tcp_world *w = here();
  (void)state;
  expect_places(w, "n1", &own);
  free(w);
}

/* The link on which a process has answered comes first, and connections in progress start again. */
static void found_link_comes_first(void **state) {
  static const places one = {{"fe80::9"}, {{"fe80::9", 7}, {"fe80::9", 4}}};
  tcp_world *w = here();
  tcp_peer peer = {.tried = 1};
  tcp_peer *peers[] = {NULL, &peer};
  (void)state;
  w->kit.ranks = 2;
  w->peers = peers;
  tcp_found(w, &(kit_place){six("::ffff:10.0.0.9"), 0});
  tcp_found(w, &(kit_place){six("fe80::8"), 4});
  assert_int_equal(peer.tried, 1);
  tcp_found(w, &(kit_place){six("fe80::8"), 7});
  assert_int_equal(peer.tried, 0);
  expect_places(w, "n2", &one);
  free(w);
}

static void hosts_differ(void **state) {
  static const struct {
    const char *host, *addresses[KIT_ADDRESSES];
    bool same;
  } cases[] = {
      {"n1", {"::ffff:10.0.0.1", "fe80::1"}, true},        {"n2", {"::ffff:10.0.0.1", "fe80::1"}, false},
      {"n1", {"::ffff:10.0.0.2", "fe80::1"}, false},       {"n1", {"::ffff:10.0.0.1"}, false},
      {"n1", {"::ffff:10.0.0.1", "fe80::1", "::1"}, false},
  };
  const kit_home first = process_at("n1", cases[0].addresses);
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const kit_home other = process_at(cases[i].host, cases[i].addresses);
    if (kit_same_host(&first, &other) != cases[i].same) fail_msg("case %zu", i);
  }
}

static int option(int fd, int level, int name) {
  int value = -1;
  socklen_t n = sizeof value;
  assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
  return value;
}

/* The kernel probes a host on watched connections, and closes them after the keepalive timeout TUTTI_SILENCE.
 * Other connections have no limit. */
static void watches_are_probed(void **state) {
  static const struct {
    int silence, on, idle, limit_ms;
  } cases[] = {{0, 0, 0, 0}, {1, 1, 1, 1000}, {5, 1, 2, 5000}, {30, 1, 15, 30000}};
  struct sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t n = sizeof at;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)state;
  assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
  assert_int_equal(listen(listener, 8), 0);
  getsockname(listener, (struct sockaddr *)&at, &n);
  const kit_place place = {six("::ffff:127.0.0.1"), 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int fd = kit_dial(&place, ntohs(at.sin_port), cases[i].silence);
    assert_true(fd >= 0);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), cases[i].on);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), cases[i].limit_ms);
    if (cases[i].on) {
      assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), cases[i].idle);
      assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 1);
      /* the timeout ends the connection, not the number of probes */
      assert_true(option(fd, IPPROTO_TCP, TCP_KEEPCNT) > cases[i].silence);
    }
    close(fd);
  }
  close(listener);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(near_ones_come_first),
      cmocka_unit_test(own_link_is_known),
      cmocka_unit_test(found_link_comes_first),
      cmocka_unit_test(hosts_differ),
      cmocka_unit_test(watches_are_probed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
