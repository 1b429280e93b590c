/* huge.h - huge pages, where the system has them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_HUGE_H
#define TT_HUGE_H

#include "core.h"

enum { TT_HUGE = 2 << 20 /* bytes of one */ };

/* For huge pages that lie entirely inside [at, at + bytes). advise: request them before the bytes
 * are touched. make: collapse existing memory into them; true on success. */
void tt_huge_advise(char *at, size_t bytes);
bool tt_huge_make(char *at, size_t bytes);
/* Does the system provide huge pages? If not, why. */
bool tt_huge_here(char *why, size_t size);

#endif
