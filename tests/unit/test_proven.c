/* test_proven.c - every plan is proven before its first use: in place, out of place, and mixed; up to a size
 * limit; and once for all ranks that share memory, even if one dies during the proof.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "../../cli/configure.h"
#include "build_comm.h"
#include "by_name.h"
#include "names.h"
#include "pass_time.h"
#include "tutti_plan.h"

/* The ranks that work in place in the prover's input, as bits. */
static unsigned asked[8];
static int nasked;
tutti_status __real_tt_prove(tt_sched *const *all, int ranks, tutti_report *report);
tutti_status __wrap_tt_prove(tt_sched *const *all, int ranks, tutti_report *report);
tutti_status __wrap_tt_prove(tt_sched *const *all, int ranks, tutti_report *report) {
  unsigned here = 0;
  for (int r = 0; r < ranks && r < 32; r++) here |= (unsigned)all[r]->in_place << r;
  asked[nasked++ % 8] = here;
  return __real_tt_prove(all, ranks, report);
}

static void in_place_and_not_and_mixed(void **state) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 5};
  const tt_setting how = {.flight = TT_FLIGHT};
  tt_proven is;
  (void)state;
  nasked = 0;
  assert_int_equal(find_proven(&ask, "fold(ring)", 1, &how, &is), TUTTI_OK);
  const unsigned wanted[] = {0, 0x1f, 0xa, 0x15};
  assert_int_equal(nasked, 4);
  for (int i = 0; i < 4; i++) {
    bool is_there = false;
    for (int k = 0; k < 4; k++) is_there |= asked[k] == wanted[i];
    assert_true(is_there);
  }
}

static void every_plan(void **state) {
  static const int ranks[] = {1, 2, 3, 5, 8, 12};
  const tt_setting how = {.flight = TT_FLIGHT};
  int plans = 0;
  (void)state;
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
    names list = names_for(ranks[i], 4, ranks[i]);
    for (int a = 0; a < list.n; a++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (int slices = 1; slices < 8; slices += tt_coll_owned((tutti_coll)coll) ? 8 : 3) {
          const tt_ask ask = {.coll = (tutti_coll)coll, .ranks = ranks[i]};
          tt_proven is;
          const tutti_status status = find_proven(&ask, list.at[a], slices, &how, &is);
          if (status == TUTTI_ERR_UNSUPPORTED) continue;
          if (status || is != TT_PROVEN)
            fail_msg("%s, %s, %d ranks: %s", list.at[a], tutti_coll_name(ask.coll), ranks[i],
                     status ? tutti_error() : "not proven");
          plans++;
        }
    names_free(&list);
  }
  assert_true(plans > 1000);
}

/* No family proposes this form, so `make prove` has not proven it. */
#define UNKNOWN "fold(halving,stride=3)"

static void limits(void **state) {
  static const struct {
    tt_verify verify;
    const char *name;
    int ranks;
    tt_proven is;
  } cases[] = {
      {TT_VERIFY_SOME, "fold(ring)", 64, TT_PROVEN},
      {TT_VERIFY_SOME, "naive", 200, TT_PROVEN},
      {TT_VERIFY_SOME, "fold(ring)", 520, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "two-shot", 100000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, UNKNOWN, 520, TT_PROVEN_TOO_LARGE},
      {TT_VERIFY_NONE, UNKNOWN, 520, TT_PROVEN_OFF},
      {TT_VERIFY_NONE, "fold(ring)", 7, TT_PROVEN_OFF},
      {TT_VERIFY_ALL, "naive", 1500, TT_PROVEN},
      /* by the ranges of the form's numbers */
      {TT_VERIFY_SOME, "bruck(radix=12)", 2000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "bruck(radix=16)", 2000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "two-level(node:100 core:20,scatter)", 2000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "two-level(ring,scatter,rack:2 node:50 core:20)", 2000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "lanes(n=12)", 2000, TT_PROVEN_FORM},
      {TT_VERIFY_SOME, "pat(buffer=1000000)", 2000, TT_PROVEN_TOO_LARGE},
      {TT_VERIFY_SOME, "fold(ring,rings=2)", 2000, TT_PROVEN_FORM},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks};
    const tt_setting how = {.flight = TT_FLIGHT, .verify = cases[i].verify};
    tt_proven is;
    assert_int_equal(find_proven(&ask, cases[i].name, 1, &how, &is), TUTTI_OK);
    if (is != cases[i].is)
      fail_msg("%s on %d ranks: %d, not %d", cases[i].name, cases[i].ranks, is, cases[i].is);
    bool can = true;
    assert_int_equal(can_be_proven(&ask, cases[i].name, &how, &can), TUTTI_OK);
    assert_int_equal(can, cases[i].is != TT_PROVEN_TOO_LARGE);
  }
}

