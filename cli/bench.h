/* bench.h - the parts of `tutti bench`: its options, one measured call, the results of a call, and
 * how they are shown.
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
  long ranks; /* -P; 0 if not given */
  long root;
  const char *algo;   /* plans to use; NULL for tutti's choice, or TUTTI_ALGO's */
  long helpers;       /* ranks that contribute no data */
  size_t first, last; /* in bytes */
  double factor;
  long iterations; /* per repeat; 0 for as many as fit into `budget` seconds */
  double budget;
  long warmup, repeats;
  bool check, alloc, cycle, spread;
  bool side[2];            /* out of place, in place */
  const char *output, *plot; /* file names, or NULL */
  cli_form format;           /* of the results; CLI_TEXT for the table alone */
  const char *compare;       /* libraries to compare with (peer.h), or NULL */
} bench_options;

struct bench_call;
typedef struct bench_job {
  tutti_comm *comm; /* the communicator to measure */
  tutti_comm *talk; /* has the same ranks; used to exchange results */
  int rank, size, data;
  tutti_status (*other)(const struct bench_job *job,
                        const struct bench_call *call); /* measured instead of tutti's; or NULL */
} bench_job;

/* One measured call, which is repeated as often as needed. The buffers are large enough for the longest vector of
 * the collective, which has P * count elements in some collectives. In place, src and dst are the same buffer. */
typedef struct bench_call {
  tutti_coll coll;
  tutti_type type;
  tutti_op op;
  int root;
  size_t count;                /* as passed to the collective */
  size_t src_bytes, dst_bytes; /* sizes on this rank */
  void *src, *dst;             /* as passed to the call */
} bench_call;

/* The results for one call, in seconds per call on the slowest rank. Each repeat gives the mean time of its calls.
 * The first four fields are statistics over these means. */
typedef struct bench_side {
  double least, median, most;
  double p99;          /* 0 if there are fewer than 100 repeats */
  double algbw, busbw; /* GB/s, from the median */
  int64_t wrong;       /* wrong elements on all ranks, or -1 if not checked */
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
/* `tutti bench --compare` (compare.c). bench_compare_defaults sets the defaults of its options. */
int bench_compare(const bench_options *o);
void bench_compare_defaults(bench_options *o, int argc, char **argv);
/* Parses argv into *o, which already holds the defaults. Returns 0, or the exit status to use after an error message. */
int bench_parse(const char *command, bench_options *o, int argc, char **argv);
bool bench_reduces(tutti_coll coll); /* true if the collective takes an op */
bool bench_rooted(tutti_coll coll);  /* true if the collective takes a root */
/* Returns the message size to measure after `bytes`. After the last size, the result is larger than o->last. */
size_t bench_next(const bench_options *o, size_t bytes);
size_t bench_sizes(const bench_options *o); /* the number of sizes */

/* ---- the ranks of a command (bench_job.c) ---- */

/* Joins this rank to its job and creates two communicators. Every rank contributes data to the collectives. */
tutti_status bench_join(bench_job *job);
void bench_leave(bench_job *job);

/* ---- buffers (bench_buffers.c) ---- */

typedef struct bench_buffers {
  void *a, *b;
} bench_buffers;

/* Returns the element count for a call whose longer vector has about `bytes` bytes. Sets *whole to the exact size of
 * that vector in bytes. */
size_t bench_count(int ranks, const bench_options *o, size_t bytes, size_t *whole);
tutti_status bench_acquire(const bench_job *job, const bench_options *o, size_t whole,
                           bench_buffers *m);
void bench_release(const bench_job *job, const bench_options *o, bench_buffers *m);
/* Returns the call on these buffers. */
bench_call bench_call_of(const bench_job *job, const bench_options *o, size_t count, size_t whole,
                         const bench_buffers *m, bool in_place);

/* ---- one call (bench_time.c) ---- */

tutti_status bench_run(const bench_job *job, const bench_call *call);
/* Measures the call according to the options, and fills in all fields of `side` except `wrong`. */
tutti_status bench_time(const bench_job *job, const bench_options *o, const bench_call *call,
                        bench_side *side);
/* Sets *n to the number of calls that fit into the time budget of one repeat. All ranks get the same number. */
tutti_status bench_iterations(const bench_job *job, const bench_options *o, const bench_call *call,
                              long *n);
/* Measures this rank's seconds per call in one repeat of n calls. */
tutti_status bench_repeat(const bench_job *job, const bench_options *o, const bench_call *call,
                          long n, double *seconds);

/* ---- checking results (bench_check.c) ---- */

/* Fills the buffers, makes one call, and compares its result with a plain computation. Sets *wrong to the number of
 * elements that differ, summed over all ranks. */
tutti_status bench_check(const bench_job *job, const bench_call *call, int64_t *wrong);

/* ---- output for people and for programs (bench_show.c, bench_plot.c); rank 0 only ---- */

void bench_show_head(const bench_job *job, const bench_options *o);
void bench_show_row(const bench_options *o, const bench_row *row);
void bench_show_foot(const bench_options *o, const bench_row *rows, size_t n);
/* If stderr is a terminal, shows a progress bar with `done` of `all` steps completed. Removes the bar if `all` is 0. */
void bench_progress(size_t done, size_t all, size_t bytes);

/* bench_results and bench_plot return 0, or the exit status to use after an error message. */
int bench_results(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n);
int bench_plot(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n);
/* Write the results in the format given by --format, to stdout or to the file given by -o. bench_output returns NULL
 * after an error message. bench_output_close returns 0, or the exit status to use after an error message.
 * bench_table returns true if the results are printed as a table. */
FILE *bench_output(const char *command, const bench_options *o);
int bench_output_close(const char *command, const bench_options *o, FILE *f);
bool bench_table(const bench_options *o);
/* Checks that the files given by --plot and -o can be written, before any time is spent on measurements. */
int bench_files_ready(const char *command, const bench_options *o);

#endif
