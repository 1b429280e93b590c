/* tutti_device.h - the interface to a device whose memory the processor cannot read: a GPU.
 *
 * A device is a table of functions. libtutti_cuda.so contains the table for the driver of NVIDIA's GPUs (docs/gpu.md);
 * tutti loads it if both are installed. Vectors in device memory are then copied through pinned host memory, piece by
 * piece, on separate streams. If all ranks of a communicator can access each other's device memory, kernels compute the
 * sums there.
 *
 * Functions return 0, or another number on failure; `error` then returns the reason. Any thread may call them, even
 * simultaneously, but only one thread at a time uses a lane. `pin`, `unpin`, `open`, `close`, `settle`, `sums`, `map` and
 * `forget` may wait for all work of the device, including held streams, so they must not be called between `hold` and
 * `release`. No other function waits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_DEVICE_H
#define TUTTI_DEVICE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An allocation of device memory. */
typedef struct tutti_device_place {
  int device;            /* number of the device */
  const void *base;      /* start of the allocation */
  size_t bytes;          /* size of the allocation */
  unsigned long long id; /* id of the allocation, unique within the process and never reused; 0 if
                            the driver has no such id */
} tutti_device_place;

/* Identifies a piece of device memory for other processes of this host, so that they can map it. */
typedef struct tutti_device_name {
  unsigned char handle[64];  /* the driver's handle */
  unsigned char device[16];  /* globally unique id of the device (a UUID) */
  unsigned long long id;     /* id of the allocation in its process */
  unsigned long long offset; /* offset of the memory in its allocation, in bytes */
  unsigned long long bytes;  /* size of the allocation */
  unsigned long long base;   /* address of the allocation in its process */
  long long process;         /* id of its process */
} tutti_device_name;

/* The direction of a copy. */
typedef enum tutti_device_way {
  TUTTI_DEVICE_IN, /* from the device to the host */
  TUTTI_DEVICE_OUT /* from the host to the device */
} tutti_device_way;

typedef struct tutti_device {
  size_t size;      /* size of this struct */
  const char *name; /* "CUDA 13.0" */
  void *self;       /* passed to the functions */
  /* Fills *place if `at` is memory of a device that the processor cannot read, and returns 0. Returns 1 if it is not (then
   * the processor can read it; this includes managed and pinned memory), or if no driver was started in this process.
   * Returns a negative number if the driver failed or tutti cannot use this memory. Takes at most 0.3 us. */
  int (*place)(void *self, const void *at, tutti_device_place *place);
  /* Pins host memory, so that the device copies to and from it faster. Pins whole pages; a second pin on the same page may be
   * refused. An address may be pinned several times, and then needs as many calls of `unpin`. Fails while this process uses
   * no device. */
  int (*pin)(void *self, void *memory, size_t bytes);
  int (*unpin)(void *self, void *memory); /* undoes a pin */

  /* Opens a lane, which consists of one queue for each direction of copies. The queue OUT also runs sums. The queues are
   * separate streams, and no other stream waits for them implicitly. Also compiles the ops that `sums` was called for. */
  int (*open)(void *self, int device, void **lane);
  void (*close)(void *lane); /* waits until its queues are empty, and frees the lane */
  /* Makes later work of the lane wait until `stream` has completed its earlier work. stream: the driver's handle. It is a
   * CUstream of the device's primary context, NULL for the legacy default stream, or 2 for the calling thread's default
   * stream. */
  int (*after)(void *lane, void *stream);
  /* Adds a copy to the queue for its direction. A queue runs its work in order. */
  int (*copy)(void *lane, tutti_device_way way, void *to, const void *from, size_t bytes);
  /* mark returns in *ticket a ticket for all earlier work of this queue; tickets increase. reached returns 1 if the
   * device has completed that work, 0 if not yet, and a negative number if the device failed. */
  int (*mark)(void *lane, tutti_device_way way, unsigned long long *ticket);
  int (*reached)(void *lane, tutti_device_way way, unsigned long long ticket);
  /* Returns when `stream` has completed all earlier work. */
  int (*settle)(void *self, int device, void *stream);
  /* Makes later work of `stream` wait until `release` is called, without occupying the device. On failure, the stream does
   * not wait, and *hold is NULL. A hold may be released after its lane has been closed. */
  int (*hold)(void *lane, void *stream, void **hold);
  /* Lets the stream that waits for this hold continue, and frees the hold. Any thread may call this. Returns a negative
   * number if the stream had already continued, because it would otherwise have waited forever. */
  int (*release)(void *lane, void *hold);

  /* Device memory of other processes. name_of fills *name, or returns 1 if other processes cannot map the memory. map returns
   * the memory's address in this process, for sums on `device`, or NULL if it cannot be mapped. An allocation keeps its
   * address as long as its handle and id are the same. Memory of this process keeps its own address. A mapping remains until
   * `forget`, which ends the mappings of a process (-1: of all processes), or until `map` is given the name of another
   * allocation that has the same address in the other process. */
  int (*name_of)(void *self, const void *at, tutti_device_name *name);
  void *(*map)(void *self, int device, const tutti_device_name *name);
  void (*forget)(void *self, long long process); /* see map */
  /* Returns 1 if `sum` supports this type and op, and has been compiled for all devices that have a lane. Returns 0 if it is
   * not supported, or if the compiler failed (then `error` has the reason). The op avg divides by n. */
  int (*sums)(void *self, tutti_type type, tutti_op op);
  /* Sums `count` elements of n vectors, 2 to 64, in the order of `from`, and writes the sums to `to[0..nto-1]`, 1 to 64. Uses
   * the queue OUT. The results have the same bits as those of tutti's own kernels (floats of 8 and 16 bits are summed in
   * float and rounded once). Any of `to` may equal one of `from`. All are device addresses in this process, aligned for the
   * type. */
  int (*sum)(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
             tutti_type type, tutti_op op);
  /* Returns the reason why the last function that failed in this thread has failed. The text is valid until the thread's next
   * call. */
  const char *(*error)(void *self);
} tutti_device;

/** Let calls use vectors in the memory of another kind of device. The table `device` has the functions for such devices. The
 *  table is copied, and remains in use for the life of the process. Call this before the first communicator,
 *  tutti_device_here and tutti_info; later calls return TUTTI_ERR_STATE. Returns TUTTI_ERR_ARG if the table is for another
 *  version. */
TUTTI_API tutti_status tutti_device_set(const tutti_device *device);

/* A device's library exports `int tutti_device_of(tutti_device *device, char *why, size_t size)`, which fills
 * *device and returns 0, or writes the reason to `why` and returns 1. It does not start a driver. TUTTI_DEVICE=NAME
 * loads libtutti_NAME.so. The default is cuda, if that library can be loaded; "none" disables devices. */

#ifdef __cplusplus
}
#endif
#endif
