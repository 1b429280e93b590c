/* Hosts with different links: how long messages and ports take, where slow hosts are placed, and which plans
 * run.
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
#include "candidates.h"
#include "engine.h"
#include "host_links.h"
#include "tutti_plan.h"

/* ---- the time of messages ---- */

typedef struct machine {
  int ranks;
  const char *levels, *figures, *hosts;
} machine;

static tt_setting setting_of(const machine *m, bool with) {
  tt_setting s = {.ranks = m->ranks, .flight = TT_FLIGHT};
  snprintf(s.levels, sizeof s.levels, "%s", m->levels);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, m->figures, "the figures") ||
      (with && tt_profile_parse(&s.profile, m->hosts, "the hosts' figures")))
    fail_msg("%s", tutti_error());
  return s;
}

static tt_chooser *chooser_of(const machine *m, bool with) {
  const tt_setting s = setting_of(m, with);
  tt_chooser *c;
  if (tt_chooser_new(&s, &c)) fail_msg("%s", tutti_error());
  return c;
}

/* The time with all ranks simulated. */
static double time_of(const tt_chooser *c, const char *name, tutti_coll coll, double bytes) {
  const tt_ask ask = tt_ask_of(&c->setting, plan_named(name), coll, 0);
  tt_sched **all;
  tt_breakdown t = {0};
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, ask.ranks, false, &c->model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  double parts = t.o + t.copying + t.reducing;
  for (int l = 0; l < c->model.levels; l++) parts += t.latency[l] + t.transfer[l];
  if (fabs(parts - t.time) > 1e-9 * t.time ||
      fabs(t.fixed + t.slope * bytes - t.time) > 1e-9 * t.time)
    fail_msg("%s of %g bytes: %g s, but its parts are %g, and its line %g", name, bytes, t.time,
             parts, t.fixed + t.slope * bytes);
  tt_sim_free(sim);
  tt_sched_free_all(all, ask.ranks);
  return t.time;
}

static const machine alike[] = {
    {7, "", "", "host.3.beta=1e-8"},
    {7, "", "alpha=7us", "host.2-4.alpha=7us"},
    {6, "", "half=1,ports=3,processor=2us,again=1us",
     "host.0.ports=3,host.5.processor=2us,host.5.again=1us"},
    {9, "", "burst=65536,delay=4us", "host.8.beta=1e-8,host.1.delay=4us"},
    {12, "node:4 core:3", "core.beta=1e-9,core.alpha=1us", "host.1.beta=1e-8,host.3.alpha=30us"},
    {12, "node:4 core:3", "beta=1e-9,core.beta=2e-9,ports=2", "host.0-3.beta=1e-9"},
    {11, "node:(4,3,4)", "node.beta=5e-9", "host.2.beta=5e-9"},
    {16, "rack:2 node:4 core:2", "rack.beta=3e-9,node.beta=2e-9,core.beta=1e-9,apart=1",
     "host.5.beta=2e-9"},
    {18, "y:3 x:3 core:2", "torus=1,hop=100ns,core.beta=1e-9", "host.4.beta=1e-8"},
    {18, "y:3 x:3 core:2", "torus=1,core.beta=1e-9", "host.4.alpha=30us"},
};

/* Parameters of a host that equal those of the others change no time. */
static void equal_figures_change_nothing(void **state) {
  static const char *const plans[] = {
      "fold(ring)", "fold(halving)",  "doubling",    "one-shot",     "two-shot",
      "naive",      "tree(binomial)", "tree(chain)", "rabenseifner", "consistent(i=1)"};
  (void)state;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    tt_chooser *with = chooser_of(&alike[i], true), *without = chooser_of(&alike[i], false);
    assert_non_null(with->model.hosts);
    assert_null(without->model.hosts);
    for (size_t k = 0; k < sizeof plans / sizeof *plans; k++)
      for (double bytes = 1; bytes < 1e8; bytes *= 100) {
        const double a = time_of(with, plans[k], TUTTI_ALLREDUCE, bytes);
        const double b = time_of(without, plans[k], TUTTI_ALLREDUCE, bytes);
        if (fabs(a - b) > 1e-12 * b)
          fail_msg("case %zu, %s of %g bytes: %.15g s, not %.15g s", i, plans[k], bytes, a, b);
      }
    tt_chooser_free(with);
    tt_chooser_free(without);
  }
}

