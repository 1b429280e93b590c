/* cusim.h - a simulated GPU driver for tests, without a GPU: libcuda_sim.so implements gpu/cuda_calls.def.
 *
 * Idea       Device memory is a range of addresses that the CPU cannot read; its bytes are stored elsewhere. Each
 *            stream has a thread, which runs the stream's operations later, after random delays; kernels are
 *            interpreted (ptx_machine.h). The simulated driver is stricter than a real one: it also refuses errors that
 *            happen to work.
 * Invariant  One lock, cusim.lock, protects everything that this header declares. An operation moves bytes without it.
 * Refused    Memory that is not allocated, freed, unmapped or of another device; operations on the same bytes that no
 *            event orders (cusim_races.c); wrong PTX. A refusal is a line on stderr, and fatal where it is for a driver.
 * Settings   Environment variables, read at the first call:
 *              CUDA_SIM_DEVICES=1      devices
 *              CUDA_SIM_MEMORY=BYTES   of each device, for this process (1 GiB)
 *              CUDA_SIM_DELAY=20       mean delay of an operation, in microseconds
 *              CUDA_SIM_SEED=1         of the delays, and of the order of a kernel's threads
 *              CUDA_SIM_STEPS=2e9      the maximum number of instructions of a thread of a kernel
 *              CUDA_SIM_STRICT=1       calls that may wait for the whole device do so; a call that frees blocks all others
 *              CUDA_SIM_STUCK=10       seconds after which such a wait is an error
 *              CUDA_SIM_IPC=1          0: other processes cannot map its memory, as is the case for memory of cuMemCreate
 *              CUDA_SIM_FAIL=N[:E], CUDA_SIM_FAIL_NAME=F:K[:E]  the N-th call (cleaning up does not count), the K-th of F fails
 *              CUDA_SIM_FAIL_OP=N[:E]  the N-th operation on a stream fails, and its context with it
 *              CUDA_SIM_WITHOUT=F,G    these functions return NOT_SUPPORTED
 *              CUDA_SIM_LATE=F         calls of this function are delayed by 50 ms
 *              CUDA_SIM_COUNT=FILE     on exit the process appends a line: the number of counted calls, and of operations
 * Source     NVIDIA's reference of the driver API.
 * SPDX-License-Identifier: BSD-3-Clause */
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

/* For each stream, the number of operations that are known to be done. */
typedef struct cusim_clock {
  uint64_t at[MOST_STREAMS];
} cusim_clock;

