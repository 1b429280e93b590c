/* mail.h - messages between two ranks of a communicator, apart from its collectives.
 *
 * Idea       for each peer and direction a queue; the k-th that one rank sends to another
 *            is the k-th that the other receives from it. What goes over the wire is a
 *            letter (the number of elements, their type, and the bytes if they fit in)
 *            and then the bytes, on a lane that no collective uses.
 * Invariant  nothing here blocks; a message is its owner's again when it is handed back.
 *            To itself a rank sends by copying, without the wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MAIL_H
#define TT_MAIL_H

#include "wire.h"

typedef struct tt_parcel {
  void *owner; /* whose it is; the rest is set by who posts it */
  int peer;
  bool sends; /* else it receives */
  tutti_type type;
  uint64_t count;
  size_t bytes;
  void *at; /* read only, if it sends */
  /* inside */
  bool opened; /* its letter has gone, or come */
  bool lent;
  uint32_t ticket;
  size_t moved;
  uint32_t number; /* among those of its pair */
  struct tt_parcel *next;
} tt_parcel;

typedef struct tt_mail tt_mail;

tt_mail *tt_mail_new(tt_wire *wire); /* NULL: out of memory */
void tt_mail_free(tt_mail *mail);

void tt_mail_post(tt_mail *mail, tt_parcel *message);
/* To or from itself, before the other half is there: it waits for its own rank. */
bool tt_mail_is_alone(const tt_mail *mail, const tt_parcel *message);
/* Moves what can be moved; a list of those that are over. TUTTI_ERR_MISMATCH and others in
 * *status, with the sentence in tutti_error. */
tt_parcel *tt_mail_progress(tt_mail *mail, bool *moved, tutti_status *status);
/* All that are not over, as a list; the mail forgets them. */
tt_parcel *tt_mail_drop(tt_mail *mail);
/* The i-th of those that are the first of their queue, NULL past the end. */
const tt_parcel *tt_mail_first(const tt_mail *mail, int i);

#endif
