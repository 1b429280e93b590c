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

/* Returns true if this memory lies on a device. *number (may be NULL) is that device, or -1 if it cannot be used. */
bool tt_on_device(const void *at, int *number);

/* Host memory and lanes of one communicator, kept for later calls. Not thread-safe. */
typedef struct tt_stager tt_stager;
tt_stager *tt_stager_new(tt_wire *wire); /* returns NULL if out of memory */
void tt_stager_free(tt_stager *s);       /* s may be NULL; call this before the wire is closed */
/* Where vectors are summed (TUTTI_DEVICE_SUMS). Here and in the next three functions, s is NULL before the first call. */
typedef enum tt_sums { TT_SUMS_BY_PRICE, TT_SUMS_BY_HOST, TT_SUMS_BY_KERNELS } tt_sums;
tt_sums tt_stager_wish(const tt_stager *s);
/* Whether the device can access the memory of the communicator's other ranks. The first calls find this out. */
typedef enum tt_reach { TT_REACHES_UNKNOWN, TT_REACHES, TT_REACHES_NOT } tt_reach;
tt_reach tt_stager_reach(const tt_stager *s);
int tt_stager_devices(const tt_stager *s); /* number of devices with vectors; 0: unknown */
/* Returns 1 if kernels can compute this sum, -1 if they cannot, 0 if the device was not asked yet. */
int tt_stager_compiled(const tt_stager *s, tutti_type type, tutti_op op);

/* Returns true if such a call needs no pinning, no new lane and no compilation. type is -1 unless it is an allreduce. */
bool tt_stager_ready(const tt_stager *s, int number, size_t bytes, int type, int op);
/* Returns the number of streams of this process that wait for calls. */
int tt_device_holds(void);

typedef struct tt_staged tt_staged;

/* One vector, or a part of one. `in` is device memory that is copied to the host before the call reads it; `out` is
 * device memory that receives the result after the call has written it. Both are NULL if the vector is not on the
 * device. `at` is the offset of the host copy in the staging memory, in bytes. */
typedef struct tt_staged_part {
  const void *in;
  void *out;
  size_t at, bytes;
} tt_staged_part;

/* Reserves a lane and `bytes` of host memory, *host, for these n parts (the array is copied). number is that of the
 * device. No data are copied yet. Returns TUTTI_ERR_MEMORY, TUTTI_ERR_UNSUPPORTED for memory that the device cannot use, or
 * TUTTI_ERR_SYSTEM with the device's reason. May wait for the device. */
tutti_status tt_staged_new(tt_stager *s, int number, const tt_staged_part *parts, size_t n,
                           size_t bytes, char **host, tt_staged **staged);
/* Finds out whether the device can compute this sum. Called before the first such sum. */
void tt_staged_compile(tt_staged *staged, tutti_type type, tutti_op op);
void tt_staged_free(tt_staged *staged); /* NULL is allowed */

/* Starts a run of the call. Copies in what `stream` has computed so far. If `holds`, all later work of `stream` waits
 * until the run ends. */
tutti_status tt_staged_begin(tt_staged *staged, void *stream, bool holds);
/* Makes one pass without waiting. Returns true if anything moved. Sets *status if the device failed. */
bool tt_staged_progress(tt_staged *staged, tutti_status *status);
/* Returns the number of input bytes that have arrived, counting all parts in order; UINT64_MAX if all have arrived. */
uint64_t tt_staged_landed(const tt_staged *staged);
/* These return the number of bytes that have arrived, and the number of bytes to copy back in total. */
uint64_t tt_staged_came(const tt_staged *staged);
uint64_t tt_staged_goes(const tt_staged *staged);
/* Marks the first `bytes` of the results as final, so that they are copied back. */
void tt_staged_final(tt_staged *staged, uint64_t bytes);
/* Returns true once all results, which must be final, are on the device. */
bool tt_staged_over(const tt_staged *staged);
/* Blocks the stream of tt_staged_begin, if that was called with `holds`. tt_staged_begin does this itself, unless the
 * devices may sum (tt_staged_undecided). */
