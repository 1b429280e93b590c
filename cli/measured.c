/* measured.c - `tutti explain --measured`: compares predicted with measured times, and the chosen
 * plan with the fastest one.
 *
 * Idea      at each size, all plans that can run are timed alternately (survey.h). The fastest of
 *           many plans is partly so by chance. Therefore a second run alternately times the best
 *           plan, the chosen plan, and the chosen plan once more. The times shown for the best plan
 *           are those of the second run.
 * Rounds    alternate between all sizes, so that a size's rounds are spread over the whole time.
 * Cores     The hypervisor of a virtual machine migrates virtual CPUs between cores. If the profile
 *           contains the distance of the cores at the time of its measurement, only rounds at that
 *           distance count, and rounds are added until there are enough of them. If there are no
 *           such rounds, all rounds count.
 * Noise     the chosen plan compared with itself: the median ratio of its two series.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "measured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configure.h"
#include "pricing.h"
#include "ranked.h"
#include "tutti_plan.h"

enum { DUEL = 3, PATIENCE = 4, MORE = 5 }; /* MORE: the number of rounds may grow by this factor */

/* The state of one size while it is measured. */
typedef struct place {
  bench_buffers m;
  bench_call call;
  survey_plan duel[DUEL]; /* the chosen plan, the best plan, and the chosen plan again */
} place;

/* ---- one size ---- */

static tutti_status prepare(const bench_job *job, const bench_options *o, tutti_prices *prices,
                            size_t bytes, place *p, measured_size *row) {
  const size_t count = bench_count(job->size, o, bytes, &row->bytes);
  row->best = -1;
  tutti_status status = bench_acquire(job, o, row->bytes, &p->m);
  if (status == TUTTI_ERR_MEMORY) cli_fail(0, "explain", "no memory for %zu bytes", row->bytes);
  if (!status) memset(p->m.a, 0, row->bytes), memset(p->m.b, 0, row->bytes);
  p->call = bench_call_of(job, o, count, row->bytes, &p->m, o->side[1]);
  row->plans = survey_list(prices, row->bytes, row->plan, MEASURED_PLANS);
  if (row->plans < 0) row->plans = 0;
  for (long i = 0; i < o->warmup && !status; i++) status = bench_run(job, &p->call);
  if (!status)
    status =
        tutti_comm_plan(job->comm, o->coll, count, o->type, o->op, row->chosen, sizeof row->chosen);
  if (!status && job->rank == 0 && /* rank 0 prints the table */
      tutti_comm_price(job->comm, o->coll, count, o->type, o->op, &row->predicted))
    row->predicted = 0;
  return status;
}

static void call_out(place *p, measured_size *row) {
  const survey_plan *best = survey_best(row->plan, row->plans);
  if (!best) return;
  row->best = (int)(best - row->plan);
  p->duel[1].name = best->name;
  p->duel[1].slices = best->slices;
}

/* Returns true if `plan` is the chosen plan. `chosen` may end with a remark, as in "one-shot, measured 31 us". */
static bool is_chosen(const char *plan, const char *chosen) {
  const size_t n = strlen(plan);
  return n && strncmp(plan, chosen, n) == 0 && (!chosen[n] || chosen[n] == ',');
}

static void judge(const place *p, measured_size *row) {
  const survey_plan *both = p->duel;
  char best[CLI_PLAN] = "";
  if (row->best >= 0) cli_plan_name(row->plan[row->best].name, row->plan[row->best].slices, best);
  const double noise = survey_ratio(&both[0], &both[2]);
  row->noise = noise < 1 ? 1 / noise : noise;
  row->seconds = (both[0].median + both[2].median) / 2;
  const bool same = is_chosen(best, row->chosen) || !both[1].runs;
  row->best_seconds = same ? row->seconds : both[1].median;
  row->ratio =
      same ? 1 : sqrt(survey_ratio(&both[0], &both[1]) * survey_ratio(&both[2], &both[1]));
}

/* ---- all sizes ---- */

/* Sets *far to the round-trip time between cores, in seconds, at the time when this machine's profile was measured.
 * The time is 0 if the profile does not contain it, or if the ranks are on several machines. */
static tutti_status distance(const bench_job *job, double *far) {
  char here[200] = "";
  uint64_t site[2] = {14695981039346656037u, 0};
  *far = 0;
  const char *line;
  for (int i = 0; job->rank == 0 && (line = tutti_info(i)); i++)
    if (sscanf(line, "profile's cores: %lf ns", far) == 1) *far *= 1e-9;
  gethostname(here, 99);
  if (readlink("/proc/self/ns/net", here + 100, 99) < 0) here[100] = 0;
  for (size_t i = 0; i < sizeof here; i++) site[0] = (site[0] ^ (uint8_t)here[i]) * 1099511628211u;
  site[1] = ~site[0];
  tutti_status status = tutti_allreduce(job->talk, site, site, 2, TUTTI_UINT64, TUTTI_MAX);
  if (site[0] != ~site[1]) *far = 0;
  return status ? status : tutti_allreduce(job->talk, far, far, 1, TUTTI_DOUBLE, TUTTI_MAX);
}

