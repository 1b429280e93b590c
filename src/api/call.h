/* call.h - inside the API: the checks of a call (call.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "comm_view.h"

/* Checks a call without its buffers: collective, type and op. Fills in the buffers of a barrier. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Checks that an array of `count` elements can exist at `at`. */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* The same, and that it does not lie on a device. */
tutti_status tt_host_check(const char *function, const char *name, const void *at, size_t count,
                           tutti_type type);
/* Checks the arguments; *in_place: whether they are in place. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

/* A tt_ready_fn: `list` is a tt_list, which is checked. */
tutti_status tt_list_make(tutti_comm *comm, const char *function, const void *list,
                          tutti_request **whole);

/* Parses the code of a call, and sets the call's `code` and `also`. */
tutti_status tt_call_code(const char *function, const char *text, tt_code_wish *wish,
                          tt_call *call);

/* TUTTI_ERR_UNSUPPORTED: the contract is 'exact', and the op rounds, and is not a sum. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);

#endif
