/* shrink.h - inside tutti_comm_shrink and tutti_comm_grow: makes a communicator from one that
 * may have failed.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHRINK_H
#define TT_SHRINK_H

#include "adopt.h"

enum { TT_NO_JOINERS = -1 };

/* A call of all survivors; name: the public function. least: joiners to wait for, or
 * TT_NO_JOINERS. */
tutti_status tt_comm_go_on(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* The same over the messages of comm->net; the comm is entered (shrink_net.c). */
tutti_status tt_comm_reunite(tutti_comm *comm, const char *name, int least, tutti_comm **out);

/* Both warn of `peer`, which is alive and has not called `name`; and report that the wait has
 * ended. by == awaited: that rank was interrupted. */
void tt_warn_straggler(const tutti_comm *comm, const char *name, int peer, double waited);
tutti_status tt_gave_up(const tutti_comm *comm, const char *name, tutti_status status, int by,
                        int awaited);

#endif
