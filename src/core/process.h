/* process.h - the process context: the only mutable globals of the library.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_H
#define TT_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum { TT_WARNINGS = 32, TT_REMEMBERED = 1024 };

/* Of the ways to copy between processes (job/remote.c). */
typedef struct tt_copy_costs {
  double remote_call, remote_byte, staged_byte; /* s and s/B */
} tt_copy_costs;

typedef struct tt_process_context {
  pthread_mutex_t starting; /* held while `base` is created; taken before `lock` */
  pthread_mutex_t lock;     /* guards all below except the atomics */
  struct {
    tutti_log_fn *fn;
    void *ctx;
  } log;              /* set before threads use the library */
  tt_copy_costs copy; /* as measured here; all 0: not yet */
  atomic_int finalized;
  atomic_ullong proven[TT_REMEMBERED]; /* plan keys, newest per hash slot (proof_table.c) */
  atomic_bool communicates;            /* it has made a communicator, or begun to */
  atomic_int forked;                   /* set in a child forked from a communicating process */
  atomic_int hooked;                   /* the fork hook is installed */
  atomic_bool usable;   /* hooked, not finalized, not forked: tt_alive would succeed */
  tt_user_op *user_ops; /* TUTTI_OP_USER_END - TUTTI_OP_USER of them, or NULL */
  uint32_t op_serial;   /* of the op registered last */
  struct tt_wait_notes
      *_Atomic waits;    /* what `tutti doctor` reads; NULL: not yet made (long_wait.c) */
  tutti_comm *base;      /* hidden parent of tutti_comm_from_env's communicators */
  bool joined;           /* it joined a running job: the process then has no base */
  tutti_comm *in_flight; /* list of communicators with requests in flight */
  atomic_int in_flight_count;
  struct {
    pthread_t id;
    pthread_cond_t work; /* something is in flight, or the thread ends */
    bool runs, ends;
    atomic_int wanted;     /* buckets that want it (bucket_create.c) */
    atomic_int by_setting; /* TUTTI_PROGRESS_THREAD, when the last communicator was made */
  } progress_thread;       /* drives communicators in flight (thread.c) */
  struct {
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
  } scratch; /* NULL: aligned_alloc and free */
  const struct tutti_device
      *_Atomic device;              /* whose memory calls may name; or NULL (open_device.c) */
  atomic_int device_sought;         /* 1: it is looked for now, or set; 2: that is done */
  atomic_int device_holds;          /* streams that wait for calls */
  struct tt_unsent *_Atomic unsent; /* memory from which closed networks may still send */
  void (*_Atomic idle)(void);       /* called while a rank waits; or NULL */
  struct {
    tutti_interrupt_fn *_Atomic fn; /* or NULL */
    void *ctx;
    pthread_t thread;
  } interrupt; /* called by this thread while it waits (interrupt.c) */
  struct {
    struct tt_wisdom *all; /* of any placement; or NULL */
    bool read, changed;    /* TUTTI_WISDOM was read; something was measured */
  } wisdom;                /* process_wisdom.c */
  struct {
    pthread_mutex_t lock;  /* guards the next two; may be taken inside the context's lock */
    struct tt_trace *list; /* of communicators that were not freed, linked */
    char *path;            /* NULL: no tracing */
    atomic_int lanes, warned;
  } trace; /* tracing.c */
  struct {
    pthread_mutex_t lock;          /* guards the next two */
    void *kept;                    /* algo/plan_spec.c */
    struct tt_chooser *choosers;   /* that communicators share, the latest first (choose/chooser.c) */
  } plans;
  atomic_uint_fast64_t warned[TT_WARNINGS]; /* hashes of the invalid settings already reported */
  uint64_t loaded_us;                       /* when the library was loaded, on the wall clock */
} tt_process_context;

extern tt_process_context tt_process;

/* Run the program's idle function while a rank waits. */
void tt_idle(void);

#endif
