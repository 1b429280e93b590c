/* copy.h - memcpy, but not where it is slow.
 *
 * Idea       To copy 4 KiB or more, the C library's memcpy runs `rep movsb`. On an AMD processor (Zen 3) this takes 17 to 30 times
 *            as long if the destination is a few bytes behind the source, modulo the size of a page: 1, 8 and 16 bytes were
 *            measured; 32 and more are not slow. A slot of shared memory is at the start of a page, and a large vector from
 *            malloc 16 bytes behind one, so copies from slots to vectors are of this kind. They run a loop of vector loads and
 *            stores.
 * Cost       That of a fast memcpy at 64 KiB and above; twice that in the first level cache.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COPY_H
#define TT_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void tt_memcpy_by_vectors(void *to, const void *from, size_t n);

/* to = from, n bytes that do not overlap. */
static inline void tt_memcpy(void *to, const void *from, size_t n) {
  const uintptr_t behind = ((uintptr_t)to - (uintptr_t)from) & 4095;
  if (n >= 2048 && behind - 1 < 63)
    tt_memcpy_by_vectors(to, from, n);
  else
    memcpy(to, from, n);
}

#endif
