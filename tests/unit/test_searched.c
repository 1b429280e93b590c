/* Searched schedules: each entry of the table is an allreduce in T rounds with one port that sends as many
 * blocks as the table says, and no other family sends fewer blocks in T rounds.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "cost.h"
#include "names.h"
#include "tutti_plan.h"

static const struct entry {
  int ranks, rounds, sends, stories, least;
} table[] = {
#define STORY(ranks, rounds, sends, stories, least, group, tree, moves) \
  {ranks, rounds, sends, stories, least},
#include "algo_searched.def"
};
enum { ENTRIES = sizeof table / sizeof *table, FEWEST = 3, MOST = 8 };

static int one_port_rounds(const char *name, const tt_ask *ask) {
  tt_cost_model model;
  tt_sched **all;
  int rounds;
  tt_cost_flat(&model, ask->ranks);
  model.link[0] = (tt_link){.alpha = 1};
  if (tt_algo_build_all_named(name, ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, ask->ranks, false, &model);
  assert_true(sim && tt_sim_one_port(sim, &rounds));
  tt_sim_free(sim);
  tt_sched_free_all(all, ask->ranks);
  return rounds;
}

static void entries_keep_their_counts(void **state) {
  (void)state;
  for (int i = 0; i < ENTRIES; i++)
    for (int in_place = 0; in_place < 2; in_place++) {
      const struct entry *x = &table[i];
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = x->ranks, .in_place = in_place};
      char name[40];
      tutti_report r;
      snprintf(name, sizeof name, "searched(T=%d)", x->rounds);
      if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, x->ranks, r.witness);
      if (!r.same_grouping || r.messages != x->rounds || r.blocks != x->ranks ||
          r.sent_blocks != x->sends || one_port_rounds(name, &ask) != x->rounds)
        fail_msg("%s on %d ranks: %d messages, %d of %d blocks sent", name, x->ranks, r.messages,
                 (int)r.sent_blocks, r.blocks);
      assert_true(x->sends >= x->stories && x->stories >= x->least);
      assert_true(x->least >= 2 * (x->ranks - 1));
    }
}

/* Every number of ranks has entries from the minimum number of rounds up to where no symmetric schedule can
 * send less. */
static void the_table_is_whole(void **state) {
  (void)state;
  for (int P = FEWEST, i = 0; P <= MOST; P++) {
    const int first = i, few = tt_ceil_log2((uint64_t)P);
    for (; i < ENTRIES && table[i].ranks == P; i++) {
      assert_int_equal(table[i].rounds, few + i - first);
      if (i > first) assert_true(table[i].sends < table[i - 1].sends);
    }
    assert_true(i > first);
    assert_true(table[i - 1].sends == 2 * (P - 1) || table[i - 1].rounds == 2 * few);
  }
}

/* The number of vectors that a plan sends, if the prover finds the same bits on all ranks and all ranks
 * contribute data; *rounds: its rounds with one port. */
static double vectors_sent(const char *name, int P, int *rounds) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
  tutti_report r;
  if (strncmp(name, "aggregate(", 10) == 0) return 1e9;
  if (!names_prove(name, &ask, &r) || !r.same_grouping) return 1e9;
  *rounds = one_port_rounds(name, &ask);
  return (double)r.sent_blocks / r.blocks;
}

static void no_family_sends_less(void **state) {
  (void)state;
  for (int P = FEWEST; P <= MOST; P++) {
    names list = names_for(P, -1, 0);
    for (int k = 0; k < list.n; k++) {
      int rounds = 0;
      const double sent = vectors_sent(list.at[k], P, &rounds);
      for (int i = 0; i < ENTRIES; i++)
        if (table[i].ranks == P && rounds <= table[i].rounds && sent * P < table[i].sends - 1e-9)
          fail_msg("%s on %d ranks: %d rounds, %g blocks, fewer than searched(T=%d)", list.at[k], P,
                   rounds, sent * P, table[i].rounds);
    }
    names_free(&list);
  }
}

static void the_fewest_rounds_are_the_default(void **state) {
  (void)state;
  for (int P = FEWEST; P <= MOST; P++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .rank = P - 1};
    char name[40];
    tt_sched *short_form, *named;
    snprintf(name, sizeof name, "searched(T=%d)", tt_ceil_log2((uint64_t)P));
    assert_int_equal(tt_algo_build_named("searched", &ask, &short_form), TUTTI_OK);
    assert_int_equal(tt_algo_build_named(name, &ask, &named), TUTTI_OK);
    assert_true(short_form->nsteps == named->nsteps);
    for (uint32_t i = 0; i < named->nsteps; i++)
      assert_memory_equal(&short_form->steps[i], &named->steps[i], sizeof *named->steps);
    tt_sched_free(short_form);
    tt_sched_free(named);
  }
}

static void what_is_not_in_the_table_is_refused(void **state) {
  static const names_refusal at_six[] = {
      {"searched(T=17)", "more rounds send no fewer bytes", TUTTI_ALLREDUCE},
      {"searched(T=2)", "fewer rounds are too few", TUTTI_ALLREDUCE},
      {"searched(T=x)", "T is a number of rounds", TUTTI_ALLREDUCE},
  };
  static const names_refusal at_nine = {"searched", "3 to 8 ranks", TUTTI_ALLREDUCE};
  (void)state;
  assert_true(names_all_refused(at_six, sizeof at_six / sizeof *at_six, 6));
  assert_true(names_all_refused(&at_nine, 1, 9));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_keep_their_counts),
      cmocka_unit_test(the_table_is_whole),
      cmocka_unit_test(no_family_sends_less),
      cmocka_unit_test(the_fewest_rounds_are_the_default),
      cmocka_unit_test(what_is_not_in_the_table_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
