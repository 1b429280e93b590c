/* wisdom.h - which plans won when they were measured.
 *
 * Idea       an entry says what was called, of how many bytes, which plan was the fastest and
 *            what it took. It speaks for sizes near its own, and only where ranks sit as they
 *            sat when it was measured: its stamp says so.
 * Invariant  a list is in order, and has no two entries of the same stamp, key and size. What
 *            is found in it follows from the list and the question alone.
 * Source     Frigo and Johnson, Proc. IEEE 93(2), 2005: FFTW's wisdom.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WISDOM_H
#define TT_WISDOM_H

#include "algo.h"

enum { TT_WISDOM_MOST = 4096, TT_PLACEMENT_TEXT = 200 };

/* What may run for a call, and what it costs, follows from this and the bytes. */
typedef struct tt_wisdom_key {
  tutti_coll coll;
  int type;       /* tutti_type; -1: nothing is reduced, so it does not matter */
  char op[16];    /* its name; "-": the same */
  unsigned needs; /* of tt_need */
  int helpers;    /* ranks without data */
} tt_wisdom_key;

typedef struct tt_wisdom_entry {
  uint32_t stamp;                    /* of where it was measured (tt_comm_stamp) ... */
  char placement[TT_PLACEMENT_TEXT]; /* ... in words */
  tt_wisdom_key key;
  uint64_t bytes;
  char
      plan[TT_NAME]; /* what won; "": only this communicator knows that nothing is to be measured */
  int slices;
  uint64_t took, own, predicted; /* ns: what won; what the price would have run; the price of
                                    what won */
  int spread;                    /* of `took` between rounds, in percent */
  char when[24];                 /* 2026-11-22T01:24:22Z */
} tt_wisdom_entry;

typedef struct tt_wisdom {
  int n, capacity;
  tt_wisdom_entry *at;
} tt_wisdom;

/* The entry that speaks for a call of so many bytes; NULL: none does. Within a factor of 2 of
 * its own size; between two sizes that were measured, up to a factor of 16 apart, or of 64 if
 * the same plan won, the nearer. */
const tt_wisdom_entry *tt_wisdom_find(const tt_wisdom *w, const tt_wisdom_key *key, uint64_t bytes);
/* Adds it, unless there is a newer one of the same place, key and size. False: out of memory,
 * or there would be more than TT_WISDOM_MOST; nothing changed. */
bool tt_wisdom_add(tt_wisdom *w, const tt_wisdom_entry *entry);
/* The same, whichever is newer. */
bool tt_wisdom_set(tt_wisdom *w, const tt_wisdom_entry *entry);
/* Makes room: so many can be added then. */
bool tt_wisdom_reserve(tt_wisdom *w, int more);
/* All of them, or none and false. */
bool tt_wisdom_merge(tt_wisdom *into, const tt_wisdom *from);
void tt_wisdom_clear(tt_wisdom *w);

/* ---- as text (wisdom_text.c) ---- */

/* The type and op as a key has them. */
void tt_wisdom_key_set(tt_wisdom_key *key, tutti_coll coll, tutti_type type, tutti_op op,
                       unsigned needs, int helpers);
void tt_wisdom_print(tt_text *text, const tt_wisdom *w);
/* Reads all of it into an empty list, or nothing. TUTTI_ERR_ARG: the sentence has line and
 * column; TUTTI_ERR_MEMORY. `what` is what sentences call the text. */
tutti_status tt_wisdom_parse(tt_wisdom *w, const char *text, const char *what);

#endif
