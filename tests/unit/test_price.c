/* Simulated schedules reproduce the closed forms of the papers.
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
#include "names.h"
#include "tutti_plan.h"
static const double alpha = 3e-5, beta = 1e-8, gamma_ = 2e-10;

static tt_cost_model flat(int P) {
  tt_cost_model p;
  tt_cost_flat(&p, P);
  p.link[0] = (tt_link){.alpha = alpha, .beta = beta};
  p.gamma = gamma_;
  return p;
}

static void about(const char *what, int P, double bytes, double measured, double formula) {
  if (fabs(measured - formula) > 1e-9 * formula)
    fail_msg("%s, P = %d, %g bytes: %.12g s, not %.12g s", what, P, bytes, measured, formula);
}

/* Builds one rank's schedule, and those of the ranks that it receives from. */
static void build_few(const char *name, tt_ask ask, tt_sched **all) {
  if (tt_algo_build_named(name, &ask, &all[0])) fail_msg("%s", tutti_error());
  for (uint32_t i = 0; i < all[0]->nsteps; i++) {
    const tt_step *step = &all[0]->steps[i];
    for (int k = 0; tt_step_receives(step) && k < step->peers.count; k++) {
      ask.rank = tt_peer_rank(&step->peers, k, ask.ranks);
      if (!all[ask.rank])
        assert_int_equal(tt_algo_build_named(name, &ask, &all[ask.rank]), TUTTI_OK);
    }
  }
}

/* The time of an algorithm; either all ranks are simulated, or one for all. */
static tt_breakdown terms_of(const char *name, tutti_coll coll, const tt_cost_model *profile,
                             bool uniform, double bytes) {
  const tt_ask ask = {.coll = coll, .ranks = profile->ranks};
  tt_sched **all = uniform ? calloc((size_t)ask.ranks, sizeof *all) : NULL;
  tt_breakdown terms;
  if (uniform)
    build_few(name, ask, all);
  else if (tt_algo_build_all_named(name, &ask, &all))
    fail_msg("%s", tutti_error());
  tt_sim *play = tt_sim_new(all, profile->ranks, uniform, profile);
  if (!play || !tt_sim_run(play, bytes, &terms))
    fail_msg("%s on %d ranks cannot be played", name, profile->ranks);
  tt_sim_free(play);
  tt_sched_free_all(all, profile->ranks);
  return terms;
}

static double time_of(const char *name, const tt_cost_model *profile, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = profile->ranks};
  const bool uniform = uniform_named(name, &ask, profile->levels > 1 ? &profile->tree : NULL);
  return terms_of(name, TUTTI_ALLREDUCE, profile, uniform, bytes).time;
}

static int log_of(int P) {
  return tt_ceil_log2((uint64_t)P);
}

/* ---- paper 001 ---- */

static void equations_15_25_and_44(void **state) {
  (void)state;
  for (int P = 2; P <= 300; P++)
    for (double m = 4; m < 1e9; m *= 1000) {
      const tt_cost_model p = flat(P);
      const double u = m / P, L = log_of(P);
      about("15", P, m, time_of("fold(ring)", &p, m),
            2 * (P - 1) * alpha + 2 * (P - 1) * u * beta + (P - 1) * u * gamma_);
      about("25", P, m, time_of("fold(halving)", &p, m),
            2 * L * alpha + 2 * (P - 1) * u * beta + (P - 1) * u * gamma_);
      /* The paper's number of additions is an upper bound: equal primes and stars are computed once. On 2^n - 1
       * ranks no two are equal. */
      const double time = time_of("generalized(latency)", &p, m);
      const double most = L * alpha + P * L * u * beta + P * (P > 2 ? 2 * L - 2 : 1) * u * gamma_;
      const double least = L * alpha + P * L * u * beta + P * L * u * gamma_;
      assert_true(time <= most * (1 + 1e-9) && time >= least * (1 - 1e-9));
      if ((P & (P - 1)) == 0) about("44, additions once", P, m, time, least);
      if ((P & (P + 1)) == 0) about("44", P, m, time, most);
    }
}

