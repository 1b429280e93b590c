/* tutti_call.h - a collective with its arguments in one struct: started, persistent, or in the order of a stream of a GPU. A
 * part of tutti.h, which includes it.
 *
 * Every collective takes vectors that lie on a device (docs/gpu.md). A blocking collective begins when the legacy
 * default stream has done its earlier work, and returns when the result is on the device. tutti_call_on_stream takes a
 * stream, and returns as soon as the call is enqueued. The call begins when the stream has done its earlier work, and
 * later work of the stream waits for the result; no kernel spins for it. All ranks make their calls in the same order per
 * communicator, on whatever stream.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CALL_H
#define TUTTI_CALL_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The arguments of a collective. Fields that it does not have are ignored, so zeros will do. The struct, its lists and
 *  texts are read during the call only. */
typedef struct tutti_call {
  size_t size; /* sizeof(tutti_call) */
  tutti_coll coll;
  const void *src; /* as for the function with the collective's name, such as tutti_allreduce */
  void *dst;
  size_t count; /* elements, not bytes */
  /* Each rank's count, as in tutti_allgatherv and other functions whose names end in v; `count` is then ignored. NULL:
   * `count` each. In a list, each buffer's count. */
  const size_t *counts;
  const size_t *recv_counts; /* of TUTTI_ALLTOALL, with `counts`, as in tutti_alltoallv */
  tutti_type type;
  tutti_op op;
  int root;
  /* For this call alone, as in tutti_config; NULL: the communicator's. If ranks pass different ones, all get
   * TUTTI_ERR_MISMATCH, whether or not they change this call. */
  const char *algorithm;
  const char *compression;
  const char *tag; /* shown with the call in traces and by `tutti doctor`; up to 47 bytes; may differ between ranks */
  void *stream; /* for tutti_call_on_stream: a CUstream or cudaStream_t; NULL: the legacy default stream */
  /* For TUTTI_ALLREDUCE, a list of n buffers, summed as one operation; zeros: src and dst. Many short buffers cost as much as
   * one call on all of them together; long buffers are not copied. Buffer i is counts[i] elements at srcs[i] and dsts[i],
   * which may be equal (in place); no dst may overlap another buffer of the list. n and counts are the same on all ranks, and
   * may be 0. */
  size_t n;
  const void *const *srcs;
  void *const *dsts;
} tutti_call;

/** Start a nonblocking call, as tutti_allreduce_start does.
 *  Returns as tutti_allreduce; TUTTI_ERR_ARG: no such collective, or it takes no counts, list, algorithm or compression. */
TUTTI_API tutti_status tutti_call_start(tutti_comm *comm, const tutti_call *call,
                                        tutti_request **request);

/** A persistent request: the arguments are checked once. It is idle. Run it any number of times, by tutti_request_start and
 *  then _wait or _test; at the end, free it by tutti_request_free. Returns as tutti_call_start. */
TUTTI_API tutti_status tutti_call_init(tutti_comm *comm, const tutti_call *call,
                                       tutti_request **request);

/** A collective in the order of a stream.
 *  src, dst  on a device, or one of them in memory of the host, which the call owns until tutti_stream_wait.
 *  It returns early only where tutti's own thread can drive the communicator: in shared memory, over UCX, and
 *  over an MPI that any thread may call; under the contract 'exact' it returns with the result. 8 calls
 *  of a communicator are in flight at most; the next waits for the first. A failure in flight is returned by
 *  the next call or by tutti_stream_wait; the stream continues, and dst is undefined.
 *  Returns as tutti_call_start, and TUTTI_ERR_ARG: no vector lies on a device, a barrier, or a list, an algorithm or a compression; TUTTI_ERR_SYSTEM:
 *  the device failed. */
TUTTI_API tutti_status tutti_call_on_stream(tutti_comm *comm, const tutti_call *call);

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