/* Parameters of hosts that do not exist leave every candidate's estimate exactly as it is. */
static void other_hosts_change_nothing(void **state) {
  static const char absent[] = "host.5000.beta=1,host.n1.alpha=1";
  static const tt_override none = {0};
  (void)state;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
    machine m = alike[i];
    m.hosts = absent;
    tt_chooser *with = chooser_of(&m, true), *without = chooser_of(&m, false);
    assert_null(with->model.hosts);
    for (uint64_t bytes = 1; bytes < 1 << 28; bytes *= 512) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes};
      tt_quote a, b;
      for (int k = 0; tt_quote_at(without, &p, &none, k, false, &b); k++) {
        assert_true(tt_quote_at(with, &p, &none, k, false, &a));
        assert_string_equal(a.plan->text, b.plan->text);
        assert_memory_equal(&a.seconds, &b.seconds, sizeof a.seconds);
      }
      assert_int_equal(with->effort.messages, without->effort.messages);
    }
    tt_chooser_free(with);
    tt_chooser_free(without);
  }
}

/* 1 MB, where only the links take time, in units of the time of an ordinary link. */
static void links_take_their_share(void **state) {
  static const struct {
    int ranks;
    const char *levels, *hosts, *plan;
    tutti_coll coll;
    double takes;
  } cases[] = {
      /* the slower of the two links determines the time; a faster link combined with an ordinary one gains
       * nothing */
      {2, "", "host.1.beta=5e-9", "doubling", TUTTI_ALLREDUCE, 5},
      {2, "", "host.0.beta=5e-9", "doubling", TUTTI_ALLREDUCE, 5},
      {2, "", "host.0.beta=1e-10", "doubling", TUTTI_ALLREDUCE, 1},
      {2, "", "host.0-1.beta=1e-10", "doubling", TUTTI_ALLREDUCE, 0.1},
      /* a ring is as slow as its slowest host, because all blocks pass through that host */
      {7, "", "host.3.beta=1e-8", "fold(ring)", TUTTI_ALLREDUCE, 10 * 12. / 7},
      {7, "", "host.3-4.beta=1e-8", "fold(ring)", TUTTI_ALLREDUCE, 10 * 12. / 7},
      /* the root's port is busy for its own share of a message to a slow host */
      {3, "", "host.1.beta=3e-9", "naive", TUTTI_BROADCAST, 3},
      {3, "", "host.2.beta=3e-9", "naive", TUTTI_BROADCAST, 4},
      {3, "", "host.0.beta=3e-9", "naive", TUTTI_BROADCAST, 6},
      {3, "", "host.0.beta=3e-9,host.1-2.beta=9e-9", "naive", TUTTI_BROADCAST, 12},
      {3, "", "host.0.ports=2", "naive", TUTTI_BROADCAST, 1},
      {3, "", "host.1-2.ports=2", "naive", TUTTI_BROADCAST, 2},
      /* the root receives from a slow host while others send to it */
      {3, "", "host.1.beta=3e-9", "naive", TUTTI_REDUCE, 3},
      {3, "", "host.1.ports=1", "naive", TUTTI_REDUCE, 2},
      {3, "", "host.0.ports=2", "naive", TUTTI_REDUCE, 1},
      /* the ranks of a host share its link */
      {6, "node:2 core:3", "host.1.beta=4e-9", "fold(ring)", TUTTI_ALLREDUCE, 4 * 10. / 6},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const machine m = {cases[i].ranks, cases[i].levels, "alpha=0,gamma=0,beta=1e-9",
                       cases[i].hosts};
    tt_chooser *c = chooser_of(&m, true);
    const double takes = 1e3 * time_of(c, cases[i].plan, cases[i].coll, 1e6);
    if (fabs(takes - cases[i].takes) > 1e-9)
      fail_msg("case %zu, %s, %s: %g, not %g", i, cases[i].plan, cases[i].hosts, takes,
               cases[i].takes);
    tt_chooser_free(c);
  }
}

