/* test_jam.c - incast and the CPU time of compression, in the estimate and in the choice. Incast: many long
 * messages into one link, which accepts only some of the bytes immediately.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "choose.h"

/* The time on five ranks, followed by an aggregator's virtual ranks. */
static double seconds(const char *name, int helpers, int slices, double jam, double code,
                      double bytes) {
  const int ranks = 5 + helpers;
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks, .data = helpers ? 5 : 0};
  tt_cost_model p;
  tt_sched **all;
  tt_breakdown t;
  tt_cost_flat(&p, ranks);
  p.uncontended_from = helpers ? 5 : 0;
  p.link[0] = (tt_link){.beta = 4e-8, .incast_threshold = jam, .code = code};
  assert_int_equal(tt_algo_build_all_named(name, &ask, &all), TUTTI_OK);
  tt_sim *whole = tt_sim_new(all, ranks, false, &p);
  tt_sim *sim = slices > 1 && whole ? tt_sim_slices(whole, slices, 3) : whole;
  if (sim != whole) tt_sim_free(whole);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_curve curve;
  assert_true(tt_price_curve(sim, &curve));
  assert_true(fabs(tt_curve_at(&curve, bytes) - t.time) < 0.02 * t.time);
  tt_sim_free(sim);
  tt_sched_free_all(all, ranks);
  return t.time;
}

/* Messages of up to 100 kB cause no incast. A vector is six messages or more. */
static void long_messages_of_many_senders_jam(void **state) {
  static const struct {
    const char *plan;
    int helpers, slices;
    double bytes;
    bool jams;
  } cases[] = {{"fold(ring)", 0, 1, 4e6, false},
               {"fold(ring,rings=2)", 0, 1, 4e6, false},
               {"fold(halving)", 0, 1, 4e6, true},
               {"two-shot", 0, 1, 4e6, true},
               {"fold(ring)", 0, 3, 4e6, true},
               {"fold(halving)", 0, 1, 1e5, false},
               {"fold(ring,rings=2)", 0, 2, 1e5, false},
               {"two-shot", 0, 1, 4e5, false},
               {"aggregate(data=5,share=1/4,ring)", 4, 1, 4e6, false},
               {"aggregate(data=5,share=1/4,halving)", 4, 1, 4e6, true},
               {"aggregate(data=5,trees=4)", 4, 1, 4e6, false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *plan = cases[i].plan;
    const double free_of = seconds(plan, cases[i].helpers, cases[i].slices, 0, 0, cases[i].bytes);
    const double with = seconds(plan, cases[i].helpers, cases[i].slices, 1e5, 0, cases[i].bytes);
    if (fabs(with / free_of - (cases[i].jams ? 1.15 : 1)) > 0.01)
      fail_msg("%s in %d slices, %g bytes: %g times the time", plan, cases[i].slices,
               cases[i].bytes, with / free_of);
  }
}

/* Compression takes CPU time. It overlaps with the link if the rank has another message in flight. */
static void coding_goes_on_beside_the_link(void **state) {
  const double bytes = 4e6, link = 2 * 4 / 5. * bytes * 4e-8, codes = 2 * 4 / 5. * bytes * 1e-8;
  (void)state;
  assert_true(fabs(seconds("fold(ring)", 0, 1, 0, 1e-8, bytes) - (link + codes)) < 0.01 * link);
  assert_true(seconds("fold(ring,rings=2)", 0, 1, 0, 1e-8, bytes) < link + 0.3 * codes);
  assert_true(seconds("fold(ring)", 0, 4, 0, 1e-8, bytes) < link + 0.3 * codes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_messages_of_many_senders_jam),
      cmocka_unit_test(coding_goes_on_beside_the_link),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
