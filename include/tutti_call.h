/* tutti_call.h - a collective with its arguments in one struct: nonblocking, persistent, or enqueued on a GPU stream. A
 * part of tutti.h, which includes it.
 *
 * Every collective accepts vectors in device memory (docs/gpu.md). A blocking collective starts when the legacy default
 * stream has completed its earlier work, and returns when the result is on the device. tutti_call_on_stream takes a
 * stream, and returns as soon as the call is enqueued. The call starts when the stream has completed its earlier work, and
 * later work of the stream waits for the result, without a spinning kernel. All ranks make their calls in the same order
 * on each communicator; the streams may differ.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_CALL_H
#define TUTTI_CALL_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The arguments of a collective call. Fields that the collective does not use are ignored and may be 0. The struct, and the
 *  arrays and strings that it points to, are read only during the call. */
typedef struct tutti_call {
  size_t size; /* sizeof(tutti_call) */
  tutti_coll coll;
  const void *src; /* as for the function with the collective's name, such as tutti_allreduce */
  void *dst;
  size_t count; /* number of elements, not bytes */
  /* One count for each rank, as in tutti_allgatherv and the other functions whose names end in v; `count` is then ignored. If
   * NULL, every rank has `count` elements. For a list of buffers, one count for each buffer. */
  const size_t *counts;
  const size_t *recv_counts; /* for TUTTI_ALLTOALL with `counts`, as in tutti_alltoallv */
  tutti_type type;
  tutti_op op;
  int root;
  /* These settings have the same meaning as in tutti_config, but are for this call only. NULL means the communicator's
   * setting. If ranks pass different values, all get TUTTI_ERR_MISMATCH, even if the values do not affect this call. */
  const char *algorithm;
  const char *compression;
  const char *tag; /* shown with the call in traces and by `tutti doctor`; up to 47 bytes; may differ between ranks */
  void *stream; /* for tutti_call_on_stream: a CUstream or cudaStream_t; NULL: the legacy default stream */
  /* For TUTTI_ALLREDUCE: a list of n buffers, summed as one operation. If these fields are 0, src and dst are used. Many
   * short buffers cost as much as one call on all of them together; long buffers are not copied. Buffer i has counts[i]
   * elements at srcs[i] and dsts[i], which may be equal (in place). A dst must not overlap another buffer of the list. n and
   * counts are the same on all ranks, and may be 0. */
  size_t n;
  const void *const *srcs;
  void *const *dsts;
} tutti_call;

/** Start a nonblocking collective with the arguments in `call`. Returns the statuses of tutti_allreduce, and TUTTI_ERR_ARG if
 *  the collective is unknown, or does not support the given counts, list, algorithm or compression. */
TUTTI_API tutti_status tutti_call_start(tutti_comm *comm, const tutti_call *call,
                                        tutti_request **request);

/** Create a persistent request for a collective. The arguments are checked once, and the request is idle at first. Run it any
 *  number of times with tutti_request_start, followed by tutti_request_wait or tutti_request_test. Free it with
 *  tutti_request_free. Returns the statuses of tutti_call_start. */
TUTTI_API tutti_status tutti_call_init(tutti_comm *comm, const tutti_call *call,
                                       tutti_request **request);

/** Enqueue a collective on a stream.
 *  src, dst  in device memory; one of them may be in host memory, which the call owns until tutti_stream_wait.
 *  The function returns early only if tutti's own thread can drive the communicator: in shared memory, over UCX, and
 *  over an MPI that any thread may call. Under the contract 'exact' it returns with the result. At most 8 calls of a
 *  communicator are in flight; the next one waits for the first. If a call fails later, the next call or
 *  tutti_stream_wait returns the error; the stream continues, and dst is undefined.
 *  Returns the statuses of tutti_call_start; TUTTI_ERR_ARG also if no vector is in device memory, or for a barrier, a
 *  list, an algorithm or a compression; TUTTI_ERR_SYSTEM if the device failed. */
TUTTI_API tutti_status tutti_call_on_stream(tutti_comm *comm, const tutti_call *call);

/** Wait until no stream is waiting for this communicator. Returns TUTTI_OK, or the error of a failed call. Call it before
 *  cudaFree, cuMemFree and other functions that wait for the whole device: they block tutti's thread in the driver, while the
 *  stream waits for that thread. After 5 s in that state the stream continues without the result, and the call fails with
 *  TUTTI_ERR_SYSTEM. */
TUTTI_API tutti_status tutti_stream_wait(tutti_comm *comm);

/** Return the kind of device whose memory can be passed to calls, for example "CUDA 13.0", or NULL if calls accept only host
 *  memory. This loads the device's library if no communicator has loaded it yet, but does not start a driver. The text
 *  remains valid. Any thread may call this. */
TUTTI_API const char *tutti_device_here(void);

#ifdef __cplusplus
}
#endif
#endif
