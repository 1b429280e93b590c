/* tutti_message.h - messages from one rank to another, apart from the collectives. A part of
 * tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MESSAGE_H
#define TUTTI_MESSAGE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `count` elements to rank `peer`, which receives them with tutti_recv.
 *
 *  The k-th message that a rank sends to another on a communicator meets the k-th
 *  that the other receives from it; there are no tags. Messages are apart from the
 *  collectives: any number of them may be in flight meanwhile, and only two ranks
 *  know of one. Helpers can send and receive, too.
 *  src     may be used again when this returns, or when the request is complete.
 *          A send may wait for its receive; short ones mostly do not. So two ranks
 *          that both send first may wait for ever: start one half.
 *  peer    0 to P-1; the rank itself too, if the other half has been started
 *          (else TUTTI_ERR_STATE: it would wait for ever).
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _MEMORY, _STATE (nothing was sent);
 *          TUTTI_ERR_MISMATCH on the receiver if count or type are others than
 *          were sent, and from then on on all ranks; TUTTI_ERR_PEER_LOST,
 *          _TIMEOUT, _ABORTED. */
TUTTI_API tutti_status tutti_send(tutti_comm *comm, const void *src, size_t count,
                                  tutti_type type, int peer);
/** `count` elements that rank `peer` sends to this one; see tutti_send. */
TUTTI_API tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type,
                                  int peer);

/* Started, and persistent, as the collectives above; but the order in which they are
 * started matters only among those to, and those from, the same peer. */
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
