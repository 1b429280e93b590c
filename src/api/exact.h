/* exact.h - inside the API: sums that do not depend on the order of summands (exact.c), for
 * communicators whose contract is TUTTI_CONTRACT_EXACT.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_EXACT_H
#define TT_EXACT_H

#include "many.h"

/* Is the call a sum that would round? */
bool tt_exact_concerns(const tutti_comm *comm, const tt_call *call);
/* TUTTI_ERR_UNSUPPORTED: the op rounds, and is not a sum. */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);
/* TUTTI_ERR_UNSUPPORTED: too many ranks for exact sums. */
tutti_status tt_exact_ranks(const char *who, int ranks);
/* Turns the problem of summing such numbers into that of summing their words, assuming that the
 * exponents of a block span 32. Only for a type and op that round. */
void tt_exact_problem(tutti_type type, int ranks, tt_problem *problem);
/* Appends a sentence: what numbers of this type become. */
void tt_exact_words_say(tt_text *t, tutti_type type, int ranks);

/* Makes the request of a checked call, or of a list of buffers. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
