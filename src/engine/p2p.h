/* p2p.h - messages between two ranks of a communicator, apart from its collectives.
 *
 * Idea       for each peer and direction a queue; the k-th that one rank sends to another
 *            is the k-th that the other receives from it. What goes over the wire is a
 *            letter (the number of elements, their type, and the bytes if they fit in)
 *            and then the bytes, on a lane that no collective uses.
 * Invariant  nothing here blocks; a message is its owner's again when it is handed back.
 *            To itself a rank sends by copying, without the wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_P2P_H
#define TT_P2P_H

#include "wire.h"

typedef struct tt_p2p_message {
  void *owner; /* whose it is; the rest is set by who posts it */
  int peer;
  bool sends; /* else it receives */
  tutti_type type;
  uint64_t count;
  size_t bytes;
  void *at; /* read only, if it sends */
  /* inside */
  bool opened; /* its letter has gone, or come */
  bool exported;
  uint32_t ticket;
  size_t moved;
  uint32_t number; /* among those of its pair */
  struct tt_p2p_message *next;
} tt_p2p_message;

typedef struct tt_p2p tt_p2p;

tt_p2p *tt_p2p_new(tt_wire *wire); /* NULL: out of memory */
void tt_p2p_free(tt_p2p *p2p);

void tt_p2p_post(tt_p2p *p2p, tt_p2p_message *message);
/* To or from itself, before the other half is there: it waits for its own rank. */
bool tt_p2p_is_alone(const tt_p2p *p2p, const tt_p2p_message *message);
/* Moves what can be moved; a list of those that are over. TUTTI_ERR_MISMATCH and others in
 * *status, with the sentence in tutti_error. */
tt_p2p_message *tt_p2p_progress(tt_p2p *p2p, bool *moved, tutti_status *status);
/* All that are not over, as a list; the mail forgets them. */
tt_p2p_message *tt_p2p_drop(tt_p2p *p2p);
/* The i-th of those that are the first of their queue, NULL past the end. */
const tt_p2p_message *tt_p2p_first(const tt_p2p *p2p, int i);

#endif
