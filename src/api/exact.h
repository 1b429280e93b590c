/* exact.h - inside the API: sums that do not depend on the order (exact.c), for
 * communicators whose contract is TUTTI_CONTRACT_EXACT.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_EXACT_H
#define TT_EXACT_H

#include "many.h"

/* Is this a sum that would round? */
bool tt_exact_concerns(const tutti_comm *comm, const tt_call *call);
/* TUTTI_OK, or TUTTI_ERR_UNSUPPORTED: the op rounds, and is no sum. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);
/* The same: so many ranks cannot have it. */
tutti_status tt_exact_ranks(const char *who, int ranks);
/* The problem of summing such numbers becomes that of summing their words, where the exponents
 * of a block span 32. For another type or op it stays. */
void tt_exact_problem(tutti_type type, int ranks, tt_problem *problem);
/* To a text: what numbers of this type become. */
void tt_exact_words_say(tt_text *t, tutti_type type, int ranks);

/* The request of a call, which was found right; of a list of buffers. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);
void tt_exact_free(tt_exact *exact);

/* Before it is run (again). */
void tt_exact_rewind(tutti_request *whole);
/* The next part, to be started in the place of comm->seq; NULL: not now. */
tutti_request *tt_exact_next(tutti_request *whole);
/* All parts have been handed out. */
bool tt_exact_is_out(const tutti_request *whole);
/* A part is over; true: so is the whole. */
bool tt_exact_over(tutti_request *part, tutti_status status);

#endif
