/* transposed: its counts, its refusals, the same bits in rank order, and the estimate of its parts.
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

/* For these sizes: the maximum number of messages that a core sends, rounds between domains, and blocks of the
 * vector. */
static const struct {
  const char *group, *levels;
  int ranks, messages, between, blocks;
} cases[] = {
    {"2x2", "node:2 core:2", 4, 3, 1, 1},
    {"4x4", "node:4 core:4", 16, 5, 1, 1},
    {"16x4", "node:16 core:4", 64, 8, 2, 1},
    {"3x4", "node:3 core:4", 12, 6, 1,
     1}, /* one core is in no set, and gets the sum from another */
    {"5x5", "node:5 core:5", 25, 9, 1, 1},
    {"8x8", "node:8 core:8", 64, 7, 1, 1},
    {"3x16x4", "rack:3 node:16 core:4", 192, 12, 3, 1},
    {"2x3x6", "rack:2 node:3 core:6", 36, 8, 2, 1},
    {"4x4,parts=1", "node:4 core:4", 16, 8, 2, 4},
    {"16x4,parts=1", "node:16 core:4", 64, 11, 3, 4},
    {"16x4,parts=2", "node:16 core:4", 64, 14, 4, 16},
    {"3x4,parts=1", "node:3 core:4", 12, 9, 2, 3}, /* four cores pass their parts to three */
    {"2x8,parts=1", "node:2 core:8", 16, 9, 2, 8}, /* four sets of two cores */
    {"5x5,parts=1", "node:5 core:5", 25, 14, 2, 5},
    /* the core in no set gets its sum after the last message of the second half: one more round */
    {"3x16x4,parts=2", "rack:3 node:16 core:4", 192, 18, 6, 16},
    {"3x16x4,parts=3", "rack:3 node:16 core:4", 192, 21, 7, 48},
    {"2x3x6,parts=2", "rack:2 node:3 core:6", 36, 14, 4, 12},
};

static void its_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int in_place = 0; in_place < 2; in_place++) {
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks, .in_place = in_place};
      char name[NAME];
      tutti_report r;
      snprintf(name, sizeof name, "transposed(group=%s)", cases[i].group);
      if (!names_prove(name, &ask, &r)) fail_msg("%s: %s", name, r.witness);
      assert_true(r.rank_order && r.same_grouping);
      if (r.messages != cases[i].messages || r.blocks != cases[i].blocks)
        fail_msg("%s: %d messages, not %d; %d blocks, not %d", name, r.messages, cases[i].messages,
                 r.blocks, cases[i].blocks);
    }
}

/* A machine with a case's levels and these figures, and the plan's name. */
static tt_chooser *chooser_of(size_t i, const char *figures, char name[NAME]) {
  tt_setting s = {.ranks = cases[i].ranks, .flight = TT_FLIGHT};
  tt_chooser *c;
  snprintf(s.levels, sizeof s.levels, "%s", cases[i].levels);
  snprintf(name, NAME, "transposed(group=%s)", cases[i].group);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, figures, "the figures")) fail_msg("%s", tutti_error());
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  return c;
}

/* Only the waits between domains cost anything: one for each swap. */
static void few_waits_between_domains(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_sim *sim;
    tt_breakdown b;
    char name[NAME];
    tt_chooser *c = chooser_of(i, "gamma=0,alpha=1us,beta=0,core.alpha=0", name);
    assert_int_equal(tt_candidate_sim(c, plan_named(name), 1, TUTTI_ALLREDUCE, 0, false, 8, &sim),
                     TUTTI_OK);
    assert_true(tt_sim_run(sim, 8, &b));
    if (b.time < 0.999e-6 * cases[i].between || b.time > 1.001e-6 * cases[i].between)
      fail_msg("%s: %g s between domains, not %d us", name, b.time, cases[i].between);
    tt_sim_free(sim);
    tt_chooser_free(c);
  }
}