/* An aggregator's virtual ranks belong to no host, whatever their numbers are. */
static void a_slow_host_beside_an_aggregator(void **state) {
  static const struct {
    const char *hosts;
    double takes; /* as above */
  } cases[] = {{"host.9.beta=1", 2},
               {"host.3.beta=1e-8", 20},
               {"host.7.beta=1e-6", 2},
               {"host.0-6.beta=2e-9", 4}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const machine m = {8, "", "alpha=0,gamma=0,beta=1e-9", cases[i].hosts};
    tt_setting s = setting_of(&m, true);
    tt_chooser *c;
    s.data = 7;
    s.wide = true;
    assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
    const double takes = 1e3 * time_of(c, "aggregate(data=7)", TUTTI_ALLREDUCE, 1e6);
    if (fabs(takes - cases[i].takes) > 1e-9) fail_msg("%s: %g", cases[i].hosts, takes);
    tt_chooser_free(c);
  }
}

/* Compression reduces the bytes on every host's link. */
static void codes_count_on_slow_links_too(void **state) {
  const machine m = {4, "", "alpha=0,gamma=0,beta=1e-8,code.lossless=1e-9,code.left=500",
                     "host.1.beta=1e-7"};
  tt_setting s = setting_of(&m, true);
  tt_chooser *c;
  (void)state;
  s.code = TT_CODE_LOSSLESS;
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  assert_float_equal(tt_link_at(&c->model, 0, 0)->beta, 0.5e-8, 1e-20);
  assert_float_equal(tt_link_at(&c->model, 0, 1)->beta, 5e-8, 1e-20);
  for (uint32_t r = 0; r < 2; r++)
    assert_float_equal(tt_link_at(&c->model, 0, r)->code, 1e-9, 1e-20);
  tt_chooser_free(c);
}

/* ---- bounds of large machines ---- */

/* With too many ranks to simulate all, a plan takes at least as long as its slow host. */
static void a_slow_host_counts_among_many(void **state) {
  static const machine cases[] = {
      {2000, "", "alpha=1us,gamma=0", "host.1234.beta=1e-6"},
      {2000, "pod:5 leaf:10 node:40", "alpha=1us,gamma=0", "host.1234.beta=1e-6"},
      {512, "", "alpha=1us,gamma=0", "host.77.beta=1e-6"},
      {1200, "node:300 core:4", "alpha=1us,gamma=0,core.beta=1e-10", "host.7.beta=1e-6"},
  };
  static const tt_override none = {0};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_chooser *with = chooser_of(&cases[i], true), *without = chooser_of(&cases[i], false);
    const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 1 << 24, .needs = TT_NEED_SAME};
    tt_choice a, b;
    assert_int_equal(tt_choose(with, &p, &none, &a), TUTTI_OK);
    assert_int_equal(tt_choose(without, &p, &none, &b), TUTTI_OK);
    const double slow = tt_price_of(with, &p, a.plan, a.slices),
                 fast = tt_price_of(without, &p, b.plan, b.slices);
    const double least = 1e-6 * (1 << 24); /* the vector leaves the slow host at least once */
    if (slow < least * 0.94 || fast > least)
      fail_msg("case %zu: %s takes %g s, without the slow host %s %g s", i, a.plan->text, slow,
               b.plan->text, fast);
    tt_chooser_free(with);
    tt_chooser_free(without);
  }
}

/* On large machines, a host counts once, even if the rank that is simulated for all is on it. A fast host gains
 * nothing, and the delay of a slow host is added once and not for every message. */
static void a_host_does_not_stand_for_all(void **state) {
  static const struct {
    const char *hosts;
    double more; /* s */
  } cases[] = {{"host.0.beta=1e-12,host.0.alpha=0", 0}, {"host.0.delay=1ms", 1e-3}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const machine m = {2000, "", "alpha=1us,gamma=0", cases[i].hosts};
    tt_chooser *with = chooser_of(&m, true), *without = chooser_of(&m, false);
    for (uint64_t bytes = 1; bytes < 1 << 28; bytes *= 4096) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes};
      const double price = tt_price_of(with, &p, plan_named("fold(halving)"), 1);
      const double alone = tt_price_of(without, &p, plan_named("fold(halving)"), 1);
      assert_true(price >= 0.9999 * alone && price <= 1.0001 * (alone + cases[i].more));
    }
    tt_chooser_free(with);
    tt_chooser_free(without);
  }
}

