/* Mutants: every algorithm's schedules with one change. A mutant that the prover accepts must compute the right
 * result in every order tried, which shows that the prover refuses mutants that compute wrong results or hang.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "names.h"
#include "simulate.h"
#include "tutti_plan.h"

enum { ORDERS = 6 };

typedef enum mutation {
  DROP,
  SWAP,
  REDIRECT,
  SHRINK,
  SHIFT,
  DOUBLE,
  OTHER_BUFFER,
  OTHER_KIND,
  OTHER_SIDE,
  UNORDER,
  FORGET,
  MUTATIONS
} mutation;
static const char *const mutation_names[MUTATIONS] = {"drop",
                                                      "swap",
                                                      "redirect",
                                                      "shrink",
                                                      "shift",
                                                      "double",
                                                      "other buffer",
                                                      "other kind",
                                                      "other side",
                                                      "remove a dependency",
                                                      "remove all dependencies"};

static struct { long made, refused, harmless, harmful_simulated; } tally;

/* Removes step i, or inserts a copy after it; the order of the others stays. */
static void renumber(tt_sched *s, uint32_t i, int by) {
  uint32_t n = s->nsteps, out = 0;
  uint32_t *at = calloc(n + 3, sizeof *at), *after = calloc(2 * s->after_at[n] + 8, sizeof *after);
  tt_step *steps = calloc(n + 2, sizeof *steps);
  uint32_t made = 0;
  for (uint32_t k = 0; k < n; k++) {
    if (by < 0 && k == i) continue;
    for (int copies = by > 0 && k == i ? 2 : 1; copies; copies--) {
      steps[made] = s->steps[k];
      at[made++] = out;
      for (uint32_t d = s->after_at[k]; d < s->after_at[k + 1]; d++) {
        uint32_t before = s->after[d];
        if (by < 0 && before == i) continue;
        after[out++] = before > i ? (uint32_t)((int)before + by) : before;
      }
    }
  }
  at[made] = out;
  free(s->steps);
  free(s->after_at);
  free(s->after);
  s->steps = steps;
  s->after_at = at;
  s->after = after;
  s->nsteps = made;
}

static void swap_steps(tt_sched *s, uint32_t i) {
  tt_step t = s->steps[i];
  s->steps[i] = s->steps[i + 1];
  s->steps[i + 1] = t;
}

static void remove_order(tt_sched *s, uint32_t i, bool all) {
  uint32_t lo = s->after_at[i], hi = s->after_at[i + 1], gone = all ? hi - lo : 1;
  memmove(s->after + lo, s->after + lo + gone,
          (s->after_at[s->nsteps] - lo - gone) * sizeof *s->after);
  for (uint32_t k = i + 1; k <= s->nsteps; k++) s->after_at[k] -= gone;
}

static tt_span *cargo(tt_step *step) {
  return step->kind == TT_SEND ? &step->own : &step->dst;
}

static void reshape(tt_step *step, int shrink, int shift) {
  tt_span *spans[] = {&step->dst, &step->own, &step->in};
  for (int k = 0; k < 3; k++) {
    if (shrink && spans[k]->count > 1) spans[k]->count--;
    if (shift) spans[k]->first = (spans[k]->first + 1) % spans[k]->ring;
  }
}

/* False if the mutation does not apply. */
static bool mutate(tt_sched *s, uint32_t i, mutation m) {
  tt_step *step = &s->steps[i];
  switch (m) {
    case DROP: renumber(s, i, -1); return true;
    case DOUBLE: renumber(s, i, 1); return true;
    case SWAP:
      if (i + 1 == s->nsteps) return false;
      swap_steps(s, i);
      return true;
    case REDIRECT:
      step->peers.first = (step->peers.first + 1) % s->ranks;
      return !tt_step_local(step) && step->peers.count < s->ranks;
    case SHRINK: reshape(step, 1, 0); return cargo(step)->count > 0;
    case SHIFT:
      if (cargo(step)->ring < 2) return false;
      reshape(step, 0, 1);
      return true;
    case OTHER_BUFFER:
      cargo(step)->buf = (cargo(step)->buf + 1) % 3;
      s->tmp_blocks = (uint32_t)tt_max(s->tmp_blocks, s->blocks);
      return true;
    case OTHER_KIND:
      if (!tt_step_receives(step) || step->peers.count > 1) return false;
      step->kind = step->kind == TT_RECV ? TT_RECV_REDUCE : TT_RECV;
      step->own = step->dst;
      return true;
    case OTHER_SIDE: step->completes = !step->completes; return step->kind != TT_SEND;
    case UNORDER:
    case FORGET:
      if (s->after_at[i] == s->after_at[i + 1]) return false;
      remove_order(s, i, m == FORGET);
      return true;
    default: return false;
  }
}