/* Measures until every size has `wanted` rounds with the cores at the distance `far`. */
static tutti_status rounds(const bench_job *job, const bench_options *o, place *at,
                           measured_size *rows, size_t n, bool duel, long wanted, double far) {
  long least = 0;
  tutti_status status = TUTTI_OK;
  for (long r = 0; r < wanted * (far > 0 ? MORE : 1) && least < wanted && !status; r++) {
    least = wanted;
    for (size_t i = 0; i < n && !status; i++) {
      survey_plan *plans = duel ? at[i].duel : rows[i].plan;
      const int of = duel ? DUEL : rows[i].plans;
      const size_t done = (size_t)(r < wanted ? r : wanted - 1) * n + i;
      if (job->rank == 0) bench_progress(done, (size_t)wanted * n, rows[i].bytes);
      status = survey_time(job, o, &at[i].call, o->algo, plans, of, far > 0, duel ? 0 : PATIENCE);
      const int kept = survey_keep(plans, of, far);
      if (far > 0 ? kept < least : r + 1 < least) least = far > 0 ? kept : r + 1;
      if (duel && far > 0) rows[i].kept = kept, rows[i].rounds = plans->rounds;
    }
  }
  return status;
}

static tutti_status in_turn(const bench_job *job, const bench_options *o, tutti_prices *prices,
                            place *at, measured_size *rows, size_t n) {
  size_t bytes = o->first;
  double far;
  tutti_status status = distance(job, &far);
  for (size_t i = 0; i < n && !status; i++, bytes = bench_next(o, bytes))
    status = prepare(job, o, prices, bytes, &at[i], &rows[i]);
  if (!status) status = rounds(job, o, at, rows, n, false, o->repeats, far);
  for (size_t i = 0; i < n && !status; i++) call_out(&at[i], &rows[i]);
  if (!status) status = rounds(job, o, at, rows, n, true, 2 * o->repeats + 1, far);
  if (job->rank == 0) bench_progress(0, 0, 0);
  for (size_t i = 0; i < n && !status; i++) judge(&at[i], &rows[i]);
  for (size_t i = 0; i < n; i++) bench_release(job, o, &at[i].m);
  return status;
}

/* ---- summary ---- */

measured_sum measured_sum_up(const measured_size *rows, size_t n) {
  measured_sum s = {.worst = 0};
  double logs = 0, noise = 0;
  for (size_t i = 0; i < n; i++) {
    const measured_size *r = &rows[i];
    const double worst = r->ratio / r->noise, off = r->predicted / r->seconds;
    logs += log(r->ratio);
    noise += log(r->noise);
    if (worst > s.worst) s.worst = worst, s.worst_at = r->bytes;
    s.kept += r->kept;
    s.rounds += r->rounds;
    s.near += r->predicted > 0 && off <= MEASURED_NEAR && off >= 1 / MEASURED_NEAR;
  }
  s.sizes = (int)n;
  s.mean = n ? exp(logs / (double)n) : 0;
  s.noise = n ? exp(noise / (double)n) : 0;
  return s;
}

static void show_head(const bench_job *job, const bench_options *o) {
  printf("%s of %s on %d ranks, %s\n\n", tutti_coll_name(o->coll), tutti_type_name(o->type),
         job->size, o->cycle ? "written, called, read" : "call after call");
  printf("%8s  %-26s %9s %9s %6s  %-26s %9s %7s %6s\n", "size", "chosen", "predicted", "measured",
         "ratio", "the best measured", "", "chosen/", "noise");
  printf("%8s  %-26s %9s %9s %6s  %-26s %9s %7s %6s\n", "", "", "", "", "", "", "", "best", "");
  fflush(stdout);
}

static void show_row(const measured_size *r) {
  char size[24], a[24], b[24], c[24], best[CLI_PLAN] = "-";
  if (r->best >= 0) cli_plan_name(r->plan[r->best].name, r->plan[r->best].slices, best);
  printf("%8s  %-26s %9s %9s %6.2f  %-26s %9s %7.2f %6.2f\n", price_size((double)r->bytes, size),
         r->chosen, r->predicted > 0 ? price_time(r->predicted, a) : "-", price_time(r->seconds, b),
         r->predicted / r->seconds, best,
         r->best >= 0 ? price_time(r->best_seconds, c) : "-", r->ratio, r->noise);
}

