/* The chooser's lower bounds: no bound exceeds its estimate, a choice that estimates only a few candidates
 * equals the choice among all, and a choice simulates few messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tutti_plan.h"
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include <math.h>

#include "by_name.h"
#include "candidates.h"
#include "engine.h"
#include "short.h"

static const char slow[] = "";
static const char fast[] = "alpha=1us,delay=3us,beta=200Gbit/s,gamma=0.05ns";
static const char apart[] = "gamma=0,apart=1,alpha=6us,beta=1e-9,core.alpha=2us,core.beta=0.25e-9";
static const char half[] = "alpha=1us,processor=1us,beta=25Gbit/s,half=1";
static const char bursts[] = "alpha=5us,beta=10Gbit/s,burst=65536";
static const char ports[] = "alpha=2us,beta=100Gbit/s,ports=4";
static const char busy[] =
    "alpha=0.1us,processor=20us,again=0.2us,core.alpha=0.1us,core.processor=0";
static const char slow_host[] = "host.3.beta=1e-7,host.3.delay=20us";
static const char slow_node[] = "node.beta=5e-9,core.beta=1e-9,host.2.beta=3e-8,host.0.alpha=50us";
static const char odd_hosts[] =
    "alpha=2us,ports=2,processor=1us,host.0-1.beta=1e-9,host.5.ports=4,host.7.processor=30us,"
    "host.7.again=1us,host.9-11.beta=5e-8,host.9-11.alpha=9us";
static const char paths[] = "alpha=1us,beta=100Gbit/s,leaf.alpha=2us,leaf.paths=3";
static const char pairs[] =
    "alpha=1us,beta=100Gbit/s,router.alpha=2us,router.pairs=1,group.alpha=3us,group.pairs=1";
static const char torus[] = "torus=1,hop=100ns,alpha=1us,beta=50Gbit/s";
static const char mixed[] =
    "alpha=3us,beta=100Gbit/s,ports=6,contention.mean=0.76,"
    "contention.excess=1.5,contention.nearest=2us,contention.furthest=2us";
static const char mixed_headers[] =
    "alpha=3us,beta=100Gbit/s,ports=6,contention.mean=4,"
    "contention.excess=0.9,contention.nearest=1us,header=48";
static const char loggp[] = "alpha=0,gap=5us,delay=30us,beta=1e-8,header=48";
static const char headers[] = "alpha=1us,beta=100Gbit/s,header=48";
static const char crowded[] =
    "alpha=9us,processor=1us,beta=50Gbit/s,contention.mean=4,contention.excess=4,"
    "contention.nearest=8us";

/* Ranks that share memory, and four cores. */
static const char shared[] = "shm.copy=3e-11";
static const char shared_far[] =
    "shm.package.delay=0.4us,shm.package.beta=1e-10,shm.far=2e-11,shm.loop.far=1e-11";
static const char shared_slow_loops[] =
    "shm.message=20ns,shm.again=5ns,shm.loop.message=2us,shm.loop.copy=2e-10,shm.loop.further=1e-11";

typedef struct machine {
  int ranks;
  const char *levels, *figures;
} machine;