/* A plan without a proof does not run, even if it is named explicitly, unless TUTTI_VERIFY=0. */
static void what_is_not_proven_is_not_chosen(void **state) {
  (void)state;
  for (int verify = TT_VERIFY_SOME; verify <= TT_VERIFY_NONE; verify++) {
    tt_setting setting = {.ranks = 520,
                          .verify = (tt_verify)verify,
                          .flight = TT_FLIGHT,
                          .only = plan_named(UNKNOWN)};
    tt_profile_net(&setting.profile);
    const tt_problem problem = {.coll = TUTTI_ALLREDUCE, .bytes = 1 << 20};
    const tt_override none = {0};
    tt_override override = {0};
    tt_choice choice;
    tt_chooser *c;
    tt_quote quote;
    assert_int_equal(tt_chooser_new(&setting, &c), TUTTI_OK);
    assert_true(tt_quote_at(c, &problem, &none, 0, true, &quote));
    assert_string_equal(quote.plan->text, UNKNOWN);
    assert_true(quote.possible); /* it has an estimate */
    assert_int_equal(quote.lacks, verify == TT_VERIFY_NONE ? 0 : TT_NEED_PROOF);
    tt_chooser_free(c);
    tt_setting any = setting;
    any.only = NULL;
    assert_int_equal(tt_chooser_new(&any, &c), TUTTI_OK);
    assert_int_equal(tt_override_parse(UNKNOWN, 520, &override), TUTTI_OK);
    assert_int_equal(tt_choose(c, &problem, &override, &choice), TUTTI_OK);
    assert_int_equal(strcmp(choice.plan->text, UNKNOWN) == 0, verify == TT_VERIFY_NONE);
    if (verify == TT_VERIFY_SOME)
      assert_non_null(strstr(choice.refusal, "no plan of the form fold(halving,stride=); "));
    tt_chooser_free(c);
  }
}

/* A property that held only for some numbers of a form is used only for these: r=0, not r=1. */
static void same_bits_of_many_ranks(void **state) {
  static const struct {
    const char *name;
    bool same;
  } cases[] = {{"generalized(r=0)", true},      {"generalized(r=1)", false},
               {"generalized(r=999)", false}, /* in no proof */
               {"generalized(latency)", false}, {"generalized(r=2,group=100x1000,inner)", false},
               {"bruck(radix=16)", true},       {"fold(ring)", true}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 100000};
    unsigned met;
    bool skipped;
    assert_int_equal(meets_named(cases[i].name, &ask, TT_NEED_SAME, HUGE_VAL, &met, &skipped),
                     TUTTI_OK);
    assert_int_equal(met, cases[i].same ? TT_NEED_SAME : 0);
    assert_int_equal(skipped, !cases[i].same);
  }
}

