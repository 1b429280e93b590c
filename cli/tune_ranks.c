/* tune_ranks.c - times plans on ranks that share memory, so that the model can be fitted to them.
 *
 * Idea      a few plans are chosen that together depend on every parameter: with many and few
 *           messages, with one and many readers, with fast paths and steps. They are timed
 *           alternately (survey.h), at one size after the other, and this is repeated until the
 *           time limit. It ends earlier if most of the time has passed and the rounds of nearly all
 *           plans agree. It does not end before that, because rounds within one second may agree
 *           and still differ from those of the next.
 * Time      is checked after each size. Small and large sizes alternate, so that a slow machine,
 *           which does not have time for all sizes, has measured some of each.
 * Cores     If the hypervisor migrates virtual CPUs, one machine behaves like several. Rounds are
 *           therefore collected separately for each distance (tune_far.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "ranked.h"
#include "tune.h"
#include "tutti_plan.h"

static const char *const families[] = {"one-shot",      "two-shot",       "naive",
                                       "doubling",      "bruck",          "fold(ring)",
                                       "fold(halving)", "tree(binomial)", "multiplying"};
static const size_t sizes[] = {4,        1 << 10,   4 << 10, 16 << 10,
                               64 << 10, 256 << 10, 1 << 20, 4 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, APART = 3, PLANS = 12, ROUNDS = 6, ALL = 128 };
#define SMALL_SPREAD 0.1

typedef struct place { /* the state of one size */
  bench_buffers m;
  bench_call call;
  survey_plan plan[PLANS];
  int plans;
} place;

static bool wanted(const char *name, int nth) {
  if (nth < 3) return true; /* the cheapest plans, according to the current estimates */
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strncmp(name, families[i], strlen(families[i])) == 0) return true;
  return false;
}

static tutti_status prepare(const bench_job *job, const bench_options *o, tutti_prices *prices,
                            size_t bytes, place *p) {
  survey_plan *all = calloc(ALL, sizeof *all);
  if (!all) return TUTTI_ERR_MEMORY;
  const int n = survey_list(prices, bytes, all, ALL);
  for (int i = 0; i < n && p->plans < PLANS; i++)
    if (wanted(all[i].name, i)) p->plan[p->plans++] = all[i];
  free(all);
  tutti_status status = bench_acquire(job, o, bytes, &p->m);
  if (status) return status;
  memset(p->m.a, 0, bytes);
  memset(p->m.b, 0, bytes);
  p->call = bench_call_of(job, o, bytes / sizeof(float), bytes, &p->m, true);
  return TUTTI_OK;
}

static bool settled(const place *all) {
  int plans = 0, wide = 0;
  for (int s = 0; s < SIZES; s++)
    for (int i = 0; i < all[s].plans; i++) {
      if (!all[s].plan[i].runs) continue;
      plans++;
      wide += all[s].plan[i].spread > SMALL_SPREAD || all[s].plan[i].rounds < ROUNDS;
    }
  return wide * 10 < plans;
}

static tutti_status until(const bench_job *job, const bench_options *o, double end, double seconds,
                          place *all) {
  double left = seconds;
  tutti_status status = TUTTI_OK;
  for (int k = 0; left > 0 && !status && (left > seconds / 3 || !settled(all)); k++) {
    place *p = &all[k * APART % SIZES];
    if (p->plans) status = survey_time(job, o, &p->call, NULL, p->plan, p->plans, true, 6);
    left = end - cli_now();
    if (!status) status = tutti_allreduce(job->talk, &left, &left, 1, TUTTI_DOUBLE, TUTTI_MIN);
  }
  return status;
}

/* Collects the different core distances of all rounds, and returns their number. If the distances are unknown, the
 * result is a single distance of 0. */
static int distances(const place *all, double far[SURVEY_ROUNDS * SIZES]) {
  int n = 0, apart = 0;
  for (int s = 0; s < SIZES; s++) {
    const survey_plan *p = all[s].plan;
    for (int i = 1; i < all[s].plans; i++)
      if (all[s].plan[i].rounds > p->rounds) p = &all[s].plan[i];
    for (int i = 0; i < p->rounds; i++)
      if (p->far[i] > 0) far[n++] = p->far[i];
  }
  cli_sort(far, (size_t)n);
  for (int i = 0; i < n; i++)
    if (!apart || !cli_bounce_near(far[i], far[apart - 1])) far[apart++] = far[i];
  if (!apart) far[apart++] = 0;
  return apart;
}

static bool write_points(place *all, const char *file) {
  double far[SURVEY_ROUNDS * SIZES];
  const int n = distances(all, far);
  FILE *f = fopen(file, "we");
  if (!f) return false;
  for (int k = 0; k < n; k++)
    for (int s = 0; s < SIZES; s++) {
      const int least = survey_keep(all[s].plan, all[s].plans, far[k]);
      for (int i = 0; i < all[s].plans && (least || !far[k]); i++) {
        const survey_plan *p = &all[s].plan[i];
        if (p->runs && p->slices == 1)
          fprintf(f, "%.9g %d %zu %.9g %.9g %s\n", far[k], p->counted, sizes[s], p->median,
                  p->spread, p->name);
      }
    }
  return fclose(f) == 0;
}

