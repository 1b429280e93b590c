/* lent.h - lent memory: memory of the caller that becomes part of the segment, so that peers can map it. Its address
 * stays the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LENT_H
#define TT_LENT_H

#include "heap.h"

/* Lends these bytes, together with all other bytes on their pages. The contents are kept. Returns TUTTI_ERR_ARG if
 * they overlap memory that is lent already, TUTTI_ERR_UNSUPPORTED if they are not private memory of this process, or
 * TUTTI_ERR_MEMORY. Error messages name `who`. */
tutti_status tt_lend(tt_heap *heap, const char *who, void *memory, size_t bytes);
/* Makes lent memory private again. If `revoked`, peers may still write to the shared pages, so the heap does not
 * reuse them. Returns false if the memory is not lent. */
bool tt_lend_end(tt_heap *heap, const void *memory, bool revoked);
/* Returns the address of lent bytes in the segment, or NULL if any byte is not lent. */
const char *tt_lent_at(tt_segment *segment, const void *bytes, size_t n);
/* Frees the list of lent memory, but not the memory itself. */
void tt_lent_forget(tt_segment *segment);

#endif