static void forms_are_names_without_sizes(void **state) {
  static const char *const cases[][2] = {
      {"naive", "naive"},
      {"fold(ring)", "fold(ring)"},
      {"fold(group=3x2x2,inner)", "fold(group=,inner)"},
      {"generalized(r=3)", "generalized(r=3)"},
      {"generalized(r=3,group=2x5)", "generalized(group=,r=3)"},
      {"generalized(group=2x5,r=3)", "generalized(group=,r=3)"},
      {"blueconnect(rack:3 node:2 core:4)", "blueconnect(levels)"},
      {"two-level(node:(4,3),halving)", "two-level(halving,levels)"},
      {"tree(radix=4,segments=8,node:(4,3))", "tree(levels,radix=4,segments=8)"},
      {"aggregate(node:2 core:4,per=node,trees=2)", "aggregate(levels,per=,trees=2)"},
      {"aggregate(data=7,share=1/4)", "aggregate(data=,share=1/4)"},
      {"fold(seq=ring/2.1/2.1)", "fold(seq=)"},
      {"blueconnect(node:6 core:4,stages=lanes(n=6)/fold(seq=4.2.1))",
       "blueconnect(levels,stages=lanes(n=6)/fold(seq=))"},
      {"blueconnect(node:6 core:4,stages=doubling/two-shot)",
       "blueconnect(levels,stages=doubling/two-shot)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char form[NAME];
    form_named(cases[i][0], form);
    assert_string_equal(form, cases[i][1]);
  }
}

/* Every proposal for many ranks can run: it is small enough to be proven there, or of a form that `make prove`
 * has proven, even on more than 64 ranks. */
static void every_proposal_can_be_chosen(void **state) {
  static const struct {
    int ranks;
    const char *levels;
  } cases[] = {{128, ""},
               {1000, ""},
               {4096, ""},
               {256, "node:16 core:16"},
               {1536, "rack:3 node:16 core:32"},
               {4096, "node:64 core:64"}};
  const tt_setting how = {.flight = TT_FLIGHT};
  char name[NAME];
  int forms = 0, missing = 0;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_plan_walk at = {0};
    while (next_named(cases[i].ranks, cases[i].levels, &at, name, sizeof name))
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
        const tt_ask ask = {.coll = (tutti_coll)coll, .ranks = cases[i].ranks};
        bool can = true;
        if (!does_named(name, ask.coll) || can_be_proven(&ask, name, &how, &can)) continue;
        tt_form form;
        forms += tt_form_of(plan_named(name), ask.coll, &form) && form.ranks > 64;
        missing += !can;
        if (!can) print_error("%s, %s on %d ranks\n", name, tutti_coll_name(ask.coll), ask.ranks);
      }
  }
  assert_true(forms > 100 && missing == 0);
}

static void variable(void **state) {
  static const struct {
    const char *value;
    tt_verify is;
    bool proven; /* no plan before this test was like it */
  } cases[] = {
      {"0", TT_VERIFY_NONE, false}, {NULL, TT_VERIFY_SOME, true}, {"1", TT_VERIFY_ALL, true}};
  char plan[160];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tutti_comm *comm;
    unsetenv("TUTTI_VERIFY");
    if (cases[i].value) setenv("TUTTI_VERIFY", cases[i].value, 1);
    assert_int_equal(tutti_comm_from_threads(1, &comm), TUTTI_OK);
    assert_int_equal(comm->plans->setting.verify, cases[i].is);
    assert_int_equal(
        tutti_comm_plan(comm, TUTTI_ALLREDUCE, 1000, TUTTI_FLOAT, TUTTI_SUM, plan, sizeof plan),
        TUTTI_OK);
    if (!strstr(plan, ", not proven") != cases[i].proven) fail_msg("%s: %s", cases[i].value, plan);
    assert_int_equal(tutti_comm_free(comm), TUTTI_OK);
  }
  unsetenv("TUTTI_VERIFY");
}

/* On many ranks tutti_comm_plan reports the kind of proof. */
static void plans_say_how_they_are_proven(void **state) {
  static const struct {
    const char *algo, *wanted;
  } cases[] = {{"naive", "naive"},
               {"fold(ring)", "fold(ring), proven by its form"},
               {"fold(halving)", "fold(halving), proven by its form"}};
  enum { RANKS = 520 };
  static tutti_comm *comms[RANKS];
  char plan[160];
  (void)state;
  assert_int_equal(tutti_comm_from_threads(RANKS, comms), TUTTI_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(comm_set_algorithm(comms[0], cases[i].algo), TUTTI_OK);
    assert_int_equal(
        tutti_comm_plan(comms[0], TUTTI_ALLREDUCE, 9, TUTTI_INT32, TUTTI_SUM, plan, sizeof plan),
        TUTTI_OK);
    assert_string_equal(plan, cases[i].wanted);
  }
  for (int r = 0; r < RANKS; r++) tutti_comm_free(comms[r]);
}

