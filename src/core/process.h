/* process.h - the one process context: the only mutable globals of the library.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_H
#define TT_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum { TT_WARNINGS = 32, TT_REMEMBERED = 1024 };

typedef struct tt_process_context {
  pthread_mutex_t starting; /* held while `base` comes about; taken before `lock` */
  pthread_mutex_t lock;     /* guards all below but the atomics */
  tutti_log_fn *log;        /* set before threads use the library */
  void *log_ctx;
  atomic_int finalized;
  atomic_ullong
      proven[TT_REMEMBERED]; /* keys of plans, each where the last one came (proof_table.c) */
  atomic_bool communicates;  /* it has made a communicator, or began to */
  atomic_int forked;         /* set in a child made by fork() of a process that did */
  atomic_int hooked;         /* the fork hook is installed */
  atomic_bool usable;        /* it is, and neither of the others: tt_alive has nothing to say */
  tt_user_op *user_ops;      /* TUTTI_OP_USER_END - TUTTI_OP_USER of them, or NULL */
  uint32_t op_serial;        /* of the last that was registered */
  tutti_comm *base;          /* hidden parent of what tutti_comm_from_env hands out */
  bool joined;               /* as a newcomer: then there is no base */
  tutti_comm *in_flight;     /* communicators with requests in flight, linked */
  atomic_int in_flight_count;
  pthread_t thread;    /* that drives them, if there is one */
  pthread_cond_t work; /* something is in flight, or the thread ends */
  bool has_thread, thread_ends;
  atomic_int wants_thread;     /* buckets that do (bucket_create.c) */
  void *(*take)(size_t bytes); /* scratch; NULL: aligned_alloc and free */
  void (*give)(void *memory);
  void (*_Atomic idle)(void);            /* what goes on while a rank waits; or NULL */
  tutti_interrupt_fn *_Atomic interrupt; /* asked by one thread that waits; or NULL */
  void *interrupt_ctx;
  pthread_t interrupted_thread; /* that one */
  struct tt_wisdom *wisdom;     /* all that is known, of any place (comm_wisdom.c); or NULL */
  bool wisdom_read, wisdom_new; /* TUTTI_WISDOM was; something was measured */
  pthread_mutex_t trace_lock;   /* of the next two; may be taken inside `lock` */
  struct tt_trace *traces;      /* of communicators that were not freed, linked (tracing.c) */
  char *trace_path;             /* NULL: nothing is traced */
  atomic_int trace_lanes, trace_warned;
  atomic_uint_fast64_t
      warned[TT_WARNINGS]; /* of settings that are wrong: hashes of what was said */
  uint64_t loaded_us;      /* when the library was loaded, on the wall clock */
} tt_process_context;

extern tt_process_context tt_process;

/* What the program wants to go on while it waits here. */
void tt_idle(void);

#endif
