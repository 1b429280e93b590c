/* The cost model of a torus. A ring per dimension costs the same as without the torus; messages to more distant
 * nodes use all links of the shorter direction, which the messages of all nodes share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "choose.h"
#include "priced.h"

static const double alpha = 3e-5, beta = 1e-9, hop = 2e-7, bytes = 5e6;

static tt_cost_model torus_of(const char *text, double each_hop) {
  tt_cost_model p;
  tt_tree tree;
  assert_int_equal(tt_tree_parse(text, &tree), TUTTI_OK);
  const tt_profile m = {
      .net = {.alpha = alpha, .beta = beta, .ports = 1}, .torus = 1, .hop = each_hop};
  tt_cost_net(&m, tree.ranks, &tree, &p);
  return p;
}

static const char *const tori[] = {"z:5 y:4 x:6 node:1", "z:2 y:9 x:3 node:1",
                                   "z:3 y:7 x:2 node:1"};
enum { TORI = sizeof tori / sizeof *tori };

/* A fold per dimension: each step costs as many hops as the vectors move. */
static double formula_of(const tt_cost_model *p, bool ring) {
  double time = 0, left = bytes;
  for (int l = 2; l >= 0; l--) {
    const int size = p->tree.level[l].each;
    for (int live = size, next; live > 1; live = next) {
      next = ring ? live - 1 : (live + 1) / 2;
      const int d = live - next, links = d < size - d ? d : size - d;
      time += 2 * (alpha + (links - 1) * hop + links * left * d / size * beta);
    }
    left /= size;
  }
  return time;
}

static void messages_take_all_links_on_the_way(void **state) {
  (void)state;
  for (int i = 0; i < 2 * TORI; i++) {
    const bool ring = i % 2;
    const tt_cost_model p = torus_of(tori[i / 2], hop), everywhere = torus_of(tori[i / 2], 0);
    char name[100];
    snprintf(name, sizeof name, "blueconnect(%s,%s)", tori[i / 2], ring ? "ring" : "halving");
    about(name, priced(name, &p, bytes, true), formula_of(&p, ring));
    about(name, priced(name, &p, bytes, false), formula_of(&p, ring));
    if (ring) about(name, priced(name, &everywhere, bytes, true), formula_of(&p, ring));
    if (!ring) assert_true(priced(name, &everywhere, bytes, true) < formula_of(&p, ring));
  }
}

/* Two rings in opposite directions use different links: with two ports they take as long as one of them alone.
 * Rings in the same direction share links. */
static void each_direction_is_a_link_of_its_own(void **state) {
  static const char *const circles[] = {"x:3 node:1", "x:8 node:1", "x:16 node:1"};
  (void)state;
  for (int i = 0; i < 12; i++) {
    tt_cost_model p = torus_of(circles[i / 4], i % 2 ? hop : 0);
    const bool uniform = i / 2 % 2;
    const int P = p.ranks;
    for (int l = 0; l < p.levels; l++) p.link[l].ports = 2;
    const double both = priced("fold(ring,rings=2)", &p, bytes, uniform);
    about(circles[i / 4], both, 2 * (P - 1) * (alpha + bytes / P / 2 * beta));
    about(circles[i / 4], priced("fold(ring)", &p, bytes, uniform),
          2 * (P - 1) * (alpha + bytes / P * beta));
    p.torus = false; /* one link for all */
    assert_true(priced("fold(ring,rings=2)", &p, bytes, uniform) >
                1.99 * (P - 1) * bytes / P * beta);
  }
}

/* With a port for each link, and dimensions of the same size, all links work simultaneously. */
static void all_dimensions_work_at_once(void **state) {
  static const char *const even[] = {"x:6 node:1", "y:4 x:4 node:1", "y:8 x:8 node:1",
                                     "z:3 y:3 x:3 node:1"};
  (void)state;
  for (int i = 0; i < 16; i++) {
    tt_cost_model p = torus_of(even[i / 4], i / 2 % 2 ? hop : 0);
    const int dimensions = p.levels - 1, n = p.tree.level[0].each;
    double formula = 0, left = bytes / (2 * dimensions);
    char name[100];
    for (int l = 0; l < p.levels; l++) p.link[l].ports = 2 * dimensions;
    for (int l = 0; l < dimensions; l++, left /= n)
      formula += 2 * (n - 1) * (alpha + left / n * beta);
    snprintf(name, sizeof name, "torus(%s)", even[i / 4]);
    about(name, priced(name, &p, bytes, i % 2), formula);
  }
}

/* All messages of a round start simultaneously. Short messages to neighbours have left a link before those from
 * distant nodes reach it. */
static void a_message_from_afar_comes_later(void **state) {
  static const struct {
    const char *circle;
    int all, last,
        transit; /* messages that cross a link, those of them that go farthest, and nodes between */
  } cases[] = {{"x:2 node:1", 1, 1, 0}, {"x:3 node:1", 1, 1, 0}, {"x:4 node:1", 3, 2, 1},
               {"x:5 node:1", 3, 2, 1}, {"x:6 node:1", 6, 3, 2}, {"x:7 node:1", 6, 3, 2}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (double size = 10; size < 1e7; size *= 8) {
      tt_cost_model p = torus_of(cases[i].circle, hop);
      for (int l = 0; l < p.levels; l++) p.link[l].ports = 8;
      const double part = size / p.ranks * beta, late = cases[i].transit * hop;
      const double parts = fmax(late + cases[i].last * part, cases[i].all * part);
      const double whole = fmax(late + cases[i].last * size * beta, cases[i].all * size * beta);
      about("two-shot", priced("two-shot", &p, size, false), 2 * (alpha + parts));
      about("one-shot", priced("one-shot", &p, size, false), alpha + whole);
    }
}

/* The longest time is divided into the same parts. */
static void parts_add_up(void **state) {
  (void)state;
  static const char *const plans[] = {"doubling", "two-shot", "bruck"};
  const tt_cost_model p = torus_of(tori[0], hop);
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = p.ranks};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    for (double size = 10; size < 1e7; size *= 100) {
      tt_sched **all;
      tt_breakdown t;
      assert_int_equal(tt_algo_build_all_named(plans[i], &ask, &all), TUTTI_OK);
      tt_sim *play = tt_sim_new(all, p.ranks, false, &p);
      assert_true(play && tt_sim_run(play, size, &t));
      double sum = t.o + t.copying + t.reducing;
      for (int l = 0; l < p.levels; l++) sum += t.latency[l] + t.transfer[l];
      about(plans[i], sum, t.time);
      about(plans[i], t.fixed + t.slope * size, t.time);
      tt_sim_free(play);
      tt_sched_free_all(all, p.ranks);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_take_all_links_on_the_way),
      cmocka_unit_test(each_direction_is_a_link_of_its_own),
      cmocka_unit_test(all_dimensions_work_at_once),
      cmocka_unit_test(a_message_from_afar_comes_later),
      cmocka_unit_test(parts_add_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