typedef struct cusim_device { /* with its primary context */
  int ordinal, retained;      /* retained: the context exists while it is > 0 */
  unsigned epoch;             /* of the context: the number of earlier ones */
  CUresult error;             /* of the context, permanent */
  unsigned peers;             /* a bit for each device with memory that it may use */
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

typedef struct cusim_head { /* the first page of device memory's file, which importers also map */
  uint64_t magic, live;
} cusim_head;

typedef struct cusim_alloc {
  uint64_t at, bytes; /* at: its address in kernels and copies */
  cusim_kind kind;
  int device;        /* owner of the memory */
  cusim_device *ctx; /* the context that allocated, registered or mapped it */
  unsigned flags;
  uint64_t id;         /* never reused */
  int fd;              /* of device memory of this process */
  unsigned char *host; /* its bytes */
  cusim_head *head;
  int users;     /* operations that access it now */
  bool dead;     /* freed */
  int opened;    /* KIND_IPC: how often */
  pid_t owner;   /* KIND_IPC: the exporting process, */
  uint64_t name; /* and its id there */
} cusim_alloc;

/* The live allocation that holds this address; NULL: none. */
cusim_alloc *cusim_find(uint64_t at);
/* The same, if a context may use these bytes; otherwise NULL, with the reason in *why. */
cusim_alloc *cusim_reach(const cusim_device *d, uint64_t at, uint64_t bytes, const char **why);
bool cusim_lives(const cusim_head *head);
/* This context's mapping of another process's memory; NULL: not mapped. */
cusim_alloc *cusim_mapping_of(const cusim_device *d, pid_t owner, uint64_t name);
cusim_alloc *cusim_map_file(cusim_device *d, int fd, uint64_t bytes, cusim_kind kind);
void cusim_release(cusim_alloc *a); /* ends one use */
void cusim_kill(cusim_alloc *a);    /* frees it; its addresses are not reused */
void cusim_free_all(cusim_device *d);
/* Is it in the range of addresses that only a device can read? */
bool cusim_device_range(uint64_t at);

/* ---- streams: cusim_streams.c ---- */

struct cusim_op;
typedef struct cusim_stream {
  int slot;
  enum { SLOT_FREE, SLOT_LIVE, SLOT_CLOSING } state;
  cusim_device *device;
  unsigned generation;
  bool blocking, threaded;
  uint64_t issued, done; /* numbers of operations; the slot's next stream continues the count */
  cusim_clock clock;     /* everything before its running operation */
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
  int call; /* the function that issued it */
  cusim_stream *stream;
  uint64_t seq;
  cusim_clock after,
      known; /* it starts after these operations; the host knew that these were done */
  CUresult (*run)(struct cusim_op *op); /* without the lock */
  uint64_t to, from, bytes;
  bool to_pageable, from_pageable;
  void *staged; /* the source bytes of a copy; freed with the operation */
  uint32_t value;
  unsigned flags;
  CUhostFn fn;
  void *data;
  cusim_record *record; /* the record that it makes, or waits for */
  bool waits;
  struct ptx_launch *launch;
} cusim_op;

/* The stream of a handle; NULL: the handle is not a stream of this context. */
cusim_stream *cusim_stream_of(cusim_device *d, CUstream handle);
cusim_stream *cusim_stream_anywhere(cusim_device *d, CUstream handle); /* the same in any context */
cusim_op *cusim_op_new(int call, cusim_stream *s, CUresult (*run)(cusim_op *op));
/* Queues an operation. The stream frees it. */
void cusim_issue(cusim_op *op);
void cusim_wait_for(cusim_stream *s, uint64_t seq); /* the host then knows it is done */
/* Waits for all operations of the context so far. An error if that takes CUDA_SIM_STUCK seconds. */
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
/* Records that the host knows which operations of this stream are done. */
void cusim_host_learns(const cusim_stream *s);
/* An error if another operation on these bytes has run, or is running, and is not ordered before `op`. */
CUresult cusim_note(const cusim_op *op, const cusim_range *ranges, size_t n);

/* ---- handles of events, modules and functions: cusim_devices.c ---- */

typedef enum cusim_what { IS_EVENT = 1, IS_MODULE, IS_FUNCTION } cusim_what;
void *cusim_handle_new(cusim_what what, cusim_device *d, void *object); /* NULL: out of memory */
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
  bool alone; /* a call waits for the device, and blocks all others */
  cusim_device device[MOST_DEVICES];
  cusim_stream stream[MOST_STREAMS];
  cusim_clock host; /* known to the host */
} cusim;
extern _Thread_local bool cusim_in_host_fn;

const char *cusim_name(int call);
/* Begins a call: takes the lock, unless it returns an error. d: set to the current context; NULL if the call
 * needs none. */
CUresult cusim_begin(int call, cusim_device **d);
/* The same for a call that does not need an initialized driver. */
CUresult cusim_begin_bare(int call);
CUresult cusim_end(CUresult why); /* releases the lock; returns why */
/* The next operation's injected error. */
CUresult cusim_op_error(void);
cusim_device *cusim_current(void); /* NULL: none */
CUcontext cusim_context_of(const cusim_device *d);
/* Marks the context as dead, and prints the reason. Returns the context's error. */
CUresult cusim_die(cusim_device *d, CUresult error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cusim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
