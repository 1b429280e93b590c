/* process_wisdom.h - the wisdom of the process: all entries that it has read or measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_WISDOM_H
#define TT_PROCESS_WISDOM_H

#include "wisdom.h"

/* Flags that the first rank sends to the other ranks before a communicator exists. */
enum { TT_WISDOM_MEASURES = 1, TT_WISDOM_EXISTS = 2 };
/* Returns the flags of this process. The first call reads the file that TUTTI_WISDOM names. */
uint32_t tt_wisdom_announce(void);
/* Copies the entries with this stamp, which identifies a placement. Returns false if out of memory. */
bool tt_wisdom_pick(uint32_t stamp, tt_wisdom *picked);
/* Adds a measured entry, which must have the stamp of its placement. */
void tt_wisdom_keep(const tt_wisdom_entry *entry);
/* Call this at exit. Writes the measured entries to the file and frees all entries. */
void tt_wisdom_end(void);

#endif
