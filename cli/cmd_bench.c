/* cmd_bench.c - `tutti bench`: times a collective at a row of sizes.
 *
 * Idea      every rank runs this; all decide alike, and rank 0 alone speaks. With
 *           -P and no job around it, it starts itself under `tutti run`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { WRONG = 1 };

/* ---- buffers ---- */

typedef struct buffers {
  void *a, *b;
} buffers;

static void release(const bench_job *job, const bench_options *o, buffers *m) {
  if (o->alloc) {
    tutti_mem_free(job->comm, m->a);
    tutti_mem_free(job->comm, m->b);
  } else {
    free(m->a);
    free(m->b);
  }
  *m = (buffers){NULL, NULL};
}

static tutti_status acquire(const bench_job *job, const bench_options *o, size_t bytes,
                            buffers *m) {
  *m = (buffers){NULL, NULL};
  if (o->alloc) {
    tutti_status status = tutti_mem_alloc(job->comm, bytes, &m->a);
    return status ? status : tutti_mem_alloc(job->comm, bytes, &m->b);
  }
  m->a = malloc(bytes);
  m->b = malloc(bytes);
  return m->a && m->b ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* The call on these buffers; `whole` is the longer vector's bytes. */
static bench_call make_call(const bench_job *job, const bench_options *o, size_t count,
                            size_t whole, const buffers *m, bool in_place) {
  const size_t part = count * tutti_type_size(o->type), mine = (size_t)job->rank * part;
  bench_call c = {o->coll, o->type, o->op, (int)o->root, count, whole, whole, m->a, m->b};
  if (o->coll == TUTTI_REDUCE_SCATTER || o->coll == TUTTI_SCATTER) {
    c.dst_bytes = part;
    if (in_place) c.dst = (char *)c.src + mine;
  } else if (o->coll == TUTTI_ALL_GATHER || o->coll == TUTTI_GATHER) {
    c.src_bytes = part;
    if (in_place) c.src = (char *)c.dst + mine;
  } else if (in_place) {
    c.dst = c.src;
  }
  if (o->coll == TUTTI_BARRIER) c.src_bytes = c.dst_bytes = 0;
  return c;
}

/* ---- one size ---- */

static double bus_factor(const bench_options *o, int ranks) {
  double n = ranks;
  switch (o->coll) {
    case TUTTI_ALLREDUCE: return 2 * (n - 1) / n;
    case TUTTI_REDUCE_SCATTER:
    case TUTTI_ALL_GATHER:
    case TUTTI_GATHER:
    case TUTTI_SCATTER:
    case TUTTI_ALL_TO_ALL: return (n - 1) / n;
    default: return 1;
  }
}

static bool parts(tutti_coll coll) {
  return coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_ALL_GATHER || coll == TUTTI_GATHER ||
         coll == TUTTI_SCATTER || coll == TUTTI_ALL_TO_ALL;
}

static tutti_status measure_side(const bench_job *job, const bench_options *o, const buffers *m,
                                 bool in_place, bench_row *row) {
  bench_side *side = &row->side[in_place];
  bench_call call = make_call(job, o, row->count, row->bytes, m, in_place);
  tutti_status status = TUTTI_OK;
  side->measured = true;
  side->wrong = -1;
  if (o->check && o->coll != TUTTI_BARRIER) status = bench_check(job, &call, &side->wrong);
  memset(m->a, 0, row->bytes); /* in place, sums stay what they are */
  memset(m->b, 0, row->bytes);
  if (!status) status = bench_time(job, o, &call, side);
  if (status || o->coll == TUTTI_BARRIER) return status;
  side->algbw = side->median > 0 ? 1e-9 * (double)row->bytes / side->median : 0;
  side->busbw = side->algbw * bus_factor(o, job->data);
  return status;
}

static tutti_status measure(const bench_job *job, const bench_options *o, size_t bytes,
                            bench_row *row) {
  size_t share = parts(o->coll) ? (size_t)job->size : 1;
  size_t element = tutti_type_size(o->type) * share;
  row->count = bytes / element ? bytes / element : 1;
  row->bytes = row->count * element;
  if (o->coll == TUTTI_BARRIER) row->count = 0;
  buffers m;
  tutti_status status = acquire(job, o, row->bytes, &m);
  if (status == TUTTI_ERR_MEMORY) cli_fail(0, "bench", "no memory for %zu bytes", row->bytes);
  for (int in_place = 0; in_place < 2 && !status; in_place++)
    if (o->side[in_place]) status = measure_side(job, o, &m, in_place, row);
  if (!status)
    status = tutti_comm_plan(job->comm, o->coll, row->count, o->type, o->op, row->plan,
                             sizeof row->plan);
  release(job, o, &m);
  return status;
}

static size_t count_sizes(const bench_options *o) {
  size_t n = 0;
  for (size_t b = o->first; b <= o->last; b = bench_next(o, b)) n++;
  return n;
}

static int measure_all(const bench_job *job, const bench_options *o, bench_row *rows, size_t n) {
  if (job->rank == 0) bench_show_head(job, o);
  size_t bytes = o->first;
  for (size_t i = 0; i < n; i++, bytes = bench_next(o, bytes)) {
    if (job->rank == 0) bench_progress(i, n, bytes);
    tutti_status status = measure(job, o, bytes, &rows[i]);
    if (job->rank == 0) bench_progress(0, 0, 0);
    if (status) return cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
    if (job->rank == 0) bench_show_row(o, &rows[i]);
  }
  int status = 0;
  for (size_t i = 0; i < n; i++)
    if (rows[i].side[0].wrong > 0 || rows[i].side[1].wrong > 0) status = WRONG;
  if (job->rank != 0) return status;
  bench_show_foot(o, rows, n);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "bench", "cannot write: %s", strerror(errno));
  int file = o->json ? bench_json(job, o, rows, n) : 0;
  if (!file && o->plot) file = bench_plot(job, o, rows, n);
  return file ? file : status;
}

