/* Profiles may give model parameters of single hosts, by number, range or name. Errors give their position.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "host_links.h"

static const struct {
  const char *text, *says; /* the text as it is printed again; or, after "!", the error */
} texts[] = {
    {"host.3.beta=8e-8", "host.3.beta       = 8e-08\n"},
    {"host.4-7.alpha = 9us\nhost.4-7.ports=2,host.0.delay=1ms",
     "host.4-7.alpha    = 9e-06\nhost.4-7.ports    = 2\nhost.0.delay      = 0.001\n"},
    {"host.n1-2.lan.processor=1us,host.n1-2.lan.again=2us,host.n1.beta=1Gbit/s",
     "host.n1-2.lan.processor = 1e-06\nhost.n1-2.lan.again = 2e-06\nhost.n1.beta      = 8e-09\n"},
    {"host.3.beta=1,host.3.beta=2", "host.3.beta       = 2\n"},
    {"host.007.beta=1", "host.7.beta       = 1\n"},
    {"host.beta=1", "host.beta         = 1\n"}, /* the name of a level */
    {"host.7-4.beta=1", "!column 6: expected a range from the lower number to the higher"},
    {"host.4-7.beta=1,host.5.alpha=1",
     "!column 22: expected hosts other than 4-7, which have parameters already, found '5.alpha=1'"},
    {"host.4-7.beta=1,host.4-8.beta=1", "!expected hosts other than 4-7"},
    {"host.4-7.beta=1,host.4-6.beta=1", "!expected hosts other than 4-7"},
    {"host.4-.beta=1", "!column 6: expected a host's number such as 3, a range such as 4-7"},
    {"host.-4.beta=1", "!column 6: expected a host's number"},
    {"host.4-5-6.beta=1", "!column 6: expected a host's number"},
    {"host..beta=1", "!column 6: expected a host's number"},
    {"host.12345678.beta=1", "!column 6: expected a host's number below 10000000"},
    {"host.n/1.beta=1", "!column 6: expected a host's name: letters, digits"},
    {"host.a234567890a234567890a234567890a234567890.beta=1", "!of at most 39 letters"},
    {"host.3.burst=1",
     "!column 8: expected a parameter of a host: alpha, delay, gap, beta, processor, again"},
    {"host.3.gamma=1", "!column 8: expected a parameter of a host"},
    {"host.3.ports=0", "!expected a number from 1 to 16"},
    {"host.3.beta=x", "!expected seconds per byte such as 1e-8"},
};

/* Removes the comments of a profile, and the spaces before them. */
static char *without_comments(const char *text) {
  char *copy = strdup(text), *to = copy;
  for (const char *at = text; *at; at++) {
    if (*at == '#') {
      at += strcspn(at, "\n");
      while (to > copy && to[-1] == ' ') to--;
    }
    if (!*at) break;
    *to++ = *at;
  }
  *to = 0;
  return copy;
}

static void profiles_say_figures_of_hosts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tt_profile p, again;
    tt_text t = {.at = NULL}, twice = t;
    tt_profile_net(&p);
    const tutti_status status = tt_profile_parse(&p, texts[i].text, "the figures");
    if (*texts[i].says == '!') {
      if (!status || !strstr(tutti_error(), texts[i].says + 1))
        fail_msg("%s: %s", texts[i].text, status ? tutti_error() : "it is taken");
      continue;
    }
    if (status) fail_msg("%s", tutti_error());
    tt_profile_print(&t, &p);
    char *bare = without_comments(t.at);
    if (!strstr(bare, texts[i].says)) fail_msg("%s:\n%s", texts[i].text, bare);
    free(bare);
    tt_profile_net(&again);
    assert_int_equal(tt_profile_parse(&again, t.at, "the written text"), TUTTI_OK);
    tt_profile_print(&twice, &again);
    assert_string_equal(t.at, twice.at);
    tt_profile_forget_net(&again);
    assert_int_equal(again.hosts, 0);
    free(t.at);
    free(twice.at);
  }
}

static void a_profile_has_figures_of_16_hosts(void **state) {
  tt_profile p;
  char text[40];
  (void)state;
  tt_profile_net(&p);
  for (int i = 0; i <= TT_NAMED_HOSTS; i++) {
    snprintf(text, sizeof text, "host.%d.beta=1e-8", 3 * i);
    assert_int_equal(tt_profile_parse(&p, text, "x"),
                     i < TT_NAMED_HOSTS ? TUTTI_OK : TUTTI_ERR_ARG);
  }
  assert_non_null(strstr(tutti_error(), "at most 16 hosts"));
}

/* A name applies to the first host that has it, with or without the domain. It takes precedence over a number. */
static void names_are_found(void **state) {
  static const struct {
    const char *text;
    double beta[4]; /* of hosts n0, n1.lan, n2, n2 */
  } cases[] = {
      {"host.n1.beta=2", {1, 2, 1, 1}},
      {"host.n1.lan.beta=2", {1, 2, 1, 1}},
      {"host.n0.lan.beta=2", {2, 1, 1, 1}},
      {"host.n2.beta=2", {1, 1, 2, 1}},
      {"host.n.beta=2", {1, 1, 1, 1}},
      {"host.n11.beta=2", {1, 1, 1, 1}},
      {"host.0-3.beta=3,host.n1.beta=2", {3, 2, 3, 3}},
      {"host.n1.beta=2,host.1.beta=3", {1, 2, 1, 1}},
  };
  static const char *const names[] = {"n0", "n1.lan", "n2", "n2"};
  static const int number[] = {0, 1, 2, 3};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_profile p;
    tt_cost_model m;
    tt_hosts *h;
    tt_profile_net(&p);
    assert_int_equal(tt_profile_parse(&p, "beta=1", "x"), TUTTI_OK);
    assert_int_equal(tt_profile_parse(&p, cases[i].text, "x"), TUTTI_OK);
    for (int n = 0; n < 4; n++) tt_host_found(&p, names[n], n);
    tt_cost_net(&p, 4, NULL, &m);
    assert_int_equal(tt_hosts_new(&p, &m, 0, number, 4, &h), TUTTI_OK);
    m.hosts = h;
    for (uint32_t r = 0; r < 4; r++)
      if (tt_link_at(&m, 0, r)->beta != cases[i].beta[r])
        fail_msg("%s: host %u has %g", cases[i].text, r, tt_link_at(&m, 0, r)->beta);
    tt_hosts_free(h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(profiles_say_figures_of_hosts),
      cmocka_unit_test(a_profile_has_figures_of_16_hosts),
      cmocka_unit_test(names_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