/* On many ranks the parts are estimated one after the other. */
static void parts_cost_what_the_whole_does(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks};
    tt_level_stage list[TT_STAGES];
    tt_sim *whole, *parts = NULL;
    char name[NAME];
    tt_chooser *c = chooser_of(i, "", name);
    assert_int_equal(tt_candidate_sim(c, plan_named(name), 1, TUTTI_ALLREDUCE, 0, false, 8, &whole),
                     TUTTI_OK);
    const tt_cost_model *model = tt_chooser_model(c);
    const int n = stages_named(name, &ask, &model->tree, list);
    assert_true(n >= 3);
    for (int k = 0; k < n; k++) {
      tt_cost_model of;
      tt_sim *part;
      assert_true(tt_cost_stage(model, list[k].level, list[k].ranks, &of));
      if (tt_stage_sim(&list[k], &of, &part))
        fail_msg("%s: %s: %s", name, list[k].plan->text, tutti_error());
      tt_sim_append(&parts, part, list[k].part, model, list[k].level);
    }
    for (double bytes = 8; bytes < 1e6; bytes *= 16) {
      tt_breakdown a, b;
      assert_true(tt_sim_run(whole, bytes, &a) && tt_sim_run(parts, bytes, &b));
      if (b.time < 0.98 * a.time || b.time > 1.15 * a.time)
        fail_msg("%s, %g bytes: %g s, in parts %g", name, bytes, a.time, b.time);
    }
    tt_sim_free(whole);
    tt_sim_free(parts);
    tt_chooser_free(c);
  }
}

/* The receiver of a core's i-th message within its node, counted from the node's first core; -1: fewer
 * messages. */
static int reader_of(const tt_sched *s, int node, int i) {
  for (uint32_t k = 0; k < s->nsteps; k++) {
    const tt_step *step = &s->steps[k];
    for (int e = 0; step->kind == TT_SEND && e < step->peers.count; e++) {
      const int peer = tt_peer_rank(&step->peers, tt_send_turn(s, step, e), s->ranks);
      if (peer != s->rank && peer / node == s->rank / node && i-- == 0) return peer % node;
    }
  }
  return -1;
}

/* Cores that are in no set start at different positions and go in the opposite direction, so that no two cores
 * stay in step. */
static void no_two_cores_go_the_same_way(void **state) {
  static const struct {
    int nodes, cores, set;
  } uneven[] = {{3, 4, 3}, {5, 7, 5}, {4, 6, 4}, {8, 20, 16}, {3, 20, 18}};
  (void)state;
  for (size_t i = 0; i < sizeof uneven / sizeof *uneven; i++) {
    const int set = uneven[i].set, cores = uneven[i].cores;
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = uneven[i].nodes * cores};
    char name[NAME];
    tt_sched **all;
    snprintf(name, sizeof name, "transposed(group=%dx%d,parts=1)", uneven[i].nodes, cores);
    assert_int_equal(tt_algo_build_all_named(name, &ask, &all), TUTTI_OK);
    for (int r = cores; r < 2 * cores; r++) {
      const int step = r % cores < set ? 1 : set - 1; /* upwards or downwards */
      const int begin = r % cores < set ? r % cores + 1 : (r % cores - set) * set / (cores - set);
      for (int k = 0; k < set - (r % cores < set); k++)
        if (reader_of(all[r], cores, k) != (begin + k * step) % set)
          fail_msg("%s: rank %d hands a part to core %d, not %d", name, r,
                   reader_of(all[r], cores, k), (begin + k * step) % set);
    }
    tt_sched_free_all(all, ask.ranks);
  }
}

static void wrong_groups_are_refused_in_words(void **state) {
  static const names_refusal wrong[] = {
      {"transposed(group=36)", "at least two sizes", TUTTI_ALLREDUCE},
      {"transposed(group=5x7)", "whose product is P", TUTTI_ALLREDUCE},
      {"transposed(group=18x2)", "fewer than a prime factor", TUTTI_ALLREDUCE},
      {"transposed(group=3x2x6,parts=1)", "fewer cores than a later swap", TUTTI_ALLREDUCE},
      {"transposed(group=6x6,parts=2)", "parts is a number of swaps", TUTTI_ALLREDUCE},
      {"transposed(group=6x6)", "fold, ", TUTTI_REDUCE_SCATTER},
  };
  (void)state;
  assert_true(names_all_refused(wrong, sizeof wrong / sizeof *wrong, 36));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(its_counts),
      cmocka_unit_test(few_waits_between_domains),
      cmocka_unit_test(parts_cost_what_the_whole_does),
      cmocka_unit_test(no_two_cores_go_the_same_way),
      cmocka_unit_test(wrong_groups_are_refused_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
