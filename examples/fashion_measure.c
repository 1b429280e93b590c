/* fashion_measure.c - measures how much communication overlaps with computation, and the cost of
 * the naive plan.
 *
 * Idea      The same training steps run in four variants, which are interleaved, so that noise
 *           disturbs all of them equally. The result is the median of the rounds. The hidden share
 *           of a round is 1 - (time in wait) / (time of the same sums, blocking); the program shows
 *           the median over the rounds.
 * Honest    Sums also advance inside start and test. That time is not waiting, but it is not free
 *           either, so the program prints it together with the duration of the whole step, which is
 *           what the user notices. "No core" is the time when a rank was ready to run but had
 *           no core, because of other ranks or programs. The other times include it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fashion.h"

enum { WAYS = 4, ROUNDS = 11, STEPS = 20, WARM = 3, FIGURES = 5 };
enum { STEP, IN_WAIT, IN_PROGRESS, IN_BLOCKING, NO_CORE }; /* the values, in ms per step */

typedef struct way {
  const char *name, *algo;
  bool blocking;
  double figures[FIGURES][ROUNDS];
  double median[FIGURES];
} way;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values) {
  double sorted[ROUNDS];
  memcpy(sorted, values, sizeof sorted);
  qsort(sorted, ROUNDS, sizeof *sorted, ascending);
  return sorted[ROUNDS / 2];
}

/* Returns the seconds during which this thread was ready to run but had no core, or 0 if the system does not report this time. */
static double without_core(void) {
  double ran = 0, waited = 0;
  FILE *file = fopen("/proc/self/schedstat", "r");
  if (!file) return 0;
  if (fscanf(file, "%lf %lf", &ran, &waited) != 2) waited = 0;
  fclose(file);
  return waited * 1e-9;
}

static void steps(trainer *t, int count) {
  for (int i = 0; i < count; i++) trainer_step(t);
  trainer_settle(t);
}

/* Runs one round. The results are means over the ranks. */
static void one_round(trainer *t, way *w, int round) {
  exchange *x = &t->exchange;
  must(tutti_comm_configure(t->comm,
                            &(tutti_config){.size = sizeof(tutti_config), .algorithm = w->algo}),
       w->name);
  x->blocking = w->blocking;
  steps(t, WARM);
  must(tutti_barrier(t->comm), "barrier");
  memset(&x->spent, 0, sizeof x->spent);
  double begin = now(), before = without_core();
  steps(t, STEPS);
  double mine[FIGURES] = {now() - begin, x->spent.wait, x->spent.progress, x->spent.blocking,
                          without_core() - before};
  must(tutti_comm_configure(t->comm, &(tutti_config){.size = sizeof(tutti_config)}), "configure");
  must(tutti_allreduce(t->comm, mine, mine, FIGURES, TUTTI_DOUBLE, TUTTI_AVG), "summing times");
  for (int f = 0; f < FIGURES; f++) w->figures[f][round] = mine[f] / STEPS * 1e3;
}

static void print_ways(const trainer *t, const way *ways) {
  size_t bytes = 0;
  for (int l = 0; l < LAYERS; l++) bytes += t->net.layers[l].count * sizeof(float);
  printf(
      "%d ranks, %zu sums a step, %zu KiB in all: ms a step, mean over ranks, median of %d "
      "rounds\n",
      t->ranks, exchange_sums(&t->exchange), bytes / 1024, ROUNDS);
  printf("  %-27s %7s %8s %8s %12s %8s\n", "", "step", "blocked", "in wait", "start, test",
         "no core");
  for (int i = 0; i < WAYS; i++) {
    const double *m = ways[i].median;
    printf("  %-27s %7.3f ", ways[i].name, m[STEP]);
    if (ways[i].blocking)
      printf("%8.3f %8s %12s", m[IN_BLOCKING], "-", "-");
    else
      printf("%8s %8.3f %12.3f", "-", m[IN_WAIT], m[IN_PROGRESS]);
    printf(" %8.3f\n", m[NO_CORE]);
  }
}

static void print_hidden(const trainer *t, const way *over, const way *block) {
  double hidden[ROUNDS], whole[ROUNDS], step[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double blocked = block->figures[IN_BLOCKING][r], wait = over->figures[IN_WAIT][r];
    hidden[r] = 100 * (1 - wait / blocked);
    whole[r] = 100 * (1 - (wait + over->figures[IN_PROGRESS][r]) / blocked);
    step[r] = 100 * (over->figures[STEP][r] / block->figures[STEP][r] - 1);
  }
  qsort(hidden, ROUNDS, sizeof *hidden, ascending);
  printf(
      "  hidden at %d ranks, 1 - in wait / blocked: %.0f %% (half of the rounds: %.0f to %.0f "
      "%%)\n",
      t->ranks, median(hidden), hidden[ROUNDS / 4], hidden[ROUNDS - 1 - ROUNDS / 4]);
  printf("  with the work in start and test counted as well: %.0f %%; the step is %.0f %% %s\n",
         median(whole), fabs(median(step)), median(step) < 0 ? "shorter" : "longer");
}

void measure(trainer *t) {
  way ways[WAYS] = {{.name = "overlapped, tutti's choice"},
                    {.name = "blocking,   tutti's choice", .blocking = true},
                    {.name = "blocking,   fold(ring)", .algo = "fold(ring)", .blocking = true},
                    {.name = "blocking,   naive", .algo = "naive", .blocking = true}};
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < WAYS; i++) one_round(t, &ways[i], round);
  for (int i = 0; i < WAYS; i++)
    for (int f = 0; f < FIGURES; f++) ways[i].median[f] = median(ways[i].figures[f]);
  if (t->rank != 0) return;
  print_ways(t, ways);
  if (t->ranks > 1) print_hidden(t, &ways[0], &ways[1]);
}
