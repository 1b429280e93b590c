/* process_wisdom.h - the wisdom of the process: all entries that it has read or measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROCESS_WISDOM_H
#define TT_PROCESS_WISDOM_H

#include "wisdom.h"

/* What the first rank sends to the others before a communicator exists. */
enum { TT_WISDOM_MEASURES = 1, TT_WISDOM_EXISTS = 2, TT_AGGREGATOR_NAMED = 4 };
/* This process's flags; reads TUTTI_WISDOM the first time. TT_AGGREGATOR_NAMED: there is a
 * TUTTI_AGGREGATOR. */
uint32_t tt_wisdom_announce(void);
/* Copies the entries of a placement; false: out of memory. */
bool tt_wisdom_pick(uint32_t stamp, tt_wisdom *picked);
/* Keeps a measured entry, stamped with its placement. */
void tt_wisdom_keep(const tt_wisdom_entry *entry);
/* At the end: writes the measured entries to the file. */
void tt_wisdom_end(void);

#endif
