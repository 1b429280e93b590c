/* cusim.h - a driver of GPUs for tests, without a GPU: libcuda_sim.so has the functions of gpu/cuda_calls.def.
 *
 * Idea       Device memory is a range of addresses that the processor cannot read; its bytes lie elsewhere. Each
 *            stream has a thread, which runs the stream's operations later, after random delays; kernels are
 *            interpreted (ptx_machine.h). The simulated driver is stricter than a real one: it refuses what happens to work.
 * Invariant  One lock, cusim.lock, guards all that this header declares. An operation moves bytes without it.
 * Refused    Memory that is not allocated, freed, unmapped or of another device; operations on the same bytes that no
 *            event orders (cusim_races.c); PTX that is wrong or unknown. A refusal is a line on stderr. Where a real
 *            driver kills the context, all later calls return the same error.
 * Settings   Variables of the environment, read at the first call:
 *              CUDA_SIM_DEVICES=1      devices
 *              CUDA_SIM_MEMORY=BYTES   of each device, for this process (1 GiB)
 *              CUDA_SIM_DELAY=20       mean delay of an operation, in microseconds
 *              CUDA_SIM_SEED=1         of the delays, and of the order of a kernel's threads
 *              CUDA_SIM_STEPS=2e9      the most instructions of a thread of a kernel
 *              CUDA_SIM_STRICT=1       calls that may wait for the whole device do so; one that frees keeps all others out
 *              CUDA_SIM_STUCK=10       seconds after which such a wait is an error
 *              CUDA_SIM_IPC=1          0: other processes cannot map its memory, as it is with memory of cuMemCreate
 *              CUDA_SIM_FAIL=N[:E]     the N-th call fails (with error E); calls that clean up do not count
 *              CUDA_SIM_FAIL_NAME=F:K[:E]   the K-th call of the function F fails
 *              CUDA_SIM_FAIL_OP=N[:E]  the N-th operation on a stream fails, and its context with it
 *              CUDA_SIM_WITHOUT=F,G    these functions return NOT_SUPPORTED
 *              CUDA_SIM_LATE=F         this function's calls come 50 ms late
 *              CUDA_SIM_COUNT=FILE     at the end the process appends a line: how many calls count, how many operations
 * Source     NVIDIA's reference of the driver API. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CUSIM_H
#define CUSIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../gpu/cuda_driver.h"

#define CUDA_CALL(name, symbol, parameters) \
  __attribute__((visibility("default"))) CUresult symbol parameters;
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL

enum {
#define CUDA_CALL(name, symbol, parameters) CALL_##name,
#include "../../gpu/cuda_calls.def"
#undef CUDA_CALL
  CALLS
};

enum { MOST_STREAMS = 128, MOST_DEVICES = 8, CUSIM_PAGE = 4096 };

/* How many operations of each stream something knows to be done. */
typedef struct cusim_clock {
  uint64_t at[MOST_STREAMS];
} cusim_clock;

typedef struct cusim_device { /* and its primary context */
  int ordinal, retained;      /* retained: the context lives while it is > 0 */
  unsigned epoch;             /* of the context: how many there were before */
  CUresult error;             /* of the context, for ever */
  unsigned peers;             /* a bit for each device whose memory it may use */
  size_t used;                /* bytes */
  int legacy;                 /* the slot of its legacy default stream; -1: none yet */
} cusim_device;

/* ---- memory: cusim_memory.c ---- */

typedef enum cusim_kind {
  KIND_DEVICE,
  KIND_MANAGED,
  KIND_HOST,
  KIND_REGISTERED,
  KIND_IPC
} cusim_kind;

typedef struct cusim_head { /* the first page of device memory's file, which importers see, too */
  uint64_t magic, live;
} cusim_head;

typedef struct cusim_alloc {
  uint64_t at, bytes; /* at: its address in kernels and copies */
  cusim_kind kind;
  int device;        /* whose memory it is */
  cusim_device *ctx; /* in which it was allocated, registered or mapped */
  unsigned flags;
  uint64_t id;         /* never used again */
  int fd;              /* of device memory of this process */
  unsigned char *host; /* its bytes */
  cusim_head *head;
  int users;     /* operations that touch it now */
  bool dead;     /* freed */
  int opened;    /* KIND_IPC: how often */
  pid_t owner;   /* KIND_IPC: the process that has exported it, */
  uint64_t name; /* and its id there */
} cusim_alloc;

/* The live allocation that holds this address; NULL: none. */
cusim_alloc *cusim_find(uint64_t at);
/* The same, if a context may use these bytes; otherwise NULL, and *why. */
cusim_alloc *cusim_reach(const cusim_device *d, uint64_t at, uint64_t bytes, const char **why);
bool cusim_lives(const cusim_head *head);
/* What this context has mapped of another process; NULL: not yet. */
cusim_alloc *cusim_mapping_of(const cusim_device *d, pid_t owner, uint64_t name);
cusim_alloc *cusim_map_file(cusim_device *d, int fd, uint64_t bytes, cusim_kind kind);
void cusim_release(cusim_alloc *a); /* ends one use */
void cusim_kill(cusim_alloc *a);    /* frees it; its addresses remain unused */
void cusim_free_all(cusim_device *d);
/* Is it an address that only a device could read? */
bool cusim_device_range(uint64_t at);

