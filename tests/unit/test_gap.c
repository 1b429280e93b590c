/* test_gap.c - LogGP's gap and the message header in the cost model, compared with sums by hand. A rank that
 * sends several messages simultaneously waits for the gap or for the bytes, whichever takes longer. Slices send
 * while messages of other slices are in flight.
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

static const double gap = 5e-6, delay = 3e-5, beta = 1e-8, header = 48;

static tt_cost_model loggp(int ranks) {
  tt_cost_model p;
  tt_cost_flat(&p, ranks);
  p.link[0] = (tt_link){.g = gap, .L = delay, .beta = beta};
  p.header = header;
  return p;
}

/* The time until k messages of one rank, of `part` bytes each, have arrived. */
static double come(int k, double part) {
  const double carries = (part + header) * beta;
  return (k - 1) * fmax(gap, carries) + carries + delay;
}

static void many_at_once(void **state) {
  static const struct {
    const char *plan;
    int ranks, steps, messages;
    double part;
  } cases[] = {
      {"doubling", 16, 4, 1, 1},        {"two-shot", 16, 2, 15, 1. / 16},
      {"one-shot", 13, 1, 12, 1},       {"multiplying(radix=4)", 16, 2, 3, 1},
      {"fold(ring)", 9, 16, 1, 1. / 9},
  };
  static const double sizes[] = {144, 4608, 14400, 1 << 20};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks};
      const tt_cost_model p = loggp(cases[i].ranks);
      for (int uniform = 0; uniform < 1 + uniform_named(cases[i].plan, &ask, NULL); uniform++)
        about(cases[i].plan, priced(cases[i].plan, &p, sizes[s], uniform),
              cases[i].steps * come(cases[i].messages, cases[i].part * sizes[s]));
    }
}

/* A slice's messages are sent while those of the other slice are in flight. */
static void slices_hide_the_delay(void **state) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 16};
  const tt_cost_model p = loggp(16);
  tt_sched **all;
  tt_breakdown t;
  (void)state;
  assert_int_equal(tt_algo_build_all_named("doubling", &ask, &all), TUTTI_OK);
  tt_sim *whole = tt_sim_new(all, 16, false, &p), *sim = whole ? tt_sim_slices(whole, 2, 3) : NULL;
  assert_true(sim && tt_sim_run(sim, 800, &t));
  about("two slices", t.time, 4 * come(1, 400) + gap); /* the second message follows after a gap */
  tt_sim_free(whole);
  tt_sim_free(sim);
  tt_sched_free_all(all, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_at_once),
      cmocka_unit_test(slices_hide_the_delay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
