/* process.h - the process context: the only mutable globals of the library.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_H
#define TT_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum { TT_WARNINGS = 32, TT_REMEMBERED = 1024 };

/* The costs of the two methods by which processes copy data from each other (job/remote.c). */
typedef struct tt_copy_costs {
  double remote_call, remote_byte, staged_byte; /* in s and s/B */
} tt_copy_costs;

typedef struct tt_process_context {
  pthread_mutex_t starting; /* held while `base` is created; taken before `lock` */
  pthread_mutex_t lock;     /* protects all members below except the atomics */
  struct {
    tutti_log_fn *fn;
    void *ctx;
  } log;              /* must be set before threads use the library */
  tt_copy_costs copy; /* measured in this process; all 0: not yet measured */
  atomic_int finalized;
  atomic_ullong proven[TT_REMEMBERED]; /* keys of proven plans, newest per hash slot
                                        * (proof_table.c) */
  atomic_bool communicates;            /* has made, or started to make, a communicator */
  atomic_int forked;                   /* set in a child forked from a communicating process */
  atomic_int hooked;                   /* the fork handler is installed */
  atomic_bool usable;   /* hooked, not finalized, not forked: tt_alive would succeed */
  tt_user_op *user_ops; /* array of TUTTI_OP_USER_END - TUTTI_OP_USER ops, or NULL */
  uint32_t op_serial;   /* serial number of the op registered last */
  struct tt_wait_notes
      *_Atomic waits;    /* read by `tutti doctor` (long_wait.c); NULL: not yet made */
  tutti_comm *base;      /* hidden parent of tutti_comm_from_env's communicators */
  bool joined;           /* the process joined a running job and therefore has no base */
  tutti_comm *in_flight; /* list of communicators with requests in flight */
  atomic_int in_flight_count;
  struct {
    pthread_t id;
    pthread_cond_t work; /* signaled when an operation is started or the thread must end */
    bool runs, ends;
    atomic_int wanted;     /* number of buckets that need the thread (bucket_create.c) */
    atomic_int by_setting; /* value of TUTTI_PROGRESS_THREAD when the last communicator was made */
  } progress_thread;       /* drives communicators in flight (thread.c) */
  struct {
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
  } scratch; /* NULL: aligned_alloc and free */
  const struct tutti_device
      *_Atomic device;              /* device whose memory calls may use; or NULL (open_device.c) */
  atomic_int device_sought;         /* 1: being searched for, or set; 2: the search has ended */
  atomic_int device_holds;          /* number of streams that wait for calls */
  struct tt_unsent *_Atomic unsent; /* memory from which closed networks may still send */
  void (*_Atomic idle)(void);       /* called while a rank waits; may be NULL */
  struct {
    tutti_interrupt_fn *_Atomic fn; /* may be NULL */
    void *ctx;
    pthread_t thread;
  } interrupt; /* called by this thread while it waits (interrupt.c) */
  struct {
    struct tt_wisdom *all; /* entries for any placement; may be NULL */
    bool read, changed;    /* TUTTI_WISDOM has been read; something has been measured */
  } wisdom;                /* process_wisdom.c */
  struct {
    pthread_mutex_t lock;  /* protects the next two; may be taken inside the context's lock */
    struct tt_trace *list; /* linked list of the traces of communicators that have not been freed */
    char *path;            /* NULL: no tracing */
    atomic_int lanes, warned;
  } trace; /* tracing.c */
  struct {
    pthread_mutex_t lock;          /* protects the next two members */
    void *kept;                    /* algo/plan_spec.c */
    struct tt_chooser *choosers;   /* choosers that communicators share, most recent first
                                    * (choose/chooser.c) */
  } plans;
  atomic_uint_fast64_t warned[TT_WARNINGS]; /* hashes of the invalid settings already reported */
  uint64_t loaded_us;                       /* wall-clock time when the library was loaded, in us */
} tt_process_context;

extern tt_process_context tt_process;

/* Calls the program's idle function while a rank waits. */
void tt_idle(void);

#endif
