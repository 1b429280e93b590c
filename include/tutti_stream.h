/* tutti_stream.h - collectives in the order of a stream of a GPU. A part of tutti.h, which includes it.
 *
 * Every collective takes vectors that lie on a device (docs/gpu.md). A blocking collective begins when the legacy
 * default stream has done its earlier work, and returns when the result is on the device. The functions here take a
 * stream, and return as soon as the call is enqueued. The call begins when the stream has done its earlier work, and
 * later work of the stream waits for the result; no kernel spins for it. All ranks make their calls in the same order per
 * communicator, on whatever stream.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_STREAM_H
#define TUTTI_STREAM_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** tutti_allreduce in the order of a stream.
 *  src, dst  on a device, or one of them in memory of the host, which the call owns until tutti_stream_wait.
 *  stream    the driver's handle: a CUstream, or a cudaStream_t. NULL: the legacy default stream.
 *  It returns early only where tutti's own thread can drive the communicator: in shared memory, over UCX, and
 *  over an MPI that any thread may call; under the contract 'exact' it returns with the result. 8 calls
 *  of a communicator are in flight at most; the next waits for the first. A failure in flight is returned by
 *  the next call or by tutti_stream_wait; the stream continues, and dst is undefined.
 *  Returns as tutti_allreduce, and TUTTI_ERR_ARG: no vector lies on a device; TUTTI_ERR_SYSTEM: the device failed. */
TUTTI_API tutti_status tutti_allreduce_on(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, tutti_op op, void *stream);

/* The others likewise; their arguments are those of the functions without _on. */
TUTTI_API tutti_status tutti_reduce_scatter_on(tutti_comm *comm, const void *src, void *dst,
                                               size_t count, tutti_type type, tutti_op op,
                                               void *stream);
TUTTI_API tutti_status tutti_all_gather_on(tutti_comm *comm, const void *src, void *dst,
                                           size_t count, tutti_type type, void *stream);
TUTTI_API tutti_status tutti_reduce_scatter_v_on(tutti_comm *comm, const void *src, void *dst,
                                                 const size_t *counts, tutti_type type, tutti_op op,
                                                 void *stream);
TUTTI_API tutti_status tutti_all_gather_v_on(tutti_comm *comm, const void *src, void *dst,
                                             const size_t *counts, tutti_type type, void *stream);
TUTTI_API tutti_status tutti_broadcast_on(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, int root, void *stream);
TUTTI_API tutti_status tutti_reduce_on(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, tutti_op op, int root, void *stream);
TUTTI_API tutti_status tutti_scan_on(tutti_comm *comm, const void *src, void *dst, size_t count,
                                     tutti_type type, tutti_op op, void *stream);
TUTTI_API tutti_status tutti_exscan_on(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, tutti_op op, void *stream);
TUTTI_API tutti_status tutti_gather_on(tutti_comm *comm, const void *src, void *dst, size_t count,
                                       tutti_type type, int root, void *stream);
TUTTI_API tutti_status tutti_scatter_on(tutti_comm *comm, const void *src, void *dst, size_t count,
                                        tutti_type type, int root, void *stream);
TUTTI_API tutti_status tutti_all_to_all_on(tutti_comm *comm, const void *src, void *dst,
                                           size_t count, tutti_type type, void *stream);

/** Wait until no stream waits for this communicator any more. Returns TUTTI_OK, or how a call in flight failed.
 *  Call it before cudaFree, cuMemFree and other functions that wait for the whole device: they keep tutti's thread out of the
 *  driver, while the stream waits for that thread. After 5 s of that the stream continues without the result, and the call fails with
 *  TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_stream_wait(tutti_comm *comm);

/** The device whose memory calls take, as "CUDA 13.0"; NULL: the host's memory only. Looks for the device's library if no communicator
 *  has done so; it starts no driver. The text stays. Any thread may call it. */
TUTTI_API const char *tutti_device_here(void);

#ifdef __cplusplus
}
#endif
#endif
