/* test_one_for_all.c - symmetric schedules, for which one rank is simulated for all. The estimate equals that
 * of all ranks, for every plan of every family, on every kind of network. The two estimates are only close
 * where ranks send several messages simultaneously and share links, or routes depend on rank numbers, because
 * the loads of the links then differ.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "by_name.h"
#include "chooser_of.h"
#include "names.h"
#include "sim.h"
#include "tutti_plan.h"

#define LINK "alpha=1us,beta=10Gbit/s,gamma=0"

static const char *const more[] = {"", ",ports=2", ",ports=4"};

static const struct {
  const char *levels, *figures;
  double near; /* with several ports */
} nets[] = {
    {"core:12", LINK, 0},
    {"node:12 core:1", LINK ",node.pairs=1", 0},
    {"node:16 core:1", LINK ",node.pairs=1,node.alpha=2us", 0},
    {"node:12 core:1", LINK ",node.paths=3", 0},
    {"node:3 core:4", LINK ",node.alpha=2us", 0.3},
    {"node:4 core:4", LINK ",node.pairs=1", 0},
    {"node:4 core:4", LINK ",node.paths=2", 0.3},
    {"rack:2 node:4 core:2", LINK ",node.pairs=1,rack.pairs=1", 0.1},
    {"rack:3 node:3 core:2", LINK ",node.paths=2,rack.paths=3", 0},
    {"rack:4 node:4 core:1", LINK ",node.pairs=1,rack.pairs=1", 0.1},
    {"x:4 y:4 core:1", LINK ",torus=1", 0.45},
    {"x:4 y:3 core:1", LINK ",torus=1,hop=100ns", 0.3},
    {"x:3 y:3 core:2", LINK ",torus=1", 0},
};

static double takes(const char *name, const tt_ask *ask, const tt_cost_model *model, bool one,
                    double bytes) {
  tt_sched **all;
  tt_breakdown t;
  if (tt_algo_build_all_named(name, ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, ask->ranks, one, model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, ask->ranks);
  return t.time;
}

static void one_rank_takes_as_long_as_all(void **state) {
  int compared = 0, wrong = 0;
  (void)state;
  for (size_t k = 0; k < 3 * sizeof nets / sizeof *nets; k++) {
    const size_t n = k / 3;
    char figures[200];
    snprintf(figures, sizeof figures, "%s%s", nets[n].figures, more[k % 3]);
    tt_chooser *c = chooser_of(nets[n].levels, figures);
    const tt_cost_model *model = tt_chooser_model(c);
    names list = names_for(model->ranks, -1, 0);
    names_add_plans(&list, model->ranks, nets[n].levels);
    for (int i = 0; i < list.n; i++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
        const tt_ask ask = {.coll = (tutti_coll)coll, .ranks = model->ranks};
        if (!uniform_named(list.at[i], &ask, model->levels > 1 ? &model->tree : NULL)) continue;
        for (double bytes = 64; bytes <= 1 << 24; bytes *= 512) {
          const double one = takes(list.at[i], &ask, model, true, bytes);
          const double all = takes(list.at[i], &ask, model, false, bytes);
          compared++;
          if (fabs(one / all - 1) <= (k % 3 ? nets[n].near : 0) + 1e-6) continue;
          wrong++;
          print_error("%s with %s: %s, %s, %g bytes: %g us, by one rank %g\n", nets[n].levels,
                      figures, list.at[i], tutti_coll_name(ask.coll), bytes, 1e6 * all, 1e6 * one);
        }
      }
    names_free(&list);
    tt_chooser_free(c);
  }
  if (compared < 1000 || wrong) fail_msg("%d of %d differ", wrong, compared);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_rank_takes_as_long_as_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
