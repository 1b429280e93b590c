/* cmd_bench.c - `tutti bench`: times a collective at a series of sizes.
 *
 * Idea      every rank runs this code and makes the same decisions; only rank 0 prints. With -n
 *           outside a job, the command starts itself under `tutti run`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "configure.h"
#include "ranked.h"
#include "tutti_plan.h"

enum { WRONG = 1 };

/* ---- one size ---- */

static double bus_factor(const bench_options *o, int ranks) {
  double n = ranks;
  switch (o->coll) {
    case TUTTI_ALLREDUCE: return 2 * (n - 1) / n;
    case TUTTI_REDUCE_SCATTER:
    case TUTTI_ALLGATHER:
    case TUTTI_GATHER:
    case TUTTI_SCATTER:
    case TUTTI_ALLTOALL: return (n - 1) / n;
    default: return 1;
  }
}

static tutti_status measure_side(const bench_job *job, const bench_options *o,
                                 const bench_buffers *m, bool in_place, bench_row *row) {
  bench_side *side = &row->side[in_place];
  bench_call call = bench_call_of(job, o, row->count, row->bytes, m, in_place);
  tutti_status status = TUTTI_OK;
  side->measured = true;
  side->wrong = -1;
  if (o->check && o->coll != TUTTI_BARRIER) status = bench_check(job, &call, &side->wrong);
  memset(m->a, 0, row->bytes); /* so that repeated sums in place keep their values */
  memset(m->b, 0, row->bytes);
  if (!status) status = bench_time(job, o, &call, side);
  if (status || o->coll == TUTTI_BARRIER) return status;
  side->algbw = side->median > 0 ? 1e-9 * (double)row->bytes / side->median : 0;
  side->busbw = side->algbw * bus_factor(o, job->data);
  return status;
}

static tutti_status measure(const bench_job *job, const bench_options *o, size_t bytes,
                            bench_row *row) {
  row->count = bench_count(job->size, o, bytes, &row->bytes);
  bench_buffers m;
  tutti_status status = bench_acquire(job, o, row->bytes, &m);
  if (status == TUTTI_ERR_MEMORY) cli_fail(0, "bench", "no memory for %zu bytes", row->bytes);
  for (int in_place = 0; in_place < 2 && !status; in_place++)
    if (o->side[in_place]) status = measure_side(job, o, &m, in_place, row);
  if (!status)
    status = tutti_comm_plan(job->comm, o->coll, row->count, o->type, o->op, row->plan,
                             sizeof row->plan);
  bench_release(job, o, &m);
  return status;
}

static int measure_all(const bench_job *job, const bench_options *o, bench_row *rows, size_t n) {
  const bool table = job->rank == 0 && bench_table(o);
  if (table) bench_show_head(job, o);
  size_t bytes = o->first;
  for (size_t i = 0; i < n; i++, bytes = bench_next(o, bytes)) {
    if (job->rank == 0) bench_progress(i, n, bytes);
    tutti_status status = measure(job, o, bytes, &rows[i]);
    if (job->rank == 0) bench_progress(0, 0, 0);
    if (status) return cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
    if (table) bench_show_row(o, &rows[i]);
  }
  int status = 0;
  for (size_t i = 0; i < n; i++)
    if (rows[i].side[0].wrong > 0 || rows[i].side[1].wrong > 0) status = WRONG;
  if (job->rank != 0) return status;
  if (table) bench_show_foot(o, rows, n);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "bench", "cannot write: %s", strerror(errno));
  int file = o->format ? bench_results(job, o, rows, n) : 0;
  if (!file && o->plot) file = bench_plot(job, o, rows, n);
  return file ? file : status;
}

/* ---- the command ---- */

/* Returns 0, or the exit status to use after rank 0 has printed an error message. */
static int fits_job(const bench_job *job, const bench_options *o) {
  if (o->ranks && o->ranks != job->size)
    return cli_fail(CLI_USAGE, "bench", "-n %ld, but the job has %d ranks", o->ranks, job->size);
  if (o->helpers >= job->size)
    return cli_fail(CLI_USAGE, "bench", "--helpers %ld, but the job has %d ranks", o->helpers,
                    job->size);
  if (o->root >= job->data)
    return cli_fail(CLI_USAGE, "bench", "--root %ld, but the ranks%s are 0 to %d", o->root,
                    o->helpers ? " with data" : "", job->data - 1);
  return job->rank == 0 ? bench_files_ready("bench", o) : 0;
}

/* Receives the lines of the library's log: warnings, and the output of TUTTI_EXPLAIN. */
static void say(void *ctx, int level, const char *line) {
  (void)ctx;
  fprintf(stderr, "%s%s\n", level == 0 ? "tutti bench: " : "# ", line);
}

static int with_comm(bench_job *job, const bench_options *o) {
  tutti_log_set(say, NULL);
  if (bench_join(job)) return cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
  job->data -= (int)o->helpers;
  int saved = job_mute();
  int status = fits_job(job, o);
  job_unmute(saved);
  if (status) {
    status = job_fail_alike(status);
  } else if (comm_set_helpers(job->comm, (int)o->helpers) ||
             (o->algo && comm_set_algorithm(job->comm, o->algo))) {
    status = cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
  } else {
    size_t n = bench_sizes(o);
    bench_row *rows = calloc(n, sizeof *rows);
    status = rows ? measure_all(job, o, rows, n) : cli_fail(CLI_FAILED, "bench", "out of memory");
    free(rows);
  }
  bench_leave(job);
  return status;
}

static int run(int argc, char **argv) {
  bench_options o = bench_defaults;
  int saved = job_mute();
  bench_compare_defaults(&o, argc, argv);
  int status = bench_parse("bench", &o, argc, argv);
  job_unmute(saved);
  if (status) return job_fail_alike(status);
  if (o.compare) return bench_compare(&o);
  if (!job_inside() && o.ranks) return job_start("bench", o.ranks, argc, argv);
  bench_job job;
  return with_comm(&job, &o);
}

const cli_command cmd_bench = {"bench", "time a collective at several sizes", bench_usage, run,
                               .ranked = true};
