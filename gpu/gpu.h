/* gpu.h - internals of libtutti_cuda.so: one world per process, a context per device, lanes.
 *
 * Idea       The world is what all calls share: the driver's functions, and what was found out about devices,
 *            pinned memory and mappings. Each function of the table enters the device's primary context, and leaves the
 *            calling thread with the context that it had.
 * Invariant  No function calls cuInit. A lock of the world is held during calls of the driver only where the header
 *            (tutti_device.h) says that the function may wait for the device.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_GPU_H
#define TUTTI_GPU_H

#include <pthread.h>
#include <stdbool.h>

#include "cuda_driver.h"
#include "tutti_device.h"

typedef struct cuda_calls {
#define CUDA_CALL(name, symbol, parameters) CUresult(*name) parameters;
#include "cuda_calls.def"
#undef CUDA_CALL
} cuda_calls;

enum {
  GPU_DEVICES = 64,  /* of one process */
  GPU_OPERANDS = 64, /* vectors of one sum */
  GPU_UNROLLED = 8,  /* for each number of operands up to this one there is a separate kernel */
  GPU_WORDS = 256    /* most streams of a device that wait for a word simultaneously */
};

/* The kernels of one type and op in one context. */
typedef struct gpu_kernels {
  CUmodule module;                 /* NULL: not loaded */
  CUfunction of[GPU_UNROLLED + 1]; /* by the number of operands; [0]: any number */
} gpu_kernels;

/* A word in pinned memory, on a separate cache line; a stream waits until it is `value`. */
typedef struct gpu_word {
  _Alignas(64) uint32_t value;
} gpu_word;

typedef struct gpu_context {
  CUcontext primary; /* retained for the life of the process; NULL: not yet */
  CUuuid uuid;
  int processors, priority; /* the multiprocessors; the greatest priority of a stream */
  gpu_word *words;          /* NULL: no lane was opened yet */
  CUdeviceptr words_there;  /* their address on the device */
  unsigned char busy[GPU_WORDS];
  bool no_waits; /* the driver has no cuStreamWaitValue32 for this device */
  gpu_kernels kernels[TUTTI_TYPE_COUNT][TUTTI_OP_COUNT];
} gpu_context;

typedef struct gpu_pin {
  struct gpu_pin *next;
  char *memory;
  size_t bytes;
  int count;
  bool ours; /* else somebody else registered it */
} gpu_pin;

typedef struct gpu_mapping {
  struct gpu_mapping *next;
  tutti_device_name name; /* with offset 0 */
  int device;             /* in whose context it was opened */
  CUdeviceptr at;
} gpu_mapping;

typedef struct gpu_handle { /* of memory of this process, for other processes */
  struct gpu_handle *next;
  unsigned long long id;
  const void *base;
  CUipcMemHandle handle;
} gpu_handle;

typedef struct gpu_hold { /* a stream that waits */
  struct gpu_hold *next;  /* of those that are watched */
  struct gpu_world *world;
  gpu_context *context;
  int word; /* < 0: a function of the driver sleeps */
  uint32_t value;
  pthread_mutex_t lock;
  pthread_cond_t released;
  bool over;  /* the function may return */
  bool early; /* the watcher released the stream */
  int refs;   /* the function's and the releaser's */
} gpu_hold;

typedef struct gpu_world {
  cuda_calls cuda;
  char name[32];
  bool loaded;
  pthread_mutex_t lock;                         /* contexts but their kernels; words; handles */
  pthread_mutex_t pins_lock, mappings_lock;     /* the lists; held while the driver is called */
  pthread_mutex_t kernels_lock;                 /* the kernels; held while the driver compiles */
  bool asked[TUTTI_TYPE_COUNT][TUTTI_OP_COUNT]; /* `sums` was called: `open` loads these, too */
  gpu_context contexts[GPU_DEVICES];
  gpu_pin *pins;
  gpu_mapping *mappings;
  gpu_handle *handles;
  unsigned long long entered, left; /* calls of tutti's that went into the driver, and came back */
  pthread_mutex_t holds_lock;       /* the holds and the watcher, never with the driver */
  pthread_cond_t held;
  gpu_hold *holds; /* of streams that wait */
  bool watched;
} gpu_world;

enum { GPU_EVENTS = 64 }; /* tickets of a queue whose end is known exactly */

typedef struct gpu_queue {
  CUstream stream;
  CUevent events[GPU_EVENTS];
  unsigned long long given, done; /* tickets; the last one that was reached */
} gpu_queue;

