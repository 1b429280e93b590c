/* `tutti tune` measured with the cores at several distances and uses the points of one distance;
 * measurements that are not known to be quiet are called noisy; the fit finds figures far from its
 * start; and a bounce measures without side effects.
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
      /* ten rounds of one launch weigh less than four each of two launches */
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
    const char *words;        /* at the end of the note */
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
      strcpy(at[i].plan, plans[i]);
    }
    tune_fit(&(tune_points){at, 4}, false, cli_now() + 10, &r);
    assert_int_equal(r.notes, 2);
    const size_t all = strlen(r.note[1]), n = strlen(cases[c].words);
    assert_true(all > n);
    assert_string_equal(r.note[1] + all - n, cases[c].words);
    assert_non_null(strstr(r.note[0], "4 times of plans; prices are off by a factor of"));
  }
}

/* The times are the prices of figures far from the fit's start: it finds such prices again. */
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
            strcpy(p->plan, plans[k]);
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
  assert_non_null(strstr(late.note[0], "the time was over"));
  assert_null(strstr(r.note[0], "the time was over"));
  assert_int_equal(late.figures, r.figures);
  int moved = 0;
  for (int i = 0; i < r.figures; i++) moved += r.figure[i].value != late.figure[i].value;
  assert_true(moved > 0 && late.figure[0].value == 1e-7); /* where it began */
}

static void a_bounce_measures_and_leaves_nothing(void **state) {
  (void)state;
  cpu_set_t before, after, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const double far = cli_bounce();
  assert_true(CPU_COUNT(&before) < 2 ? far == 0 : far > 1e-9 && far < 1e-3);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
  /* bound to one core: the launcher's cores count */
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_true(CPU_COUNT(&before) < 2 || cli_bounce() > 1e-9);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_true(cli_bounce_near(1e-7, 1.2e-7) && cli_bounce_near(1.2e-7, 1e-7));
  assert_false(cli_bounce_near(1e-7, 1.3e-7) || cli_bounce_near(0, 0) || cli_bounce_near(-1, -1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(points_of_one_distance_are_taken),
      cmocka_unit_test(what_is_not_known_to_be_quiet_is_noisy),
      cmocka_unit_test(figures_far_from_the_start_are_found),
      cmocka_unit_test(the_spread_is_that_of_the_middle_half),
      cmocka_unit_test(the_descent_ends_when_the_time_is_over),
      cmocka_unit_test(a_bounce_measures_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
