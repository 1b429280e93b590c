/* device.h - vectors on a device. The engine handles them as host vectors that are filled and emptied gradually.
 *
 * Idea       A call on device vectors runs on host memory instead, which peers access like any other vector, so every
 *            algorithm, type and op supports devices too, with the same bits. The input is copied to the host in
 *            pieces; the first ones are processed while others are in flight. The result is copied back in pieces.
 * Cost       Each byte crosses the device's bus once per direction. Host memory of the vectors' size is kept for reuse.
 * Invariant  `landed` grows from the start of the input to its end. After `tt_staged_end`, the device's memory is neither
 *            read nor written, unless that function returned false.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DEVICE_H
#define TT_DEVICE_H

#include "process.h"
#include "tutti_device.h"
#include "wire.h"

/* Returns the device whose memory may be passed to calls, or NULL if no device is in use. */
static inline const tutti_device *tt_device(void) {
  /* order: acquire, of the table (open_device.c) */
  return atomic_load_explicit(&tt_process.device, memory_order_acquire);
}

/* Returns true if an address is in device memory. Unless `number` is NULL, sets *number to the device, or to -1 if it is
 * unusable. */
bool tt_on_device(const void *at, int *number);

/* The host memory and the lanes that a communicator keeps for calls on device vectors. Not thread-safe. */
typedef struct tt_stager tt_stager;
tt_stager *tt_stager_new(tt_wire *wire); /* returns NULL if out of memory */
void tt_stager_free(tt_stager *s);       /* s may be NULL; call this before the wire is closed */
/* Where vectors on devices are summed (TUTTI_DEVICE_SUMS). `s` is NULL here and in the next three functions before the first
 * call. */
typedef enum tt_sums { TT_SUMS_BY_PRICE, TT_SUMS_BY_HOST, TT_SUMS_BY_KERNELS } tt_sums;
tt_sums tt_stager_wish(const tt_stager *s);
/* Whether this rank's device can access the memory of the other ranks in the communicator. The first calls determine it. */
typedef enum tt_reach { TT_REACHES_UNKNOWN, TT_REACHES, TT_REACHES_NOT } tt_reach;
tt_reach tt_stager_reach(const tt_stager *s);
int tt_stager_devices(const tt_stager *s); /* number of devices with vectors; 0: unknown */
/* Returns 1 if kernels can compute a sum, -1 if they cannot, and 0 if the device has not been asked yet. */
int tt_stager_compiled(const tt_stager *s, tutti_type type, tutti_op op);

/* Returns true if a call needs no newly pinned memory, no new lane and no compilation. `type` is -1 except for an allreduce. */
bool tt_stager_ready(const tt_stager *s, int number, size_t bytes, int type, int op);
/* Returns how many streams of this process are waiting for calls. */
int tt_device_holds(void);

typedef struct tt_staged tt_staged;

/* A vector, or a part of a vector. `in` is device memory that is copied to the host before the call reads the vector. `out` is
 * device memory that receives the result. Both are NULL if the vector is in host memory. `at` is the offset of the host copy in
 * the staging memory, in bytes. */
typedef struct tt_staged_part {
  const void *in;
  void *out;
  size_t at, bytes;
} tt_staged_part;

/* Reserves a lane and `bytes` bytes of staging memory, and sets *host to this memory. `number` is the number of the device. The
 * array of n parts is copied. No data are copied yet. May wait for the device. Returns TUTTI_ERR_MEMORY, TUTTI_ERR_SYSTEM with
 * the reason from the device, or TUTTI_ERR_UNSUPPORTED if the device cannot use the memory. */
tutti_status tt_staged_new(tt_stager *s, int number, const tt_staged_part *parts, size_t n,
                           size_t bytes, char **host, tt_staged **staged);
/* Finds out whether the device can compute a sum of this type and op. Called before the first such sum. */
void tt_staged_compile(tt_staged *staged, tutti_type type, tutti_op op);
void tt_staged_free(tt_staged *staged); /* NULL is allowed */

/* Starts a call. Its input is copied to the host after all earlier work on `stream`. If `holds`, later work on
 * `stream` waits until the call ends. */
tutti_status tt_staged_begin(tt_staged *staged, void *stream, bool holds);
/* Makes one pass over the copies without waiting. Returns true if anything moved. Sets *status if the device has failed. */
bool tt_staged_progress(tt_staged *staged, tutti_status *status);
/* Returns the number of input bytes before the first one that has not arrived, in the order of the parts. Returns UINT64_MAX
 * if all have arrived. */
