/* p2p.h - p2p messages between two ranks of a communicator, independent of its collectives.
 *
 * Idea       Messages have tags and match as in MPI: a message goes to the receive that was posted first among those that
 *            accept its sender and its tag. It is sent as a header (tag, number and type of elements, and the bytes if they
 *            fit) followed by the bytes, on a lane that no collective uses.
 * Early      A message that no posted receive accepts stays with its sender, unless a receive waits for a message that was
 *            sent after it. Then it is copied to memory of this rank. A program that receives in the order of the sends
 *            never makes such a copy.
 * Cost       A header is compared with the posted receives, one after the other.
 * Invariant  Nothing here blocks. A message belongs to its owner again once it is returned. A rank sends to itself by
 *            copying, without the wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_P2P_H
#define TT_P2P_H

#include "wire.h"

typedef struct tt_p2p_message {
  void *owner; /* for the caller, which sets the fields up to `received` */
  int peer;    /* TUTTI_ANY_SOURCE: the receive accepts messages of any rank */
  int tag;     /* TUTTI_ANY_TAG: it accepts any tag */
  bool sends;  /* false: it receives */
  tutti_type type;
  uint64_t count; /* of a receive: maximum number of elements */
  size_t bytes;
  void *at;                 /* not written if it sends */
  tutti_received *received; /* the caller's, filled in at the end; or NULL */
  /* private */
  bool opened; /* its header was sent, or has arrived */
  bool exported;
  uint64_t ticket;
  size_t moved;
  tutti_received got; /* once a receive is opened: the message that it takes */
  size_t comes;       /* and the size of that message, in bytes */
  struct tt_p2p_message *next;
} tt_p2p_message;

typedef struct tt_p2p tt_p2p;

tt_p2p *tt_p2p_new(tt_wire *wire); /* returns NULL if out of memory */
void tt_p2p_free(tt_p2p *p2p);

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *message);
/* Withdraws a receive before its message starts to arrive. Returns false if the message has started, or if this is a send. */
bool tt_p2p_withdraw(tt_p2p *p2p, tt_p2p_message *message);
/* Returns true if this rank waits for itself: the message is to or from this rank, and its counterpart was not posted. */
bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *message);
/* Makes as much progress as is possible without waiting, and returns the list of finished messages. On failure, sets *status to
 * TUTTI_ERR_MISMATCH or another error, and the text of tutti_error. */
tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status);
/* Withdraws all unfinished messages, and returns them as a list. */
tt_p2p_message *tt_p2p_drop(tt_p2p *p2p);
/* Returns the i-th message that waits for other ranks: first a send for each rank, then all receives. NULL past the end. */
const tt_p2p_message *tt_p2p_waiting(const tt_p2p *p2p, int i);
/* Returns the other rank of a message; TUTTI_ANY_SOURCE if the sender is not known yet. */
static inline int tt_p2p_peer(const tt_p2p_message *m) {
  return m->opened && !m->sends ? m->got.source : m->peer;
}
/* Returns true if the message waits for a particular rank. */
static inline bool tt_p2p_awaits(const tt_p2p_message *m, int rank) {
  const int peer = tt_p2p_peer(m);
  return peer == rank || peer == TUTTI_ANY_SOURCE;
}
/* Describes a message in words, for example "receive 10 double with tag 3". */
void tt_p2p_words(bool sends, uint64_t count, tutti_type type, int tag, char *text, size_t size);

#endif
