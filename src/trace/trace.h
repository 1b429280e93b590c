/* trace.h - records a rank's events in a communicator as they happen.
 *
 * Idea       A bounded tape of events of 40 bytes per communicator and rank, in memory, written to
 *            a file at the end (trace_file.c). Each step is an event. The time between two steps,
 *            inside a blocking call and after a poll that found a peer not ready, is a wait for
 *            that peer.
 * Cost       Off: one branch on a NULL pointer. On: two counter reads per event, one per poll that
 *            finds nothing.
 * Invariant  One thread writes a tape: the holder of the communicator, or for marks its caller. A
 *            full tape drops events and counts them.
 * See        docs/trace.md
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include <stdatomic.h>
#include <time.h>

#include "schedule.h"
#include "wire.h"

typedef enum tt_event_kind {
  TT_EVENT_CALL,   /* a blocking collective; contains steps, as the next four do */
  TT_EVENT_START,  /* a collective was started */
  TT_EVENT_WAITS,  /* tutti_request_wait */
  TT_EVENT_TEST,   /* tutti_request_test, if it did anything */
  TT_EVENT_P2P,    /* a p2p message */
  TT_EVENT_FLIGHT, /* from the start of an operation to its end */
  TT_EVENT_MARK,   /* the program's own */
  TT_EVENT_IDLE,   /* steps: waiting for a peer */
  TT_EVENT_REDUCE,
  TT_EVENT_COPY,
  TT_EVENT_SEND,
  TT_EVENT_RECEIVE,
  TT_EVENT_KERNEL, /* a sum on a device; and copies from it and to it, as far as the rank waits for them */
  TT_EVENT_FROM_DEVICE,
  TT_EVENT_TO_DEVICE,
  TT_EVENT_KINDS
} tt_event_kind;

typedef struct tt_event {
  uint64_t begin, end; /* ticks */
  uint64_t bytes;
  uint64_t seq; /* of the operation */
  int32_t peer; /* -1: none, or several */
  uint32_t step;
  uint16_t kind, what; /* what: index of the call, or of the mark's name */
} tt_event;

typedef struct tt_tape {
  tt_event *events;
  uint32_t capacity;
  atomic_uint n;
  uint64_t dropped;
} tt_tape;

enum { TT_TRACE_CALLS = 256, TT_TRACE_NAMES = 64 };

/* A call and the plan it ran; events refer to it by its index in a table. */
typedef struct tt_traced_call {
  uint64_t key;
  uint32_t coll, type, op, slices;
  uint64_t count, bytes;
  char *plan; /* the trace's; NULL: out of memory */
  char tag[TT_WORDS];
} tt_traced_call;

typedef struct tt_trace_clock {
  uint64_t tick0, ns0;   /* one instant, as ticks and on the clock */
  int64_t offset, error; /* ns: to the first rank's clock; its uncertainty */
} tt_trace_clock;

/* Whose trace it is. */
typedef struct tt_trace_id {
  uint64_t comm, job;        /* ids of communicator and job, the same on all ranks */
  int rank, ranks, job_rank; /* job_rank: the rank in the job */
  bool whole;                /* it contains all ranks of the job */
  int lane;                  /* number in this process, counted from 1 */
  char name[TT_WORDS];       /* of the communicator */
} tt_trace_id;

typedef struct tt_trace {
  tt_tape steps, marks;
  bool counter;           /* ticks are the CPU's, else nanoseconds */
  bool inside;            /* a call; else another one drives it */
  bool waits;             /* inside a blocking call */
  bool blocking;          /* the call is one collective */
  bool begun;             /* an operation began in it */
  int32_t awaits;         /* peer not ready at the last poll; -1: none */
  uint64_t last, entered; /* ticks: end of the last event; start of the call */
  uint32_t before;        /* events at the start of the call */
  uint64_t seq;           /* of the operation begun last */
  struct {
    uint64_t begin;
    uint16_t what;
    bool blocking;
  } open[TT_WINDOW];
  uint32_t ncalls, nnames;
  uint16_t again; /* the call that began last */
  tt_traced_call calls[TT_TRACE_CALLS];
  char names[TT_TRACE_NAMES][48]; /* of marks */
  tt_trace_clock clock;
  tt_trace_id id;
  struct tt_trace *next;
} tt_trace;

static inline uint64_t tt_trace_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks now. */
static inline uint64_t tt_trace_now(const tt_trace *t) {
#if defined(__x86_64__)
  if (t->counter) return __builtin_ia32_rdtsc();
#endif
  (void)t;
  return tt_trace_ns();
}

/* When a step begins: at the end of the last one, unless a poll since then found a peer not
 * ready. */
static inline uint64_t tt_trace_mark(const tt_trace *t) {
  return t->inside && t->awaits < 0 ? t->last : tt_trace_now(t);
}

/* Record a part of an operation that began at `begin` and has ended. Without bytes, only the wait
 * before it is recorded. */
void tt_trace_step(tt_trace *t, tt_event_kind kind, uint64_t begin, uint64_t seq, int peer,
                   uint64_t bytes, uint32_t step);
/* The time that follows belongs to no step: the next step begins here at the earliest. */
uint64_t tt_trace_cut(tt_trace *t);
/* At the beginning and the end of a call. */
void tt_trace_enter(tt_trace *t, bool waits);
void tt_trace_leave(tt_trace *t, tt_event_kind kind);
static inline void tt_trace_in(tt_trace *t, bool waits) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_enter(t, waits);
}
static inline void tt_trace_out(tt_trace *t, tt_event_kind kind) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_leave(t, kind);
}
/* At the beginning of a blocking collective. */
static inline void tt_trace_call(tt_trace *t) {
  tt_trace_enter(t, true);
  t->blocking = true;
}
void tt_trace_add(tt_tape *tape, const tt_event *event);

/* ---- the file (trace_file.c) ---- */

/* Prepares the file for this job, which another rank may have done. False after a warning, which is
 * the only one. */
bool tt_trace_claim(const char *path, uint64_t job, uint64_t origin);
void tt_trace_write(const char *path, const tt_trace *trace);

#endif
