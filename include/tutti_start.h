/* tutti_start.h - nonblocking collectives. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_START_H
#define TUTTI_START_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Start a collective. The arguments are those of the function without _start.
 *  request   receives a handle for tutti_request_wait or tutti_request_test. Until the request completes, the library owns
 *            the buffers. Any number of requests may be in flight, and they may be completed in any order. All ranks start
 *            them in the same order on each communicator. Waiting for or testing one of them drives all. */
TUTTI_API tutti_status tutti_allreduce_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type, tutti_op op,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatter_start(tutti_comm *comm, const void *src, void *dst,
                                                  size_t count, tutti_type type, tutti_op op,
                                                  tutti_request **request);
TUTTI_API tutti_status tutti_allgather_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_scatterv_start(tutti_comm *comm, const void *src, void *dst,
                                                   const size_t *counts, tutti_type type,
                                                   tutti_op op, tutti_request **request);
TUTTI_API tutti_status tutti_allgatherv_start(tutti_comm *comm, const void *src, void *dst,
                                              const size_t *counts, tutti_type type,
                                              tutti_request **request);
TUTTI_API tutti_status tutti_gatherv_start(tutti_comm *comm, const void *src, void *dst,
                                           const size_t *counts, tutti_type type, int root,
                                           tutti_request **request);
TUTTI_API tutti_status tutti_scatterv_start(tutti_comm *comm, const void *src, void *dst,
                                            const size_t *counts, tutti_type type, int root,
                                            tutti_request **request);
TUTTI_API tutti_status tutti_broadcast_start(tutti_comm *comm, const void *src, void *dst,
                                             size_t count, tutti_type type, int root,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_reduce_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, tutti_op op, int root,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_scan_start(tutti_comm *comm, const void *src, void *dst,
                                        size_t count, tutti_type type, tutti_op op,
                                        tutti_request **request);
TUTTI_API tutti_status tutti_exscan_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, tutti_op op,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_gather_start(tutti_comm *comm, const void *src, void *dst,
                                          size_t count, tutti_type type, int root,
                                          tutti_request **request);
TUTTI_API tutti_status tutti_scatter_start(tutti_comm *comm, const void *src, void *dst,
                                           size_t count, tutti_type type, int root,
                                           tutti_request **request);
TUTTI_API tutti_status tutti_alltoall_start(tutti_comm *comm, const void *src, void *dst,
                                            size_t count, tutti_type type, tutti_request **request);
TUTTI_API tutti_status tutti_alltoallv_start(tutti_comm *comm, const void *src, const size_t *counts,
                                             void *dst, const size_t *recv_counts, tutti_type type,
                                             tutti_request **request);
TUTTI_API tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request);

#ifdef __cplusplus
}
#endif
#endif
