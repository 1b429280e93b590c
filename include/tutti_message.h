/* tutti_message.h - point-to-point messages, independent of the collectives. A part of
 * tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MESSAGE_H
#define TUTTI_MESSAGE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Send `count` elements to rank `peer`, which receives them with tutti_recv.
 *
 *  On a communicator, the k-th message that a rank sends to another matches the
 *  k-th that the other receives from it. Messages have no tags. They are independent
 *  of collectives: any number of collectives may be in flight, and a message
 *  involves two ranks only. Helpers can send and receive, too.
 *  src     may be reused when this returns, or when the request completes.
 *          A send may wait for its receive; a short one mostly does not. Two ranks
 *          that both send first may wait for ever: start one of the two calls.
 *  peer    0 to P-1. The rank itself is allowed if its other call has been started
 *          (else TUTTI_ERR_STATE: the call would wait for ever).
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _MEMORY, _STATE (nothing was sent);
 *          TUTTI_ERR_MISMATCH on the receiver if its count or type differs from the
 *          sender's, and then on all ranks; TUTTI_ERR_PEER_LOST, _TIMEOUT,
 *          _ABORTED. */
TUTTI_API tutti_status tutti_send(tutti_comm *comm, const void *src, size_t count,
                                  tutti_type type, int peer);
/** Receive `count` elements from rank `peer`; see tutti_send. */
TUTTI_API tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type,
                                  int peer);

/* Nonblocking and persistent, as the collectives of tutti.h. The order of starting matters
 * only among the sends to one peer, and among the receives from one peer. */
TUTTI_API tutti_status tutti_send_start(tutti_comm *comm, const void *src, size_t count,
                                        tutti_type type, int peer, tutti_request **request);
TUTTI_API tutti_status tutti_recv_start(tutti_comm *comm, void *dst, size_t count,
                                        tutti_type type, int peer, tutti_request **request);
TUTTI_API tutti_status tutti_send_init(tutti_comm *comm, const void *src, size_t count,
                                       tutti_type type, int peer, tutti_request **request);
TUTTI_API tutti_status tutti_recv_init(tutti_comm *comm, void *dst, size_t count,
                                       tutti_type type, int peer, tutti_request **request);

#ifdef __cplusplus
}
#endif
#endif
