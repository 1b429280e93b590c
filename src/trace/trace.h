/* trace.h - records a rank's events in a communicator as they happen.
 *
 * Idea       Each rank has a bounded tape for each communicator: events of 48 bytes in memory, written to a file at the
 *            end (trace_file.c). Each step is an event. The time between two steps counts as a wait for a peer if it is
 *            inside a blocking call and a poll found that the peer was not ready.
 * Cost       Off: one branch on a NULL pointer. On: two counter reads per event, and one per poll that finds nothing.
 * Invariant  Only one thread writes to a tape: the holder of the communicator or, for marks, their caller. A full tape
 *            drops events and counts them.
 * See        docs/trace.md
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include <stdatomic.h>
#include <time.h>

#include "schedule.h"
#include "wire.h"

typedef enum tt_event_kind {
  TT_EVENT_CALL,   /* a blocking collective; like the next four, it contains steps */
  TT_EVENT_START,  /* the start of a collective */
  TT_EVENT_WAITS,  /* tutti_request_wait */
  TT_EVENT_TEST,   /* tutti_request_test, if it did anything */
  TT_EVENT_P2P,    /* a p2p message */
  TT_EVENT_FLIGHT, /* an operation from start to end */
  TT_EVENT_MARK,   /* a mark of the program */
  TT_EVENT_IDLE,   /* a step: waiting for a peer */
  TT_EVENT_REDUCE,
  TT_EVENT_COPY,
  TT_EVENT_SEND,
  TT_EVENT_RECEIVE,
  TT_EVENT_KERNEL, /* a sum on a device; then copies from and to it, while the rank waits for
                    * them */
  TT_EVENT_FROM_DEVICE,
  TT_EVENT_TO_DEVICE,
  TT_EVENT_KINDS
} tt_event_kind;

typedef struct tt_event {
  uint64_t begin, end; /* in ticks */
  uint64_t bytes;
  uint64_t seq; /* number of the operation */
  int32_t peer; /* -1: none, or several */
  uint32_t step;
  uint16_t kind, what; /* what: index of the call, or of the name of a mark */
} tt_event;

typedef struct tt_tape {
  tt_event *events;
  uint32_t capacity;
  atomic_uint n;
  uint64_t dropped;
} tt_tape;

enum { TT_TRACE_CALLS = 256, TT_TRACE_NAMES = 1 + 64 };

/* A call and the plan that ran it. Events refer to it by its index in the table. */
typedef struct tt_traced_call {
  uint64_t key;
  uint32_t coll, type, op, slices;
  uint64_t count, bytes;
  char *plan; /* owned by the trace; NULL: out of memory */
  char tag[TT_WORDS];
} tt_traced_call;

typedef struct tt_trace_clock {
  uint64_t tick0, ns0;   /* the same instant in ticks and in ns of the clock */
  int64_t offset, error; /* offset to the first rank's clock, and its uncertainty, in ns */
} tt_trace_clock;

/* Identifies the communicator and the rank that a trace belongs to. */
typedef struct tt_trace_id {
  uint64_t comm, job;        /* ids of the communicator and the job, equal on all ranks */
  int rank, ranks, job_rank; /* job_rank: the rank in the job */
  bool whole;                /* the communicator contains all ranks of the job */
  int lane;                  /* number of the trace in this process, counted from 1 */
  char name[TT_WORDS];       /* name of the communicator */
} tt_trace_id;

typedef struct tt_trace {
  tt_tape steps, marks;
  bool counter;           /* ticks are those of the CPU; otherwise nanoseconds */
  bool inside;            /* inside a call; otherwise another call drives the operation */
  bool waits;             /* inside a blocking call */
  bool blocking;          /* the call is a single blocking collective */
  bool begun;             /* an operation has started in the call */
  int32_t awaits;         /* peer that was not ready at the last poll; -1: none */
  uint64_t last, entered; /* in ticks: end of the last event; start of the call */
  uint32_t before;        /* number of events at the start of the call */
  uint64_t seq;           /* number of the last operation started */
  struct {
    uint64_t begin;
    uint16_t what;
    bool blocking;
  } open[TT_WINDOW];
  uint32_t ncalls, nnames;
  uint16_t again; /* index of the last call started */
  tt_traced_call calls[TT_TRACE_CALLS];
  char names[TT_TRACE_NAMES][48]; /* names of marks; the first one is for those without room */
  tt_trace_clock clock;
  tt_trace_id id;
  struct tt_trace *next;
} tt_trace;

static inline uint64_t tt_trace_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the current time in ticks. */
static inline uint64_t tt_trace_now(const tt_trace *t) {
#if defined(__x86_64__)
  if (t->counter) return __builtin_ia32_rdtsc();
#endif
  (void)t;
  return tt_trace_ns();
}

/* Returns the start time of a step. It is the end of the last step, unless a later poll found that a peer was not ready. */
static inline uint64_t tt_trace_mark(const tt_trace *t) {
  return t->inside && t->awaits < 0 ? t->last : tt_trace_now(t);
}

/* Records a part of an operation that started at `begin` and ends now. If `bytes` is 0, records only the wait before it. */
void tt_trace_step(tt_trace *t, tt_event_kind kind, uint64_t begin, uint64_t seq, int peer,
                   uint64_t bytes, uint32_t step);
/* Ends the current interval, because the following time belongs to no step. The next step cannot start earlier than now. */
uint64_t tt_trace_cut(tt_trace *t);
/* Call these at the start and at the end of a call. */
void tt_trace_enter(tt_trace *t, bool waits);
void tt_trace_leave(tt_trace *t, tt_event_kind kind);
static inline void tt_trace_in(tt_trace *t, bool waits) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_enter(t, waits);
}
static inline void tt_trace_out(tt_trace *t, tt_event_kind kind) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_leave(t, kind);
}
/* Call this at the start of a blocking collective. */
static inline void tt_trace_call(tt_trace *t) {
  tt_trace_enter(t, true);
  t->blocking = true;
}
void tt_trace_add(tt_tape *tape, const tt_event *event);

/* ---- the file (trace_file.c) ---- */

/* Prepares the trace file for this job, unless another rank has prepared it. On error, logs the only warning about the file
 * and returns false. */
bool tt_trace_claim(const char *path, uint64_t job, uint64_t origin);
void tt_trace_write(const char *path, const tt_trace *trace);

#endif
