/* bench_time.c - times one call.
 *
 * Loop      makes one call after another. The buffer is not touched in between, which favors plans
 *           that leave the data where it was.
 * Cycle     every iteration writes the whole vector, makes the call, and reads the whole result.
 *           The time of the same iterations without the call is subtracted for each rank and each
 *           repeat.
 * Time      every repeat begins with a barrier. Each rank computes the mean of its iterations, and
 *           the result of the repeat is the mean of the slowest rank.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "bench.h"
#include "touch.h"

enum { LEAST_ITERATIONS = 3, MOST_ITERATIONS = 20000, SETTLE = 8, TRIAL = 24 };

tutti_status bench_run(const bench_job *job, const bench_call *c) {
  tutti_comm *comm = job->comm;
  if (job->other) return job->other(job, c);
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(comm, c->src, c->dst, c->count, c->type, c->op);
    case TUTTI_REDUCE_SCATTER:
      return tutti_reduce_scatter(comm, c->src, c->dst, c->count, c->type, c->op);
    case TUTTI_ALLGATHER: return tutti_allgather(comm, c->src, c->dst, c->count, c->type);
    case TUTTI_BROADCAST: return tutti_broadcast(comm, c->src, c->dst, c->count, c->type, c->root);
    case TUTTI_REDUCE: return tutti_reduce(comm, c->src, c->dst, c->count, c->type, c->op, c->root);
    case TUTTI_SCAN: return tutti_scan(comm, c->src, c->dst, c->count, c->type, c->op);
    case TUTTI_EXSCAN: return tutti_exscan(comm, c->src, c->dst, c->count, c->type, c->op);
    case TUTTI_GATHER: return tutti_gather(comm, c->src, c->dst, c->count, c->type, c->root);
    case TUTTI_SCATTER: return tutti_scatter(comm, c->src, c->dst, c->count, c->type, c->root);
    case TUTTI_ALLTOALL: return tutti_alltoall(comm, c->src, c->dst, c->count, c->type);
    default: return tutti_barrier(comm);
  }
}

/* Synchronizes the ranks with a barrier, then measures the seconds per iteration on this rank. */
static tutti_status loop(const bench_job *job, const bench_call *call, long n, double *seconds) {
  tutti_status status = tutti_barrier(job->talk);
  double from = cli_now();
  for (long i = 0; i < n && !status; i++) status = bench_run(job, call);
  *seconds = (cli_now() - from) / (double)n;
  return status;
}

static tutti_status cycle(const bench_job *job, const bench_call *call, long n, bool with,
                          double *seconds) {
  tutti_status status = tutti_barrier(job->talk);
  double from = cli_now();
  for (long i = 0; i < n && !status; i++) {
    touch_write(call->src, call->src_bytes, i);
    if (with) status = bench_run(job, call);
    touch_read(call->dst, call->dst_bytes);
  }
  *seconds = (cli_now() - from) / (double)n;
  return status;
}

tutti_status bench_repeat(const bench_job *job, const bench_options *o, const bench_call *call,
                          long n, double *seconds) {
  if (!o->cycle || call->coll == TUTTI_BARRIER) return loop(job, call, n, seconds);
  double without, with;
  tutti_status status = cycle(job, call, n, false, &without);
  if (!status) status = cycle(job, call, n, true, &with);
  if (!status) *seconds = with - without;
  return status;
}

/* Measures the seconds per iteration on the slowest rank. All ranks get the same result. */
static tutti_status slowest(const bench_job *job, const bench_options *o, const bench_call *call,
                            long n, double *seconds) {
  const bool touch = o->cycle && call->coll != TUTTI_BARRIER;
  tutti_status status = touch ? cycle(job, call, n, true, seconds) : loop(job, call, n, seconds);
  if (!status) status = tutti_allreduce(job->talk, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
  return status;
}

static long fit(double budget, double once) {
  double n = once > 0 ? budget / once : MOST_ITERATIONS;
  return n < LEAST_ITERATIONS ? LEAST_ITERATIONS : n > MOST_ITERATIONS ? MOST_ITERATIONS : (long)n;
}

/* Returns the number of iterations in a trial. It is at least TRIAL, unless TRIAL iterations would take more than a second. */
static long trial(double budget, double once) {
  long n = fit(budget, once);
  return n < TRIAL && once * TRIAL < 1 ? TRIAL : n;
}

/* The first calls are slow because they touch memory for the first time, so trials are repeated until they stop
 * getting faster. */
tutti_status bench_iterations(const bench_job *job, const bench_options *o, const bench_call *call,
                              long *n) {
  *n = o->iterations;
  if (*n) return TUTTI_OK;
  double once, again;
  tutti_status status = slowest(job, o, call, 3, &once);
  for (int k = 0; k < SETTLE && !status; k++) {
    status = slowest(job, o, call, trial(o->budget, once), &again);
    const bool settled = again > once / 1.5;
    once = again;
    if (settled) break;
  }
  *n = fit(o->budget, once);
  return status;
}

tutti_status bench_time(const bench_job *job, const bench_options *o, const bench_call *call,
                        bench_side *side) {
  double seconds[BENCH_MOST_REPEATS];
  long n = 0;
  tutti_status status = TUTTI_OK;
  for (long i = 0; i < o->warmup && !status; i++) status = bench_run(job, call);
  if (!status) status = bench_iterations(job, o, call, &n);
  for (long k = 0; k < o->repeats && !status; k++)
    status = bench_repeat(job, o, call, n, &seconds[k]);
  if (!status)
    status =
        tutti_allreduce(job->talk, seconds, seconds, (size_t)o->repeats, TUTTI_DOUBLE, TUTTI_MAX);
  if (status) return status;
  cli_sort(seconds, (size_t)o->repeats);
  side->least = seconds[0];
  side->median = seconds[o->repeats / 2];
  side->most = seconds[o->repeats - 1];
  side->p99 = o->repeats < 100 ? 0 : seconds[(o->repeats * 99 + 99) / 100 - 1];
  side->iterations = n;
  return TUTTI_OK;
}