/* ---- the command ---- */

/* Rank 0 complains for all: the others are mute meanwhile, and wait for the
 * launcher to end them, so that it is rank 0 whose complaint is read. */
static int mute(int rank) {
  int saved = rank ? dup(2) : -1, null = rank ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  if (null >= 0) {
    dup2(null, 2);
    close(null);
  }
  return saved;
}
static void unmute(int saved) {
  if (saved < 0) return;
  dup2(saved, 2);
  close(saved);
}
static int wrong_alike(int rank, int status) {
  if (rank) sleep(2);
  return status;
}

/* 0, or the exit status of rank 0's complaint. */
static int fits_job(const bench_job *job, const bench_options *o) {
  if (o->ranks && o->ranks != job->size)
    return cli_fail(CLI_USAGE, "bench", "-P %ld, but the job has %d ranks", o->ranks, job->size);
  if (o->helpers >= job->size)
    return cli_fail(CLI_USAGE, "bench", "--helpers %ld, but the job has %d ranks", o->helpers,
                    job->size);
  if (o->root >= job->data)
    return cli_fail(CLI_USAGE, "bench", "--root %ld, but the ranks%s are 0 to %d", o->root,
                    o->helpers ? " with data" : "", job->data - 1);
  return job->rank == 0 ? bench_files_ready(o) : 0;
}

/* As `tutti run -n N tutti bench ...`, with the same arguments. */
static int start_job(const bench_options *o, int argc, char **argv) {
  char ranks[16], self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) return cli_fail(CLI_FAILED, "bench", "/proc/self/exe: %s", strerror(errno));
  self[length] = 0;
  snprintf(ranks, sizeof ranks, "%ld", o->ranks);
  char *front[] = {"tutti", "run", "-n", ranks, self};
  enum { FRONT = sizeof front / sizeof *front };
  char **args = calloc(FRONT + (size_t)argc + 1, sizeof *args);
  if (!args) return cli_fail(CLI_FAILED, "bench", "out of memory");
  memcpy(args, front, sizeof front);
  memcpy(args + FRONT, argv, (size_t)argc * sizeof *args); /* argv[0] is "bench" */
  execv(self, args);
  int error = errno;
  free(args);
  return cli_fail(CLI_FAILED, "bench", "%s: %s", self, strerror(error));
}

/* Warnings; and what TUTTI_EXPLAIN asks for. */
static void say(void *ctx, int level, const char *line) {
  (void)ctx;
  fprintf(stderr, "%s%s\n", level == 0 ? "tutti bench: " : "# ", line);
}

static int with_comm(bench_job *job, const bench_options *o) {
  tutti_log_set(say, NULL);
  if (tutti_comm_from_env(&job->comm) || tutti_comm_dup(job->comm, &job->talk))
    return cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
  job->rank = tutti_comm_rank(job->comm);
  job->size = tutti_comm_size(job->comm);
  job->data = job->size - (int)o->helpers;
  int saved = mute(job->rank);
  int status = fits_job(job, o);
  unmute(saved);
  if (status) {
    status = wrong_alike(job->rank, status);
  } else if (tutti_comm_set_helpers(job->comm, (int)o->helpers)) {
    status = cli_fail(CLI_FAILED, "bench", "%s", tutti_error());
  } else {
    size_t n = count_sizes(o);
    bench_row *rows = calloc(n, sizeof *rows);
    status = rows ? measure_all(job, o, rows, n) : cli_fail(CLI_FAILED, "bench", "out of memory");
    free(rows);
  }
  tutti_comm_free(job->talk);
  tutti_comm_free(job->comm);
  tutti_finalize();
  return status;
}

static int run(int argc, char **argv) {
  const char *in_job = getenv("TUTTI_RANK");
  int rank = in_job ? atoi(in_job) : 0;
  bench_options o;
  int saved = mute(rank);
  int status = bench_parse(&o, argc, argv);
  unmute(saved);
  if (status) return wrong_alike(rank, status);
  if (!in_job && o.ranks) return start_job(&o, argc, argv);
  bench_job job = {NULL, NULL, 0, 1, 1};
  return with_comm(&job, &o);
}

const cli_command cmd_bench = {"bench", "time a collective at a row of sizes", bench_usage, run};