/* No plan has this name, so the result shows whether the shared table of proofs was consulted. */
static void others_verdicts(void **state) {
  enum { PROVES = 1, PROVEN = 2, REFUSED = 3, FULL = -1 };
  static const struct {
    int word; /* left by another rank */
    bool asked;
    int looks, after; /* at the clock: a rank waits for a second, which is 10 looks */
  } cases[] = {{0, true, 0, REFUSED},
               {PROVES, true, 11, PROVES},
               {PROVEN, false, 1, PROVEN},
               {REFUSED, true, 1, REFUSED},
               {FULL, true, 0, FULL}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    atomic_ullong words[TT_PROOFS] = {0};
    tt_wire wire = {.proofs = words};
    tt_plan_cache plans = {.setting = {.verify = TT_VERIFY_SOME}};
    tutti_comm comm = {.wire = &wire, .plans = &plans};
    char name[40];
    snprintf(name, sizeof name, "searched(T=%zu)", 40 + i); /* a plan that cannot be built */
    const tt_ask ask = {.plan = plan_named(name), .coll = TUTTI_ALLREDUCE, .ranks = 4};
    const uint64_t key = tt_proven_key(&ask, 1);
    for (size_t k = 0; k < TT_PROOFS && cases[i].word == FULL; k++) words[k] = (4 * k + 4) | PROVEN;
    atomic_ullong *word = &words[key / 4 % TT_PROOFS];
    if (cases[i].word > 0) *word = key | (unsigned)cases[i].word;
    const unsigned long long before = *word;
    looks_take(0.1);
    const double from = tt_seconds();
    tt_proven is;
    const tutti_status status = tt_proof_ask(&comm, &ask, 1, &is);
    const int looks = (int)lround((tt_seconds() - from) / 0.1) - 1;
    looks_take(0);
    assert_int_equal(status != TUTTI_OK, cases[i].asked);
    assert_int_equal(looks, cases[i].looks);
    if (cases[i].after == FULL)
      assert_true(*word == before);
    else
      assert_true(*word == (key | (unsigned)cases[i].after));
    assert_int_equal(tt_proof_known(&ask, 1), !cases[i].asked);
  }
}

static void keys_differ(void **state) {
  const tt_ask of[] = {{.coll = TUTTI_ALLREDUCE, .ranks = 4},
                       {.coll = TUTTI_BROADCAST, .ranks = 4},
                       {.coll = TUTTI_BROADCAST, .ranks = 4, .root = 1},
                       {.coll = TUTTI_ALLREDUCE, .ranks = 5},
                       {.coll = TUTTI_ALLREDUCE, .ranks = 4, .data = 3}};
  enum { ASKS = sizeof of / sizeof *of, NAMES = 2, SLICES = 6 };
  static const char *const name[NAMES] = {"naive", "fold(ring)"};
  uint64_t keys[ASKS * NAMES * SLICES];
  int n = 0;
  (void)state;
  for (int a = 0; a < ASKS; a++)
    for (int k = 0; k < NAMES; k++)
      for (int s = 1; s < SLICES; s++) keys[n++] = key_named(&of[a], name[k], s);
  for (int i = 0; i < n; i++) {
    assert_true(keys[i] && keys[i] % 4 == 0);
    for (int k = 0; k < i; k++) assert_true(keys[i] != keys[k]);
  }
  assert_true(key_named(&of[0], "naive", 5) == key_named(&of[0], "naive", 500));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_plan),
                                     cmocka_unit_test(in_place_and_not_and_mixed),
                                     cmocka_unit_test(limits),
                                     cmocka_unit_test(what_is_not_proven_is_not_chosen),
                                     cmocka_unit_test(forms_are_names_without_sizes),
                                     cmocka_unit_test(same_bits_of_many_ranks),
                                     cmocka_unit_test(every_proposal_can_be_chosen),

                                     cmocka_unit_test(variable),
                                     cmocka_unit_test(plans_say_how_they_are_proven),
                                     cmocka_unit_test(others_verdicts),
                                     cmocka_unit_test(keys_differ)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
