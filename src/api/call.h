/* call.h - internal to the API: the argument checks of a call (call.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "comm_view.h"

/* Checks the collective, type and op of a call, but not its buffers. Sets count, type and op for a barrier. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Checks that `at` can be the address of an array of `count` elements. */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* As above, and checks that the array does not lie on a device. */
tutti_status tt_host_check(const char *function, const char *name, const void *at, size_t count,
                           tutti_type type);
/* Checks all arguments. Sets *in_place to whether the call is in place. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

/* A tt_ready_fn. `list` points to a tt_list, whose arguments are checked. */
tutti_status tt_list_make(tutti_comm *comm, const char *function, const void *list,
                          tutti_request **whole);

/* Parses the name of a code into *wish, and sets the call's `code` and `also`. */
tutti_status tt_call_code(const char *function, const char *text, tt_code_wish *wish,
                          tt_call *call);

/* Returns TUTTI_ERR_UNSUPPORTED if the contract is 'exact' and the op rounds, unless it is a sum or an average. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);

#endif
