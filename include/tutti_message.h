/* tutti_message.h - point-to-point messages, independent of the collectives. A part of
 * tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MESSAGE_H
#define TUTTI_MESSAGE_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Receive from any rank; receive a message with any tag. */
#define TUTTI_ANY_SOURCE (-1)
#define TUTTI_ANY_TAG    (-1)

/** Information about a received message: the rank of its sender, its tag, and its number of elements. */
typedef struct tutti_received {
  int source, tag;
  size_t count;
} tutti_received;

/** Send `count` elements to rank `dest`, which receives them with tutti_recv.
 *
 *  Messages match as in MPI: among the receives that accept the sender and the tag, the one that was
 *  started first gets the message, and if a receive accepts several messages of one sender, it gets them
 *  in the order of sending. Messages are independent of collectives: any number of collectives may be in
 *  flight, and a message involves only two ranks. Helpers can send and receive, too.
 *  src     may be reused when this function returns, or when the request completes. A send may wait for
 *          its receive; a short send usually does not. If two ranks both send first, they may wait forever:
 *          start one of the two calls instead (tutti_send_start).
 *  dest    0 to P-1. A rank may send to itself if the matching receive has been started; otherwise the
 *          call would wait forever, and returns TUTTI_ERR_STATE.
 *  tag     0 or more. If a message was sent before the one that a receive waits for, and no receive
 *          accepts it yet, it is kept in the receiver's memory.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _MEMORY, _STATE (nothing was sent);
 *          TUTTI_ERR_MISMATCH on the receiver if it passes another type, or room for fewer elements
 *          than were sent, and then on all ranks; TUTTI_ERR_PEER_LOST, _TIMEOUT, _ABORTED. */
TUTTI_API tutti_status tutti_send(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                                  int dest, int tag);
/** Receive a message of at most `count` elements, which a rank has sent with tutti_send.
 *  source    a rank, or TUTTI_ANY_SOURCE.
 *  tag       0 or more, or TUTTI_ANY_TAG.
 *  received  receives information about the message if the call succeeds; may be NULL. */
TUTTI_API tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type,
                                  int source, int tag, tutti_received *received);

/* Nonblocking and persistent variants of tutti_send and tutti_recv, used like those of the collectives in tutti.h. *received
 * is set when the request completes. tutti_request_free cancels a started receive whose message has not begun to arrive. */
TUTTI_API tutti_status tutti_send_start(tutti_comm *comm, const void *src, size_t count,
                                        tutti_type type, int dest, int tag,
                                        tutti_request **request);
TUTTI_API tutti_status tutti_recv_start(tutti_comm *comm, void *dst, size_t count, tutti_type type,
                                        int source, int tag, tutti_received *received,
                                        tutti_request **request);
TUTTI_API tutti_status tutti_send_init(tutti_comm *comm, const void *src, size_t count,
                                       tutti_type type, int dest, int tag, tutti_request **request);
TUTTI_API tutti_status tutti_recv_init(tutti_comm *comm, void *dst, size_t count, tutti_type type,
                                       int source, int tag, tutti_received *received,
                                       tutti_request **request);

#ifdef __cplusplus
}
#endif
#endif
