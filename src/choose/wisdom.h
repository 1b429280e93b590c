/* wisdom.h - the plans that were fastest when measured.
 *
 * Idea       An entry consists of a call and its bytes, the plan that was fastest, and its time. It applies to sizes
 *            near its size, and only to ranks with the same placement as in the measurement. A stamp identifies the
 *            placement.
 * Invariant  A list is sorted, and no two of its entries have the same stamp, key and size. The result of a lookup
 *            depends only on the list and the arguments.
 * Source     Frigo and Johnson, Proc. IEEE 93(2), 2005: FFTW's wisdom.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WISDOM_H
#define TT_WISDOM_H

#include "algo.h"

enum { TT_WISDOM_MOST = 4096, TT_PLACEMENT_TEXT = 200 };

/* The key of a call. Together with the number of bytes, it determines the plans that may run, and their costs. */
typedef struct tt_wisdom_key {
  tutti_coll coll;
  int type;       /* tutti_type; -1 if nothing is reduced */
  char op[16];    /* name of the op; "-" if nothing is reduced */
  unsigned needs; /* a set of tt_need */
  int helpers;    /* number of ranks without data */
} tt_wisdom_key;

typedef struct tt_wisdom_entry {
  uint32_t stamp;                    /* fingerprint of the placement */
  char placement[TT_PLACEMENT_TEXT]; /* description of the same placement */
  tt_wisdom_key key;
  uint64_t bytes;
  const tt_plan_spec
      *plan; /* the fastest plan, never freed; NULL: not measured on this communicator */
  int slices;
  uint64_t took, own, predicted; /* in ns: measured for the fastest plan; measured for the plan with
                                  * the least estimate; predicted for the fastest plan */
  int spread;                    /* variation of `took` between rounds, in percent */
  char when[24];                 /* such as 2026-11-22T01:24:22Z */
} tt_wisdom_entry;

typedef struct tt_wisdom {
  int n, capacity;
  tt_wisdom_entry *at;
} tt_wisdom;

/* Returns the entry that applies to a call of this size, or NULL. An entry applies to sizes within a factor of 2 of its size.
 * Between two entries, the nearer one applies if their sizes differ by a factor of at most 16, or 64 if the same plan won. */
const tt_wisdom_entry *tt_wisdom_find(const tt_wisdom *w, const tt_wisdom_key *key, uint64_t bytes);
/* Adds an entry, unless the list has a newer entry with the same placement, key and size. If out of memory, or if the list
 * already has TT_WISDOM_MOST entries, returns false and leaves the list unchanged. */
bool tt_wisdom_add(tt_wisdom *w, const tt_wisdom_entry *entry);
/* Adds or replaces the entry with this placement, key and size. Returns false if out of memory, or if the list is full. */
bool tt_wisdom_set(tt_wisdom *w, const tt_wisdom_entry *entry);
/* Reserves memory for `more` entries. Returns false if out of memory, or if the list would exceed TT_WISDOM_MOST entries. */
bool tt_wisdom_reserve(tt_wisdom *w, int more);
/* Adds all entries of `from` to `into`. If out of memory, returns false and adds nothing. */
bool tt_wisdom_merge(tt_wisdom *into, const tt_wisdom *from);
void tt_wisdom_clear(tt_wisdom *w);

/* ---- as text (wisdom_text.c) ---- */

/* Fills in a key. */
void tt_wisdom_key_set(tt_wisdom_key *key, tutti_coll coll, tutti_type type, tutti_op op,
                       unsigned needs, int helpers);
void tt_wisdom_print(tt_text *text, const tt_wisdom *w);
/* Parses a whole text into an empty list, which stays empty on error. Returns TUTTI_ERR_MEMORY, or TUTTI_ERR_ARG with a
 * message that gives the line and the column and calls the text `what`. */
tutti_status tt_wisdom_parse(tt_wisdom *w, const char *text, const char *what);

#endif
