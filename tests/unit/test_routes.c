/* Routes: which links messages use in fat trees and dragonflies. Estimates by one rank, by stages and of all
 * ranks agree on these networks.
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
#include "chooser_of.h"
#include "topologies.h"

static const char fat_tree[] = "alpha=1us,beta=100Gbit/s,gamma=0,leaf.alpha=2us,leaf.paths=4";
static const char dragonfly[] =
    "alpha=1us,beta=100Gbit/"
    "s,gamma=0,router.alpha=2us,router.pairs=1,group.alpha=3us,group.pairs=1";

static void links_of_messages(void **state) {
  (void)state;
  static const struct {
    const char *levels, *figures;
    uint32_t sender, reader;
    int level; /* of the domains */
    bool inward;
    size_t which;
    double links;
  } cases[] = {
      {"leaf:4 node:8", fat_tree, 3, 13, 0, false, 1, 1}, /* 13 mod 4, out of leaf 0 */
      {"leaf:4 node:8", fat_tree, 3, 13, 0, true, 1, 1},  /* and into leaf 1 */
      {"leaf:4 node:8", fat_tree, 3, 31, 0, false, 3, 1},
      {"leaf:4 node:8", fat_tree, 3, 7, 0, false, 0, 0},  /* it stays in the leaf */
      {"leaf:4 node:8", fat_tree, 3, 13, 1, false, 0, 1}, /* a node has one link */
      /* 4 groups of 4 routers of 2: rank 3 is in router 1 of group 0, rank 22 in router 3 of group 2 */
      {"group:4 router:4 node:2", dragonfly, 3, 22, 0, false, 2, 1}, /* to group 2 */
      {"group:4 router:4 node:2", dragonfly, 3, 22, 0, true, 0, 1},  /* from group 0 */
      {"group:4 router:4 node:2", dragonfly, 3, 22, 1, false, 2, 1}, /* through router 2 */
      {"group:4 router:4 node:2", dragonfly, 3, 22, 1, true, 0, 1},  /* coming by router 0 */
      {"group:4 router:4 node:2", dragonfly, 4, 22, 1, false, 2, 0}, /* it is at router 2 */
      {"group:4 router:4 node:2", dragonfly, 3, 16, 1, true, 0, 0},  /* router 0 is the end */
      {"group:4 router:4 node:2", dragonfly, 3, 6, 1, false, 3, 1},  /* within the group */
      {"group:4 router:4 node:2", dragonfly, 3, 6, 1, true, 1, 1},
      {"group:4 router:4 node:2", dragonfly, 3, 6, 0, false, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_chooser *c = chooser_of(cases[i].levels, cases[i].figures);
    const tt_cost_model *model = tt_chooser_model(c);
    uint32_t *domains = tt_cost_domains(model);
    const tt_sim_message d = {.sender = cases[i].sender,
                              .reader = cases[i].reader,
                              .level = (uint8_t)tt_cost_level(model, domains, (int)cases[i].sender,
                                                              (int)cases[i].reader)};
    const tt_links is = tt_links_of(model, cases[i].level, &d, cases[i].inward);
    if (is.count != cases[i].links || (is.count > 0 && is.which != cases[i].which))
      fail_msg("case %zu: link %zu, %g of them", i, is.which, is.count);
    free(domains);
    tt_chooser_free(c);
  }
}

/* The time of a shift of all ranks by `by`, as a schedule of one step. */
static double shift_takes(const tt_cost_model *model, int by, double bytes) {
  const int P = model->ranks;
  tt_sched **all = calloc((size_t)P, sizeof *all);
  tt_breakdown t;
  for (int r = 0; r < P; r++) {
    tt_builder b;
    tt_build_begin(&b, "shift", TUTTI_ALLREDUCE, P, r, 0, false, 1);
    tt_send(&b, (r + by) % P, tt_block(TT_SRC, 0));
    tt_recv(&b, (r + P - by) % P, tt_block(TT_DST, 0));
    all[r] = tt_build_end(&b);
    assert_non_null(all[r]);
  }
  tt_sim *sim = tt_sim_new(all, P, false, model);
  assert_non_null(sim);
  assert_true(tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, P);
  return t.time;
}

