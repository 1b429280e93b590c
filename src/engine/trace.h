/* trace.h - what a rank does in a communicator, written down as it happens.
 *
 * Idea       a bounded tape of events of 40 bytes per communicator and rank, in memory; it
 *            is made a file at the end (trace_file.c). What is done is an event; what lies
 *            between two, inside a call that blocks, after a look that found a peer not
 *            ready, is a wait for that peer.
 * Cost       off: one branch on a pointer that is NULL. On: two looks at a counter per
 *            event, one per look that finds nothing.
 * Invariant  one thread writes a tape: who holds the communicator, or, of marks, its
 *            caller. A full tape takes no more, and counts what it did not take.
 * See        docs/trace.md
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACE_H
#define TT_TRACE_H

#include <stdatomic.h>
#include <time.h>

#include "wire.h"

typedef enum tt_event_kind {
  TT_EVENT_CALL,   /* a blocking collective; these have steps inside them: */
  TT_EVENT_START,  /* ... one was started */
  TT_EVENT_WAITS,  /* ... tutti_request_wait */
  TT_EVENT_TEST,   /* ... tutti_request_test, if it did anything */
  TT_EVENT_P2P,    /* ... a message to or from one rank */
  TT_EVENT_FLIGHT, /* from the start of an operation to its end */
  TT_EVENT_MARK,   /* the program's own */
  TT_EVENT_IDLE,   /* steps: waiting for a peer */
  TT_EVENT_REDUCE,
  TT_EVENT_COPY,
  TT_EVENT_SEND,
  TT_EVENT_RECEIVE,
  TT_EVENT_KINDS
} tt_event_kind;

typedef struct tt_event {
  uint64_t begin, end; /* ticks */
  uint64_t bytes;
  uint32_t seq; /* of the operation */
  int32_t peer; /* -1: none, or several */
  uint32_t step;
  uint16_t kind, what; /* what: which of the calls, or of the names of marks */
} tt_event;

typedef struct tt_tape {
  tt_event *events;
  uint32_t capacity;
  atomic_uint n;
  uint64_t dropped;
} tt_tape;

enum { TT_TRACE_CALLS = 256, TT_TRACE_NAMES = 64 };

/* What was called, and what ran: events name it by its place in a table. */
typedef struct tt_traced_call {
  uint64_t key;
  uint32_t coll, type, op, slices;
  uint64_t count, bytes;
  char plan[88];
} tt_traced_call;

typedef struct tt_trace {
  tt_tape steps, marks;
  bool counter;           /* ticks are the processor's, else nanoseconds */
  bool inside;            /* a call; else another one drives it */
  bool waits;             /* inside a call that blocks */
  bool blocking;          /* ... that is one collective */
  bool begun;             /* ... in which an operation began */
  int32_t awaits;         /* who was not ready at the last look; -1: nobody was missed */
  uint64_t last, entered; /* ticks: the end of the last event; when the call began */
  uint32_t before;        /* events when it began */
  uint32_t seq;           /* of the operation begun last */
  uint64_t tick0, ns0;    /* the same moment, as ticks and on the clock */
  struct {
    uint64_t begin;
    uint16_t what;
    bool blocking;
  } open[TT_WINDOW];
  uint32_t ncalls, nnames;
  uint16_t again; /* the call that began last */
  tt_traced_call calls[TT_TRACE_CALLS];
  char names[TT_TRACE_NAMES][48]; /* of marks */
  /* who it is */
  uint64_t comm, job;        /* numbers of the communicator, of the job: the same on all ranks */
  int rank, ranks, job_rank; /* seat: the rank's in the job */
  bool whole;                /* all ranks of the job are in it */
  int lane;                  /* in this process, from 1 on */
  int64_t offset, error;     /* ns: to the first rank's clock, and how wrong that may be */
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

/* When a step begins: where the last one ended, if no look found a peer not ready since. */
static inline uint64_t tt_trace_mark(const tt_trace *t) {
  return t->inside && t->awaits < 0 ? t->last : tt_trace_now(t);
}

/* A part of an operation that began at `begin` and is over. No bytes: nothing is written
 * down but the wait before it. */
void tt_trace_step(tt_trace *t, tt_event_kind kind, uint64_t begin, uint32_t seq, int peer,
                   uint64_t bytes, uint32_t step);
/* What comes now is no part of a step: the next one begins here at the earliest. */
uint64_t tt_trace_cut(tt_trace *t);
/* A peer is not ready. False, for who looked. */
static inline bool tt_trace_missed(tt_trace *t, int peer) {
  if (__builtin_expect(t != NULL, 0)) t->awaits = peer;
  return false;
}

/* Into a call, and out of it. */
void tt_trace_enter(tt_trace *t, bool waits);
void tt_trace_leave(tt_trace *t, tt_event_kind kind);
static inline void tt_trace_in(tt_trace *t, bool waits) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_enter(t, waits);
}
static inline void tt_trace_out(tt_trace *t, tt_event_kind kind) {
  if (__builtin_expect(t != NULL, 0)) tt_trace_leave(t, kind);
}
/* Into a blocking collective. */
static inline void tt_trace_call(tt_trace *t) {
  tt_trace_enter(t, true);
  t->blocking = true;
}
void tt_trace_add(tt_tape *tape, const tt_event *event);

#endif
