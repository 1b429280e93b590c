/* device.h - vectors that lie on a device, as the engine sees them: as vectors of the host that come and go.
 *
 * Idea       a call on device vectors runs on host memory in their place, which its peers read and write as they do
 *            any vector: so every algorithm, type and op serves devices, too, with the same bits. Pieces of the
 *            input are copied in while later ones are on their way, and the result goes back piece by piece.
 * Cost       each byte crosses the device's bus once each way; host memory of the vectors' size, kept for reuse.
 * Invariant  `landed` grows from the start of the input to its end. The device's memory is neither read nor written
 *            after `tt_staged_end`, unless that gave up.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_DEVICE_H
#define TT_DEVICE_H

#include "process.h"
#include "tutti_device.h"
#include "wire.h"

/* The device whose memory calls may name; NULL: none. */
static inline const tutti_device *tt_device(void) {
  /* order: acquire, of the table (open_device.c) */
  return atomic_load_explicit(&tt_process.device, memory_order_acquire);
}

/* Does this memory lie on the device? *number (may be NULL): the number of that device; -1: it cannot be used. */
bool tt_on_device(const void *at, int *number);

/* Host memory and lanes of one communicator, kept for later calls. Not thread-safe. */
typedef struct tt_stager tt_stager;
tt_stager *tt_stager_new(tt_wire *wire); /* NULL: out of memory */
void tt_stager_free(tt_stager *s);       /* NULL is legal; before its wire is closed */
/* Where vectors are summed, according to TUTTI_DEVICE_SUMS. */
typedef enum tt_sums { TT_SUMS_BY_PRICE, TT_SUMS_BY_HOST, TT_SUMS_BY_KERNELS } tt_sums;
tt_sums tt_stager_wish(
    const tt_stager *s); /* NULL is legal, here and in the next three: no call has come yet */
/* Does the device reach memory of the communicator's other ranks? Their first calls find out. */
typedef enum tt_reach { TT_REACHES_UNKNOWN, TT_REACHES, TT_REACHES_NOT } tt_reach;
tt_reach tt_stager_reach(const tt_stager *s);
int tt_stager_devices(const tt_stager *s); /* on which the ranks' vectors lie; 0: unknown */
/* Can kernels make such a sum? 1; -1: no; 0: not asked yet. */
int tt_stager_compiled(const tt_stager *s, tutti_type type, tutti_op op);

/* Would it serve an allreduce (else type: -1) of this size without pinning memory, making a lane, or compiling? */
bool tt_stager_ready(const tt_stager *s, int number, size_t bytes, int type, int op);
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
/* Asks the device whether it can sum so, before the first such call. */
void tt_staged_compile(tt_staged *staged, tutti_type type, tutti_op op);
void tt_staged_free(tt_staged *staged); /* NULL is legal */

/* Copies in what `stream` has made so far; and all later work of `stream` waits for the end, if it holds. Once
 * per run of the call. */
tutti_status tt_staged_begin(tt_staged *staged, void *stream, bool holds);
/* One pass without waiting; true: something moved. Fails if the device did. */
bool tt_staged_progress(tt_staged *staged, tutti_status *status);
/* Bytes of the inputs that have come, all parts one after the other; UINT64_MAX: all. */
uint64_t tt_staged_landed(const tt_staged *staged);
/* Bytes that have come, and that go back in all. */
uint64_t tt_staged_came(const tt_staged *staged);
uint64_t tt_staged_goes(const tt_staged *staged);
/* The first `bytes` of the results are final, and leave. */
void tt_staged_final(tt_staged *staged, uint64_t bytes);
/* All results are final: are they on the device? */
bool tt_staged_over(const tt_staged *staged);
/* Holds back the stream of tt_staged_begin, if that was asked to; it has done so, unless the devices may sum:
 * tt_staged_undecided. */
tutti_status tt_staged_hold(tt_staged *staged);
bool tt_staged_undecided(const tt_staged *staged);
void tt_staged_decided(tt_staged *staged);
/* Releases the stream. TUTTI_ERR_SYSTEM: it was released before, and has not got the result. */
tutti_status tt_staged_release(tt_staged *staged);
/* The run has ended, well or not: releases the stream, and waits until the device neither reads nor writes, at most
 * `seconds` if that is not 0. False: the device still may, so it keeps the staging memory and the lane. */
bool tt_staged_end(tt_staged *staged, double seconds);

/* ---- sums on the device (staged_sum.c) ---- */

enum { TT_SUMMED_MOST = 64 }; /* ranks whose devices sum, at most */
tt_reach tt_staged_reach(const tt_staged *s);
void tt_staged_reaches(tt_staged *s, bool reaches, int devices);
/* Does this rank offer its device's kernels, where it knows that they reach all vectors? */
void tt_staged_offers(tt_staged *s, bool kernels);
/* May this call learn that? Then no stream must be held during it. Only the first calls are asked. */
bool tt_staged_learns(tt_staged *s);
/* Are src and dst, all of them, on the device, and can it sum those of n ranks? */
bool tt_staged_sums(tt_staged *s, tutti_type type, tutti_op op, int n);
/* The vectors themselves, and their names; false: they have none. */
const void *tt_staged_src(const tt_staged *s);
void *tt_staged_dst(const tt_staged *s);
bool tt_staged_names(const tt_staged *s, tutti_device_name *src, tutti_device_name *dst);
/* NULL: it cannot be mapped; or not now (*later), because that may wait for streams that are held. */
void *tt_staged_map(tt_staged *s, const tutti_device_name *name, bool *later);
/* Has the caller's stream done all that comes before the call? */
bool tt_staged_ready(tt_staged *s, tutti_status *status);
/* Sums, and waits for the device; as tutti_device's `sum`. */
tutti_status tt_staged_sum(tt_staged *s, void *const *to, int nto, const void *const *from, int n,
                           size_t count, tutti_type type, tutti_op op);
void tt_staged_done(tt_staged *s);                /* the device has the result: nothing is copied */
/* Parts of the sums are on the device, and the rest will be made on the host: the input is not copied. */
void tt_staged_keeps_input(tt_staged *s);
/* Copies n bytes of the result, starting at byte `at`, to the host; false: too many such copies are under way, or the
 * device has failed. Copies end in their order. */
bool tt_staged_bring(tt_staged *s, size_t at, size_t n, tutti_status *status);
uint32_t tt_staged_under_way(const tt_staged *s); /* how many copies to the host are */
tutti_status tt_staged_refused(const char *what); /* TUTTI_ERR_SYSTEM, with the device's reason */

/* ---- results that the device fetches itself out of other ranks' memory (staged_fetch.c) ---- */

/* The staging memory, and how much there is. */
const void *tt_staged_memory(const tt_staged *s, size_t *bytes);
/* Lets the device read another rank's staging memory, which this process sees there; false: it cannot, or not now. */
bool tt_staged_reads(tt_staged *s, const void *memory, size_t bytes);
enum { TT_FETCHES = 8 }; /* batches under way */
/* Fetches n bytes into the result, starting at byte `at`. */
tutti_status tt_staged_fetch(tt_staged *s, const void *from, size_t at, size_t n);
/* All of a batch was asked for; the caller sees to it that at most TT_FETCHES are under way. */
tutti_status tt_staged_batch(tt_staged *s);
/* Has the oldest batch that was not reported yet come? */
bool tt_staged_batch_came(tt_staged *s, tutti_status *status);

#endif
