/* cusim.h - a simulated GPU driver for tests, without a GPU: libcuda_sim.so implements gpu/cuda_calls.def.
 *
 * Idea       Device memory is a range of addresses that the CPU cannot read; its bytes are stored elsewhere. Each
 *            stream runs its operations later in its own thread, after random delays. Kernels are interpreted
 *            (ptx_machine.h). It is stricter than a real driver, and also rejects errors that happen to work.
 * Invariant  One lock, cusim.lock, protects everything that this header declares. An operation moves bytes without it.
 * Refused    Memory that is unallocated, freed, unmapped, or of another device; accesses that no event orders
 *            (cusim_races.c); invalid PTX. Errors are printed to stderr, and are fatal where they are in a driver.
 * Settings   Environment variables, read at the first call:
 *              CUDA_SIM_DEVICES=1      devices
 *              CUDA_SIM_MEMORY=BYTES   of each device, for this process (1 GiB)
 *              CUDA_SIM_DELAY=20       mean delay of an operation, in microseconds
 *              CUDA_SIM_SEED=1         of the delays, and of the order of a kernel's threads
 *              CUDA_SIM_STEPS=2e9      the maximum number of instructions of a thread of a kernel
 *              CUDA_SIM_STRICT=1       calls that may wait for the whole device do; a call that frees blocks all
 *                                      others
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

/* For each stream, the number of operations that are known to be complete. */
typedef struct cusim_clock {
  uint64_t at[MOST_STREAMS];
} cusim_clock;

typedef struct cusim_device { /* a device, with its primary context */
  int ordinal, retained;      /* retained: a count; the context exists while it is > 0 */
  unsigned epoch;             /* number of earlier contexts */
  CUresult error;             /* permanent error of the context */
  unsigned peers;             /* a bit for each device whose memory it may access */
  size_t used;                /* in bytes */
  int legacy;                 /* the slot of its legacy default stream, or -1 */
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
  uint64_t at, bytes; /* at: the address in kernels and copies */
  cusim_kind kind;
  int device;        /* owner of the memory */
  cusim_device *ctx; /* the context that allocated, registered or mapped it */
  unsigned flags;
  uint64_t id;         /* never reused */
  int fd;              /* for device memory of this process */
  unsigned char *host; /* where its bytes are stored */
  cusim_head *head;
  int users;     /* operations that are accessing it */
  bool dead;     /* freed */
  int opened;    /* KIND_IPC: how often it was opened */
  pid_t owner;   /* KIND_IPC: the exporting process, */
  uint64_t name; /* and its id there */
} cusim_alloc;

/* Returns the live allocation that contains this address, or NULL. */
cusim_alloc *cusim_find(uint64_t at);
/* As above, if a context may access these bytes; otherwise NULL, with the reason in *why. */
cusim_alloc *cusim_reach(const cusim_device *d, uint64_t at, uint64_t bytes, const char **why);
bool cusim_lives(const cusim_head *head);
/* Returns this context's mapping of another process's memory, or NULL. */
cusim_alloc *cusim_mapping_of(const cusim_device *d, pid_t owner, uint64_t name);
cusim_alloc *cusim_map_file(cusim_device *d, int fd, uint64_t bytes, cusim_kind kind);
void cusim_release(cusim_alloc *a); /* ends one use */
void cusim_kill(cusim_alloc *a);    /* frees it; its addresses are not reused */
void cusim_free_all(cusim_device *d);
/* Returns true if the address is in the range that only a device can read. */
bool cusim_device_range(uint64_t at);

/* ---- streams: cusim_streams.c ---- */

struct cusim_op;
typedef struct cusim_stream {
  int slot;
  enum { SLOT_FREE, SLOT_LIVE, SLOT_CLOSING } state;
  cusim_device *device;
  unsigned generation;
  bool blocking, threaded;
  uint64_t issued, done; /* numbers of operations; a slot's next stream continues them */
  cusim_clock clock;     /* all operations before its running one */
  struct cusim_op *first, *last;
  unsigned long long random;
  pthread_cond_t wake;
} cusim_stream;

