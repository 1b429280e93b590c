/* lent.h - lent memory: memory of the caller that becomes part of the segment, so that peers can map it. Its address
 * stays the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LENT_H
#define TT_LENT_H

#include "heap.h"

/* Turns the pages that contain these bytes into shared memory of the segment, and keeps their contents. Returns
 * TUTTI_ERR_ARG if they overlap memory that is lent already, TUTTI_ERR_UNSUPPORTED if they are not private memory of
 * this process, or TUTTI_ERR_MEMORY. who: name of the public function for error messages. */
tutti_status tt_lend(tt_heap *heap, const char *who, void *memory, size_t bytes);
/* Makes lent memory private again. If `revoked`, the heap does not reuse the shared pages, because peers may still
 * write to them. Returns false if the memory is not lent. */
bool tt_lend_end(tt_heap *heap, const void *memory, bool revoked);
/* Returns the address that lent bytes have in the segment, or NULL if any of the bytes is not lent. */
const char *tt_lent_at(tt_segment *segment, const void *bytes, size_t n);
/* Frees the list of lent memory, but not the lent memory itself. */
void tt_lent_forget(tt_segment *segment);

#endif