static const machine machines[] = {
    {2, "", slow},
    {3, "", fast},
    {16, "", ports},
    {37, "", fast},
    {37, "", half},
    {2, "", shared},
    {4, "", shared_slow_loops},
    {8, "package:2 core:4", shared_far},
    {11, "", shared},
    {40, "", bursts},
    {72, "", slow},
    {24, "node:6 core:4", apart},
    {24, "node:6 core:4", bursts},
    {24, "node:6 core:4", busy},
    {48, "rack:3 node:4 core:4", fast},
    {48, "rack:3 node:4 core:4", apart},
    {60, "node:12 core:5", half},
    {36, "y:6 x:6 core:1", torus},
    {24, "z:2 y:3 x:4 core:1", torus},
    {40, "y:4 x:5 core:2", torus},
    {40, "y:4 x:5 core:2", "torus=1,alpha=1us,y.beta=10Gbit/s,x.beta=50Gbit/s,ports=3"},
    {30, "y:5 x:3 core:2", "torus=1,hop=1us,alpha=1us,delay=1us,beta=50Gbit/s,burst=65536"},
    {32, "leaf:4 node:8", paths},
    {24, "group:3 router:4 node:2", pairs},
    {37, "", mixed},
    {64, "", mixed},
    {37, "", mixed_headers},
    {40, "", crowded},
    {37, "", loggp},
    {24, "node:6 core:4", loggp},
    {37, "", headers},
    {24, "group:3 router:4 node:2", headers},
    {24, "node:6 core:4", "apart=1,ports=2,alpha=2us,delay=3us,beta=100Gbit/s,core.beta=1e-11"},
    {37, "", "half=1,alpha=1us,beta=100Gbit/s,header=48"},
    {24, "z:2 y:3 x:4 core:1", "torus=1,ports=6,hop=500ns,alpha=500ns,beta=100Gbit/s,header=48"},
    {32, "leaf:4 node:8", "alpha=2us,beta=100Gbit/s,leaf.alpha=3us,leaf.paths=2"},
    {24, "node:6 core:4", mixed},
    {130, "", crowded},
    {25, "y:5 x:5 node:1", "torus=1,apart=1,hop=500ns,alpha=500ns,beta=100Gbit/s"},
    {11, "node:(4,3,4)", slow},
    {29, "rack:2 node:(3,2) core:(6,6,6,6,5)", fast},
    {2000, "pod:5 leaf:10 node:40", fast},
    {7, "", slow_host},
    {37, "", odd_hosts},
    {24, "node:6 core:4", slow_node},
    {48, "rack:3 node:4 core:4", odd_hosts},
    {36, "y:6 x:6 core:1", "torus=1,hop=100ns,alpha=1us,beta=50Gbit/s,host.7.beta=1e-8"},
    {11, "node:(4,3,4)", slow_host},
    {130, "", slow_host},
    {2000, "pod:5 leaf:10 node:40", slow_host},
};
enum { MACHINES = sizeof machines / sizeof *machines };

static tt_chooser *chooser_of(const machine *m, bool unbound) {
  tt_setting s = {.ranks = m->ranks, .flight = TT_FLIGHT};
  tt_chooser *c;
  const bool shares = strncmp(m->figures, "shm.", 4) == 0;
  const char *given =
      strcmp(m->figures, apart) == 0 && !strstr(m->levels, "core") ? slow : m->figures;
  snprintf(s.levels, sizeof s.levels, "%s", m->levels);
  if (shares) s.has_loop = tt_has_loop;
  if (shares) s.ranks_per_core = m->ranks > 4 ? m->ranks / 4.0 : 1;
  (shares ? tt_profile_shm : tt_profile_net)(&s.profile);
  if (tt_profile_parse(&s.profile, given, "the figures")) fail_msg("%s", tutti_error());
  if (tt_chooser_new(&s, &c)) fail_msg("%s: %s", m->levels, tutti_error());
  c->unbound = unbound;
  return c;
}

static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE_SCATTER, TUTTI_BROADCAST};
enum { COLLS = sizeof colls / sizeof *colls };

/* Checks that a rank sends as many messages as the family declares. */
static void enough_messages(const char *name, const tt_ask *ask) {
  const int rounds = rounds_named(name, ask);
  tt_sched *s;
  int sends = 0;
  if (!rounds) return;
  assert_int_equal(tt_algo_build_named(name, ask, &s), TUTTI_OK);
  for (uint32_t i = 0; i < s->nsteps; i++) sends += s->steps[i].kind == TT_SEND;
  if (sends < rounds)
    fail_msg("%s on %d ranks: %d sends, %d rounds", name, ask->ranks, sends, rounds);
  tt_sched_free(s);
}

