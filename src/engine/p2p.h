/* p2p.h - p2p messages between two ranks of a communicator, apart from its collectives.
 *
 * Idea       Messages have tags, and match as MPI's do: a message is taken by the receive that was posted first among those
 *            that accept its sender and its tag. It travels as a header (tag, number and type of elements, and the bytes if
 *            they fit) followed by the bytes, on a lane that no collective uses.
 * Early      A message that no posted receive accepts stays with its sender, unless a receive waits for one that was
 *            sent after it: then it is copied to memory of this rank. A program that receives in the order of the sends
 *            never pays for this.
 * Cost       a header is compared with the posted receives in their order.
 * Invariant  Nothing here blocks; a message returns to its owner when it is handed back. A rank
 *            sends to itself by copying, without the wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_P2P_H
#define TT_P2P_H

#include "wire.h"

typedef struct tt_p2p_message {
  void *owner; /* the caller's; the caller sets the fields up to `received` */
  int peer;    /* TUTTI_ANY_SOURCE: a receive takes a message of any rank */
  int tag;     /* TUTTI_ANY_TAG: with any tag */
  bool sends;  /* else it receives */
  tutti_type type;
  uint64_t count; /* of a receive: the most elements that it takes */
  size_t bytes;
  void *at; /* read only, if it sends */
  tutti_received *received; /* the caller's, for its end; or NULL */
  /* private */
  bool opened; /* its header has gone, or come */
  bool exported;
  uint64_t ticket;
  size_t moved;
  tutti_received got; /* once a receive is opened: which message it takes, */
  size_t comes;       /* and the bytes of that */
  struct tt_p2p_message *next;
} tt_p2p_message;

typedef struct tt_p2p tt_p2p;

tt_p2p *tt_p2p_new(tt_wire *wire); /* NULL: out of memory */
void tt_p2p_free(tt_p2p *p2p);

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *message);
/* Takes back a receive whose message has not begun to arrive; false: it has, or this is a send. */
bool tt_p2p_withdraw(tt_p2p *p2p, tt_p2p_message *message);
/* True if only this rank itself could complete the message, and has not posted the matching send or receive. */
bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *message);
/* Moves what can be moved; returns the list of finished messages. *status: TUTTI_ERR_MISMATCH or
 * another error, with the message in tutti_error. */
tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status);
/* Removes all unfinished messages and returns them as a list. */
tt_p2p_message *tt_p2p_drop(tt_p2p *p2p);
/* The i-th message that waits for other ranks, NULL past the end: of the sends to a rank the first, and all receives. */
const tt_p2p_message *tt_p2p_waiting(const tt_p2p *p2p, int i);
/* Does it wait for this rank? */
static inline bool tt_p2p_awaits(const tt_p2p_message *m, int rank) {
  return m->opened && !m->sends ? m->got.source == rank
                                : m->peer == rank || m->peer == TUTTI_ANY_SOURCE;
}
/* "receive 10 double with tag 3". */
void tt_p2p_words(bool sends, uint64_t count, tutti_type type, int tag, char *text, size_t size);

#endif
