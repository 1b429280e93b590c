/* gpu.h - internals of libtutti_cuda.so: one world per process, one context per device, and lanes.
 *
 * Idea       The world is shared by all calls. It contains the driver's functions, and data about
 *            devices, pinned memory and mappings. Each function of the table enters the device's
 *            primary context, and restores the previous context of the calling thread.
 * Invariant  No function calls cuInit. A lock of the world is held during driver calls only in
 *            functions that may wait for the device according to the header (tutti_device.h).
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
  GPU_DEVICES = 64,  /* limit for one process */
  GPU_OPERANDS = 64, /* limit for the vectors of one sum */
  GPU_UNROLLED = 8,  /* there is a separate kernel for each number of operands up to this one */
  GPU_WORDS = 256    /* limit for the streams of a device that wait for a word simultaneously */
};

/* The kernels of one type and op in one context. */
typedef struct gpu_kernels {
  CUmodule module;                 /* NULL if not loaded */
  CUfunction of[GPU_UNROLLED + 1]; /* indexed by the number of operands; [0] handles any number */
} gpu_kernels;

/* A word in pinned memory, on a separate cache line. A held stream waits until the word reaches a certain value. */
typedef struct gpu_word {
  _Alignas(64) uint32_t value;
} gpu_word;

typedef struct gpu_context {
  CUcontext primary; /* retained until the process ends; NULL if not retained yet */
  CUuuid uuid;
  int processors, priority; /* processors: multiprocessors; priority: the highest of a stream */
  gpu_word *words;          /* NULL if no lane was opened yet */
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
  bool ours; /* false if other code registered it */
} gpu_pin;

typedef struct gpu_mapping {
  struct gpu_mapping *next;
  tutti_device_name name; /* its offset is 0 */
  int device;             /* the mapping was opened in its context */
  CUdeviceptr at;
} gpu_mapping;

typedef struct gpu_handle { /* handle to memory of this process, for other processes */
  struct gpu_handle *next;
  unsigned long long id;
  const void *base;
  CUipcMemHandle handle;
} gpu_handle;

typedef struct gpu_hold { /* a stream that waits */
  struct gpu_hold *next;  /* in the list of watched holds */
  struct gpu_world *world;
  gpu_context *context;
  int word; /* index of the word; < 0 if a function called by the driver sleeps instead */
  uint32_t value;
  pthread_mutex_t lock;
  pthread_cond_t released;
  bool over;  /* the function may return */
  bool early; /* the watcher released the stream */
  int refs;   /* references by the sleeping function and by the releaser */
} gpu_hold;

typedef struct gpu_world {
  cuda_calls cuda;
  char name[32];
  bool loaded;
  pthread_mutex_t lock; /* protects words, handles, and contexts except their kernels */
  pthread_mutex_t pins_lock, mappings_lock; /* protect the two lists; held during driver calls */
  pthread_mutex_t kernels_lock; /* protects the kernels; held while the driver compiles */
  bool asked[TUTTI_TYPE_COUNT][TUTTI_OP_COUNT]; /* by `sums`; `open` loads these kernels too */
  gpu_context contexts[GPU_DEVICES];
  gpu_pin *pins;
  gpu_mapping *mappings;
  gpu_handle *handles;
  unsigned long long entered, left; /* calls of tutti that entered and left the driver */
  pthread_mutex_t holds_lock;       /* protects holds and watcher; never held in driver calls */
  pthread_cond_t held;
  gpu_hold *holds; /* holds of streams that wait */
  bool watched;
} gpu_world;

enum { GPU_EVENTS = 64 }; /* tickets of a queue whose end is recorded exactly */

typedef struct gpu_queue {
  CUstream stream;
  CUevent events[GPU_EVENTS];
  unsigned long long given, done; /* tickets issued; the last one reached */
} gpu_queue;

