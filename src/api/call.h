/* call.h - internal to the API: the argument checks of a call (call.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "comm_view.h"

/* Checks the collective, the type and the op of a call, but not its buffers. For a barrier, sets count, type and op. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Checks that `at` is a valid address for an array of `count` elements. */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* Checks that `at` is a valid address for an array of `count` elements, and that the array is in host memory. */
tutti_status tt_host_check(const char *function, const char *name, const void *at, size_t count,
                           tutti_type type);
/* Checks all arguments of a call. Sets *in_place to whether the call is in place. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

/* Checks the arguments of a list and creates its request. This is a function of type tt_ready_fn. `list` points to a tt_list. */
tutti_status tt_list_make(tutti_comm *comm, const char *function, const void *list,
                          tutti_request **whole);

/* Parses the name of a code, stores the result in *wish, and sets the fields `code` and `also` of the call. */
tutti_status tt_call_code(const char *function, const char *text, tt_code_wish *wish,
                          tt_call *call);

/* Returns TUTTI_ERR_UNSUPPORTED if the contract is 'exact' but the op rounds. Sums and averages are always accepted. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);

#endif