/* The order can be derived only where the blocks exist (the parser ensures that). */
static bool inside(const tt_sched *s, const tt_span *span) {
  for (uint32_t i = 0; i < tt_span_size(span); i++)
    if (tt_span_block(span, i) >= (span->buf == TT_TMP ? s->tmp_blocks : s->blocks)) return false;
  return true;
}

static bool derivable(const tt_sched *s) {
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (!inside(s, &s->steps[i].dst) || !inside(s, &s->steps[i].own) || !inside(s, &s->steps[i].in))
      return false;
  return true;
}

static void judge(tt_sched **all, int ranks, const char *what) {
  tutti_report report = {.size = sizeof report};
  assert_int_equal(tt_prove(all, ranks, &report), TUTTI_OK);
  tally.made++;
  bool harmful = false;
  for (uint64_t seed = 1; seed <= ORDERS && !harmful; seed++) {
    outcome o = simulate(all, ranks, (delivery)(seed % DELIVERIES), seed * 77);
    if (o == RIGHT) continue;
    harmful = true;
    if (report.proven)
      fail_msg("%s: the prover accepts what %s", what,
               o == WRONG ? "computes a wrong result" : "hangs");
  }
  if (!report.proven) assert_true(report.witness[0] != 0);
  tally.refused += !report.proven;
  tally.harmless += !harmful;
  tally.harmful_simulated += harmful;
}

static void mutants_of(const char *name, const tt_ask *ask) {
  tt_sched **all;
  if (tt_algo_build_all_named(name, ask, &all)) return;
  for (int r = 0; r < ask->ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++)
      for (int m = 0; m < MUTATIONS; m++)
        for (int derive = 0; derive < 2; derive++) {
          tt_sched *good = all[r], *bad = clone_schedule(good);
          if (mutate(bad, i, (mutation)m) && (!derive || (m != UNORDER && m != FORGET))) {
            char what[200];
            snprintf(what, sizeof what, "%s %s P=%d%s: rank %d step %u: %s%s", name,
                     tutti_coll_name(ask->coll), ask->ranks, ask->in_place ? " in place" : "", r, i,
                     mutation_names[m], derive ? ", order derived" : "");
            if (!derive || (derivable(bad) && !tt_derive_order(bad))) {
              all[r] = bad;
              judge(all, ask->ranks, what);
            }
          }
          all[r] = good;
          tt_sched_free(bad);
        }
  tt_sched_free_all(all, ask->ranks);
}

static void every_mutant_is_refused_or_right(void **state) {
  (void)state;
  const bool thorough = getenv("TUTTI_TEST_ALL") != NULL;
  for (int P = 2; P <= (thorough ? 8 : 6); P++)
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (int in_place = 0; in_place < 2 && coll != TUTTI_BARRIER; in_place++) {
        if (!thorough && in_place != (P + coll) % 2 && coll != TUTTI_BARRIER) continue;
        tt_ask ask = {.coll = (tutti_coll)coll,
                      .ranks = P,
                      .root = tt_coll_rooted((tutti_coll)coll) ? P - 1 : 0,
                      .in_place = in_place};
        names list = names_for(P, thorough ? -1 : 2, P);
        for (int a = 0; a < list.n; a++) mutants_of(list.at[a], &ask);
        names_free(&list);
      }
  print_message("# %ld mutants: %ld refused; %ld do harm in %d orders, all of them refused\n",
                tally.made, tally.refused, tally.harmful_simulated, ORDERS);
  assert_true(tally.made > 5000);
  assert_true(tally.harmful_simulated > tally.made / 2);
}

static void what_is_right_simulates_right(void **state) {
  const uint64_t seeds = getenv("TUTTI_TEST_ALL") ? 20 : 7;
  (void)state;
  for (int P = 1; P <= 12; P++) {
    names list = names_for(P, 12, P);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (int in_place = 0; in_place < 2; in_place++)
        for (int a = 0; a < list.n; a++) {
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
          tt_sched **all;
          if (tt_algo_build_all_named(list.at[a], &ask, &all)) continue;
          for (uint64_t seed = 1; seed < seeds; seed++)
            assert_int_equal(simulate(all, P, (delivery)(seed % DELIVERIES), seed), RIGHT);
          tt_sched_free_all(all, P);
        }
    names_free(&list);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_right_simulates_right),
      cmocka_unit_test(every_mutant_is_refused_or_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