typedef struct gpu_lane {
  gpu_world *world;
  int device;
  gpu_queue queues[2]; /* indexed by tutti_device_way */
  CUevent after;
} gpu_lane;

/* ---- cuda_load.c ---- */

/* Loads the library of the CUDA driver. Returns 0, or 1 with the reason for the failure in `why`. */
int gpu_load(cuda_calls *cuda, char *why, size_t size);

/* ---- contexts.c ---- */

/* Stores an error message for gpu_error, and returns -1. */
int gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Stores a message about an error from a driver function, and returns -1. The format describes the failed operation. */
int gpu_fail_cuda(const gpu_world *w, const char *function, CUresult result, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
const char *gpu_error(void *self);

/* Returns the primary context of a device, which the first call retains. Returns NULL on error (see gpu_error). */
gpu_context *gpu_context_of(gpu_world *w, int device);
/* Makes the primary context of the device current. Sets *pushed to true if another context was current before.
 * Returns 0, or -1 on error. */
int gpu_enter(gpu_world *w, int device, bool *pushed);
/* Makes a context current. This is the one that the thread already has or, if none, that of an active device. */
int gpu_enter_any(gpu_world *w, bool *pushed);
/* Must be called after gpu_enter or gpu_enter_any has returned 0. */
void gpu_leave(gpu_world *w, bool pushed);
/* gpu_enter and gpu_leave also count a call of the driver for the watcher (watch.c). These two functions only count.
 * gpu_came_back returns `failed`. */
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

/* Creates the words for the current context, which must be the context of the device. Returns 0, or -1 on error. */
int gpu_words_make(gpu_world *w, int device);
int gpu_hold_stream(void *lane, void *stream, void **hold);
int gpu_release(void *lane, void *hold);
/* Lets the stream continue. The hold still exists. */
void gpu_let_go(gpu_hold *hold);

/* ---- watch.c ---- */

/* Creates the watcher thread, which runs until the process ends. Must be called before the first stream is held.
 * Returns 0, or -1 on error. */
int gpu_watcher_start(gpu_world *w);
/* Adds a held stream to the watcher. Until gpu_unwatch is called, the watcher releases the stream if tutti cannot. */
void gpu_watch(gpu_world *w, gpu_hold *hold);
/* Removes a held stream from the watcher. Returns 0, or -1 if the watcher has already let the stream continue. */
int gpu_unwatch(gpu_world *w, gpu_hold *hold);

/* ---- peer_memory.c ---- */

int gpu_name_of(void *self, const void *at, tutti_device_name *name);
void *gpu_map(void *self, int device, const tutti_device_name *name);
void gpu_forget(void *self, long long process);

/* ---- device_sums.c ---- */

int gpu_sums(void *self, tutti_type type, tutti_op op);
/* Loads all kernels that gpu_sums has requested into the current context. Returns 0, or -1 on error. */
int gpu_kernels_load(gpu_world *w, int device);
int gpu_sum(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
            tutti_type type, tutti_op op);

/* ---- ptx.c ---- */

/* The parameters of a kernel. Counts are in elements, and addresses are device addresses. The kernel sums the
 * elements [0, head) and [head + skip, head + skip + edge - head) one by one. It sums the `skip` elements in between
 * as `vectors` vectors of 16 bytes. */
typedef struct gpu_parameters {
  uint64_t edge, head, skip, vectors;
  uint32_t n, nto;
  uint64_t from[GPU_OPERANDS], to[GPU_OPERANDS];
} gpu_parameters;

/* Returns the kernels for this type and op as PTX text, with the entry points sum2 to sum8 and sum. The caller frees
 * the text. Returns NULL if there are no such kernels, or if out of memory. */
char *gpu_ptx(tutti_type type, tutti_op op);
/* Returns the size of an element in bytes. */
size_t gpu_ptx_size(tutti_type type);
/* Returns true if gpu_ptx has kernels for this type and op. */
bool gpu_ptx_has(tutti_type type, tutti_op op);

#endif
