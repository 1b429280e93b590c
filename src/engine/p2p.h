/* p2p.h - p2p messages between two ranks of a communicator, apart from its collectives.
 *
 * Idea       One queue per peer and direction; the k-th message that a rank sends to another is the
 *            k-th that the other receives from it. A message travels as a header (number and type
 *            of elements, and the bytes if they fit) followed by the bytes, on a lane that no
 *            collective uses.
 * Invariant  Nothing here blocks; a message returns to its owner when it is handed back. A rank
 *            sends to itself by copying, without the wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_P2P_H
#define TT_P2P_H

#include "wire.h"

typedef struct tt_p2p_message {
  void *owner; /* the caller's; the caller sets the fields up to `at` */
  int peer;
  bool sends; /* else it receives */
  tutti_type type;
  uint64_t count;
  size_t bytes;
  void *at; /* read only, if it sends */
  /* private */
  bool opened; /* its header has gone, or come */
  bool exported;
  uint64_t ticket;
  size_t moved;
  uint64_t number; /* within its pair */
  struct tt_p2p_message *next;
} tt_p2p_message;

typedef struct tt_p2p tt_p2p;

tt_p2p *tt_p2p_new(tt_wire *wire); /* NULL: out of memory */
void tt_p2p_free(tt_p2p *p2p);

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *message);
/* Is it to or from this rank itself, and the other half not yet posted? Then it waits for its own
 * rank. */
bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *message);
/* Moves what can be moved; returns the list of finished messages. *status: TUTTI_ERR_MISMATCH or
 * another error, with the message in tutti_error. */
tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status);
/* Removes all unfinished messages and returns them as a list. */
tt_p2p_message *tt_p2p_drop(tt_p2p *p2p);
/* The i-th message that is first in its queue, NULL past the end. */
const tt_p2p_message *tt_p2p_first(const tt_p2p *p2p, int i);

#endif