/* ---- where slow hosts are placed ---- */

static void slow_hosts_come_last(void **state) {
  static const struct {
    int ranks;
    const char *levels, *hosts;
    int inside;
    const char *order;
  } cases[] = {
      {7, "", "host.3.beta=1e-7", 0, "0 1 2 4 5 6 3 "},
      {7, "", "host.3.beta=1e-7,host.5.beta=2e-7,host.6.alpha=1s", 0, "0 1 2 4 3 5 6 "},
      {7, "", "host.3-4.beta=1e-9", 0, "3 4 0 1 2 5 6 "},
      {7, "", "host.9.beta=1", 0, "0 1 2 3 4 5 6 "},
      {7, "", "torus=1,host.3.beta=1e-7", 0, "0 1 2 3 4 5 6 "},
      {6, "node:3 core:2", "host.0.delay=1ms", 1, "2 3 4 5 0 1 "},
      {6, "node:3 core:2", "host.0.delay=1ms", 0, "2 3 4 5 0 1 "}, /* the level's name says it */
      {8, "rack:2 node:2 core:2", "host.0.beta=1e-7", 1, "2 3 0 1 4 5 6 7 "},
      {8, "rack:2 node:2 core:2", "host.2-3.beta=1e-7", 1, "0 1 2 3 4 5 6 7 "},
      {8, "rack:2 pod:4", "host.5.processor=1ms", 0, "0 1 2 3 4 6 7 5 "},
      {5, "node:(3,2)", "host.0.beta=1", 1, "0 1 2 3 4 "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const machine m = {cases[i].ranks, cases[i].levels, "", cases[i].hosts};
    const tt_setting s = setting_of(&m, true);
    int order[8], number[8];
    char text[40] = "";
    const bool nodes = strstr(m.levels, "core") || strstr(m.levels, "(");
    for (int r = 0; r < m.ranks; r++) {
      order[r] = r;
      number[r] = nodes ? strchr(m.levels, '(') ? r / 3 : r / 2 : r;
    }
    assert_int_equal(tt_hosts_order(&s.profile, m.levels, cases[i].inside, number, m.ranks, order),
                     TUTTI_OK);
    for (int v = 0; v < m.ranks; v++) snprintf(text + 2 * v, 3, "%d ", order[v]);
    if (strcmp(text, cases[i].order) != 0) fail_msg("case %zu: %s", i, text);
  }
}

/* ---- the choice ---- */

static tutti_prices *prices_of(const char *figures, const char *topo, int ranks, tutti_coll coll,
                               int root) {
  const tutti_question q = {.size = sizeof q,
                            .coll = coll,
                            .ranks = ranks,
                            .root = root,
                            .type = TUTTI_FLOAT,
                            .op = TUTTI_SUM,
                            .net = figures,
                            .topo = topo};
  tutti_prices *prices;
  if (tutti_prices_make(&q, &prices)) fail_msg("%s: %s", figures, tutti_error());
  return prices;
}

/* One host of seven is ten times as slow. It is placed last: at the end of a chain, or at a leaf. */
static void some_choices_differ(void **state) {
  static const struct {
    uint64_t bytes;
    const char *with, *without;
    double at_least; /* how many times as fast the chosen plan must be, with the slow host */
  } cases[] = {
      {1 << 10, "lanes(n=4)", "searched(T=3)", 1.5},
      {2 << 10, "consistent(i=2)", "searched(T=3)", 1.8},
      {4 << 10, "halving-doubling", "searched(T=5)", 1.1},
      {64 << 10, "tree(chain,segments=8)", "searched(T=6)", 1.5},
      {1 << 20, "tree(chain,segments=8)", "searched(T=6)", 1.5},
      {4 << 20, "tree(chain,segments=8)", "fold(halving)", 1.5},
      {4 << 20, "tree(chain,segments=8)", "fold(ring)", 1.3},
  };
  static const tt_override none = {0};
  const machine m = {7, "", "alpha=30us,beta=1e-8,gamma=2e-10", "host.3.beta=1e-7"};
  tt_chooser *without = chooser_of(&m, false), *there = chooser_of(&m, true);
  tutti_prices *prices =
      prices_of("alpha=30us,beta=1e-8,gamma=2e-10,host.3.beta=1e-7", NULL, 7, TUTTI_ALLREDUCE, 0);
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = cases[i].bytes, .needs = TT_NEED_SAME};
    tutti_offer chosen = {.size = sizeof chosen};
    tt_choice before;
    tt_breakdown t;
    tt_sends sends;
    assert_int_equal(tutti_prices_chosen(prices, cases[i].bytes, &chosen), TUTTI_OK);
    assert_string_equal(chosen.name, cases[i].with);
    assert_int_equal(tt_choose(without, &p, &none, &before), TUTTI_OK);
    if (strcmp(cases[i].without, "fold(ring)") != 0)
      assert_string_equal(before.plan->text, cases[i].without);
    assert_int_equal(
        tt_quote_breakdown(there, plan_named(cases[i].without), 1, &p, &t, &sends, NULL), TUTTI_OK);
    assert_true(t.time > cases[i].at_least * chosen.seconds);
  }
  tutti_prices_free(prices);
  tt_chooser_free(without);
  tt_chooser_free(there);
}

