/* tune_levels.c - the extra time of a cache line and of a byte at each level within this machine.
 *
 * Idea      two cores in different domains of a level send a cache line back and forth. Then the
 *           cores of a domain read the data that cores of another domain have just written. Each
 *           core has a partner, and all read simultaneously, so that they share the link. Both
 *           results are compared with those of the nearest cores, which the other parameters of
 *           shared memory describe.
 * Cost      less than a second for each level.
 * Limit     if all cores are in different domains of a level, the other parameters include it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune.h"

/* ---- selecting cores ---- */

static int first_thread_of_level(const cpu_list *l, int level, int *other) {
  for (int i = 0; i < l->n; i++)
    for (*other = i + 1; *other < l->n; ++*other)
      if (cpus_apart(l, i, *other) == level) return i;
  return -1;
}

int tune_pairs(const cpu_list *l, int level, int pair[][2], int most) {
  int b, n = 0;
  const int a = first_thread_of_level(l, level, &b);
  if (a < 0) return 0;
  if (level == CPUS_LEVELS) { /* within one domain, any two cores */
    for (int i = a, open = -1; i < l->n && n < most; i++) {
      if (cpus_apart(l, a, i) < level) continue;
      if (open >= 0) pair[n][0] = l->cpu[open], pair[n++][1] = l->cpu[i];
      open = open < 0 ? i : -1;
    }
    return n;
  }
  int i = a, k = b; /* the domains of a and b at this level, in parallel */
  for (; n < most; n++, i++, k++) {
    while (i < l->n && cpus_apart(l, a, i) <= level) i++;
    while (k < l->n && cpus_apart(l, b, k) <= level) k++;
    if (i >= l->n || k >= l->n) break;
    pair[n][0] = l->cpu[i];
    pair[n][1] = l->cpu[k];
  }
  return n;
}

/* ---- streams ---- */

enum { BYTES = 1 << 19, ROUNDS = 15, LIMIT_S = 5 };

typedef struct yard { /* shared by all processes of a measurement */
  _Alignas(128) atomic_uint arrived;
  _Alignas(128) atomic_uint round;
  double took[TUNE_PAIRS][ROUNDS];
} yard;

/* Waits until all `n` processes have called it. */
static void meet(yard *y, unsigned n, unsigned *round) {
  ++*round;
  if (atomic_fetch_add(&y->arrived, 1) + 1 == n * *round) atomic_store(&y->round, *round);
  for (unsigned looks = 0; atomic_load(&y->round) < *round;)
    if (++looks % 256 == 0) sched_yield();
}

static double read_all(const uint64_t *from) {
  uint64_t sum = 0;
  const double begin = cli_now();
  for (size_t i = 0; i < BYTES / sizeof *from; i++) sum += from[i];
  __asm__ volatile("" ::"r"(sum));
  return cli_now() - begin;
}

/* Runs one end of the i-th pair of cores. In each round, end 0 writes to the memory, and end 1 then reads it. */
static void play(yard *y, char *memory, int i, int pairs, int end) {
  unsigned round = 0;
  uint64_t *mine = (uint64_t *)(void *)(memory + (size_t)i * BYTES);
  for (int k = 0; k < ROUNDS; k++) {
    if (end == 0) memset(mine, k + 1, BYTES);
    meet(y, 2 * (unsigned)pairs, &round);
    if (end == 1) y->took[i][k] = read_all(mine);
    meet(y, 2 * (unsigned)pairs, &round);
  }
  _exit(0);
}

/* Returns the time of the fastest round. The time of a round is that of the slowest reader. */
static double best_round(const yard *y, int pairs) {
  double best = 0;
  for (int k = 1; k < ROUNDS; k++) { /* the first round places the pages */
    double last = 0;
    for (int i = 0; i < pairs; i++)
      if (y->took[i][k] > last) last = y->took[i][k];
    if (best <= 0 || last < best) best = last;
  }
  return best;
}

static double seconds_per_byte(int pair[][2], int pairs) {
  const size_t bytes = (size_t)pairs * BYTES;
  yard *y = mmap(NULL, sizeof *y, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child[2 * TUNE_PAIRS];
  int made = 0, status;
  bool ok = y != MAP_FAILED && memory != MAP_FAILED;
  for (; ok && made < 2 * pairs; made++) {
    child[made] = fork();
    if (child[made] < 0) break;
    if (child[made]) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(LIMIT_S); /* in case another process ends early */
    cpus_keep_to(pair[made / 2][made % 2]);
    play(y, memory, made / 2, pairs, made % 2);
  }
  for (int i = 0; made < 2 * pairs && i < made; i++) kill(child[i], SIGKILL); /* they would hang */
  ok = ok && made == 2 * pairs;
  for (int i = 0; i < made; i++)
    ok = waitpid(child[i], &status, 0) == child[i] && status == 0 && ok;
  const double took = ok ? best_round(y, pairs) / BYTES : 0;
  if (y != MAP_FAILED) munmap(y, sizeof *y);
  if (memory != MAP_FAILED) munmap(memory, bytes);
  return took;
}

static double seconds_of_line(int one, int other) {
  return cli_bounce_between(one, other) / 2;
}

const tune_distance tune_measured = {seconds_of_line, seconds_per_byte};

/* ---- parameters ---- */

static double known(const tune_result *r, const char *name) {
  for (int i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].name, name) == 0) return r->figure[i].value;
  return 0;
}

void tune_levels(const cpu_list *l, const tune_distance *measure, tune_result *r) {
  int pair[TUNE_PAIRS][2];
  double line = 0, byte = 0; /* for the nearest level */
  const double wake = known(r, "shm.wake");
  for (int level = CPUS_LEVELS; level >= 0; level--) {
    const int n = tune_pairs(l, level, pair, TUNE_PAIRS);
    char name[40];
    if (!n) continue;
    const double far = measure->line(pair[0][0], pair[0][1]), each = measure->byte(pair, n);
    if (line <= 0 || byte <= 0) {
      line = far;
      byte = each;
      continue;
    }
    if (far <= 0 || each <= 0) continue;
    const char *of = cpus_level[level];
    snprintf(name, sizeof name, "shm.%s.delay", of);
    tune_add(r, name, wake + (far > line ? far - line : 0),
             "s: as shm.wake, between ranks of different domains of this level");
    snprintf(name, sizeof name, "shm.%s.beta", of);
    tune_add(r, name, each > byte ? (each - byte) / n : 0,
             "s/B: a byte through the link of such a domain, while %d cores use it", n);
    tune_note(r,
              "%s: a line takes %.0f ns, and %.0f ns between the nearest cores; a KiB %.3g ns, "
              "and %.3g ns",
              of, 1e9 * far, 1e9 * line, 1024e9 * each, 1024e9 * byte);
  }
}
