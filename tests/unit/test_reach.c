/* test_reach.c - from which hosts an address can be reached, and which names in TUTTI_INTERFACE match it
 * (src/meet/reach.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs four of these headers first */
#include <cmocka.h>

#include "reach.h"

static const unsigned UP = IFF_UP, HERE = IFF_UP | IFF_LOOPBACK;
enum { LINK = 7 /* the number of the device */ };

/* An address of the device eth1. */
static struct ifaddrs address(const char *text, unsigned flags, struct sockaddr_storage *at) {
  static char device[] = "eth1";
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)at;
  memset(at, 0, sizeof *at);
  if (!strchr(text, ':')) {
    at->ss_family = AF_INET;
    assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)(void *)at)->sin_addr), 1);
  } else {
    at->ss_family = AF_INET6;
    six->sin6_scope_id = strncmp(text, "fe80", 4) == 0 ? LINK : 0;
    assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
  }
  return (struct ifaddrs){.ifa_name = device, .ifa_flags = flags, .ifa_addr = (struct sockaddr *)at};
}

static void test_who_knows_it(void **state) {
  static const struct {
    const char *text;
    bool down, here;
    tt_reach_kind reach;
    unsigned link;
  } rows[] = {
      {"10.0.0.3", false, false, TT_REACH_4, 0},
      {"fd00::3", false, false, TT_REACH_6, 0},
      {"fe80::3", false, false, TT_REACH_LINK, LINK},
      {"127.0.0.1", false, true, TT_REACH_HERE4, 0},
      {"::1", false, true, TT_REACH_HERE6, 0},
      {"fe80::3", true, false, TT_REACH_NONE, LINK},
  };
  struct sockaddr_storage at;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct ifaddrs a = address(rows[i].text, rows[i].down ? 0 : rows[i].here ? HERE : UP, &at);
    assert_int_equal(tt_reach_of(&a), rows[i].reach);
    assert_int_equal(tt_link_of(a.ifa_addr), rows[i].link);
  }
  const struct ifaddrs none = {.ifa_flags = UP};
  assert_int_equal(tt_reach_of(&none), TT_REACH_NONE);
}

static void test_names(void **state) {
  static const struct {
    const char *text, *name;
    bool is;
  } rows[] = {
      {"10.0.0.3", "eth1", true},        {"10.0.0.3", "eth", false},      {"10.0.0.3", "10.0.0.3", true},
      {"10.0.0.3", "10.0.0.4", false},   {"10.0.0.3", "fe80::3", false},  {"fe80::3", "fe80::3", true},
      {"fe80::3", "fe80:0::3", true},    {"fe80::3", "fe80::4", false},   {"fe80::3", "fe80::3%eth1", true},
      {"fe80::3", "fe80::3%eth0", false}, {"fe80::3", "fe80::4%eth1", false}, {"fe80::3", "10.0.0.3", false},
      {"fd00::3", "eth1", true},         {"fd00::3", "eth1%eth1", false},
  };
  struct sockaddr_storage at;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct ifaddrs a = address(rows[i].text, UP, &at);
    if (tt_reach_named(&a, rows[i].name) != rows[i].is) fail_msg("%s, %s", rows[i].text, rows[i].name);
  }
}

/* An address that leaves its host carries no interface name. */
static void test_strip(void **state) {
  static const char *const rows[][2] = {
      {"", ""},
      {"n1,10.0.0.3", "n1,10.0.0.3"},
      {"fe80::3%eth1", "fe80::3"},
      {"[fe80::3%eth1]:4747", "[fe80::3]:4747"},
      {"[fe80::3%eth1]:4747,n2,[fe80::4%eth0]:1", "[fe80::3]:4747,n2,[fe80::4]:1"},
      {"fe80::3%eth1,fe80::4%b", "fe80::3,fe80::4"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[80];
    snprintf(text, sizeof text, "%s", rows[i][0]);
    tt_reach_strip(text);
    assert_string_equal(text, rows[i][1]);
  }
}

/* The system's own interfaces: each has a number, is listed once, and the requested one is first. */
static void test_links(void **state) {
  unsigned all[TT_LINKS], some[TT_LINKS];
  (void)state;
  unsetenv("TUTTI_INTERFACE");
  const int n = tt_reach_links(0, all);
  for (int first = 0; first < n; first++) {
    int found = 0;
    assert_int_equal(tt_reach_links(all[first], some), n);
    assert_int_equal(some[0], all[first]);
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++) found += some[j] == all[k];
    assert_int_equal(found, n);
  }
  setenv("TUTTI_INTERFACE", "lo", 1);
  assert_int_equal(tt_reach_links(0, some), 0);
  unsetenv("TUTTI_INTERFACE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_who_knows_it),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_strip),
      cmocka_unit_test(test_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
