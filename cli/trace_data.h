/* trace_data.h - shared by the files of `tutti trace`: the contents of trace files, and the
 * results.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACE_DATA_H
#define TRACE_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kept.h"
#include "tutti_plan.h"

/* Kinds of trace events, by category. TRACE_WAIT and the kinds after it are steps, which happen during other events. */
typedef enum trace_kind {
  TRACE_CALL,
  TRACE_START,
  TRACE_REQUEST_WAIT,
  TRACE_REQUEST_TEST,
  TRACE_MESSAGE,
  TRACE_FLIGHT,
  TRACE_MARK,
  TRACE_WAIT,
  TRACE_REDUCE,
  TRACE_COPY,
  TRACE_SEND,
  TRACE_RECEIVE,
  TRACE_KERNEL,
  TRACE_FROM_DEVICE,
  TRACE_TO_DEVICE,
  TRACE_KINDS
} trace_kind;
extern const char *const trace_kind_names[TRACE_KINDS];

typedef struct trace_event {
  int64_t begin, end; /* in ns */
  uint64_t bytes;
  uint32_t seq, step, what; /* what: index into the calls */
  int32_t peer, lane;
  uint8_t kind;
} trace_event;

/* Returns true if the event is a step of a device. */
static inline bool trace_of_device(const trace_event *e) {
  return e->kind >= TRACE_KERNEL;
}

typedef struct trace_lane { /* a rank in a communicator; a program's marks have a separate lane */
  int pid, tid, rank, ranks;
  uint64_t comm, dropped;
  double error_us;
  uint32_t next; /* in the same hash chain */
} trace_lane;

typedef struct trace_call { /* a kind of call; or a mark with the name `plan` and coll "" */
  const char *plan;         /* points into the names of the trace */
  char coll[24], type[24], op[16];
  uint64_t count, bytes;
  uint32_t slices;
  uint32_t next; /* in the same hash chain; the fields before it identify the call */
} trace_call;

typedef struct trace_data {
  trace_event *events;
  size_t nevents, events_room;
  trace_lane *lanes;
  size_t nlanes, lanes_room;
  trace_call *calls; /* the first entry is for unknown calls */
  size_t ncalls, calls_room;
  kept_names names;
  uint32_t *chains; /* of lanes, then of calls, by hash: 1 + the index of the first one, or 0 */
} trace_data;

/* trace_read.c: adds the contents of a file to *d. Returns 0, or an exit status after an error message with line and
 * column. */
int trace_read(const char *path, trace_data *d);
void trace_free(trace_data *d);

/* Adds two times. The sum saturates, because a trace file may contain any numbers. */
static inline void trace_add(int64_t *sum, int64_t ns) {
  if (__builtin_add_overflow(*sum, ns, sum)) *sum = ns < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- trace_sum.c ---- */

/* Times of a rank of the job, in ns. They add up to its span. */
typedef struct trace_rank {
  int pid;
  int64_t reduce, copy, wait, inside, mark, outside, span;
  int64_t flight, flight_wait; /* time with operations in flight, and the waiting part of it */
  uint64_t last, calls;        /* last: how often it arrived last; calls: with other ranks */
  int64_t behind, worst;       /* how late it was when it arrived last: the sum and the maximum */
  uint64_t dropped;
} trace_rank;

/* A collective as seen by one rank. */
typedef struct trace_part {
  uint64_t comm;
  uint32_t seq, what;
  int32_t lane;
  int64_t begin, end;
} trace_part;

/* A collective on all its ranks: parts [from, from + n). */
typedef struct trace_op {
  size_t from;
  int n;
  uint32_t what;
  int64_t longest, after; /* longest: of a rank, in ns; after: from last arrival to last end */
} trace_op;

typedef struct trace_sort { /* all operations of one kind of call */
  size_t from, n;           /* the range in ops, sorted by `longest` */
  uint32_t what;
  int64_t total, median_after;
} trace_sort;

typedef struct trace_sums {
  trace_rank *ranks;
  size_t nranks;
  trace_part *parts;
  size_t nparts;
  trace_op *ops;
  size_t nops, torn; /* torn: operations that are missing on some rank */
  trace_sort *sorts; /* sorted by total time, longest first */
  size_t nsorts;
  const trace_event **steps; /* sorted by lane, operation and begin */
  size_t nsteps;
} trace_sums;

bool trace_sum(const trace_data *d, trace_sums *s); /* returns false if out of memory */
void trace_sums_free(trace_sums *s);

/* ---- trace_path.c ---- */

typedef struct trace_hop { /* a step on a critical path; the last step comes first */
  int rank, peer;          /* in the communicator */
  uint8_t kind;            /* TRACE_CALL means that the rank entered the call */
  int64_t begin, end;
  int64_t gap; /* in ns, until the next hop began or observed the end of this one */
  uint64_t bytes;
  uint32_t step;
} trace_hop;
enum { TRACE_HOPS = 256 };
/* Finds the critical path of a call, which is the chain of steps that ended last. Returns its number of hops. */
int trace_path(const trace_data *d, const trace_sums *s, const trace_op *op,
               trace_hop hops[TRACE_HOPS]);

/* ---- trace_show.c ---- */

void trace_show(const trace_data *d, const trace_sums *s, bool all);
void trace_show_json(const trace_data *d, const trace_sums *s);

/* ---- trace_first.c ---- */

/* The time that was spent waiting for a rank. trace_waits returns an array of *n entries, one for each rank of the job. The
 * last entry (rank -1) is for all ranks without events. trace_waits returns NULL if out of memory. The caller frees the array. */
typedef struct trace_wait {
  int rank;
  int64_t ns;
  uint64_t times;
} trace_wait;
trace_wait *trace_waits(const trace_data *d, const trace_sums *s, size_t *n);
/* Prints the table of phases. */
void trace_show_first(const trace_data *d, const trace_sums *s, bool all);

/* ---- trace_draw.c ---- */

/* Prints a timeline of `length_ms` milliseconds, beginning at `from_ms`, as lines of letters. If `length_ms` is 0,
 * draws the median call of the kind that took the most time. Returns 0, or an exit status after an error message. */
int trace_draw(const trace_data *d, const trace_sums *s, double from_ms, double length_ms);
/* Computes the start and the end of the period to draw, in ns. The period is at least 100 ns long. */
void trace_window(const trace_sums *s, double from_ms, double length_ms, int64_t *from,
                  int64_t *to);

/* ---- trace_svg.c ---- */

/* Draws the same period as trace_draw, as a picture in the file `path`, whose name ends in .svg. */
int trace_svg(const trace_data *d, const trace_sums *s, double from_ms, double length_ms,
              const char *path);

#endif
