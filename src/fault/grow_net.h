/* grow_net.h - joiners between hosts, from the point of view of the ranks that admit them (grow_net.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_GROW_NET_H
#define TT_GROW_NET_H

#include "guests.h"

/* Outcome of an attempt to grow, on one rank. The ranks agree on the smallest of their outcomes. */
typedef enum tt_grown { TT_GROW_FAILS, TT_GROW_AGAIN, TT_GROW_DONE } tt_grown;

/* Sets the error that explains why too few joiners arrived within `limit` seconds (shrink.c). */
tutti_status tt_too_few_joiners(int least, int there, int possible, int total, double limit);

typedef struct tt_growth tt_growth;

/* Survivors and joiners create a communicator. rest: the survivors' communicator, all of whose ranks call this; least:
 * number of joiners to wait for. tt_grow_begin returns NULL if out of memory. tt_grow_try returns the outcome on this rank
 * and sets *out, which is `rest` itself if no joiner is waiting; the caller destroys it if the ranks agree on another
 * outcome. After TT_GROW_FAILS, *status and tutti_error describe the failure. TT_GROW_AGAIN means that a rank was lost. */
tt_growth *tt_grow_begin(tutti_comm *rest, int least, const char *name);
tt_grown tt_grow_try(tt_growth *w, tutti_comm **out, tutti_status *status);
/* Ends the attempt after the ranks have agreed on the outcome. The leader either admits the joiners or sends them
 * back to the queue. Frees w. */
void tt_grow_end(tt_growth *w, bool admits);

#endif
