/* Cost estimates for ranks that share cores: they run alternately, and no core is idle while there is work.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "cost.h"
#include "names.h"
#include "tutti_plan.h"

static tt_breakdown terms_of(const char *name, tt_sched *const *all, const tt_cost_model *profile,
                             double bytes) {
  tt_breakdown terms;
  tt_sim *play = tt_sim_new(all, profile->ranks, false, profile);
  if (!play || !tt_sim_run(play, bytes, &terms))
    fail_msg("%s on %d ranks cannot be played", name, profile->ranks);
  tt_sim_free(play);
  return terms;
}

static double time_of(const char *name, const tt_cost_model *profile, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = profile->ranks};
  tt_sched **all;
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  const double time = terms_of(name, all, profile, bytes).time;
  tt_sched_free_all(all, profile->ranks);
  return time;
}

/* Work that one rank does for all leaves the other cores idle. In naive the root sums, then all ranks read the
 * sum, the ranks of a core one after the other. For very many ranks the work is assumed to be spread evenly. */
static void on_shared_cores_work_takes_turns(void **state) {
  (void)state;
  for (int P = 2; P <= 40; P++)
    for (int cores = 1; cores < P && cores < 6; cores++) {
      tt_cost_model p;
      tt_cost_flat(&p, P);
      p.shm.copy = 1e-10;
      p.shm.exported = true;
      p.shm.cores = cores;
      const double m = 1e6, once = m * p.shm.copy, reads = P - 1, root = reads * once;
      const double turns = root + ceil(reads / cores) * once;
      const double even = fmax(2 * reads * once / cores, root + once);
      const double time = time_of("naive", &p, m), expected = P <= 32 ? turns : even;
      if (fabs(time - expected) > 1e-9 * expected)
        fail_msg("naive, %d ranks on %d cores: %g s, not %g s", P, cores, time, expected);
    }
}

static int messages_of(tt_sched *const *all) {
  int n = 0;
  for (int r = 0; r < all[0]->ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++) {
      const tt_step *step = &all[r]->steps[i];
      for (int k = 0; step->kind == TT_SEND && k < step->peers.count; k++)
        n += tt_peer_rank(&step->peers, k, all[r]->ranks) != r;
    }
  return n;
}

/* Without latencies, one core does all the work, at either end of each message, one after the
 * other. Several cores are not idle while there is work: they take no longer than an even share
 * plus the longest chain, which is at most the time with a core per rank (Graham 1969). With all
 * other costs, too, the parts add up to the whole. */
static void ranks_that_migrate_leave_no_core_idle(void **state) {
  (void)state;
  const double once = 2e-6;
  for (size_t i = 0; tutti_algo_name(i, NULL); i++)
    for (int P = 2; P <= 13; P++) {
      const char *name = tutti_algo_name(i, NULL);
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      tt_sched **all;
      if (tt_algo_build_all_named(name, &ask, &all)) continue;
      const double work = 2 * once * messages_of(all);
      tt_cost_model p;
      tt_cost_flat(&p, P);
      p.shm.migrates = true;
      p.link[0] = (tt_link){.o = once, .o_next = once};
      const double own = terms_of(name, all, &p, 0).time;
      for (int cores = 1; cores < P && cores < 5; cores++) {
        p.shm.cores = cores;
        const tt_breakdown t = terms_of(name, all, &p, 0);
        if (t.time < work / cores * (1 - 1e-9) ||
            t.time > (work / cores + own * (cores - 1) / cores) * (1 + 1e-9))
          fail_msg("%s, %d ranks on %d cores: %g s of %g s of work; %g s on as many cores as ranks",
                   name, P, cores, t.time, work, own);
        if (fabs(t.o - t.time) > 1e-9 * t.time || fabs(t.fixed - t.time) > 1e-9 * t.time)
          fail_msg("%s, %d ranks on %d cores: %g s, of which %g s are work", name, P, cores, t.time,
                   t.o);
      }
      p.link[0] = (tt_link){.alpha = 1e-6, .L = 5e-6, .beta = 1e-9, .o = once, .o_next = once / 2};
      p.gamma = 1e-10;
      p.shm.cores = 2;
      for (double bytes = 4; P > 2 && bytes < 1e6; bytes *= 32) {
        const tt_breakdown t = terms_of(name, all, &p, bytes);
        const double sum = t.latency[0] + t.transfer[0] + t.o + t.copying + t.reducing;
        if (fabs(sum - t.time) > 1e-9 * t.time ||
            fabs(t.fixed + t.slope * bytes - t.time) > 1e-9 * t.time)
          fail_msg("%s, %d ranks on 2 cores, %g B: %g s, but its parts are %g s", name, P, bytes,
                   t.time, sum);
      }
      tt_sched_free_all(all, P);
    }
}

/* naive: the root is done when all messages to it were sent and received, on any core. Then it sends to each
 * rank in turn, and the last one receives. */
static void of_naive_others_work_for_the_root(void **state) {
  (void)state;
  const double once = 2e-6;
  for (int P = 3; P <= 30; P++)
    for (int cores = 2; cores < P && cores < 6; cores++) {
      tt_cost_model p;
      tt_cost_flat(&p, P);
      p.shm.migrates = true;
      p.shm.cores = cores;
      p.link[0] = (tt_link){.o = once, .o_next = once};
      const double both = 2. * (P - 1) / cores, least = (both + P) * once;
      const double most = (ceil(both) + 2 + P) * once, time = time_of("naive", &p, 0);
      if (time < least * (1 - 1e-9) || time > most * (1 + 1e-9))
        fail_msg("naive, %d ranks on %d cores: %g s, not %g to %g s", P, cores, time, least, most);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_shared_cores_work_takes_turns),
                                     cmocka_unit_test(ranks_that_migrate_leave_no_core_idle),
                                     cmocka_unit_test(of_naive_others_work_for_the_root)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
