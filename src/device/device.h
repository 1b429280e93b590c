/* device.h - vectors that lie on a device, as the engine sees them: as vectors of the host that come and go.
 *
 * Idea       a call on device vectors runs on host memory in their place, which its peers read and write as they do
 *            any vector: so every algorithm, type and op serves devices, too, with the same bits. Pieces of the
 *            input are copied in while later ones are on their way, and the result goes back piece by piece.
 * Cost       each byte crosses the device's bus once each way; host memory of the vectors' size, kept for reuse.
 * Invariant  `landed` grows from the start of the input to its end. The device's memory is neither read nor written
 *            after `tt_staged_end`.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DEVICE_H
#define TT_DEVICE_H

#include "process.h"
#include "tutti_device.h"
#include "wire.h"

/* The device whose memory calls may name; NULL: none. */
static inline const tutti_device *tt_device(void) {
  /* order: acquire, of the table (plugin.c) */
  return atomic_load_explicit(&tt_process.device, memory_order_acquire);
}

/* Does this memory lie on the device? *number (may be NULL): the number of that device. */
bool tt_on_device(const void *at, int *number);

/* Host memory and lanes of one communicator, kept for later calls. Not for two threads at once. */
typedef struct tt_stager tt_stager;
tt_stager *tt_stager_new(tt_wire *wire); /* NULL: out of memory */
void tt_stager_free(tt_stager *s);       /* NULL is legal; before its wire is closed */

/* Would it serve a call of this size without pinning memory or making a lane? */
bool tt_stager_ready(const tt_stager *s, int number, size_t bytes);
/* How many streams of this process wait for calls. */
int tt_device_holds(void);

typedef struct tt_staged tt_staged;

/* One vector, or a stretch: `in`: on the device, copied to `host` before the call reads it; `out`: copied from
 * `host` after the call has written it. Both NULL: not on the device. `at`: bytes from the start of the staging
 * memory to `host`. */
typedef struct tt_staged_part {
  const void *in;
  void *out;
  size_t at, bytes;
} tt_staged_part;

/* Takes host memory of `bytes` for these n parts, which are copied, and a lane. number: of the device.
 * *host: the memory. Nothing is copied yet. TUTTI_ERR_MEMORY, TUTTI_ERR_SYSTEM with the device's reason. May wait
 * for the device. */
tutti_status tt_staged_new(tt_stager *s, int number, const tt_staged_part *parts, size_t n,
                           size_t bytes, char **host, tt_staged **staged);
void tt_staged_free(tt_staged *staged); /* NULL is legal */

/* Copies in what `stream` has made so far; and all later work of `stream` waits for the end, if it holds. Once
 * per run of the call. */
tutti_status tt_staged_begin(tt_staged *staged, void *stream, bool holds);
/* One pass without waiting; true: something moved. Fails if the device did. */
bool tt_staged_progress(tt_staged *staged, tutti_status *status);
/* Bytes of the inputs that have come, all parts one after the other; UINT64_MAX: all. */
uint64_t tt_staged_landed(const tt_staged *staged);
/* The first `bytes` of the results are final, and leave. */
void tt_staged_final(tt_staged *staged, uint64_t bytes);
/* Are the results, all of which are final, on the device? */
bool tt_staged_over(const tt_staged *staged);
/* Waits until all inputs have come; all results are on the device. */
tutti_status tt_staged_await_in(tt_staged *staged);
tutti_status tt_staged_await_out(tt_staged *staged);
/* The stream goes on. */
void tt_staged_release(tt_staged *staged);
/* The run is over, well or not: releases the stream, and waits until the device neither reads nor writes. */
void tt_staged_end(tt_staged *staged);

#endif
