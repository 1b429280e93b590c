/* Which compositions the chooser proposes: among all algorithms on all levels, no composition is more than 2 %
 * cheaper than the choice, and only few are proposed.
 * SPDX-License-Identifier: BSD-3-Clause */
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
#include "names.h"
#include "tutti_plan.h"

static const char same[] = "gamma=0.05ns,alpha=1us,delay=2us,beta=200Gbit/s";
static const char busy[] = "processor=1us,alpha=0.2us,delay=1.5us,gamma=0.2ns,beta=100Gbit/s";
static const char wide[] =
    "gamma=0.05ns,rack.alpha=3us,node.alpha=2us,core.alpha=0.5us,"
    "rack.beta=50GB/s,node.beta=10GB/s,core.beta=5GB/s";
static const char narrow[] =
    "gamma=0,apart=1,core.alpha=2us,core.beta=0.25e-9,node.alpha=6us,"
    "node.beta=1e-9,rack.alpha=12us,rack.beta=1e-10";

/* All algorithms of the table that do an allreduce, and some with parameters. */
static int all_stages(char name[][NAME], int most) {
  static const char *const more[] = {"lanes(n=2)",      "lanes(n=3)",          "lanes(n=4)",
                                     "consistent(i=0)", "consistent(i=1)",     "consistent(i=2)",
                                     "bruck(radix=4)",  "multiplying(radix=4)"};
  int n = 0;
  for (int i = 0; tutti_algo_name(i, NULL); i++)
    if (does_named(tutti_algo_name(i, NULL), TUTTI_ALLREDUCE) && n < most)
      snprintf(name[n++], NAME, "%s", tutti_algo_name(i, NULL));
  for (size_t i = 0; i < sizeof more / sizeof *more && n < most; i++)
    snprintf(name[n++], NAME, "%s", more[i]);
  return n;
}

typedef struct all_curves {
  int n;
  char (*name)[NAME];
  tt_curve *curve;
} all_curves;

/* Estimates every composition of these stages, with `levels` levels, that can be built. */
static all_curves price_all(tt_chooser *c, const char *machine, int levels) {
  enum { MOST = 48 };
  static char stage[MOST][NAME];
  const int stages = all_stages(stage, MOST);
  int all = 1;
  for (int l = 0; l < levels; l++) all *= stages;
  all_curves x = {.name = malloc((size_t)all * sizeof *x.name),
                  .curve = malloc((size_t)all * sizeof *x.curve)};
  assert_true(x.name && x.curve);
  for (int i = 0; i < all; i++) {
    size_t at = (size_t)snprintf(x.name[x.n], NAME, "blueconnect(%s,stages=", machine);
    for (int l = 0, rest = i; l < levels && at < NAME; l++, rest /= stages)
      at += (size_t)snprintf(x.name[x.n] + at, NAME - at, "%s%s", stage[rest % stages],
                             l + 1 < levels ? "/" : ")");
    if (strstr(x.name[x.n], "generalized")) continue; /* not the same bits on all ranks */
    tt_plan_spec *plan;
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = tt_chooser_model(c)->ranks};
    if (tt_plan_spec_parse(x.name[x.n], &plan)) fail_msg("%s", tutti_error());
    ask.plan = plan;
    x.n += stages_price(c, &ask, &x.curve[x.n]);
    tt_plan_spec_free(plan);
  }
  return x;
}

static const struct {
  const char *levels, *figures;
  int ranks, deep;
} machines[] = {
    {"rack:3 node:4 core:4", "", 48, 3},     {"rack:3 node:4 core:4", same, 48, 3},
    {"rack:3 node:4 core:4", busy, 48, 3},   {"rack:3 node:4 core:4", wide, 48, 3},
    {"rack:3 node:4 core:4", narrow, 48, 3}, {"rack:4 node:3 core:4", wide, 48, 3},
    {"rack:2 node:4 core:6", same, 48, 3},   {"node:12 core:4", busy, 48, 2},
    {"node:6 core:8", same, 48, 2},          {"node:5 core:7", "", 35, 2},
};

static tt_chooser *chooser_of(size_t i) {
  tt_setting s = {.ranks = machines[i].ranks, .flight = TT_FLIGHT};
  tt_chooser *c;
  snprintf(s.levels, sizeof s.levels, "%s", machines[i].levels);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, machines[i].figures, "the figures"))
    fail_msg("%s", tutti_error());
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  return c;
}

static double price_of(tt_chooser *c, const tt_choice *choice, double bytes) {
  const tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
  for (int i = 0; i < list->n; i++)
    if (list->at[i].slices == choice->slices && tt_plan_spec_equal(list->at[i].plan, choice->plan))
      return tt_curve_at(&list->at[i].curve, bytes);
  fail_msg("%s is not a candidate", choice->plan->text);
  return 0;
}

static bool can_run(const char *name, int ranks) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
  tutti_report r;
  return names_prove(name, &ask, &r) && r.same_grouping;
}

static void no_composition_is_cheaper(void **state) {
  static const tt_override none = {0};
  (void)state;
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    tt_chooser *c = chooser_of(m);
    all_curves all = price_all(c, machines[m].levels, machines[m].deep);
    assert_true(all.n > (machines[m].deep == 3 ? 10000 : 400));
    for (uint64_t bytes = 8; bytes <= 1 << 30; bytes *= 4) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      tt_choice choice;
      assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
      const double chosen = price_of(c, &choice, (double)bytes);
      for (int i = 0; i < all.n; i++) {
        const double other = tt_curve_at(&all.curve[i], (double)bytes);
        if (other * 1.02 < chosen && can_run(all.name[i], machines[m].ranks))
          fail_msg("%s, %s, %d bytes: %s takes %g s, %s only %g s", machines[m].levels,
                   machines[m].figures, (int)bytes, choice.plan->text, chosen, all.name[i], other);
      }
    }
    free(all.name);
    free(all.curve);
    tt_chooser_free(c);
  }
}

/* At most 200 are proposed. Each of them can be built, is proven, and gives the same bits on all ranks. */
static void few_are_proposed_and_all_can_run(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    tt_chooser *c = chooser_of(m);
    tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
    int composed = 0;
    assert_non_null(list);
    if (list->n > 200) fail_msg("%s: %d candidates", machines[m].levels, list->n);
    for (int i = 0; i < list->n; i++) {
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = machines[m].ranks, .in_place = i % 2};
      tutti_report r;
      if (!tt_is_composition(list->at[i].plan)) continue;
      composed++;
      if (!names_prove(list->at[i].plan->text, &ask, &r) || !r.same_grouping)
        fail_msg("%s: %s", list->at[i].plan->text, r.witness);
    }
    assert_true(composed >= 4);
    tt_chooser_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_composition_is_cheaper),
      cmocka_unit_test(few_are_proposed_and_all_can_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
