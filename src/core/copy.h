/* copy.h - a memcpy that avoids a slow case of the C library's.
 *
 * Idea       To copy 4 KiB or more, the C library's memcpy runs `rep movsb`. On an AMD processor (Zen 3) this takes 17
 *            to 30 times as long if the destination is a few bytes behind the source, modulo the size of a page.
 *            Distances of 1, 8 and 16 bytes were measured; 32 and more are not slow. A slot of shared memory is at the
 *            start of a page, and malloc places a large vector 16 bytes behind such a start, so copies from slots to
 *            vectors are affected. Copies at a small distance therefore run a loop of vector loads and stores.
 * Cost       That of a fast memcpy at 64 KiB and above; twice that in the first-level cache.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COPY_H
#define TT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void tt_memcpy_by_vectors(void *to, const void *from, size_t n);

/* Copies n bytes between buffers that do not overlap. */
static inline void tt_memcpy(void *to, const void *from, size_t n) {
  const uintptr_t behind = ((uintptr_t)to - (uintptr_t)from) & 4095;
  if (n >= 2048 && behind - 1 < 63)
    tt_memcpy_by_vectors(to, from, n);
  else
    memcpy(to, from, n);
}

#endif
