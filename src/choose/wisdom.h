/* wisdom.h - the plans that won when they were measured.
 *
 * Idea       an entry has the call and its bytes, the plan that was fastest and its time. It
 *            applies to sizes near its own, and only to ranks with the same placement as when it
 *            was measured, which its stamp identifies.
 * Invariant  a list is sorted, and has no two entries of the same stamp, key and size. A lookup
 *            depends only on the list and the question.
 * Source     Frigo and Johnson, Proc. IEEE 93(2), 2005: FFTW's wisdom.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WISDOM_H
#define TT_WISDOM_H

#include "algo.h"

enum { TT_WISDOM_MOST = 4096, TT_PLACEMENT_TEXT = 200 };

/* Together with the bytes this determines which plans may run for a call, and their costs. */
typedef struct tt_wisdom_key {
  tutti_coll coll;
  int type;       /* tutti_type; -1: nothing is reduced, so it does not matter */
  char op[16];    /* its name; "-": nothing is reduced */
  unsigned needs; /* of tt_need */
  int helpers;    /* number of ranks without data */
} tt_wisdom_key;

typedef struct tt_wisdom_entry {
  uint32_t stamp;                    /* fingerprint of the placement */
  char placement[TT_PLACEMENT_TEXT]; /* the same in words */
  tt_wisdom_key key;
  uint64_t bytes;
  const tt_plan_spec
      *plan; /* the winner, which is kept; NULL: not to be measured on this communicator */
  int slices;
  uint64_t took, own, predicted; /* ns: of the winner; of the plan that the price favours;
                                    predicted for the winner */
  int spread;                    /* variation of `took` between rounds, in percent */
  char when[24];                 /* 2026-11-22T01:24:22Z */
} tt_wisdom_entry;

typedef struct tt_wisdom {
  int n, capacity;
  tt_wisdom_entry *at;
} tt_wisdom;

/* The entry that applies to a call of this size; NULL: none. It applies within a factor of 2 of its
 * own size. Between two measured sizes up to a factor of 16 apart, or of 64 if the same plan won,
 * the nearer one applies. */
const tt_wisdom_entry *tt_wisdom_find(const tt_wisdom *w, const tt_wisdom_key *key, uint64_t bytes);
/* Adds an entry, unless there is a newer one of the same placement, key and size. False: out of
 * memory, or more than TT_WISDOM_MOST; the list is unchanged. */
bool tt_wisdom_add(tt_wisdom *w, const tt_wisdom_entry *entry);
/* The same, but replaces newer ones too. */
bool tt_wisdom_set(tt_wisdom *w, const tt_wisdom_entry *entry);
/* Reserves memory for `more` entries. */
bool tt_wisdom_reserve(tt_wisdom *w, int more);
/* Adds all entries; false: out of memory, and nothing was added. */
bool tt_wisdom_merge(tt_wisdom *into, const tt_wisdom *from);
void tt_wisdom_clear(tt_wisdom *w);

/* ---- as text (wisdom_text.c) ---- */

/* Fills in a key. */
void tt_wisdom_key_set(tt_wisdom_key *key, tutti_coll coll, tutti_type type, tutti_op op,
                       unsigned needs, int helpers);
void tt_wisdom_print(tt_text *text, const tt_wisdom *w);
/* Parses the whole text into an empty list, or leaves it empty. TUTTI_ERR_ARG: the message has line
 * and column, and calls the text `what`; TUTTI_ERR_MEMORY. */
tutti_status tt_wisdom_parse(tt_wisdom *w, const char *text, const char *what);

#endif