/* The counts of the schedule (test_counts.c). Equation 36 is an upper bound, reached for r = 0. */
static void equation_36(void **state) {
  (void)state;
  for (int P = 3; P <= 300; P++)
    for (int r = 0; r < log_of(P); r++) {
      const tt_cost_model p = flat(P);
      const double m = 1e5, u = m / P, L = log_of(P);
      int rho = P, n = P, sent = 0, reduced = 0;
      for (int k = 0; k < (int)L - r; k++) rho = (rho + 1) / 2;
      for (bool even = true; n > 1; n = (n + 1) / 2) {
        const int half = (n + 1) / 2, star = n % 2 ? 0 : rho;
        const int prime = half > 1 ? (int)tt_min((size_t)(half + rho - 2), (size_t)P) : 0;
        even = even && n % 2 == 0;
        sent += (int)tt_min((size_t)(n - half + rho - 1), (size_t)P);
        reduced += even ? (int)tt_min((size_t)(half + rho - 1), (size_t)P) : prime + star;
      }
      char name[40];
      snprintf(name, sizeof name, "generalized(r=%d)", r);
      const double time = time_of(name, &p, m), steps = 2 * L - r, more = (1 << r) - 1;
      const double bound = steps * alpha + (2 * (P - 1) + more * (L - 1)) * u * beta +
                           (P - 1 + more * (2 * L - 2)) * u * gamma_;
      about("the counts", P, m, time,
            steps * alpha + (sent + P - rho) * u * beta + reduced * u * gamma_);
      assert_true(time <= bound * (1 + 1e-9));
      if (r == 0) about("36", P, m, time, bound);
    }
}

static double packet(int P, int r, double m) { /* equations 36 and 44: r steps fewer */
  const double u = m / P, L = log_of(P), more = (1 << r) - 1;
  if (r == (int)L) return L * alpha + P * L * u * beta + P * (2 * L - 2) * u * gamma_;
  return (2 * L - r) * alpha + (2 * (P - 1) + more * (L - 1)) * u * beta +
         (P - 1 + more * (2 * L - 2)) * u * gamma_;
}

/* Equations 37 and 44: the chosen number of steps is the nearest one, its neighbour, or all; no candidate is
 * faster. */
static void the_optimal_number_of_steps_comes_out(void **state) {
  (void)state;
  for (int P = 8; P <= 128; P *= 2) {
    tt_setting where = {.ranks = P, .flight = 3};
    tt_chooser *c;
    tt_profile_net(&where.profile);
    assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
    const int L = log_of(P);
    for (double m = 500; m < 3e5; m *= 1.3) {
      tt_override override; /* leaves only candidates of this family */
      tt_choice choice;
      tt_quote o;
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = (uint64_t)m};
      assert_int_equal(
          tt_override_parse("^consistent;^tree;^bruck;^multiplying;^elimination;^doubling;"
                            "^rabenseifner;^halving-doubling;^naive;^one-shot;^two-shot;^lanes;^"
                            "windows;^searched",
                            P, &override),
          TUTTI_OK);
      assert_int_equal(tt_choose(c, &p, &override, &choice), TUTTI_OK);
      int r = strcmp(choice.plan->text, "fold(halving)") == 0 ? 0 : L;
      sscanf(choice.plan->text, "generalized(r=%d)", &r);
      const double formula =
          log2(alpha / (m * (beta + 2 * gamma_))) + log2(P / ((log2(P) - 1) * log(2)));
      const double nearest = fmin(fmax(formula, 0), L);
      const bool all_of_them =
          r == L && packet(P, L, m) < 1.02 * packet(P, (int)(nearest + 0.5), m);
      if (choice.slices == 1 && !strstr(choice.plan->text, "=2x") && fabs(r - nearest) > 1.01 &&
          !all_of_them)
        fail_msg("P = %d, %g bytes: %s; equation 37 says %g", P, m, choice.plan->text, formula);
      double chosen = 0, best = 1e9;
      for (int i = 0; tt_quote_at(c, &p, &override, i, false, &o); i++) {
        if (!o.possible || o.ruled_out) continue;
        if (o.seconds < best) best = o.seconds;
        if (o.slices == choice.slices && !strcmp(o.plan->text, choice.plan->text))
          chosen = o.seconds;
      }
      assert_true(chosen > 0 && chosen <= best);
    }
    tt_chooser_free(c);
  }
}

/* ---- paper 002 ---- */

