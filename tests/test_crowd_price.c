/* The price of ranks that share cores: whose turn it is.
 * Alone: no
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "names.h"
#include "price.h"

static double time_of(const char *name, const tt_profile *profile, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = profile->ranks};
  tt_sched **all;
  tt_terms terms;
  if (tt_algo_build_all(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_play *play = tt_play_new(all, profile->ranks, false, profile);
  if (!play || !tt_play_at(play, bytes, &terms))
    fail_msg("%s on %d ranks can not be played", name, profile->ranks);
  tt_play_free(play);
  tt_sched_free_all(all, profile->ranks);
  return terms.time;
}

/* What one rank does for all keeps the other cores idle: the sum of naive is its root's, then all read it, a
 * core's ranks one after the other. Of very many ranks the work is thought to be spread evenly. */
static void on_shared_cores_work_takes_turns(void **state) {
  (void)state;
  for (int P = 2; P <= 40; P++)
    for (int cores = 1; cores < P && cores < 6; cores++) {
      tt_profile p;
      tt_profile_flat(&p, P);
      p.copy = 1e-10;
      p.lent = true;
      p.cores = cores;
      const double m = 1e6, once = m * p.copy, reads = P - 1, root = reads * once;
      const double turns = root + ceil(reads / cores) * once;
      const double even = fmax(2 * reads * once / cores, root + once);
      const double time = time_of("naive", &p, m), expected = P <= 32 ? turns : even;
      if (fabs(time - expected) > 1e-9 * expected)
        fail_msg("naive, %d ranks on %d cores: %g s, not %g s", P, cores, time, expected);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_shared_cores_work_takes_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