uint64_t tt_staged_landed(const tt_staged *staged);
/* tt_staged_came returns the number of bytes that have arrived. tt_staged_goes returns the number of bytes to copy back. */
uint64_t tt_staged_came(const tt_staged *staged);
uint64_t tt_staged_goes(const tt_staged *staged);
/* Declares the first `bytes` bytes of the results as final, so that they can be copied back. */
void tt_staged_final(tt_staged *staged, uint64_t bytes);
/* Returns true once all results have been copied to the device. All results must be final. */
bool tt_staged_over(const tt_staged *staged);
/* Makes the stream wait for the call, if tt_staged_begin was called with `holds`. tt_staged_begin does this itself unless the
 * devices may compute the sum (tt_staged_undecided). */
tutti_status tt_staged_hold(tt_staged *staged);
bool tt_staged_undecided(const tt_staged *staged);
void tt_staged_decided(tt_staged *staged);
/* Lets the stream continue. Returns TUTTI_ERR_SYSTEM if the stream had already continued before it had the result. */
tutti_status tt_staged_release(tt_staged *staged);
/* Ends a call, successful or not. Lets the stream continue, and waits until the device has stopped reading and writing. If
 * `seconds` is not 0, it limits this wait. Returns false after a timeout. In this case the staging memory and the lane remain
 * reserved for the device. */
bool tt_staged_end(tt_staged *staged, double seconds);

/* ---- sums on the device (staged_sum.c) ---- */

enum { TT_SUMMED_MOST = 64 }; /* maximum number of ranks whose devices sum */
tt_reach tt_staged_reach(const tt_staged *s);
void tt_staged_reaches(tt_staged *s, bool reaches, int devices);
/* Sets whether this rank offers the kernels of its device. They run only if the devices can access all vectors. */
void tt_staged_offers(tt_staged *s, bool kernels);
/* Returns true if this call may find out whether the devices can access each other's memory. Only the first calls may. No
 * stream may be held during such a call. */
bool tt_staged_learns(tt_staged *s);
/* Returns true if src and dst are entirely in device memory, and the device can sum the vectors of n ranks. */
bool tt_staged_sums(tt_staged *s, tutti_type type, tutti_op op, int n);
/* Return the vectors of a call and their names on the device. tt_staged_names returns false if the vectors have no names. */
const void *tt_staged_src(const tt_staged *s);
void *tt_staged_dst(const tt_staged *s);
bool tt_staged_names(const tt_staged *s, tutti_device_name *src, tutti_device_name *dst);
/* Maps a vector of another rank. Returns NULL if this is impossible. Sets *later if it is impossible only now, because mapping
 * may wait for streams that wait for tutti. */
void *tt_staged_map(tt_staged *s, const tutti_device_name *name, bool *later);
/* Returns true once the caller's stream has finished all work that precedes the call. */
bool tt_staged_ready(tt_staged *s, tutti_status *status);
/* Computes a sum on the device, and waits for the result. The arguments are those of `sum` in tutti_device. */
tutti_status tt_staged_sum(tt_staged *s, void *const *to, int nto, const void *const *from, int n,
                           size_t count, tutti_type type, tutti_op op);
void tt_staged_done(tt_staged *s); /* the device has the result, so nothing is copied */
/* Skips the copy of the input to the host. Called when kernels have summed the input, and the host only adds up their sums. */
void tt_staged_keeps_input(tt_staged *s);
/* Starts to copy n bytes of the result, from offset `at`, to the host. Returns false if too many copies are in flight, or if the
 * device has failed. Copies complete in order. */
bool tt_staged_bring(tt_staged *s, size_t at, size_t n, tutti_status *status);
uint32_t tt_staged_under_way(const tt_staged *s); /* number of copies to the host in flight */
tutti_status tt_staged_refused(const char *what); /* TUTTI_ERR_SYSTEM, with the device's reason */

/* ---- results that the device fetches from other ranks' memory (staged_fetch.c) ---- */

/* Returns the staging memory of a call, and sets *bytes to its size. */
const void *tt_staged_memory(const tt_staged *s, size_t *bytes);
/* Lets the device read another rank's staging memory, mapped here at `memory`. Returns false if this is not possible, or
 * not yet. */
bool tt_staged_reads(tt_staged *s, const void *memory, size_t bytes);
enum { TT_FETCHES = 8 }; /* maximum number of batches in flight */
/* Fetches n bytes from another rank's staging memory into the result, at offset `at`. */
tutti_status tt_staged_fetch(tt_staged *s, const void *from, size_t at, size_t n);
/* Ends a batch of fetches. The caller must ensure that no more than TT_FETCHES batches are in flight. */
tutti_status tt_staged_batch(tt_staged *s);
/* Returns true if the oldest batch in flight has arrived. Each batch is reported once. */
bool tt_staged_batch_came(tt_staged *s, tutti_status *status);

#endif
