/* superacc.h - sums of floating point numbers that do not depend on the order: each number
 * as a few integers, which add without rounding.
 *
 * Idea       a finite number is an integer times a power of two. A block of numbers has a
 *            lowest and a highest bit; the bits between them are cut in words of `width` bits,
 *            each an int64 of its number's sign. The width leaves so much room that the
 *            words of all ranks add up without a carry: the sum of numbers is the sum of
 *            their words, by the kernel of int64. At the end carries are resolved, and the
 *            exact sum is rounded once, to nearest even.
 * Cost       8 bytes for each word; a word for a block whose bits span up to `width`.
 * Invariant  integers add in any order and grouping, so the result is a function of the
 *            multiset of summands. How a block is cut does not show in it.
 * Source     R. M. Neal, "Fast exact summation using small and large superaccumulators",
 *            2015 (words that overlap for the carries); here the words are those alone that
 *            the data of all ranks need.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SUPERACC_H
#define TT_SUPERACC_H

#include "core.h"

enum {
  TT_BLOCK = 256,           /* reals that share their lowest and highest bit */
  TT_EXACT_RANKS = 1 << 21, /* fewer ranks than that */
  TT_EXACT_WORDS = 52       /* of a real, at most */
};

/* What a block needs, in bits above the lowest of its type's denormals. All ranks need the
 * maximum of each. */
typedef struct tt_breadth {
  int16_t top;     /* behind the highest bit; INT16_MIN: there is none */
  int16_t low;     /* minus the lowest one */
  int16_t special; /* 1: there are infinities or NaNs */
  int16_t minus;   /* 1: there are zeros with a minus */
} tt_breadth;

/* What is summed of a floating point or complex type: itself, or its parts, of which an
 * element has *each. */
tutti_type tt_real_of(tutti_type type, size_t *each);
/* Bits of a word, so that those of so many ranks add up in an int64. */
int tt_exact_width(int ranks);
/* Of x[0..n-1], reals of the type; n is TT_BLOCK at most. */
tt_breadth tt_exact_measure(tutti_type real, const void *x, size_t n);
/* Of what nobody has anything. */
static inline tt_breadth tt_breadth_none(void) {
  return (tt_breadth){INT16_MIN, INT16_MIN, 0, 0};
}
/* Words of a real in a block that needs so much; 0 where all are plain zeros. */
size_t tt_exact_words(const tt_breadth *b, int width);
/* Words of a real of this type where the exponents of a block span 32. */
size_t tt_exact_usual(tutti_type real, int width);
/* n reals as words, one real's behind the other's. */
void tt_exact_spread(tutti_type real, const tt_breadth *b, int width, const void *x, size_t n,
                     int64_t *words);
/* The sums of so many summands, divided by so many ranks (1: not), and rounded. */
void tt_exact_round(tutti_type real, const tt_breadth *b, int width, const int64_t *words, size_t n,
                    int summands, int ranks, void *dst);

#endif