static tutti_status measure(const bench_job *job, double end, double seconds, const char *file) {
  bench_options o = bench_defaults;
  place *all = calloc(SIZES, sizeof *all);
  tutti_prices *prices = NULL;
  o.cycle = true;
  o.budget = seconds < 2 ? seconds / 1000 : 0.002;
  if (!all) return TUTTI_ERR_MEMORY;
  tutti_status status = tutti_comm_prices(job->comm, o.coll, o.type, o.op, 0, &prices);
  const size_t last = seconds < 1 ? 64 << 10 : SIZE_MAX; /* larger sizes take too long */
  for (int s = 0; s < SIZES && !status && sizes[s] <= last; s++)
    status = prepare(job, &o, prices, sizes[s], &all[s]);
  tutti_prices_free(prices);
  if (!status) status = until(job, &o, end, seconds, all);
  if (!status && job->rank == 0 && !write_points(all, file)) status = TUTTI_ERR_SYSTEM;
  for (int s = 0; s < SIZES; s++) bench_release(job, &o, &all[s].m);
  free(all);
  return status;
}

int tune_measure(double seconds, const char *file) {
  const double end = cli_now() + seconds;
  bench_job job;
  if (bench_join(&job)) return cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
  const tutti_status status = measure(&job, end, seconds, file);
  bench_leave(&job);
  return status ? cli_fail(CLI_FAILED, "tune", "%s", tutti_error()) : 0;
}

/* ---- starting the ranks ---- */

static void keep_to(int cores) {
  size_t bytes;
  cpu_set_t *mine = cpus_mask(0, &bytes);
  if (!mine) return;
  for (int c = 0; c < (int)(8 * bytes); c++)
    if (CPU_ISSET_S(c, bytes, mine) && cores-- <= 0) CPU_CLR_S(c, bytes, mine);
  sched_setaffinity(0, bytes, mine);
  CPU_FREE(mine);
}

static bool add_point(tune_points *points, const tune_point *p) {
  if ((points->n & (points->n - 1)) == 0) {
    tune_point *more = realloc(points->at, (size_t)(points->n ? 2 * points->n : 1) * sizeof *more);
    if (!more) return false;
    points->at = more;
  }
  points->at[points->n++] = *p;
  return true;
}

static int read_points(const char *file, int ranks, int cores, tune_points *points) {
  FILE *f = fopen(file, "re");
  char plan[CLI_PLAN];
  tune_point p = {.ranks = ranks, .crowd = ranks > cores ? (double)ranks / cores : 1};
  int n = 0;
  p.launch = points->n ? points->at[points->n - 1].launch + 1 : 0;
  while (f && fscanf(f, "%lf %d %zu %lf %lf %4095[^\n]", &p.far, &p.rounds, &p.bytes, &p.seconds,
                     &p.spread, plan) == 6) {
    p.plan = cli_kept(plan);
    n += add_point(points, &p);
  }
  if (f) fclose(f);
  return n;
}

int tune_launch(int ranks, int cores, double seconds, tune_points *points) {
  char file[48], n[16], t[32], limit[16];
  int status = 0;
  const int fd = memfd_create("tutti-tune", MFD_CLOEXEC); /* ends with this process */
  if (fd < 0) return cli_fail(CLI_FAILED, "tune", "no file in memory: %s", strerror(errno));
  snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)getpid(), fd);
  snprintf(n, sizeof n, "%d", ranks);
  snprintf(t, sizeof t, "%g", seconds);
  snprintf(limit, sizeof limit, "%.0f", 60 + 4 * seconds);
  const pid_t child = fork();
  if (child == 0) {
    keep_to(cores);
    setenv("TUTTI_PROFILE", "none", 1); /* so that no other profile affects which plan runs */
    static const char *const unset[] = {"TUTTI_ALGO",    "TUTTI_SLICES", "TUTTI_CONTRACT",
                                        "TUTTI_EXPLAIN", "TUTTI_TRACE",  "TUTTI_WISDOM",
                                        "TUTTI_MEASURE", "TUTTI_VERIFY", "TUTTI_TOPO"};
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
    char *args[16] = {"tutti", "run", "--for", "tune", "-n", n, "-t", limit};
    int k = 8;
    if (ranks <= cores) args[k++] = "--bind";
    args[k++] = "/proc/self/exe";
    args[k++] = "tune";
    args[k++] = "--points";
    args[k++] = file;
    args[k++] = t;
    execv("/proc/self/exe", args);
    _exit(CLI_FAILED);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status ||
      !read_points(file, ranks, cores, points))
    status = cli_fail(CLI_FAILED, "tune", "%d ranks could not be measured", ranks);
  close(fd);
  return status;
}