typedef struct gpu_lane {
  gpu_world *world;
  int device;
  gpu_queue queues[2]; /* by tutti_device_way */
  CUevent after;
} gpu_lane;

/* ---- cuda_load.c ---- */

/* Loads the driver's library. 0, or 1 and why not. */
int gpu_load(cuda_calls *cuda, char *why, size_t size);

/* ---- contexts.c ---- */

/* Keeps a sentence for gpu_error, and returns -1. */
int gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of a failure of the driver's function; `what` was to be done. */
int gpu_fail_cuda(const gpu_world *w, const char *function, CUresult result, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
const char *gpu_error(void *self);

/* The context of a device, which is retained at the first call. NULL: see gpu_error. */
gpu_context *gpu_context_of(gpu_world *w, int device);
/* Makes the device's primary context current, and notes in *pushed whether it was another one. 0, or -1. */
int gpu_enter(gpu_world *w, int device, bool *pushed);
/* Makes some context current, for functions that need any one: the thread's, or that of an active device. */
int gpu_enter_any(gpu_world *w, bool *pushed);
/* After each of the two that returned 0. */
void gpu_leave(gpu_world *w, bool pushed);
/* Both enter and leave count a call in the driver, for the watcher (watch.c); these count alone. came_back returns `failed`. */
void gpu_went_in(gpu_world *w);
int gpu_came_back(gpu_world *w, int failed);

/* ---- place.c ---- */

int gpu_place(void *self, const void *at, tutti_device_place *place);

/* ---- pin.c ---- */

int gpu_pin_memory(void *self, void *memory, size_t bytes);
int gpu_unpin_memory(void *self, void *memory);

/* ---- queues.c ---- */

int gpu_open(void *self, int device, void **lane);
void gpu_close(void *lane);
int gpu_after(void *lane, void *stream);
int gpu_copy(void *lane, tutti_device_way way, void *to, const void *from, size_t bytes);
int gpu_mark(void *lane, tutti_device_way way, unsigned long long *ticket);
int gpu_reached(void *lane, tutti_device_way way, unsigned long long ticket);
int gpu_settle(void *self, int device, void *stream);

/* ---- hold.c ---- */

/* Makes the words of the current context, which is the device's. 0, or -1. */
int gpu_words_make(gpu_world *w, int device);
int gpu_hold_stream(void *lane, void *stream, void **hold);
int gpu_release(void *lane, void *hold);
/* Lets the stream continue; the hold stays. */
void gpu_let_go(gpu_hold *hold);

/* ---- watch.c ---- */

/* Before the first hold: makes the thread that watches, for the life of the process. 0, or -1. */
int gpu_watcher_start(gpu_world *w);
/* Until gpu_unwatch, the watcher lets the stream continue if tutti cannot. */
void gpu_watch(gpu_world *w, gpu_hold *hold);
/* 0, or -1: the stream has continued before. */
int gpu_unwatch(gpu_world *w, gpu_hold *hold);

/* ---- peer_memory.c ---- */

int gpu_name_of(void *self, const void *at, tutti_device_name *name);
void *gpu_map(void *self, int device, const tutti_device_name *name);
void gpu_forget(void *self, long long process);

/* ---- device_sums.c ---- */

int gpu_sums(void *self, tutti_type type, tutti_op op);
/* Loads, in the current context, all kernels that `sums` was asked for. 0, or -1. */
int gpu_kernels_load(gpu_world *w, int device);
int gpu_sum(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
            tutti_type type, tutti_op op);

/* ---- ptx.c ---- */

/* What a kernel gets, as one parameter. All counts are elements, all addresses those of the device. The elements
 * [0, head) and [head + skip, head + skip + edge - head) are summed one by one; the `skip` ones between as `vectors` of 16 bytes. */
typedef struct gpu_parameters {
  uint64_t edge, head, skip, vectors;
  uint32_t n, nto;
  uint64_t from[GPU_OPERANDS], to[GPU_OPERANDS];
} gpu_parameters;

/* The kernels of this type and op as text of PTX, for `free`: entries sum2 to sum8, and sum. NULL: there are
 * none, or out of memory. */
char *gpu_ptx(tutti_type type, tutti_op op);
/* Bytes of an element. */
size_t gpu_ptx_size(tutti_type type);
/* Has gpu_ptx kernels for them? */
bool gpu_ptx_has(tutti_type type, tutti_op op);

#endif