static tt_cost_model levels(const char *text, const double *width, bool torus) {
  tt_cost_model p;
  tt_tree tree;
  assert_int_equal(tt_tree_parse(text, &tree), TUTTI_OK);
  tt_cost_flat(&p, tree.ranks);
  p.tree = tree;
  p.levels = tree.levels;
  p.torus = torus;
  for (int l = 0; l < p.levels; l++) p.link[l] = (tt_link){.alpha = alpha, .beta = 1 / width[l]};
  return p;
}

/* Equations 1 and 2, for a stage of p ranks. */
static double ring_time(int p, double n, double width) {
  return (p - 1) * alpha + (p - 1) * n / p / width;
}
static double halving_time(int p, double n, double width) {
  return log_of(p) * alpha + (p - 1) * n / p / width;
}

static const struct {
  const char *text;
  double width[3];
} machines[] = {
    {"rack:2 node:2 core:3", {2e9, 4e9, 3e9}}, {"rack:3 node:16 core:4", {1e10, 5e9, 2e10}},
    {"rack:2 node:3 core:4", {1e9, 1e9, 1e9}}, {"rack:5 node:4 core:8", {1e10, 1.25e10, 2e10}},
    {"rack:2 node:2 core:2", {8e9, 4e9, 1e9}}, {"rack:4 node:2 core:7", {1e9, 5e9, 1e10}},
};
enum { MACHINES = sizeof machines / sizeof *machines };

/* 5 and 6: one ring through all ranks is as fast as its narrowest link. */
static void equations_5_and_6(void **state) {
  (void)state;
  for (int i = 0; i < MACHINES; i++) {
    const tt_cost_model p = levels(machines[i].text, machines[i].width, false);
    const double *w = machines[i].width, m = 1e6 * p.ranks;
    const double least = fmin(w[0], fmin(w[1], w[2]));
    const double formula = 2 * ring_time(p.ranks, m, least);
    about("5", p.ranks, m, time_of("fold(ring)", &p, m), formula);
  }
}

/* 7: reduce in the nodes (a reduce-scatter and a gather), a ring of the leaders, broadcast in the nodes. The
 * parts match the formula. Simulated together, they overlap and delay each other slightly. */
static void equation_7(void **state) {
  static const double width[] = {1.25e9, 5e9};
  (void)state;
  for (int nodes = 2; nodes <= 9; nodes++)
    for (int size = 2; size <= 16; size *= 2) {
      char text[40], name[80];
      snprintf(text, sizeof text, "node:%d core:%d", nodes, size);
      snprintf(name, sizeof name, "two-level(%s,scatter)", text);
      const tt_cost_model p = levels(text, width, false);
      const double m = 3e6;
      tt_cost_model inner = flat(size), outer = flat(nodes);
      inner.link[0] = p.link[1];
      outer.link[0] = p.link[0];
      inner.gamma = outer.gamma = 0;
      const double halving = terms_of("fold(halving)", TUTTI_REDUCE_SCATTER, &inner, false, m).time;
      const double ring = terms_of("fold(ring)", TUTTI_REDUCE_SCATTER, &inner, false, m).time;
      const double leaders = terms_of("fold(ring)", TUTTI_ALLREDUCE, &outer, false, m).time;
      const double formula = 2 * halving_time(size, m, width[1]) +
                             2 * ring_time(size, m, width[1]) + 2 * ring_time(nodes, m, width[0]);
      about("7", p.ranks, m, 2 * halving + 2 * ring + leaders, formula);
      const double whole = time_of(name, &p, m);
      if (whole < 0.85 * formula || whole > 1.15 * formula)
        fail_msg("%s: %g s, not about %g s", name, whole, formula);
      if (size == 2) about("7, as one", p.ranks, m, whole, formula);
    }
}

