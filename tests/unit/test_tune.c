/* `tutti tune` measured at several core distances uses the points of one distance. Measurements that are not
 * known to be quiet are called noisy. The fit finds parameters far from its start. A bounce has no side
 * effects. Each level within a machine is measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "../cli/tune.h"
#include "tutti_plan.h"

enum { MOST = 8 };

/* Distances in ns; the points of a launch are adjacent. */
static void points_of_one_distance_are_taken(void **state) {
  (void)state;
  static const struct {
    struct {
      int launch, rounds, far;
    } point[MOST];
    int far, kept[MOST]; /* the distance; the indices of its points, ended by -1 */
  } cases[] = {
      {{{0, 5, 100}}, 100, {0, -1}},
      {{{0, 5, 45}, {0, 3, 100}, {1, 2, 100}, {2, 9, 98}}, 100, {1, 2, 3, -1}},
      /* many rounds of one launch weigh less than four each of two launches */
      {{{0, 99, 45}, {0, 4, 500}, {1, 4, 520}}, 500, {1, 2, -1}},
      /* a launch without that distance keeps its most frequent one */
      {{{0, 9, 45}, {1, 9, 45}, {2, 1, 100}, {2, 7, 500}}, 45, {0, 1, 3, -1}},
      /* unknown: all points */
      {{{0, 3, 0}, {1, 3, 0}}, 0, {0, 1, -1}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    tune_point at[MOST];
    tune_points all = {at, 0};
    for (; all.n < MOST && cases[c].point[all.n].rounds; all.n++)
      at[all.n] = (tune_point){.launch = cases[c].point[all.n].launch,
                               .rounds = cases[c].point[all.n].rounds,
                               .far = 1e-9 * cases[c].point[all.n].far,
                               .bytes = (size_t)all.n};
    assert_true(tune_far(&all) == 1e-9 * cases[c].far);
    for (int i = 0; i < all.n; i++) assert_int_equal(all.at[i].bytes, cases[c].kept[i]);
    assert_int_equal(cases[c].kept[all.n], -1);
  }
  tune_points none = {NULL, 0};
  assert_true(tune_far(&none) == 0 && none.n == 0);
}

static void what_is_not_known_to_be_quiet_is_noisy(void **state) {
  (void)state;
  static const char *const plans[] = {"naive", "one-shot", "doubling", "fold(ring)"};
  static const struct {
    int rounds[4], spread[4]; /* %; of four plans */
    const char *words;        /* the end of the note */
  } cases[] = {
      {{9, 9, 9, 9}, {4, 4, 4, 4}, "rounds of a plan, 9.0 each, differ by 4 % in the mean"},
      {{9, 9, 9, 9}, {0, 0, 0, 60}, "9.0 each, differ by 15 % in the mean"},
      {{9, 9, 9, 9}, {0, 0, 60, 60}, "differ by 30 % in the mean" TUNE_NOISY},
      /* the spread of one round is 0 and means nothing */
      {{1, 1, 1, 1}, {0}, "1.0 each, are too few to say how they differ" TUNE_NOISY},
      {{2, 6, 2, 6},
       {0, 10, 0, 10},
       "4.0 each, differ by 10 % in the mean, 2 of 4 plans had fewer than 3" TUNE_NOISY},
      {{2, 6, 6, 6},
       {0, 9, 9, 9},
       "5.0 each, differ by 9 % in the mean, 1 of 4 plans had fewer than 3"},
      {{2, 6, 6, 6},
       {0, 9, 9, 99},
       "differ by 39 % in the mean, 1 of 4 plans had fewer than 3" TUNE_NOISY},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    tune_point at[4];
    tune_result r = {.figures = 0};
    for (int i = 0; i < 4; i++) {
      at[i] = (tune_point){.ranks = 2, .crowd = 1, .bytes = 64, .seconds = 1e-6};
      at[i].rounds = cases[c].rounds[i];
      at[i].spread = cases[c].spread[i] / 100.0;
      at[i].plan = plans[i];
    }
    tune_fit(&(tune_points){at, 4}, false, cli_now() + 10, &r);
    assert_int_equal(r.notes, 2);
    const size_t all = strlen(r.note[1]), n = strlen(cases[c].words);
    assert_true(all > n);
    assert_string_equal(r.note[1] + all - n, cases[c].words);
    assert_non_null(strstr(r.note[0], "4 times of plans; estimates are off by a factor of"));
  }
}

/* The times are the estimates of a profile far from the fit's start. The fit must reproduce these estimates. */
static void figures_far_from_the_start_are_found(void **state) {
  (void)state;
  static const char *const plans[] = {"one-shot", "two-shot",   "naive",
                                      "doubling", "fold(ring)", "bruck(radix=4)"};
  enum { PLANS = sizeof plans / sizeof *plans, SIZES = 6 };
  static const char *const figures[2] = {
      "shm.wake=9e-7\nshm.message=5e-7\nshm.copy=1.5e-10\nshm.loop.message=6e-7\nshm.loop.copy=9e-"
      "11\n",
      "shm.turn=2e-5\nshm.crowd.message=4e-7\nshm.crowd.copy=3e-10\nshm.crowd.loop.copy=2.5e-10\n"};
  for (int crowd = 0; crowd < 2; crowd++) {
    tune_point at[PLANS * SIZES];
    tune_points all = {at, 0};
    const tutti_question q = {.size = sizeof q,
                              .ranks = crowd ? 4 : 2,
                              .type = TUTTI_FLOAT,
                              .op = TUTTI_SUM,
                              .net = figures[crowd],
                              .crowd = crowd ? 2 : 1};
    tutti_prices *prices = NULL;
    assert_int_equal(tutti_prices_make(&q, &prices), TUTTI_OK);
    for (int s = 0; s < SIZES; s++) {
      tutti_offer o = {.size = sizeof o};
      const size_t bytes = (size_t)4 << 4 * s;
      for (int i = 0; !tutti_prices_offer(prices, bytes, i, 0, &o); i++)
        for (int k = 0; k < PLANS; k++)
          if (o.possible && o.slices == 1 && strcmp(o.name, plans[k]) == 0) {
            tune_point *p = &at[all.n++];
            *p = (tune_point){.ranks = q.ranks,
                              .rounds = 9,
                              .crowd = q.crowd,
                              .bytes = bytes,
                              .seconds = o.seconds};
            p->plan = plans[k];
          }
    }
    tutti_prices_free(prices);
    assert_true(all.n > SIZES * 4);
    tune_result r = {.figures = 0};
    tune_fit(&all, crowd, cli_now() + 60, &r);
    int near = 0;
    assert_non_null(strstr(r.note[0], "within 1.3 for "));
    assert_int_equal(sscanf(strstr(r.note[0], "within 1.3 for "), "within 1.3 for %d", &near), 1);
    if (near < 90) fail_msg("%s", r.note[0]);
  }
}

static void the_spread_is_that_of_the_middle_half(void **state) {
  (void)state;
  static const struct {
    double numbers[7];
    size_t n;
    double spread;
  } cases[] = {{{5}, 1, 0},
               {{2, 1}, 2, 0.5},
               {{9, 4, 4}, 3, 1.25},
               {{4, 900, 5, 3, 0.1}, 5, 0.5},
               {{7, 1, 2, 3, 4, 5, 6}, 7, 0.75}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    double numbers[7];
    memcpy(numbers, cases[c].numbers, sizeof numbers);
    assert_true(cli_spread(numbers, cases[c].n) == cases[c].spread);
  }
}

static void the_descent_ends_when_the_time_is_over(void **state) {
  (void)state;
  tune_point at[] = {{.ranks = 2, .crowd = 1, .bytes = 64, .seconds = 6e-7, .plan = "naive"},
                     {.ranks = 2, .crowd = 1, .bytes = 64, .seconds = 9e-7, .plan = "doubling"}};
  tune_result late = {.figures = 0}, r = late;
  tune_fit(&(tune_points){at, 2}, false, cli_now() - 1, &late);
  tune_fit(&(tune_points){at, 2}, false, cli_now() + 60, &r);
  assert_non_null(strstr(late.note[0], "the time ran out"));
  assert_null(strstr(r.note[0], "the time ran out"));
  assert_int_equal(late.figures, r.figures);
  int moved = 0;
  for (int i = 0; i < r.figures; i++) moved += r.figure[i].value != late.figure[i].value;
  assert_true(moved > 0 && late.figure[0].value == 1e-7); /* the starting point */
}

static void a_bounce_measures_and_leaves_nothing(void **state) {
  (void)state;
  cpu_set_t before, after, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const double far = cli_bounce();
  assert_true(CPU_COUNT(&before) < 2 ? far == 0 : far > 1e-9 && far < 1e-3);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child process remains */
  /* bound to one core: the launcher's cores count */
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_true(CPU_COUNT(&before) < 2 || cli_bounce() > 1e-9);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_true(cli_bounce_near(1e-7, 1.2e-7) && cli_bounce_near(1.2e-7, 1e-7));
  assert_false(cli_bounce_near(1e-7, 1.3e-7) || cli_bounce_near(0, 0) || cli_bounce_near(-1, -1));
}

/* ---- levels within a machine, with simulated cores ---- */

enum { CORES = 16 };
static int cores[CORES];
static tutti_net_site sites[CORES];

/* A core is a word: its package, NUMA node and cache. */
static cpu_list machine_of(const char *words) {
  cpu_list list = {0, cores, sites};
  for (; *words; words += strcspn(words, " "), words += strspn(words, " ")) {
    cores[list.n] = list.n;
    sites[list.n++] = (tutti_net_site){.package = words[0], .numa = words[1], .cache = words[2]};
  }
  return list;
}

static int apart_of(int one, int other) {
  return cpus_apart(&(cpu_list){CORES, cores, sites}, one, other);
}
static double made_up_line(int one, int other) {
  return 1e-9 * (double[]){900, 500, 300, 100}[apart_of(one, other)];
}
static double made_up_byte(int pair[][2], int pairs) {
  const int level = apart_of(pair[0][0], pair[0][1]);
  for (int i = 0; i < pairs; i++) assert_int_equal(apart_of(pair[i][0], pair[i][1]), level);
  return 1e-9 * (1 + pairs * (double[]){4, 2, 1, 0}[level]);
}

static void each_level_is_measured(void **state) {
  static const char *const names[] = {"shm.package.delay", "shm.package.beta", "shm.numa.delay",
                                      "shm.numa.beta",     "shm.cache.delay",  "shm.cache.beta"};
  static const struct {
    const char *cores;
    double figure[6]; /* ns, ns/B; < 0: not measured */
    int pairs[4];     /* at each level, and in a domain */
  } cases[] = {
      {"aax aax aax aax", {-1, -1, -1, -1, -1, -1}, {0, 0, 0, 2}},
      {"aax aax aay aay", {-1, -1, -1, -1, 220, 1}, {0, 0, 2, 1}},
      {"aax aax aay aay abx abx aby aby bax bax bay bay bbx bbx bby bby",
       {820, 4, 420, 2, 220, 1},
       {8, 4, 2, 1}},
      {"aax aax bax bax bax", {820, 4, -1, -1, -1, -1}, {2, 0, 0, 1}},
      {"aax aay abx aby", {-1, -1, 220, 1.5, -1, -1}, {0, 2, 1, 0}}, /* nearest: one NUMA node */
      {"aax bax", {-1, -1, -1, -1, -1, -1}, {1, 0, 0, 0}},
      {"aax", {-1, -1, -1, -1, -1, -1}, {0, 0, 0, 0}},
  };
  const tune_distance made_up = {made_up_line, made_up_byte};
  (void)state;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const cpu_list list = machine_of(cases[c].cores);
    tune_result r = {.figures = 0};
    int pair[TUNE_PAIRS][2], some = 0;
    tune_add(&r, "shm.wake", 20e-9, "s");
    tune_levels(&list, &made_up, &r);
    for (int level = 0; level <= CPUS_LEVELS; level++)
      assert_int_equal(tune_pairs(&list, level, pair, TUNE_PAIRS), cases[c].pairs[level]);
    for (int f = 0; f < 6; f++) {
      double value = -1;
      for (int i = 0; i < r.figures; i++)
        if (strcmp(r.figure[i].name, names[f]) == 0) value = 1e9 * r.figure[i].value;
      some += value >= 0;
      if (value - cases[c].figure[f] > 1e-6 || cases[c].figure[f] - value > 1e-6)
        fail_msg("%s: %s is %g", cases[c].cores, names[f], value);
    }
    assert_int_equal(r.figures, 1 + some);
    assert_int_equal(2 * r.notes, some);
  }
}

/* On this machine's cores, whatever they share; repeated if other programs use them. */
static void distances_are_measured(void **state) {
  (void)state;
  cpu_list list = cpus_allowed();
  if (list.n >= 2) {
    int pair[1][2] = {{list.cpu[0], list.cpu[1]}};
    bool measured = false;
    for (int i = 0; i < 9 && !measured; i++) {
      const double line = tune_measured.line(list.cpu[0], list.cpu[1]),
                   byte = tune_measured.byte(pair, 1);
      measured = line > 1e-9 && line < 1e-2 && byte > 1e-13 && byte < 1e-6;
    }
    assert_true(measured);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  }
  cpus_free(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points_of_one_distance_are_taken),
      cmocka_unit_test(what_is_not_known_to_be_quiet_is_noisy),
      cmocka_unit_test(figures_far_from_the_start_are_found),
      cmocka_unit_test(the_spread_is_that_of_the_middle_half),
      cmocka_unit_test(the_descent_ends_when_the_time_is_over),
      cmocka_unit_test(a_bounce_measures_and_leaves_nothing),
      cmocka_unit_test(each_level_is_measured),
      cmocka_unit_test(distances_are_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
