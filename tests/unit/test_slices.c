/* The lengths of slices, and their estimate: a pipeline takes the time of its slowest level, plus the time of
 * the first and the last slice on the other levels.
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

static uint32_t quarters(uint32_t slices, uint32_t slice) {
  return tt_slice_quarters(slices, slice + 1) - tt_slice_quarters(slices, slice);
}

static void only_ends_of_four_or_more_are_shorter(void **state) {
  (void)state;
  for (uint32_t slices = 1; slices < 100; slices++) {
    assert_int_equal(tt_slice_quarters(slices, 0), 0);
    for (uint32_t s = 0; s < slices; s++) {
      const bool end = s == 0 || s + 1 == slices;
      assert_int_equal(quarters(slices, s), slices >= 4 && end ? 1 : 4);
    }
  }
}

/* For any number of elements, the slices of an operation are consecutive and cover all of them. */
static void slices_hold_all_elements(void **state) {
  static const uint64_t counts[] = {0, 1, 3, 9, 10, 17, 1000, 65536, 1000003};
  (void)state;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int slices = 1; slices < 12; slices++) {
      tt_operation o = {.slices = slices};
      const uint32_t n = (uint32_t)slices;
      o.slicing = tt_partition_even(counts[i], 4, tt_slice_quarters(n, n));
      uint64_t last = 0;
      for (uint32_t s = 0; s <= n; s++) {
        const uint64_t at = tt_slice_at(&o, s);
        assert_true(at >= last && (s > 0 || at == 0));
        last = at;
      }
      assert_int_equal(last, counts[i]);
    }
}

/* Nodes are slower than cores. The time that the cores take for the first slice and the last is not hidden. */
static void a_pipeline_waits_at_its_ends_only(void **state) {
  static const double bytes = 1e6, node = 1e-9, core = 1e-10;
  tt_setting setting = {.ranks = 8, .levels = "node:4 core:2", .flight = TT_FLIGHT};
  tt_chooser *c;
  (void)state;
  tt_profile_net(&setting.profile);
  assert_int_equal(
      tt_profile_parse(&setting.profile, "gamma=0,apart=1,alpha=0,node.beta=1e-9,core.beta=1e-10",
                       "the figures"),
      TUTTI_OK);
  assert_int_equal(tt_chooser_new(&setting, &c), TUTTI_OK);
  for (int slices = 1; slices < 20; slices++) {
    tt_sim *sim;
    tt_breakdown t;
    const double share = slices < 4 ? 1.0 / slices : 1.0 / (4 * slices - 6);
    const double formula = bytes * (2 * 0.75 * node + 2 * 0.5 * share * core);
    assert_int_equal(
        tt_candidate_sim(c, plan_named("blueconnect(node:4 core:2,seq=halving/halving)"), slices,
                         TUTTI_ALLREDUCE, 0, false, (uint64_t)bytes, &sim),
        TUTTI_OK);
    assert_true(tt_sim_run(sim, bytes, &t));
    if (fabs(t.time / formula - 1) > 1e-9)
      fail_msg("%d slices: %.12g s, not %.12g", slices, t.time, formula);
    tt_sim_free(sim);
  }
  tt_chooser_free(c);
}

static tutti_status price_in_slices(int ranks, const char *name, int slices) {
  tt_setting setting = {.ranks = ranks, .flight = TT_FLIGHT};
  tt_chooser *c;
  tt_sim *sim = NULL;
  tt_profile_net(&setting.profile);
  assert_int_equal(tt_chooser_new(&setting, &c), TUTTI_OK);
  const tutti_status status =
      tt_candidate_sim(c, plan_named(name), slices, TUTTI_ALLREDUCE, 0, false, 1 << 20, &sim);
  if (!status) tt_sim_free(sim);
  tt_chooser_free(c);
  return status;
}

/* Too many slices to simulate are refused with an error message, before memory is allocated, even if the number
 * of steps overflows 32 bits. */
static void too_many_slices_have_no_price(void **state) {
  (void)state;
  assert_int_equal(price_in_slices(2, "doubling", 4096), TUTTI_OK);
  for (int ranks = 1000; ranks < 1420; ranks++) {
    assert_int_equal(price_in_slices(ranks, "fold(ring)", 1 << 20), TUTTI_ERR_UNSUPPORTED);
    assert_non_null(strstr(tutti_error(), "in 1048576 slices"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_ends_of_four_or_more_are_shorter),
      cmocka_unit_test(slices_hold_all_elements),
      cmocka_unit_test(a_pipeline_waits_at_its_ends_only),
      cmocka_unit_test(too_many_slices_have_no_price),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
