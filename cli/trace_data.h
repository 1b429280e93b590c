/* trace_data.h - inside `tutti trace`: the contents of trace files, and the results.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACE_DATA_H
#define TRACE_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kept.h"
#include "tutti_plan.h"

/* Kinds of events, by category. TRACE_WAIT and later kinds are steps, inside the others. */
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
  int64_t begin, end; /* ns */
  uint64_t bytes;
  uint32_t seq, step, what; /* what: index into the calls */
  int32_t peer, lane;
  uint8_t kind;
} trace_event;

/* Is it a step of a device's? */
static inline bool trace_of_device(const trace_event *e) {
  return e->kind >= TRACE_KERNEL;
}

typedef struct trace_lane { /* of a rank in a communicator; its program's marks have another */
  int pid, tid, rank, ranks;
  uint64_t comm, dropped;
  double error_us;
  uint32_t next; /* in the same hash chain */
} trace_lane;

typedef struct trace_call { /* a kind of call; a mark: its name is the plan, coll is "" */
  const char *plan;         /* among the trace's names */
  char coll[24], type[24], op[16];
  uint64_t count, bytes;
  uint32_t slices;
  uint32_t next; /* in the same hash chain; the members before it distinguish calls */
} trace_call;

typedef struct trace_data {
  trace_event *events;
  size_t nevents, events_room;
  trace_lane *lanes;
  size_t nlanes, lanes_room;
  trace_call *calls; /* the first is for unknown calls */
  size_t ncalls, calls_room;
  kept_name *names;
  uint32_t *chains; /* of lanes, then of calls, by hash: 1 + the index of the first one, or 0 */
} trace_data;

/* trace_read.c: add the contents of a file. 0, or an exit status after a message with line and
 * column. */
int trace_read(const char *path, trace_data *d);
void trace_free(trace_data *d);

/* Saturating sum of times: files may contain any numbers. */
static inline void trace_add(int64_t *sum, int64_t ns) {
  if (__builtin_add_overflow(*sum, ns, sum)) *sum = ns < 0 ? INT64_MIN : INT64_MAX;
}

/* ---- trace_sum.c ---- */

/* Of a rank of the job, ns; they add up to its span. */
typedef struct trace_rank {
  int pid;
  int64_t reduce, copy, wait, inside, mark, outside, span;
  int64_t flight, flight_wait; /* something in flight; waiting during that */
  uint64_t last, calls;        /* times it came last; all its calls with other ranks */
  int64_t behind, worst;       /* its lateness: sum, most */
  uint64_t dropped;
} trace_rank;

/* A collective as one rank saw it. */
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
  int64_t longest, after; /* longest: of a rank, ns; after: from the last arrival to the last end */
} trace_op;

typedef struct trace_sort { /* all ops of a kind of call */
  size_t from, n;           /* in ops, by `longest` */
  uint32_t what;
  int64_t total, median_after;
} trace_sort;

typedef struct trace_sums {
  trace_rank *ranks;
  size_t nranks;
  trace_part *parts;
  size_t nparts;
  trace_op *ops;
  size_t nops, torn; /* torn: operations that some rank did not record */
  trace_sort *sorts; /* by total time, longest first */
  size_t nsorts;
  const trace_event **steps; /* by lane, operation, begin */
  size_t nsteps;
} trace_sums;

bool trace_sum(const trace_data *d, trace_sums *s); /* false: out of memory */
void trace_sums_free(trace_sums *s);

/* ---- trace_path.c ---- */

typedef struct trace_hop { /* on a critical path, last first */
  int rank, peer;          /* of the communicator */
  uint8_t kind;            /* TRACE_CALL: the rank came */
  int64_t begin, end;
  int64_t gap; /* ns until the next hop began, or noticed this one */
  uint64_t bytes;
  uint32_t step;
} trace_hop;
enum { TRACE_HOPS = 256 };
/* The chain of steps that ended last; returns the number of hops. */
int trace_path(const trace_data *d, const trace_sums *s, const trace_op *op,
               trace_hop hops[TRACE_HOPS]);

/* ---- trace_show.c ---- */

void trace_show(const trace_data *d, const trace_sums *s, bool all);
void trace_show_json(const trace_data *d, const trace_sums *s);

/* ---- trace_first.c ---- */

/* The waits for each rank of the job, and last (rank -1) for ranks that left no events; *n of them. NULL: out of
 * memory. Free it. */
typedef struct trace_wait {
  int rank;
  int64_t ns;
  uint64_t times;
} trace_wait;
trace_wait *trace_waits(const trace_data *d, const trace_sums *s, size_t *n);
/* The table of phases. */
void trace_show_first(const trace_data *d, const trace_sums *s, bool all);

/* ---- trace_draw.c ---- */

/* Draw `length` ms from `from` as lines of letters; length 0: around the median of the calls that
 * took longest. 0, or an exit status after a complaint. */
int trace_draw(const trace_data *d, const trace_sums *s, double from_ms, double length_ms);
/* What it draws, in ns: at least 100. */
void trace_window(const trace_sums *s, double from_ms, double length_ms, int64_t *from,
                  int64_t *to);

/* ---- trace_svg.c ---- */

/* The same as a picture in the file `path`, which ends in .svg. */
int trace_svg(const trace_data *d, const trace_sums *s, double from_ms, double length_ms,
              const char *path);

#endif