/* 8 and 9, and 10 on a torus: BlueConnect. Each stage is as wide as the narrowest link that its ranks share. */
static void equations_8_to_10(void **state) {
  (void)state;
  for (int torus = 0; torus < 2; torus++)
    for (int i = 0; i < 2 * MACHINES; i++) {
      const char *text = machines[i / 2].text;
      const double *width = machines[i / 2].width;
      const bool ring = i % 2;
      const tt_cost_model p = levels(text, width, torus);
      double formula = 0, m = 5e6, n = m, below = 1, least = 1e99;
      assert_int_equal(p.tree.level[0].each * p.tree.level[1].each * p.tree.level[2].each,
                       p.ranks); /* 8 */
      for (int l = 2; l >= 0; l--) {
        const int size = p.tree.level[l].each;
        least = fmin(least, width[l] / (torus && l < 1 ? p.tree.level[2].each : below));
        formula += 2 * (ring ? ring_time : halving_time)(size, n, least);
        n /= size;
        below *= size;
      }
      char name[100];
      snprintf(name, sizeof name, "blueconnect(%s,%s)", text, ring ? "ring" : "halving");
      about(torus ? "10" : "9", p.ranks, m, time_of(name, &p, m), formula);
      about("9, all ranks", p.ranks, m, terms_of(name, TUTTI_ALLREDUCE, &p, false, m).time,
            formula);
    }
}

/* ---- symmetric schedules ---- */

/* For every family that declares its schedules symmetric, the estimate from one rank equals that from all
 * ranks. */
static void one_rank_stands_for_all(void **state) {
  (void)state;
  int said = 0;
  const bool full = getenv("TUTTI_TEST_ALL");
  for (int P = 2; P <= 40; P += full || P < 10 ? 1 : 5) {
    names list = names_for(P, full ? 12 : 4, P);
    for (int i = 0; i < list.n; i++)
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
        const tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P};
        tt_cost_model p = flat(P);
        if (!uniform_named(list.at[i], &ask, NULL)) continue;
        if (P % 3 == 0) p.shm.o = 1e-6, p.shm.o_next = 3e-7, p.shm.copy = 1e-10;
        if (P % 4 == 1) p.half_duplex = true;
        said++;
        for (double m = 10; m < 1e8; m *= 1e5)
          about(list.at[i], P, m, terms_of(list.at[i], ask.coll, &p, true, m).time,
                terms_of(list.at[i], ask.coll, &p, false, m).time);
      }
    names_free(&list);
  }
  assert_true(said > 300);
}

/* ---- the simulation ---- */

static void parts_add_up_to_the_time(void **state) {
  (void)state;
  for (int P = 2; P <= 20; P += 3)
    for (int i = 0; tutti_algo_name(i, NULL); i++) {
      const char *name = tutti_algo_name(i, NULL);
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      tt_sched *s;
      if (tt_algo_build_named(name, &ask, &s)) continue;
      tt_sched_free(s);
      tt_cost_model p = flat(P);
      p.shm.o = 1e-6;
      p.shm.copy = P % 2 ? 1e-10 : 0;
      p.link[0].L = 1e-6;
      p.half_duplex = P % 3 == 0;
      p.link[0].ports = 1 + P % 2;
      p.shm.piece = P % 5 ? 0 : 1000;
      p.shm.cache = P % 3 ? 0 : 5e4;
      p.shm.far_ratio = 3;
      for (double m = 1; m < 1e9; m *= 1000) {
        const tt_breakdown t = terms_of(name, TUTTI_ALLREDUCE, &p, false, m);
        about(name, P, m, t.time, t.latency[0] + t.transfer[0] + t.o + t.copying + t.reducing);
        about(name, P, m, t.time, t.fixed + t.slope * m);
      }
    }
}

/* Curves match the simulation at other sizes, approximately where the order of events changes; also with more
 * lines than a curve holds: in slices, on hosts where ranks share cores. */
static void curves_follow_the_play(void **state) {
  (void)state;
  for (int P = 2; P <= 30; P += 7)
    for (int i = 0; tutti_algo_name(i / 4, NULL); i++) {
      const char *name = tutti_algo_name(i / 4, NULL);
      const int slices = i % 4 > 1 && P < 10 ? 4 : 1; /* long simulations run less often */
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      tt_cost_model p = flat(P);
      tt_sched **all;
      p.link[0].burst = i % 2 ? 1e5 : 0;
      if (slices > 1) p.link[0] = (tt_link){.beta = 4e-8, .o = 1e-4, .o_next = 1e-4};
      tt_curve curve;
      tt_breakdown t;
      if (tt_algo_build_all_named(name, &ask, &all)) continue;
      tt_sim *whole = tt_sim_new(all, P, false, &p);
      tt_sim *play = slices > 1 && whole ? tt_sim_slices(whole, slices, 3) : whole;
      if (play != whole) tt_sim_free(whole);
      assert_true(play && tt_price_curve(play, &curve));
      for (double m = 1; m < 1e10; m *= 3.7) {
        assert_true(tt_sim_run(play, m, &t));
        if (fabs(tt_curve_at(&curve, m) - t.time) > 0.15 * t.time)
          fail_msg("%s in %d slices, P = %d, %g bytes: %g s, not %g s", name, slices, P, m,
                   tt_curve_at(&curve, m), t.time);
      }
      tt_sim_free(play);
      tt_sched_free_all(all, P);
    }
}