/* All bounds, of all candidates, at all sizes. */
static void no_bound_is_above_its_price(void **state) {
  int bounded = 0, by_rounds = 0;
  (void)state;
  for (int m = shorter(0, 6); m < MACHINES; m += shorter(1, 12))
    for (int k = 0; k < COLLS; k++) {
      tt_chooser *c = chooser_of(&machines[m], false);
      tt_candidates *list = tt_candidates_of(c, colls[k], 0);
      assert_non_null(list);
      for (int i = 0; i < list->n; i++) {
        tt_candidate *x = &list->at[i];
        bool may;
        const tt_ask ask = {.coll = colls[k], .ranks = machines[m].ranks};
        const int rounds = rounds_named(x->plan->text, &ask);
        tt_bound of_rounds = {0};
        if (rounds) tt_bound_rounds(&of_rounds, rounds, &c->model);
        enough_messages(x->plan->text, &ask);
        assert_true(tt_candidates_may(c, list, i, 1 << 30, HUGE_VAL, &may) && may);
        assert_true(tt_candidates_may(c, list, i, 1 << 30, 1, &may));
        assert_true(tt_candidates_price(c, list, i));
        for (double bytes = 1; bytes < 1e10 && x->possible; bytes *= 16) {
          const double price = tt_curve_at(&x->curve, bytes), low = price / 0.94;
          const double bound[] = {
              tt_bound_at(&x->bound, x->slices, bytes), tt_bound_at(&x->chain[0], x->slices, bytes),
              tt_bound_at(&x->chain[1], x->slices, bytes), tt_bound_at(&x->wide, x->slices, bytes),
              tt_bound_at(&of_rounds, x->slices, bytes)};
          for (int b = 0; b < 5; b++)
            if (bound[b] > low)
              fail_msg("%s of %s x%d on %d ranks, %s, %s, %g bytes: bound %d is %g, the price %g",
                       tutti_coll_name(colls[k]), x->plan->text, x->slices, machines[m].ranks,
                       machines[m].levels, machines[m].figures, bytes, b, bound[b], price);
          bounded += bound[0] > 0.5 * price;
          by_rounds += bound[4] > 0.1 * price;
        }
      }
      tt_chooser_free(c);
    }
  assert_true(bounded > shorter(1000, 100) && by_rounds > shorter(10, 1)); /* bounds exist */
}

static void same_choices(const machine *m, tutti_coll coll, unsigned needs) {
  static const tt_override none = {0};
  tt_chooser *few = chooser_of(m, false), *all = chooser_of(m, true);
  for (uint64_t bytes = 1; bytes <= (uint64_t)1 << 32; bytes *= 64) {
    const tt_problem p = {.coll = coll, .bytes = bytes, .needs = needs};
    tt_choice a, b;
    const tutti_status status = tt_choose(all, &p, &none, &b);
    assert_int_equal(tt_choose(few, &p, &none, &a), status);
    if (!status && (strcmp(a.plan->text, b.plan->text) != 0 || a.slices != b.slices))
      fail_msg("%s on %d ranks, %s, %s, %d bytes: %s x%d, but among all %s x%d",
               tutti_coll_name(coll), m->ranks, m->levels, m->figures, (int)bytes, a.plan->text,
               a.slices, b.plan->text, b.slices);
  }
  if (coll == TUTTI_ALLREDUCE && m->ranks > 16 && few->effort.priced >= all->effort.priced)
    fail_msg("%s on %d ranks, %s, %s: %d prices of %d", tutti_coll_name(coll), m->ranks, m->levels,
             m->figures, few->effort.priced, all->effort.priced);
  tt_chooser_free(few);
  tt_chooser_free(all);
}

static void few_prices_find_the_best_of_all(void **state) {
  (void)state;
  for (int m = shorter(0, 6); m < MACHINES; m += shorter(1, 12))
    for (int k = 0; k < COLLS; k++)
      for (unsigned needs = 0; needs < (k ? 1 : 4); needs += 2)
        same_choices(&machines[m], colls[k], needs);
}

