/* test_receive.c - messages that wait for receives (sim_receive.c), against sums by hand: one message at a time between two
 * ranks, the messages of a rank in their order, and ports that messages share.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "choose.h"
#include "priced.h"

static const double alpha = 1e-6, beta = 1e-9, header = 48;

static tt_cost_model meeting(int ranks, double rendezvous) {
  tt_cost_model p;
  tt_cost_flat(&p, ranks);
  p.link[0] = (tt_link){.alpha = alpha, .beta = beta};
  p.header = header;
  p.rendezvous = rendezvous;
  return p;
}

/* s for which a port is busy with a message. */
static double carries(double bytes) {
  return (bytes + header) * beta;
}

/* All send to one rank at once, and all come when the last one does; it answers one after another. */
static void ports_are_shared(void **state) {
  (void)state;
  for (int ranks = 2; ranks < 9; ranks++)
    for (double bytes = 16; bytes < 1e7; bytes *= 16) {
      const tt_cost_model p = meeting(ranks, 1), q = meeting(ranks, 0);
      const double x = carries(bytes), others = ranks - 1;
      about("naive", priced("naive", &p, bytes, false), alpha + others * x + others * (alpha + x));
      about("naive, one by one", priced("naive", &q, bytes, false), 2 * others * (alpha + x));
    }
}

/* Messages of three blocks, of one and of one reach a port at different times. It is busy without a break, and each gets its part of it
 * while others are there. */
static void who_comes_later_waits_less(void **state) {
  static const char text[] =
      "tutti-schedule 1  allreduce hand P=7 blocks=7\n"
      "rank 0\n"
      "  0 recv <-1 dst[0..2]\n"
      "  1 recv <-2 dst[3]\n"
      "  2 recv <-4 dst[4]\n"
      "rank 1\n"
      "  0 send ->0 src[0..2]\n"
      "rank 2\n"
      "  0 recv <-3 dst[5]\n"
      "  1 send ->0 src[3]  after 0\n"
      "rank 3\n"
      "  0 send ->2 src[5]\n"
      "rank 4\n"
      "  0 recv <-6 dst[6]\n"
      "  1 send ->0 src[4]  after 0\n"
      "rank 5\n"
      "  0 send ->6 src[6]\n"
      "rank 6\n"
      "  0 recv <-5 dst[6]\n"
      "  1 send ->4 dst[6]  after 0\n";
  (void)state;
  tt_sched **all;
  int ranks;
  tt_breakdown t;
  tt_cost_model p = meeting(7, 1);
  p.header = 0;
  if (tt_sched_parse(text, &all, &ranks)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, 7, false, &p);
  assert_non_null(sim);
  for (double part = 4000; part < 1e6; part *= 3) {
    assert_true(tt_sim_run(sim, 7 * part, &t));
    about("three messages", t.time, alpha + 5 * part * beta);
    about("its parts", t.fixed + t.slope * 7 * part, t.time);
  }
  tt_sim_free(sim);
  tt_sched_free_all(all, ranks);
}

/* Two segments to the same rank: the second one begins when the first is there, if its bytes are enough. */
static void two_ranks_have_one_message_under_way(void **state) {
  static const double delay = 4e-6, bytes = 20000;
  (void)state;
  for (int waits = 0; waits < 2; waits++) {
    tt_cost_model p = meeting(2, waits ? bytes / 2 : bytes);
    p.link[0].ports = 2;
    p.link[0].L = delay;
    const double one = alpha + carries(bytes / 2) + delay;
    about("tree(chain,segments=2)", priced("tree(chain,segments=2)", &p, bytes, false),
          waits ? 3 * one : 2 * one);
  }
}

