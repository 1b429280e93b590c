/* lot_calls.h - draws random calls, makes them, and describes them in the words of tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOT_CALLS_H
#define LOT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti_plan.h"

typedef struct lot_call {
  tutti_coll coll;
  size_t count; /* less than CALL_COUNT */
  tutti_type type;
  tutti_op op;
  int root;
} lot_call;

enum { CALL_COUNT = 3000, CALL_BYTES = 16 * CALL_COUNT * 16 }; /* CALL_BYTES: for up to 16 ranks */

/* Draws a call of any collective, with some of the types and ops. The same seed yields the same call. */
lot_call call_drawn(uint64_t seed, int ranks);
/* Returns the call with one change. `way` selects what changes: 0 count, 1 type, 2 op, 3 root, 4 the collective. If
 * the call does not have that argument, the count changes instead. */
lot_call call_changed(lot_call call, int way, uint64_t seed, int ranks);
bool call_equal(const lot_call *a, const lot_call *b);
/* Makes the call. x and y have CALL_BYTES bytes each. */
tutti_status call_make(tutti_comm *comm, const lot_call *call, void *x, void *y);
void call_words(const lot_call *call, char *text, size_t size);

#endif