/* ---- streams: cusim_streams.c ---- */

struct cusim_op;
typedef struct cusim_stream {
  int slot;
  enum { SLOT_FREE, SLOT_LIVE, SLOT_CLOSING } state;
  cusim_device *device;
  unsigned generation;
  bool blocking, threaded;
  uint64_t issued, done; /* operations; they go on when the slot's next stream begins */
  cusim_clock clock;     /* what its running operation comes after */
  struct cusim_op *first, *last;
  unsigned long long random;
  pthread_cond_t wake;
} cusim_stream;

typedef struct cusim_record { /* of an event: a point in a stream */
  int refs, slot;
  uint64_t seq;
  cusim_clock clock;
  double when;
} cusim_record;

struct ptx_launch;
typedef struct cusim_op {
  struct cusim_op *next;
  int call; /* which function has issued it */
  cusim_stream *stream;
  uint64_t seq;
  cusim_clock after,
      known; /* it starts after these operations; the host knew that these were done */
  CUresult (*run)(struct cusim_op *op); /* without the lock */
  uint64_t to, from, bytes;
  bool to_pageable, from_pageable;
  void *staged; /* the bytes to copy from; freed with the operation */
  uint32_t value;
  unsigned flags;
  CUhostFn fn;
  void *data;
  cusim_record *record; /* that it makes, or waits for */
  bool waits;
  struct ptx_launch *launch;
} cusim_op;

/* The stream of a handle; NULL: this context has no such stream. */
cusim_stream *cusim_stream_of(cusim_device *d, CUstream handle);
cusim_stream *cusim_stream_anywhere(cusim_device *d, CUstream handle); /* or in another */
cusim_op *cusim_op_new(int call, cusim_stream *s, CUresult (*run)(cusim_op *op));
/* Queues it. The stream frees it. */
void cusim_issue(cusim_op *op);
void cusim_wait_for(cusim_stream *s, uint64_t seq); /* and the host knows it then */
/* Waits for all that the context has got so far. An error if that takes CUDA_SIM_STUCK seconds. */
CUresult cusim_settle(cusim_device *d, int call, const cusim_stream *only);
void cusim_close_streams(cusim_device *d);
unsigned cusim_random(unsigned long long *state); /* 32 bits */
double cusim_now(void);                           /* seconds */

/* ---- order: cusim_races.c ---- */

typedef struct cusim_range {
  uint64_t from, to;
  bool writes;
} cusim_range;

void cusim_join(cusim_clock *clock, const cusim_clock *other);
/* The host knows what this stream has done. */
void cusim_host_learns(const cusim_stream *s);
/* An error if another operation on these bytes has run, or runs, and is not ordered before `op`. */
CUresult cusim_note(const cusim_op *op, const cusim_range *ranges, size_t n);

/* ---- handles of events, modules and functions: cusim_devices.c ---- */

typedef enum cusim_what { IS_EVENT = 1, IS_MODULE, IS_FUNCTION } cusim_what;
void *cusim_handle_new(cusim_what what, cusim_device *d, void *object); /* NULL: no memory */
void *cusim_handle_get(cusim_what what, const void *handle, cusim_device **d);
void cusim_handle_drop(const void *handle);

/* ---- calls: cusim_calls.c ---- */

extern struct cusim {
  pthread_mutex_t lock;
  pthread_cond_t moved; /* an operation is done, or a context has failed */
  bool started;
  _Atomic pid_t process; /* it called cuInit; read without the lock */
  int devices;
  size_t memory;
  double delay, stuck;
  unsigned long long seed;
  int64_t steps;
  bool strict, ipc;
  bool alone; /* a call waits for the device, and keeps all others out */
  cusim_device device[MOST_DEVICES];
  cusim_stream stream[MOST_STREAMS];
  cusim_clock host; /* what the host knows */
} cusim;
extern _Thread_local bool cusim_in_host_fn;

const char *cusim_name(int call);
/* Begins a call: takes the lock, unless it returns an error. d: the current context, or NULL if none is wanted. */
CUresult cusim_begin(int call, cusim_device **d);
/* The same for a call that needs no driver at work. */
CUresult cusim_begin_bare(int call);
CUresult cusim_end(CUresult why); /* releases the lock; returns why */
/* The next operation's injected error. */
CUresult cusim_op_error(void);
cusim_device *cusim_current(void); /* NULL: none */
CUcontext cusim_context_of(const cusim_device *d);
/* The context is dead from now on; prints why. Returns the error that it has then. */
CUresult cusim_die(cusim_device *d, CUresult error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cusim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
