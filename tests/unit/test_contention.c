/* test_contention.c - unknown placement. In an all-to-all step the busiest link carries the mean load; with
 * single messages it carries more. A node's own links are limits, too; messages of a step are sent together;
 * and the choice of a plan takes this into account.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "choose.h"
#include "priced.h"

static const double alpha = 3e-6, beta = 8e-11, bytes = 4e6;

static const double excess = 2.5;

static tt_cost_model places_unknown(int ranks, double mean, int ports) {
  tt_cost_model p;
  tt_cost_flat(&p, ranks);
  p.link[0] = (tt_link){.alpha = alpha, .beta = beta, .ports = ports};
  p.contention = (tt_contention){.mean = mean, .excess = excess};
  return p;
}

/* The load of the busiest link where each of P ranks sends `m` messages, each `part` of the vector. */
static double load(int P, double mean, double m, double part) {
  return part * (mean * m + excess * sqrt(m * (1 - m / (P - 1))));
}

/* The result is the same whether one rank is simulated for all, or all ranks are. */
static void mean_for_all_and_more_for_one(void **state) {
  (void)state;
  static const struct {
    const char *plan;
    int ranks;
    double steps, messages, part;
  } cases[] = {
      {"two-shot", 64, 2, 63, 1. / 64},
      {"two-shot", 27, 2, 26, 1. / 27},
      {"one-shot", 13, 1, 12, 1},
      {"doubling", 64, 6, 1, 1},
      {"fold(ring)", 9, 16, 1, 1. / 9},
      {"multiplying(radix=4)", 64, 3, 3, 1},
      {"fold(ring,rings=2)", 8, 28, 1, 1. / 16}, /* one ring after the other */
      {"bruck(radix=8)", 64, 4, 7, 0.125},       /* steps 2 and 3 each send an eighth of that */
  };
  static const double means[] = {0.76, 1.8, 4.06};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
      const int P = cases[i].ranks;
      const tt_cost_model p = places_unknown(P, means[k], 16);
      double each = load(P, means[k], cases[i].messages, cases[i].part);
      if (each < cases[i].part) each = cases[i].part; /* alone on its link */
      const double rounds = strncmp(cases[i].plan, "bruck", 5) ? cases[i].steps : 2 + 2. / 8;
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      for (int uniform = 0; uniform < 1 + uniform_named(cases[i].plan, &ask, NULL); uniform++)
        about(cases[i].plan, priced(cases[i].plan, &p, bytes, uniform),
              cases[i].steps * alpha + rounds * each * bytes * beta);
    }
}

/* A header costs as much as the same number of bytes of each message, on all links that messages share. */
static void headers_meet_like_bytes(void **state) {
  static const char *const plans[] = {"two-shot", "one-shot", "multiplying(radix=4)", "fold(ring)"};
  static const int blocks[] = {64, 1, 1, 64};
  (void)state;
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    for (int uniform = 0; uniform < 2; uniform++) {
      tt_cost_model p = places_unknown(64, 4.06, 1), bare = p;
      p.header = 48;
      about(plans[i], priced(plans[i], &p, 4096, uniform),
            priced(plans[i], &bare, 4096 + 48 * blocks[i], uniform));
    }
}

/* Short vectors wait for the most distant rank. Long vectors wait for the busiest link, counted from the
 * arrival of the nearest rank's message. */
static void the_furthest_comes_last(void **state) {
  tt_cost_model p = places_unknown(64, 0.76, 6);
  const double part = 1. / 64, all = load(64, 0.76, 63, part), n = all / part;
  const double first = 1e-6 * (n - 1) / (n + 1);
  (void)state;
  p.contention.furthest = 2e-6;
  p.contention.nearest = 1e-6;
  about("short", priced("two-shot", &p, 4096, true), 2 * (alpha + 2e-6 + part * 4096 * beta));
  about("long", priced("two-shot", &p, bytes, true), 2 * (alpha - first + all * bytes * beta));
}

/* Each vector enters and leaves through the root's own links. */
static void a_node_has_few_links(void **state) {
  (void)state;
  for (int ports = 1; ports < 8; ports *= 2) {
    const tt_cost_model p = places_unknown(16, 0.5, ports);
    about("naive", priced("naive", &p, bytes, false), 2 * (alpha + 15. / ports * bytes * beta));
  }
}

/* With levels, contention applies between nodes. Within a node messages are sent one at a time. */
static void a_place_is_a_node(void **state) {
  tt_cost_model p = places_unknown(12, 2, 16), one = places_unknown(6, 2, 16);
  (void)state;
  assert_int_equal(tt_tree_parse("node:6 core:2", &p.tree), TUTTI_OK);
  p.levels = 2;
  p.link[1] = (tt_link){.alpha = 1e-9, .beta = 1e-15};
  const double inside = 2 * (1e-9 + bytes * 1e-15), among = priced("two-shot", &one, bytes, false);
  const double all =
      priced("blueconnect(node:6 core:2,stages=two-shot/two-shot)", &p, bytes, false);
  if (fabs(all - among) > 2 * inside)
    fail_msg("among nodes %g s, with what is inside %g s", among, all);
}

static void choice(const char *net, uint64_t size, const char *plan) {
  static const tt_override none = {0};
  tt_setting s = {.ranks = 64, .flight = 8};
  const tt_problem problem = {.coll = TUTTI_ALLREDUCE, .bytes = size, .needs = TT_NEED_SAME};
  tt_chooser *c;
  tt_choice is;
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, net, "the figures")) fail_msg("%s", tutti_error());
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  assert_int_equal(tt_choose(c, &problem, &none, &is), TUTTI_OK);
  if (strcmp(is.plan->text, plan) != 0)
    fail_msg("%s, %d bytes: %s, not %s", net, (int)size, is.plan->text, plan);
  tt_chooser_free(c);
}

/* The placement counts as unknown only if the model parameters say so. If a message takes CPU time, short
 * vectors avoid plans with many messages. */
static void choices_follow(void **state) {
  (void)state;
  choice("alpha=3us,beta=100Gbit/s,gamma=0,ports=6,contention.mean=0.76,contention.excess=1.8",
         4 << 20, "two-shot");
  choice("alpha=3us,beta=100Gbit/s,gamma=0,ports=6,contention.mean=0.76,contention.excess=1.8",
         16 << 10, "two-shot");
  choice("alpha=3us,beta=100Gbit/s,gamma=0", 4 << 20, "lanes");
  choice("alpha=3us,beta=100Gbit/s,gamma=0", 1 << 10, "doubling");
  choice(
      "alpha=3us,beta=100Gbit/s,gamma=0,contention.mean=0.76,contention.excess=1.8,processor=2us",
      1 << 10, "doubling");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mean_for_all_and_more_for_one),
      cmocka_unit_test(headers_meet_like_bytes),
      cmocka_unit_test(the_furthest_comes_last),
      cmocka_unit_test(a_node_has_few_links),
      cmocka_unit_test(a_place_is_a_node),
      cmocka_unit_test(choices_follow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
