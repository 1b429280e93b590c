/* copy.h - memcpy, but not where it is slow.
 *
 * Idea       For more than 4 KiB the C library's memcpy runs `rep movsb`. On AMD's Zen 3 and 4 this takes up to 30 times as long
 *            if the destination is 1 to 63 bytes behind the source, modulo the size of a page (glibc's bug 30994, mended in 2.39).
 *            A slot of shared memory is at the start of a page and a vector from malloc 16 bytes behind one, so copies from
 *            slots to vectors are of this kind. They run a loop of plain vector loads and stores.
 * Cost       As memcpy from 64 KiB up; up to half as fast on shorter vectors in the first level cache.
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