typedef struct cusim_record { /* a record of an event: a point in a stream */
  int refs, slot;
  uint64_t seq;
  cusim_clock clock;
  double when;
} cusim_record;

struct ptx_launch;
typedef struct cusim_op {
  struct cusim_op *next;
  int call; /* the function that issued the operation */
  cusim_stream *stream;
  uint64_t seq;
  cusim_clock after,
      known; /* the operation starts after these; known: those that the host knew to be complete */
  CUresult (*run)(struct cusim_op *op); /* called without the lock */
  uint64_t to, from, bytes;
  bool to_pageable, from_pageable;
  void *staged; /* the source bytes of a copy; freed with the operation */
  uint32_t value;
  unsigned flags;
  CUhostFn fn;
  void *data;
  cusim_record *record; /* the record that the operation makes, or waits for */
  bool waits;
  struct ptx_launch *launch;
} cusim_op;

/* Returns the stream of a handle, or NULL if it is not a stream of this context. */
cusim_stream *cusim_stream_of(cusim_device *d, CUstream handle);
cusim_stream *cusim_stream_anywhere(cusim_device *d, CUstream handle); /* in any context */
cusim_op *cusim_op_new(int call, cusim_stream *s, CUresult (*run)(cusim_op *op));
/* Queues an operation. The stream frees it. */
void cusim_issue(cusim_op *op);
void cusim_wait_for(cusim_stream *s, uint64_t seq); /* then the host knows it is done */
/* Waits for all operations that the context has so far. Returns an error if that takes CUDA_SIM_STUCK seconds. */
CUresult cusim_settle(cusim_device *d, int call, const cusim_stream *only);
void cusim_close_streams(cusim_device *d);
unsigned cusim_random(unsigned long long *state); /* returns 32 random bits */
double cusim_now(void);                           /* in seconds */

/* ---- order: cusim_races.c ---- */

typedef struct cusim_range {
  uint64_t from, to;
  bool writes;
} cusim_range;

void cusim_join(cusim_clock *clock, const cusim_clock *other);
/* Records that the host knows which operations of this stream are complete. */
void cusim_host_learns(const cusim_stream *s);
/* Returns an error if another operation on these bytes has run or is running, and is not ordered before `op`. */
CUresult cusim_note(const cusim_op *op, const cusim_range *ranges, size_t n);

/* ---- handles of events, modules and functions: cusim_devices.c ---- */

typedef enum cusim_what { IS_EVENT = 1, IS_MODULE, IS_FUNCTION } cusim_what;
void *cusim_handle_new(cusim_what what, cusim_device *d, void *object); /* NULL if out of memory */
void *cusim_handle_get(cusim_what what, const void *handle, cusim_device **d);
void cusim_handle_drop(const void *handle);

/* ---- calls: cusim_calls.c ---- */

extern struct cusim {
  pthread_mutex_t lock;
  pthread_cond_t moved; /* an operation is complete, or a context has failed */
  bool started;
  _Atomic pid_t process; /* the process that called cuInit; read without the lock */
  int devices;
  size_t memory;
  double delay, stuck;
  unsigned long long seed;
  int64_t steps;
  bool strict, ipc;
  bool alone; /* a call waits for the device, and blocks all others */
  cusim_device device[MOST_DEVICES];
  cusim_stream stream[MOST_STREAMS];
  cusim_clock host; /* operations whose completion the host knows of */
} cusim;
extern _Thread_local bool cusim_in_host_fn;

const char *cusim_name(int call);
/* Begins a call: takes the lock, unless it returns an error. *d is set to the current context. d is NULL if the call
 * does not need one. */
CUresult cusim_begin(int call, cusim_device **d);
/* As above, for a call that does not need an initialized driver. */
CUresult cusim_begin_bare(int call);
CUresult cusim_end(CUresult why); /* releases the lock and returns why */
/* Returns the error to inject into the next operation. */
CUresult cusim_op_error(void);
cusim_device *cusim_current(void); /* or NULL */
CUcontext cusim_context_of(const cusim_device *d);
/* Marks the context as unusable, and prints the reason. Returns the context's error. */
CUresult cusim_die(cusim_device *d, CUresult error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cusim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
