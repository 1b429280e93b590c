/* collective.h - inside the API: blocking, nonblocking and persistent calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COLLECTIVE_H
#define TT_COLLECTIVE_H

#include "comm.h"

/* Runs a checked call by its plan until it completes. The comm is entered. */
tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
tutti_status tt_collective(tutti_comm *comm, const char *function, const tt_call *call);
tutti_status tt_collective_start(tutti_comm *comm, const char *function, const tt_call *call,
                                 tutti_request **request);
tutti_status tt_collective_init(tutti_comm *comm, const char *function, const tt_call *call,
                                tutti_request **request);

/* Makes a request, started or idle; `ready` checks the arguments `what` and creates it. */
typedef tutti_status tt_ready_fn(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request);
tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                             const void *what, bool persistent, tutti_request **request);

#endif
