/* grow_net.h - joiners between hosts, as the ranks see it that take them in (grow_net.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GROW_NET_H
#define TT_GROW_NET_H

#include "guests.h"

/* How it went on a rank; the ranks agree on the smallest. */
typedef enum tt_grown { TT_GROW_FAILS, TT_GROW_AGAIN, TT_GROW_DONE } tt_grown;

/* Sets the error that says why so few joiners have come, within `limit` s (shrink.c). */
tutti_status tt_too_few_joiners(int least, int there, int possible, int total, double limit);

typedef struct tt_growth tt_growth;

/* Survivors and joiners create a communicator. rest: of the survivors, who all call this; least: joiners to wait for. Returns the
 * outcome on this rank, and *out, which the caller destroys if the ranks agree on another outcome: rest itself if no joiner
 * waits. TT_GROW_FAILS: tutti_error says why; *status. TT_GROW_AGAIN: somebody was lost. NULL: out of memory. */
tt_growth *tt_grow_begin(tutti_comm *rest, int least, const char *name);
tt_grown tt_grow_try(tt_growth *w, tutti_comm **out, tutti_status *status);
/* The ranks have agreed: the leader admits the joiners, or lets them wait again. Frees it. */
void tt_grow_end(tt_growth *w, bool admits);

#endif
