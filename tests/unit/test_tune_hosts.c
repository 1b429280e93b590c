/* `tutti tune` finds hosts with links that differ from the others', from the times that simulated links would
 * give.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "../cli/tune.h"

enum { HOSTS = 20, PARTNERS = TUNE_PARTNERS };

/* The measurements of hosts with these links: ns/B inward and outward, and us per message; whole: seconds of
 * one message in a plan. */
static tune_result hosts_measured(const double link[][3], int hosts, const char *names,
                                  const char *level, double whole) {
  double stream[HOSTS * PARTNERS] = {0}, message[HOSTS * PARTNERS] = {0}, beta[HOSTS],
                        seconds[HOSTS];
  const int partners = hosts - 1 < PARTNERS ? hosts - 1 : PARTNERS;
  tune_host name[HOSTS] = {0};
  tune_result r = {.figures = 0};
  char of[40];
  snprintf(of, sizeof of, "%s%sdelay", level, *level ? "." : "");
  tune_add(&r, of, 5e-6, "s");
  snprintf(of, sizeof of, "%s%sbeta", level, *level ? "." : "");
  tune_add(&r, of, 7e-9, "s/B");
  r.message = whole;
  for (int h = 0; h < hosts; h++)
    for (int k = 1; k <= partners; k++) {
      const int from = (h + hosts - k) % hosts, to = h + k;
      const double in = link[h][0], out = link[from][1];
      stream[h * partners + k - 1] = 1e-9 * (in > out ? in : out);
      if (to < hosts)
        message[h * partners + k - 1] =
            1e-6 * (link[h][2] > link[to][2] ? link[h][2] : link[to][2]);
    }
  for (int h = 0; h < hosts; h++)
    if (*names) names += sscanf(names, "%47s", name[h].name) == 1 ? strcspn(names, " ") + 1 : 0;
  tune_links(stream, message, hosts, partners, beta, seconds);
  for (int h = 0; h < hosts && hosts > 2; h++) { /* the fastest partners show the host's own link */
    const double most = link[h][0] > link[h][1] ? link[h][0] : link[h][1];
    assert_true(beta[h] >= 0.99e-9 * most && seconds[h] >= 0.99e-6 * link[h][2]);
  }
  tune_differing(beta, seconds, name, hosts, level, &r);
  return r;
}

static const struct {
  double link[HOSTS][3];
  int hosts;
  const char *names, *level, *figures; /* with three digits */
  double whole;
} jobs[] = {
    {{{5, 5, 10}, {5, 5, 10}, {5, 5, 10}}, 3, "a b c ", "", "delay=5e-06 beta=7e-09 ", 0},
    {{{5, 5, 10}, {50, 50, 10}, {5, 5, 10}},
     3,
     "a b c ",
     "",
     "delay=5e-06 beta=5e-09 host.b.beta=5e-08 ",
     0},
    {{{5, 5, 10}, {5, 5, 10}, {5, 50, 10}, {5, 5, 10}},
     4,
     "a b c d ",
     "node",
     "node.delay=5e-06 node.beta=5e-09 host.c.beta=5e-08 ",
     0},
    {{{5, 5, 10}, {5, 5, 10}, {50, 5, 10}, {5, 5, 10}},
     4,
     "a b c d ",
     "",
     "delay=5e-06 beta=5e-09 host.c.beta=5e-08 ",
     0},
    /* a fifth more time per byte is too little to count; a message's time beyond the median becomes the delay */
    {{{5, 5, 10}, {5.9, 5, 11.9}, {5, 5, 10}, {5, 5, 30}},
     4,
     "a b c d ",
     "node",
     "node.delay=5e-06 node.beta=7e-09 host.d.delay=2.5e-05 ",
     0},
    /* the message of the slow host was measured in the ring of all hosts */
    {{{5, 5, 10}, {5, 5, 10}, {5, 5, 10}, {5, 5, 23}},
     4,
     "a b c d ",
     "",
     "delay=0 beta=7e-09 host.d.delay=1.3e-05 ",
     0},
    /* a busy core also slows messages down */
    {{{5, 5, 10}, {5, 5, 10}, {5, 5, 10}, {5, 5, 19}},
     4,
     "a b c d ",
     "",
     "delay=5e-06 beta=7e-09 ",
     0},
    /* unless the difference is small compared with a message in a plan */
    {{{5, 5, 10}, {5, 5, 10}, {5, 5, 10}, {5, 5, 13}},
     4,
     "a b c d ",
     "",
     "delay=5e-06 beta=7e-09 ",
     50e-6},
    /* faster hosts, of which two reveal each other's links */
    {{{5, 5, 10}, {1, 1, 10}, {5, 5, 10}, {1, 1, 10}, {5, 5, 10}},
     5,
     "a b c d e ",
     "",
     "delay=5e-06 beta=5e-09 host.b.beta=1e-09 host.d.beta=1e-09 ",
     0},
    /* the most different host comes first; hosts with the same name are given by number */
    {{{5, 5, 10}, {10, 10, 10}, {5, 5, 10}, {5, 5, 10}, {99, 99, 40}, {5, 5, 10}, {5, 5, 10}},
     7,
     "x x x x x x x ",
     "",
     "delay=0 beta=5e-09 host.4.beta=9.9e-08 host.4.delay=3e-05 host.1.beta=1e-08 ",
     0},
    {{{5, 5, 10}, {10, 10, 10}, {5, 5, 10}},
     3,
     "1 2 3-4 ",
     "",
     "delay=5e-06 beta=5e-09 host.1.beta=1e-08 ",
     0},
    {{{5, 5, 10}, {5, 5, 10}}, 2, "a b ", "", "delay=5e-06 beta=7e-09 ", 0},
};

static void hosts_that_differ_get_figures(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof jobs / sizeof *jobs; c++) {
    tune_result r =
        hosts_measured(jobs[c].link, jobs[c].hosts, jobs[c].names, jobs[c].level, jobs[c].whole);
    char text[400] = "";
    for (int i = 0; i < r.figures; i++) {
      const size_t at = strlen(text);
      snprintf(text + at, sizeof text - at, "%s=%.3g ", r.figure[i].name, r.figure[i].value);
    }
    if (strcmp(text, jobs[c].figures) != 0) fail_msg("case %zu: %s", c, text);
    assert_int_equal(r.notes > 0, r.figures > 2);
  }
}

static void no_more_hosts_than_a_profile_takes(void **state) {
  double link[HOSTS][3];
  (void)state;
  for (int h = 0; h < HOSTS; h++) /* a median of 10, from which nearly all differ */
    for (int k = 0; k < 3; k++) link[h][k] = h == 10 ? 10 : h % 2 ? 100 : 1;
  tune_result r = hosts_measured(link, HOSTS, "", "", 0);
  int beta = 0;
  for (int i = 0; i < r.figures; i++) beta += strstr(r.figure[i].name, ".beta") != NULL;
  assert_int_equal(beta, TUNE_HOSTS);
  assert_non_null(strstr(r.note[r.notes - 1], "more hosts differ"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_that_differ_get_figures),
      cmocka_unit_test(no_more_hosts_than_a_profile_takes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