/* How many messages share the busiest link. */
static void messages_share_links(void **state) {
  (void)state;
  static const struct {
    const char *levels, *figures;
    int by, sharers;
    double alpha;
  } cases[] = {
      {"leaf:4 node:8", fat_tree, 8, 2, 2e-6},            /* 8 nodes over 4 paths */
      {"leaf:4 node:8", fat_tree, 1, 1, 2e-6},            /* one of them leaves the leaf */
      {"leaf:4 node:6", fat_tree, 6, 2, 2e-6},            /* 6 over 4 */
      {"group:4 router:4 node:2", dragonfly, 8, 8, 3e-6}, /* a group's 8 nodes over one link */
      {"group:4 router:4 node:2", dragonfly, 2, 2,
       3e-6}, /* routers to the next one; a router's 2 to the next group */
      {"group:4 router:4 node:2", dragonfly, 1, 1, 3e-6},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_chooser *c = chooser_of(cases[i].levels, cases[i].figures);
    const double bytes = 1e6, one = bytes / 12.5e9;
    const double takes = shift_takes(tt_chooser_model(c), cases[i].by, bytes);
    const double wanted = cases[i].alpha + cases[i].sharers * one;
    if (fabs(takes / wanted - 1) > 1e-6)
      fail_msg("case %zu: %g us, not %g", i, 1e6 * takes, 1e6 * wanted);
    tt_chooser_free(c);
  }
}

/* The estimate by stages equals the simulation of all ranks, within 1 %. */
static void all_ways_agree(void **state) {
  (void)state;
  static const char *const plans[] = {"blueconnect(%s,stages=fold(halving)/fold(halving)%s)",
                                      "blueconnect(%s,stages=fold(ring)/fold(halving)%s)",
                                      "blueconnect(%s,stages=doubling/fold(ring)%s)"};
  static const char *const nets[][3] = {{"leaf:4 node:8", fat_tree, ""},
                                        {"leaf:8 node:16", fat_tree, ""},
                                        {"group:4 router:4 node:2", dragonfly, "/fold(halving)"},
                                        {"group:4 router:8 node:4", dragonfly, "/fold(halving)"}};
  for (size_t n = 0; n < sizeof nets / sizeof *nets; n++)
    for (size_t k = 0; k < sizeof plans / sizeof *plans; k++) {
      tt_chooser *c = chooser_of(nets[n][0], nets[n][1]);
      const tt_cost_model *model = tt_chooser_model(c);
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = model->ranks};
      char name[NAME];
      snprintf(name, sizeof name, plans[k], nets[n][0], nets[n][2]);
      tt_sched **all;
      tt_sim *stages;
      if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
      tt_sim *whole = tt_sim_new(all, model->ranks, false, model);
      assert_int_equal(
          tt_candidate_sim(c, plan_named(name), 1, TUTTI_ALLREDUCE, 0, false, 8, &stages),
          TUTTI_OK);
      for (double bytes = 1024; bytes <= 1 << 24; bytes *= 64) {
        tt_breakdown a, b;
        assert_true(tt_sim_run(whole, bytes, &a) && tt_sim_run(stages, bytes, &b));
        if (fabs(b.time / a.time - 1) > 0.01)
          fail_msg("%s, %s, %g bytes: %g us, by stages %g", nets[n][0], name, bytes, 1e6 * a.time,
                   1e6 * b.time);
      }
      tt_sim_free(whole);
      tt_sim_free(stages);
      tt_sched_free_all(all, model->ranks);
      tt_chooser_free(c);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_of_messages),
      cmocka_unit_test(messages_share_links),
      cmocka_unit_test(all_ways_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