/* Wherever the slow host is, the chosen plan is at least as fast as the plan that would be chosen without its
 * parameters. At many sizes it is a different plan, and much faster. */
static void the_choice_avoids_a_slow_host(void **state) {
  static const tt_override none = {0};
  static const char *const factors[] = {"2e-8", "1e-7"};
  int others = 0;
  (void)state;
  for (int host = 0; host < 7; host++)
    for (int f = 0; f < 2; f++) {
      char hosts[40], figures[80];
      snprintf(hosts, sizeof hosts, "host.%d.beta=%s", host, factors[f]);
      const machine m = {7, "", "alpha=30us,beta=1e-8,gamma=2e-10", hosts};
      snprintf(figures, sizeof figures, "%s,%s", m.figures, hosts);
      tutti_prices *prices = prices_of(figures, NULL, 7, TUTTI_ALLREDUCE, 0);
      tt_chooser *without = chooser_of(&m, false), *there = chooser_of(&m, true);
      for (uint64_t bytes = 1 << 10; bytes <= 4 << 20; bytes *= 2) {
        const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
        tutti_offer chosen = {.size = sizeof chosen};
        tt_choice before;
        tt_breakdown t;
        tt_sends sends;
        assert_int_equal(tutti_prices_chosen(prices, bytes, &chosen), TUTTI_OK);
        assert_int_equal(tt_choose(without, &p, &none, &before), TUTTI_OK);
        assert_int_equal(
            tt_quote_breakdown(there, before.plan, before.slices, &p, &t, &sends, NULL), TUTTI_OK);
        if (chosen.seconds > t.time * 1.0001)
          fail_msg("%s, %d bytes: %s takes %g s, %s %g s", hosts, (int)bytes, chosen.name,
                   chosen.seconds, before.plan->text, t.time);
        others += chosen.seconds < 0.9 * t.time;
      }
      tutti_prices_free(prices);
      tt_chooser_free(without);
      tt_chooser_free(there);
    }
  assert_true(others > 90); /* of 182 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_figures_change_nothing),
      cmocka_unit_test(other_hosts_change_nothing),
      cmocka_unit_test(links_take_their_share),
      cmocka_unit_test(a_slow_host_beside_an_aggregator),
      cmocka_unit_test(codes_count_on_slow_links_too),
      cmocka_unit_test(a_slow_host_counts_among_many),
      cmocka_unit_test(a_host_does_not_stand_for_all),
      cmocka_unit_test(slow_hosts_come_last),
      cmocka_unit_test(some_choices_differ),
      cmocka_unit_test(the_choice_avoids_a_slow_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