/* A rank could send its own block at once, but another message comes first in its schedule. */
static void messages_keep_their_order(void **state) {
  static const char text[] =
      "tutti-schedule 1  allreduce hand P=3 blocks=1\n"
      "rank 0\n"
      "  0 recv <-1 tmp[0]\n"
      "  1 send ->2 tmp[0]  after 0\n"
      "  2 send ->1 src[0]\n"
      "rank 1\n"
      "  0 send ->0 src[0]\n"
      "  1 recv <-0 dst[0]\n"
      "rank 2\n"
      "  0 recv <-0 dst[0]\n";
  (void)state;
  tt_sched **all;
  int ranks;
  if (tt_sched_parse(text, &all, &ranks)) fail_msg("%s", tutti_error());
  for (int ordered = 0; ordered < 2; ordered++)
    for (double bytes = 16; bytes < 1e6; bytes *= 16) {
      const tt_cost_model p = meeting(3, ordered);
      tt_breakdown t;
      tt_sim *sim = tt_sim_new(all, 3, false, &p);
      int rounds;
      assert_true(sim && tt_sim_run(sim, bytes, &t) && tt_sim_one_port(sim, &rounds));
      assert_int_equal(rounds, 2); /* of the schedule, however its messages are sent */
      about("two sends", t.time, (2 + ordered) * (alpha + carries(bytes)));
      about("its parts", t.fixed + t.slope * bytes, t.time);
      tt_sim_free(sim);
    }
  tt_sched_free_all(all, ranks);
}

/* Whatever waits for what, the time of each plan is the sum of its parts. */
static void parts_add_up(void **state) {
  static const char *const plans[] = {
      "two-shot",         "one-shot", "fold(ring)", "fold(ring,rings=2)",
      "halving-doubling", "bruck",    "naive",      "multiplying(radix=3)"};
  (void)state;
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    for (int way = 0; way < 8; way++) /* its bits: two ports; apart; half */
      for (double bytes = 1; bytes < 1e8; bytes *= 100) {
        const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 13};
        tt_cost_model p = meeting(13, 1);
        tt_sched **all;
        tt_breakdown t;
        p.link[0].ports = 1 + way % 2;
        p.link[0].L = way ? 2e-6 : 0;
        p.apart = way & 2;
        p.half = way & 4;
        if (tt_algo_build_all_named(plans[i], &ask, &all)) fail_msg("%s", tutti_error());
        tt_sim *whole = tt_sim_new(all, 13, false, &p),
               *sim = whole ? tt_sim_slices(whole, 3, 2) : NULL;
        assert_true(sim && tt_sim_run(whole, bytes, &t));
        about(plans[i], t.latency[0] + t.transfer[0], t.time);
        about(plans[i], t.fixed + t.slope * bytes, t.time);
        assert_true(tt_sim_run(sim, bytes, &t));
        about(plans[i], t.latency[0] + t.transfer[0], t.time);
        about(plans[i], t.fixed + t.slope * bytes, t.time);
        tt_sim_free(sim);
        tt_sim_free(whole);
        tt_sched_free_all(all, 13);
      }
}

/* A plan of many messages has a curve of few lines. Where ports are shared, times are no maximum of lines, but it is close. */
static void curves_are_close(void **state) {
  static const char figures[] =
      "alpha=1us,router.alpha=1.5us,group.alpha=2.5us,beta=100Gbit/s,router.beta=100Gbit/s,"
      "group.beta=100Gbit/s,router.pairs=1,group.pairs=1,gamma=0,header=48,rendezvous=1";
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 128};
  tt_profile f;
  tt_tree tree;
  tt_cost_model p;
  tt_sched **all;
  tt_curve curve;
  tt_breakdown t;
  (void)state;
  tt_profile_net(&f);
  if (tt_profile_parse(&f, figures, "the figures") ||
      tt_tree_parse("group:4 router:8 node:4", &tree))
    fail_msg("%s", tutti_error());
  tt_cost_net(&f, 128, &tree, &p);
  if (tt_algo_build_all_named("transposed(group=4x8x4,parts=1)", &ask, &all))
    fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, 128, false, &p);
  assert_true(sim && tt_price_curve(sim, &curve));
  for (double bytes = 1; bytes < 1e8; bytes *= 2) {
    assert_true(tt_sim_run(sim, bytes, &t));
    const double off = tt_curve_at(&curve, bytes) / t.time - 1;
    if (fabs(off) > 0.1) fail_msg("%g bytes: the curve is %.1f %% off", bytes, 100 * off);
  }
  tt_sim_free(sim);
  tt_sched_free_all(all, 128);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ports_are_shared),
      cmocka_unit_test(who_comes_later_waits_less),
      cmocka_unit_test(two_ranks_have_one_message_under_way),
      cmocka_unit_test(messages_keep_their_order),
      cmocka_unit_test(parts_add_up),
      cmocka_unit_test(curves_are_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
