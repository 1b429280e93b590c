/* lent.h - memory of the caller that peers may map: it becomes a part of the segment, at its old address.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LENT_H
#define TT_LENT_H

#include "heap.h"

/* Lends these bytes, and the rest of their pages; what they hold stays. TUTTI_ERR_ARG: they overlap memory that is lent;
 * TUTTI_ERR_UNSUPPORTED: they are not private memory of this process; TUTTI_ERR_MEMORY. `who` is named in messages. */
tutti_status tt_lend(tt_heap *heap, const char *who, void *memory, size_t bytes);
/* Makes it private again. revoked: peers may still write to it, so the heap does not reuse it. False: it is not lent. */
bool tt_lend_end(tt_heap *heap, const void *memory, bool revoked);
/* The address of lent bytes in the segment; NULL: at least one byte is not lent. */
const char *tt_lent_at(tt_segment *segment, const void *bytes, size_t n);
/* Frees the list. The memory stays as it is. */
void tt_lent_forget(tt_segment *segment);

#endif
