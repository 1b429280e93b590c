/* tutti_device.h - what tutti needs from a device whose memory the processor does not read: a GPU.
 *
 * A device is a table of functions. libtutti_cuda.so contains the table for the driver of NVIDIA's GPUs (docs/gpu.md);
 * tutti loads it where both are installed. Vectors that lie on a device then go through pinned
 * memory of the host, piece by piece, on streams of tutti's; where all ranks of a communicator reach each
 * other's device memory, kernels sum there.
 *
 * Functions return 0, or another number on failure; `error` then says why. Any thread may call them, several at
 * once; one thread at a time uses one lane. `pin`, `unpin`, `open`, `close`, `settle`, `sums`, `map` and `forget` may wait
 * for all work of the device, held streams among it: call none of them between `hold` and `release`. No other function waits.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_DEVICE_H
#define TUTTI_DEVICE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An allocation of device memory. */
typedef struct tutti_device_place {
  int device;            /* its number */
  const void *base;      /* of the allocation */
  size_t bytes;          /* of the allocation */
  unsigned long long id; /* of the allocation: unique within the process and never reused. 0: the driver has no such number */
} tutti_device_place;

/* A name of device memory that other processes of this host can map. */
typedef struct tutti_device_name {
  unsigned char handle[64];  /* as the driver made it */
  unsigned char device[16];  /* the device's number in the world (a UUID) */
  unsigned long long id;     /* of the allocation, in its process */
  unsigned long long offset; /* of the memory, in bytes from the start of its allocation */
  unsigned long long bytes;  /* of the allocation */
  unsigned long long base;   /* its address in its own process */
  long long process;         /* its own process */
} tutti_device_name;

typedef enum tutti_device_way { /* of a copy */
  TUTTI_DEVICE_IN, /* from the device to the host */
  TUTTI_DEVICE_OUT /* from the host to the device */
} tutti_device_way;

typedef struct tutti_device {
  size_t size;      /* of this struct */
  const char *name; /* "CUDA 13.0" */
  void *self;       /* passed on to the functions */
  /* Fills *place if `at` is memory of a device that the processor cannot read. 1: it is not (then the processor reads
   * it: managed and pinned memory, too), or no driver was started in this process. < 0: the driver failed, or tutti cannot
   * use this memory. Takes at most 0.3 us. */
  int (*place)(void *self, const void *at, tutti_device_place *place);
  /* Make the device's copies to and from this memory of the host fast. Whole pages: two pins that share a page may be refused.
   * Counted, by the address: as many `unpin` end it. Fails while no device is in use in this process. */
  int (*pin)(void *self, void *memory, size_t bytes);
  int (*unpin)(void *self, void *memory); /* the end of pin */

  /* A lane: two queues, one for each way of copies; sums are in the queue OUT, too. They are streams of tutti's that no
   * other stream waits for by itself. Compiles what `sums` was asked for. */
  int (*open)(void *self, int device, void **lane);
  void (*close)(void *lane); /* waits until its queues are empty, and frees it */
  /* Later work of the lane begins when `stream` has done its earlier work. stream: the driver's handle (a
   * CUstream of the device's primary context; NULL: the legacy default stream; 2: the calling thread's default stream). */
  int (*after)(void *lane, void *stream);
  /* Copies in the queue of its way, which is FIFO. */
  int (*copy)(void *lane, tutti_device_way way, void *to, const void *from, size_t bytes);
  /* A ticket for all earlier work of this queue; numbers increase. reached: 1: the device has done it; 0: not yet; <
   * 0: the device failed. */
  int (*mark)(void *lane, tutti_device_way way, unsigned long long *ticket);
  int (*reached)(void *lane, tutti_device_way way, unsigned long long ticket);
  /* Returns when `stream` has completed all earlier work. */
  int (*settle)(void *self, int device, void *stream);
  /* Later work of `stream` waits until `release`; no kernel spins for it. After a failure the stream
   * does not wait, and *hold is NULL. A hold may outlive its lane. */
  int (*hold)(void *lane, void *stream, void **hold);
  /* The stream continues; frees the hold. Any thread. < 0: the stream had continued earlier, because it would have waited for ever. */
  int (*release)(void *lane, void *hold);

  /* Device memory of other processes. name_of: fills *name; 1: no other process can map it. map: its address in this process, for
   * sums on `device`; NULL: it cannot be mapped. The allocation has one and the same address as long as handle and id are
   * the same. Memory of this process keeps its own address. A mapping stays until `forget`, which ends those of that
   * process (all: process -1), or until `map` gets the name of another allocation at its address there. */
  int (*name_of)(void *self, const void *at, tutti_device_name *name);
  void *(*map)(void *self, int device, const tutti_device_name *name);
  void (*forget)(void *self, long long process); /* see map */
  /* 1: `sum` can do this type and op, and is compiled for all devices that have a lane; 0: it cannot, or the compiler failed
   * (then `error` says why). avg divides by n. */
  int (*sums)(void *self, tutti_type type, tutti_op op);
  /* Sums `count` elements of n vectors, 2 to 64, in the order of `from`, with the bits of tutti's own kernels (floats of 8 and
   * 16 bits are summed in float, and rounded once), and writes them to `to[0..nto-1]`, 1 to 64; in the queue OUT. Any of
   * `to` may be one of `from`. All are device addresses in this process, aligned as the type. */
  int (*sum)(void *lane, void *const *to, int nto, const void *const *from, int n, size_t count,
             tutti_type type, tutti_op op);
  /* Why this thread's last failed function failed; valid until its next call. */
  const char *(*error)(void *self);
} tutti_device;

/** Let calls take vectors on this device, for which you wrote the table. The table is copied; it stays for the life of the process.
 *  Before the first communicator, tutti_device_here and tutti_info: later TUTTI_ERR_STATE. TUTTI_ERR_ARG: the table is of another version. */
TUTTI_API tutti_status tutti_device_set(const tutti_device *device);

/* A device's library has `int tutti_device_of(tutti_device *device, char *why, size_t size)`, which fills
 * *device and returns 0, or 1 and `why`; it starts no driver. TUTTI_DEVICE=NAME loads libtutti_NAME.so; the default
 * is cuda, where it can be loaded; none: no device. */

#ifdef __cplusplus
}
#endif
#endif
