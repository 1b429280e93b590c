/* bench.h - the parts of `tutti bench`: its options, one measured call, the figures of a call,
 * and how they are shown.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"

enum { BENCH_MOST_REPEATS = 1000 };

typedef struct bench_options {
  tutti_coll coll;
  tutti_type type;
  tutti_op op;
  long ranks; /* -P; 0: not given */
  long root;
  const char *algo;   /* an override of the plans; NULL: none, or TUTTI_ALGO's */
  long helpers;       /* ranks that bring no data */
  size_t first, last; /* bytes */
  double factor;
  long iterations; /* per repeat; 0: as many as fit into `budget` seconds */
  double budget;
  long warmup, repeats;
  bool check, alloc, cycle, spread;
  bool side[2];            /* out of place, in place */
  const char *output, *plot; /* files, or NULL */
  cli_form format;           /* of the results; CLI_TEXT: only the table */
  const char *compare;       /* libraries (peer.h); NULL: none */
} bench_options;

struct bench_call;
typedef struct bench_job {
  tutti_comm *comm; /* the one that is measured */
  tutti_comm *talk; /* of the same ranks, to exchange figures */
  int rank, size, data;
  tutti_status (*other)(const struct bench_job *job,
                        const struct bench_call *call); /* instead of tutti's; or NULL */
} bench_job;

/* One call, for as many repeats as needed. Buffers hold the whole vector of the call
 * (P * count where the collective says so); in place they are one. */
typedef struct bench_call {
  tutti_coll coll;
  tutti_type type;
  tutti_op op;
  int root;
  size_t count;                /* as the collective takes it */
  size_t src_bytes, dst_bytes; /* of this rank */
  void *src, *dst;             /* as they are passed */
} bench_call;

/* The figures of a call; seconds per call, of the slowest rank. Each repeat gives the mean of its
 * calls; the first four figures are taken over these means. */
typedef struct bench_side {
  double least, median, most;
  double p99; /* 0: there are fewer than 100 repeats */
  double algbw, busbw; /* GB/s, from the median */
  int64_t wrong;       /* elements, of all ranks; -1: not checked */
  bool measured;
  long iterations;
} bench_side;

typedef struct bench_row {
  size_t bytes, count;
  char plan[CLI_PLAN];
  bench_side side[2]; /* out of place, in place */
} bench_row;

/* ---- options (bench_options.c) ---- */

extern const char bench_usage[];
extern const bench_options bench_defaults;
/* `tutti bench --compare` (compare.c). Also the defaults of its options. */
int bench_compare(const bench_options *o);
void bench_compare_defaults(bench_options *o, int argc, char **argv);
/* Parse argv over the defaults in *o, for `command`. 0, or the exit status of a complaint. */
int bench_parse(const char *command, bench_options *o, int argc, char **argv);
bool bench_reduces(tutti_coll coll); /* it takes an op */
bool bench_rooted(tutti_coll coll);  /* it takes a root */
/* The next size after `bytes`; larger than o->last at the end. */
size_t bench_next(const bench_options *o, size_t bytes);
size_t bench_sizes(const bench_options *o); /* the number of sizes */

/* ---- the ranks of a command (bench_job.c) ---- */

/* Join this rank to its job, with two communicators. All ranks contribute data. */
tutti_status bench_join(bench_job *job);
void bench_leave(bench_job *job);

/* ---- buffers (bench_buffers.c) ---- */

typedef struct bench_buffers {
  void *a, *b;
} bench_buffers;

/* The count of a call whose longer vector has about `bytes` bytes, and its exact size in bytes. */
size_t bench_count(int ranks, const bench_options *o, size_t bytes, size_t *whole);
tutti_status bench_acquire(const bench_job *job, const bench_options *o, size_t whole,
                           bench_buffers *m);
void bench_release(const bench_job *job, const bench_options *o, bench_buffers *m);
/* Make the call on these buffers. */
bench_call bench_call_of(const bench_job *job, const bench_options *o, size_t count, size_t whole,
                         const bench_buffers *m, bool in_place);

/* ---- one call (bench_time.c) ---- */

tutti_status bench_run(const bench_job *job, const bench_call *call);
/* Time the call as the options say; fills all of `side` except `wrong`. */
tutti_status bench_time(const bench_job *job, const bench_options *o, const bench_call *call,
                        bench_side *side);
/* The number of calls that fit into the budget of a repeat; the same on all ranks. */
tutti_status bench_iterations(const bench_job *job, const bench_options *o, const bench_call *call,
                              long *n);
/* Seconds per call of this rank in one repeat of n calls. */
tutti_status bench_repeat(const bench_job *job, const bench_options *o, const bench_call *call,
                          long n, double *seconds);

/* ---- is it right? (bench_check.c) ---- */

/* Fill the buffers, call once, count the elements that differ from a plain
 * computation, on all ranks together. */
tutti_status bench_check(const bench_job *job, const bench_call *call, int64_t *wrong);

/* ---- for people and programs (bench_show.c, bench_plot.c); rank 0 only ---- */

void bench_show_head(const bench_job *job, const bench_options *o);
void bench_show_row(const bench_options *o, const bench_row *row);
void bench_show_foot(const bench_options *o, const bench_row *rows, size_t n);
/* Progress bar on stderr, if that is a terminal: `done` of `all`; all == 0 removes it. */
void bench_progress(size_t done, size_t all, size_t bytes);

/* 0, or the exit status of a complaint. */
int bench_results(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n);
int bench_plot(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n);
/* The results as --format says, on stdout or in -o's file. NULL after a complaint. bench_output_close: 0, or the exit
 * status of a complaint. bench_table: is the table printed? */
FILE *bench_output(const char *command, const bench_options *o);
int bench_output_close(const char *command, const bench_options *o, FILE *f);
bool bench_table(const bench_options *o);
/* Can --plot and -o be written? Checked before anything is measured. */
int bench_files_ready(const char *command, const bench_options *o);

#endif