/* If only copies take time, a vector larger than the cache takes as long as a larger one within it, in which
 * each byte beyond the cache counts as `beyond` bytes. */
static void bytes_beyond_the_cache_cost_more(void **state) {
  (void)state;
  static const char *const plans[] = {"two-shot", "fold(ring)", "doubling", "naive"};
  for (size_t i = 0; i < 4 * sizeof plans / sizeof *plans; i++) {
    const char *name = plans[i / 4];
    tt_cost_model near = {.ranks = 4, .levels = 1, .tree = flat(4).tree};
    near.shm = (tt_shm_costs){.copy = 1e-10, .piece = i % 2 ? 1e4 : 0, .cores = i % 4 < 2 ? 0 : 2};
    tt_cost_model far = near;
    far.shm.cache = 1e5;
    far.shm.far_ratio = 2.5;
    for (double m = 1e3; m < 1e8; m *= 1.7) {
      const double as =
          m < far.shm.cache ? m : far.shm.cache + far.shm.far_ratio * (m - far.shm.cache);
      const double time = terms_of(name, TUTTI_ALLREDUCE, &far, false, m).time;
      const double least = terms_of(name, TUTTI_ALLREDUCE, &near, false, m).time;
      if (near.shm.piece <= 0)
        about(name, 4, m, time, terms_of(name, TUTTI_ALLREDUCE, &near, false, as).time);
      assert_true(m < far.shm.cache ? time == least : time > least * (1 + 1e-9));
    }
  }
}

/* A link's burst credit makes a single message free. A series of messages takes the link's time, also if one
 * rank is simulated for all. */
static void a_burst_is_owed(void **state) {
  static const char *const some_of[] = {"fold(ring)", "fold(halving)", "two-shot", "doubling",
                                        "naive"};
  (void)state;
  for (size_t i = 0; i < sizeof some_of / sizeof *some_of; i++)
    for (int uniform = 0; uniform < (i < 3 ? 2 : 1); uniform++)
      for (double m = 64; m < 1e10; m *= 16) {
        tt_cost_model p = flat(12);
        p.gamma = 0;
        const double plain = terms_of(some_of[i], TUTTI_ALLREDUCE, &p, uniform, m).time;
        const double latency = terms_of(some_of[i], TUTTI_ALLREDUCE, &p, uniform, 0).time;
        p.link[0].burst = 1e12;
        const tt_breakdown t = terms_of(some_of[i], TUTTI_ALLREDUCE, &p, uniform, m);
        const double sent = i < 3 ? 2 * 11. / 12 : i == 3 ? 4 : 11; /* vectors of the busiest */
        about(some_of[i], 12, m, t.time, tt_partial_overlap(sent * m * beta, latency));
        about("as a line", 12, m, t.fixed + t.slope * m, t.time);
        p.link[0].burst = 1e5;
        const double jam = i ? 1.15 : 1,
                     some = terms_of(some_of[i], TUTTI_ALLREDUCE, &p, uniform, m).time;
        assert_true(some <= plain * 1.25 * jam && some >= 0.999999 * sent * m * beta);
        if (m > 1e8 && i < 3) assert_true(fabs(some - jam * plain) < 0.01 * plain);
      }
}

