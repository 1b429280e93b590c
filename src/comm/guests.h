/* guests.h - joiners between hosts: the messages that they (net_joiner.c) and the ranks that admit them (grow_net.c)
 * exchange through the waiting room (room.h).
 *
 * Idea       First the leader sends each joiner an invitation. The ranks and the joiners then create a communicator
 *            as in any bootstrap (create.c): in each round a joiner sends a row with its status, and receives the
 *            table. In the last round each process reports whether it succeeded. The ranks decide, and the joiners
 *            are admitted or wait again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GUESTS_H
#define TT_GUESTS_H

#include "build_comm.h"
#include "meet.h"

typedef struct tt_invitation {
  int32_t ranks, first;     /* size of the new communicator; rank of the first joiner */
  int32_t joiners, helpers; /* number of joiners; number of helpers that remain */
  double limit;             /* time limit for a round, in seconds */
  tt_plain_settings
      settings; /* of the communicator that grows; its override follows as text with a 0 */
} tt_invitation;

/* Waits until this process is admitted to a job on several hosts. tutti_comm_from_env calls this if TUTTI_ID and
 * TUTTI_NEWCOMER are set. */
tutti_status tt_guest_join(const tt_rendezvous *r, int rank, int number, tutti_comm **out);

/* Applies the settings of the old communicator to a new one. Called after a round with all ranks of the new one. */
tutti_status tt_guest_settle(tutti_comm *comm, const tt_invitation *i, const tt_override *override);

#endif
