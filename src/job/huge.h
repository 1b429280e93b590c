/* huge.h - huge pages, if the system provides them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HUGE_H
#define TT_HUGE_H

#include "core.h"

enum { TT_HUGE = 2 << 20 /* size of a huge page, in bytes */ };

/* Both functions apply only to huge pages that lie entirely inside [at, at + bytes). tt_huge_advise requests huge pages
 * before the memory is touched. tt_huge_make collapses existing memory into huge pages, and returns true on success. */
void tt_huge_advise(char *at, size_t bytes);
bool tt_huge_make(char *at, size_t bytes);
/* Returns true if the system provides huge pages. Otherwise returns false and writes the reason to `why`. */
bool tt_huge_here(char *why, size_t size);

#endif