/* The choice does not depend on earlier estimates, nor on estimates for types that take longer to add. */
static void choices_forget_what_was_priced(void **state) {
  static const tt_override none = {0};
  (void)state;
  for (int m = shorter(0, 6); m < MACHINES; m += shorter(1, 12)) {
    tt_chooser *a = chooser_of(&machines[m], false), *b = chooser_of(&machines[m], false);
    tt_quote o;
    for (uint64_t bytes = 1; bytes <= 1 << 30; bytes *= 32) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      const tt_problem slower = {
          .coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME, .weight = TT_WEIGHTS - 1};
      tt_choice x, y;
      const int step = bytes == 1 ? 3 : 1; /* first some estimates, later all */
      for (int i = 0; tt_quote_at(b, &p, &none, i, false, &o); i += step) continue;
      assert_int_equal(tt_choose(b, &slower, &none, &y), TUTTI_OK);
      assert_int_equal(tt_choose(a, &p, &none, &x), TUTTI_OK);
      assert_int_equal(tt_choose(b, &p, &none, &y), TUTTI_OK);
      assert_string_equal(x.plan->text, y.plan->text);
      assert_int_equal(x.slices, y.slices);
    }
    tt_chooser_free(a);
    tt_chooser_free(b);
  }
}

/* The cost of the first choice, counted in simulated messages because its time depends on the load of the
 * machine. 10,000 messages take about 10 ms; the rest of a choice takes about 5 ms. On a flat network many
 * plans are nearly equally fast for long vectors. */
static void a_choice_simulates_little(void **state) {
  static const char three[] =
      "gamma=0.05ns,node.alpha=1.2us,node.beta=200Gbit/s,leaf.alpha=1.5us,"
      "leaf.beta=4Tbit/s,pod.alpha=1.8us,pod.beta=100Tbit/s";
  static const char racks[] =
      "gamma=0,apart=1,core.alpha=2us,core.beta=0.25e-9,node.alpha=6us,"
      "node.beta=1e-9,rack.alpha=12us,rack.beta=1e-10";
  static const struct {
    machine of;
    int candidates, messages;
  } cases[] = {{{192, "rack:3 node:16 core:4", racks}, 240, 25000},
               {{192, "rack:3 node:16 core:4", slow}, 240, 30000},
               {{192, "", slow}, 240, 70000},
               {{10000, "pod:10 leaf:25 node:40", three}, 400, 30000},
               {{100000, "pod:100 leaf:25 node:40", three}, 400, 30000},
               {{192, "z:4 y:6 x:8 core:1", torus}, 240, 15000},
               {{1000, "z:10 y:10 x:10 core:1", torus}, 240, 100000},
               {{10000, "z:20 y:20 x:25 core:1", torus}, 240, 5000},
               {{100000, "z:40 y:50 x:50 core:1", torus}, 240, 8000}};
  static const tt_override none = {0};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (uint64_t bytes = 8; bytes <= 1 << 24; bytes *= 128) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      tt_chooser *c = chooser_of(&cases[i].of, false);
      tt_choice choice;
      assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
      const int n = tt_candidates_of(c, TUTTI_ALLREDUCE, 0)->n;
      if (n > cases[i].candidates || (int)c->effort.messages > cases[i].messages)
        fail_msg("%d ranks, %s, %d bytes: %d candidates, %d priced, %d stages, %d messages",
                 cases[i].of.ranks, cases[i].of.levels, (int)bytes, n, c->effort.priced,
                 c->effort.stages, (int)c->effort.messages);
      tt_chooser_free(c);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_bound_is_above_its_price),
      cmocka_unit_test(few_prices_find_the_best_of_all),
      cmocka_unit_test(choices_forget_what_was_priced),
      cmocka_unit_test(a_choice_simulates_little),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