tutti_status tt_staged_hold(tt_staged *staged);
bool tt_staged_undecided(const tt_staged *staged);
void tt_staged_decided(tt_staged *staged);
/* Releases the stream. Returns TUTTI_ERR_SYSTEM if it was released before it had the result. */
tutti_status tt_staged_release(tt_staged *staged);
/* Ends the run, whether or not it succeeded: releases the stream, and waits until the device neither reads nor writes,
 * at most `seconds` if that is not 0. Returns false if the device still may; then the staging memory and the lane stay
 * reserved for it. */
bool tt_staged_end(tt_staged *staged, double seconds);

/* ---- sums on the device (staged_sum.c) ---- */

enum { TT_SUMMED_MOST = 64 }; /* maximum number of ranks whose devices sum */
tt_reach tt_staged_reach(const tt_staged *s);
void tt_staged_reaches(tt_staged *s, bool reaches, int devices);
/* Sets whether this rank offers its device's kernels, which are used if they can access all vectors. */
void tt_staged_offers(tt_staged *s, bool kernels);
/* Returns true if this call may find out whether they can. No stream may be held during it. True only for the first calls. */
bool tt_staged_learns(tt_staged *s);
/* Returns true if src and dst lie on the device completely, and the device can sum the vectors of n ranks. */
bool tt_staged_sums(tt_staged *s, tutti_type type, tutti_op op, int n);
/* The vectors themselves, and their names. tt_staged_names returns false if they have no names. */
const void *tt_staged_src(const tt_staged *s);
void *tt_staged_dst(const tt_staged *s);
bool tt_staged_names(const tt_staged *s, tutti_device_name *src, tutti_device_name *dst);
/* Maps another rank's vector. Returns NULL if that is impossible, or impossible now (*later) because mapping may wait for
 * streams that are held. */
void *tt_staged_map(tt_staged *s, const tutti_device_name *name, bool *later);
/* Returns true once the caller's stream has finished all work that precedes the call. */
bool tt_staged_ready(tt_staged *s, tutti_status *status);
/* Computes a sum, and waits for the device. The arguments are those of `sum` in tutti_device. */
tutti_status tt_staged_sum(tt_staged *s, void *const *to, int nto, const void *const *from, int n,
                           size_t count, tutti_type type, tutti_op op);
void tt_staged_done(tt_staged *s); /* the device has the result, so nothing is copied */
/* Skips the copies of the input: some sums are on the device, and the host will compute the others. */
void tt_staged_keeps_input(tt_staged *s);
/* Copies n bytes of the result, starting at byte `at`, to the host. Returns false if too many such copies are in
 * flight, or if the device has failed. The copies complete in order. */
bool tt_staged_bring(tt_staged *s, size_t at, size_t n, tutti_status *status);
uint32_t tt_staged_under_way(const tt_staged *s); /* number of copies to the host in flight */
tutti_status tt_staged_refused(const char *what); /* TUTTI_ERR_SYSTEM, with the device's reason */

/* ---- results that the device fetches from other ranks' memory (staged_fetch.c) ---- */

/* Returns the staging memory and its size. */
const void *tt_staged_memory(const tt_staged *s, size_t *bytes);
/* Lets the device read another rank's staging memory, mapped here at `memory`. Returns false if it cannot, or not now. */
bool tt_staged_reads(tt_staged *s, const void *memory, size_t bytes);
enum { TT_FETCHES = 8 }; /* maximum number of batches in flight */
/* Fetches n bytes into the result, starting at byte `at`. */
tutti_status tt_staged_fetch(tt_staged *s, const void *from, size_t at, size_t n);
/* Ends a batch of fetches. The caller ensures that at most TT_FETCHES batches are in flight. */
tutti_status tt_staged_batch(tt_staged *s);
/* Returns true if the oldest batch that was not reported yet has arrived. */
bool tt_staged_batch_came(tt_staged *s, tutti_status *status);

#endif