/* Ports, half duplex, o: each changes the time in the right direction. */
static void figures_move_the_time_their_way(void **state) {
  tt_cost_model p = flat(12), q = p;
  (void)state;
  q.half_duplex = true;
  about("half duplex", 12, 1e6, time_of("fold(ring)", &q, 1e6) - 11 * 1e6 / 12 * gamma_,
        2 * (time_of("fold(ring)", &p, 1e6) - 11 * 1e6 / 12 * gamma_));
  q = p;
  q.link[0].ports = 11;
  about("ports", 12, 0, time_of("two-shot", &p, 0), 11 * time_of("two-shot", &q, 0));
  q = p;
  q.shm.o = 1e-6;
  about("messages", 12, 0, time_of("fold(ring)", &q, 0) - time_of("fold(ring)", &p, 0), 22 * 2e-6);
  q.link[0] = (tt_link){.o = 2e-6, .o_next = 1e-6}, q.shm.o = 0;
  about("processors", 12, 0, time_of("two-shot", &q, 0), 2 * 2 * (2e-6 + 10 * 1e-6));
  q.link[0] = (tt_link){0};
  q.shm.copy = 1e-9;
  const double apart = time_of("tree(chain)", &q, 1e6); /* copied in and out, rank by rank */
  q.shm.piece = 1e4;
  const double overlapped = time_of("tree(chain)", &q, 1e6);
  about("copies", 12, 1e6, apart, 22 * 2 * 1e6 * 1e-9 + 11 * 1e6 * gamma_);
  assert_true(overlapped < 0.6 * apart && overlapped > 0.5 * apart);
  about("a tree", 12, 1e6, time_of("tree(binomial)", &p, 1e6),
        2 * 4 * (alpha + 1e6 * beta) + 4 * 1e6 * gamma_ - 1e6 * gamma_);
}

static double in_slices(const char *name, const tt_cost_model *p, int slices, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = p->ranks, .data = p->ranks};
  tt_sched **all = NULL;
  tt_breakdown t;
  tt_algo_build_all_named(name, &ask, &all);
  tt_sim *whole = tt_sim_new(all, p->ranks, false, p), *play = tt_sim_slices(whole, slices, 3);
  assert_true(tt_sim_run(play, bytes, &t));
  tt_sim_free(whole), tt_sim_free(play);
  tt_sched_free_all(all, p->ranks);
  return t.time;
}

/* With separate ports for each level, slices are sent simultaneously, but no faster than a link allows. */
static void ports_apart_let_levels_overlap(void **state) {
  static const char plan[] = "blueconnect(rack:2 node:2 core:3,seq=ring/ring/ring)";
  tt_cost_model p = levels("rack:2 node:2 core:3", (double[]){3e9, 2e9, 1.2e9}, false);
  const double whole = in_slices(plan, &p, 8, 1e9);
  p.ports_per_level = true;
  const double overlapped = in_slices(plan, &p, 8, 1e9);
  assert_true(!*state && overlapped < 0.8 * whole && overlapped >= 1.8332e9 / 1.2e9);
}

/* In two-shot each rank sends 5 messages in each of two rounds. They are sent simultaneously if the level that
 * they use has 5 ports, and one by one if only another level has them. */
static void ports_are_of_a_level(void **state) {
  (void)state;
  static const struct {
    const char *topology;
    int ports[2], alphas;
  } cases[] = {{"node:6 core:1", {1, 1}, 10}, {"node:6 core:1", {5, 1}, 2},
               {"node:6 core:1", {1, 5}, 10}, {"node:1 core:6", {5, 1}, 10},
               {"node:1 core:6", {1, 5}, 2},  {"node:2 core:3", {5, 5}, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_cost_model p = levels(cases[i].topology, (double[]){2e9, 2e9}, false);
    for (int l = 0; l < 2; l++) {
      p.link[l].alpha = 1e-6;
      p.link[l].ports = cases[i].ports[l];
    }
    about(cases[i].topology, 6, cases[i].ports[0], time_of("two-shot", &p, 0),
          1e-6 * cases[i].alphas);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equations_15_25_and_44),
      cmocka_unit_test(equation_36),
      cmocka_unit_test(the_optimal_number_of_steps_comes_out),
      cmocka_unit_test(equations_5_and_6),
      cmocka_unit_test(equation_7),
      cmocka_unit_test(equations_8_to_10),
      cmocka_unit_test(one_rank_stands_for_all),
      cmocka_unit_test(parts_add_up_to_the_time),
      cmocka_unit_test(curves_follow_the_play),
      cmocka_unit_test(bytes_beyond_the_cache_cost_more),
      cmocka_unit_test(a_burst_is_owed),
      cmocka_unit_test(figures_move_the_time_their_way),
      cmocka_unit_test(ports_apart_let_levels_overlap),
      cmocka_unit_test(ports_are_of_a_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