static void show_foot(const measured_size *rows, size_t n) {
  const measured_sum s = measured_sum_up(rows, n);
  char size[24];
  printf(
      "\nChosen over best: %.2f in the geometric mean (noise, chosen over chosen: %.2f); worst,\n"
      "without noise: %.2f, at %s. Predicted within %.1f of measured: %d of %d.\n",
      s.mean, s.noise, s.worst, price_size((double)s.worst_at, size), MEASURED_NEAR, s.near,
      s.sizes);
  if (s.rounds)
    printf(
        "The cores were as far from each other as when the profile was measured in %d of %d "
        "rounds%s\n",
        s.kept, s.rounds, s.kept ? ": these count." : ", so all count.");
}

/* ---- the command ---- */

static int with_prices(const bench_job *job, const bench_options *o, tutti_prices *prices,
                       measured_size *rows, size_t n) {
  place *at = calloc(n, sizeof *at);
  if (job->rank == 0 && bench_table(o)) show_head(job, o);
  const tutti_status failed = at ? in_turn(job, o, prices, at, rows, n) : TUTTI_ERR_MEMORY;
  free(at);
  if (failed) return cli_fail(CLI_FAILED, "explain", "%s", tutti_error());
  if (job->rank) return 0;
  for (size_t i = 0; i < n && bench_table(o); i++) show_row(&rows[i]);
  if (bench_table(o)) show_foot(rows, n);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "explain", "cannot write: %s", strerror(errno));
  int status = o->format ? measured_results(job, o, rows, n) : 0;
  if (!status && o->plot) status = measured_plot(job, o, rows, n);
  return status;
}

static int measure(const bench_job *job, const bench_options *o) {
  tutti_prices *prices = NULL;
  const size_t n = bench_sizes(o);
  if ((o->algo && comm_set_algorithm(job->comm, o->algo)) ||
      tutti_comm_prices(job->comm, o->coll, o->type, o->op, (int)o->root, &prices))
    return cli_fail(CLI_FAILED, "explain", "%s", tutti_error());
  measured_size *rows = calloc(n, sizeof *rows);
  const int status = rows ? with_prices(job, o, prices, rows, n)
                          : cli_fail(CLI_FAILED, "explain", "out of memory");
  free(rows);
  tutti_prices_free(prices);
  return status;
}

static void say(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == 0) fprintf(stderr, "tutti explain: %s\n", line);
}

static int possible(const bench_options *o) {
  if (2 * o->repeats + 1 > SURVEY_ROUNDS)
    return cli_fail(CLI_USAGE, "explain", "--repeats: at most %d rounds", SURVEY_ROUNDS / 2 - 1);
  return bench_files_ready("explain", o);
}

/* Checks that the options fit this job. Returns 0, or the exit status to use after rank 0 has printed an error message. */
static int fits(const bench_job *job, const bench_options *o) {
  if (o->ranks && o->ranks != job->size)
    return cli_fail(CLI_USAGE, "explain", "-n %ld, but the job has %d ranks", o->ranks, job->size);
  if (o->root >= job->size)
    return cli_fail(CLI_USAGE, "explain", "--root %ld, but the ranks are 0 to %d", o->root,
                    job->size - 1);
  return job->rank == 0 ? possible(o) : 0;
}

static int with_comm(const bench_options *o) {
  bench_job job;
  tutti_log_set(say, NULL);
  if (bench_join(&job)) return cli_fail(CLI_FAILED, "explain", "%s", tutti_error());
  const int saved = job_mute();
  int status = fits(&job, o);
  job_unmute(saved);
  status = status ? job_fail_alike(status) : measure(&job, o);
  bench_leave(&job);
  return status;
}

int explain_measured(int argc, char **argv, int at) {
  char **rest = malloc((size_t)argc * sizeof *rest); /* the arguments without --measured */
  if (!rest) return cli_fail(CLI_FAILED, "explain", "out of memory");
  for (int i = 0, n = 0; i <= argc; i++)
    if (i != at) rest[n++] = argv[i];
  bench_options o = bench_defaults;
  o.last = 4 << 20;
  o.cycle = true;
  o.side[0] = false;
  o.repeats = 5;
  o.budget = 0.004;
  const int saved = job_mute();
  int status = bench_parse("explain", &o, argc - 1, rest);
  job_unmute(saved);
  free(rest); /* options point into argv, not into `rest` */
  if (!status && o.compare)
    status = cli_fail(CLI_USAGE, "explain", "--compare belongs to `tutti bench`");
  if (status) return job_fail_alike(status);
  if (job_inside()) return with_comm(&o);
  if (!o.ranks) return cli_fail(CLI_USAGE, "explain", "--measured: on how many ranks? -n N");
  status = possible(&o);
  return status ? status : job_start("explain", o.ranks, argc, argv);
}
