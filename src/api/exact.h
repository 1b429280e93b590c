/* exact.h - inside the API: sums that do not depend on the order of summands (exact.c), for
 * communicators whose contract is TUTTI_CONTRACT_EXACT.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_EXACT_H
#define TT_EXACT_H

#include "many.h"

/* TUTTI_ERR_UNSUPPORTED: the op rounds, and is not a sum. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);
/* Makes the request of a checked call, or of a list of buffers. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
