/* guests.h - joiners between hosts: what the ranks that take them in (grow_net.c) and they (net_joiner.c) say to each
 * other through the waiting room (room.h).
 *
 * Idea       First the leader hands each joiner an invitation. Then they create a communicator as in any meeting
 *            (create.c): in each round a joiner brings a row with its status, and is handed the table. In the last round each says
 *            whether it could; the ranks decide, and the joiners are admitted, or wait again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GUESTS_H
#define TT_GUESTS_H

#include "build_comm.h"
#include "meet.h"

typedef struct tt_invitation {
  int32_t ranks, first;     /* of the new communicator; the rank of the first joiner */
  int32_t joiners, helpers; /* joiners that come; helpers that stay */
  double limit;             /* s, of a round */
  tt_plain_settings
      settings; /* of the communicator that grows; the text of its override follows, with a 0 */
} tt_invitation;

/* In tutti_comm_from_env of a process with TUTTI_ID and TUTTI_NEWCOMER: waits until it is taken in. */
tutti_status tt_guest_join(const tt_rendezvous *r, int rank, int number, tutti_comm **out);

/* After a round with all ranks of a new communicator: it takes the settings over. */
tutti_status tt_guest_settle(tutti_comm *comm, const tt_invitation *i, const tt_override *override);

#endif
