/* tune_far.c - selects the points of one distance among points measured at several distances of the
 * cores.
 *
 * Idea      the hypervisor migrates virtual CPUs, and no parameters hold both for near and for far
 *           cores. The distance that occurred in most launches is chosen. A launch in which it did
 *           not occur keeps its most frequent distance.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tune.h"

enum { ENOUGH = 4 }; /* rounds of a launch that count; more rounds do not add weight */

/* Returns the core distance to use for this launch. This is `far` or near it if the launch measured there, otherwise
 * the distance with the most rounds. Sets *rounds to the number of rounds at the returned distance. */
static double seen(const tune_points *all, int launch, double far, int *rounds) {
  double most = 0;
  *rounds = -1;
  for (int i = 0; i < all->n; i++) {
    const tune_point *p = &all->at[i];
    if (p->launch != launch) continue;
    if (cli_bounce_near(p->far, far)) {
      *rounds = p->rounds;
      return p->far;
    }
    if (p->rounds > *rounds) *rounds = p->rounds, most = p->far;
  }
  return most;
}

/* Returns the number of rounds that all launches together measured at the distance `far`. */
static int weight(const tune_points *all, int launches, double far) {
  int sum = 0, rounds;
  for (int l = 0; l < launches; l++)
    if (cli_bounce_near(seen(all, l, far, &rounds), far)) sum += rounds < ENOUGH ? rounds : ENOUGH;
  return sum;
}

double tune_far(tune_points *all) {
  const int launches = all->n ? all->at[all->n - 1].launch + 1 : 0;
  int best = 0, kept = 0, rounds;
  double far = 0;
  for (int i = 0; i < all->n; i++) {
    if (i && all->at[i].far == all->at[i - 1].far) continue;
    const int here = weight(all, launches, all->at[i].far);
    if (here > best) best = here, far = all->at[i].far;
  }
  double of[TUNE_LAUNCHES];
  for (int l = 0; l < launches && l < TUNE_LAUNCHES; l++) of[l] = seen(all, l, far, &rounds);
  for (int i = 0; i < all->n; i++)
    if (all->at[i].launch < TUNE_LAUNCHES && all->at[i].far == of[all->at[i].launch])
      all->at[kept++] = all->at[i];
  all->n = kept;
  return far;
}
