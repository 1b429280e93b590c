/* superacc.h - order-independent sums of floating-point numbers: each number becomes a few integers, which add without
 * rounding.
 *
 * Idea       A finite number is an integer times a power of two. A block of numbers has a lowest and a highest bit. The
 *            bits between them are cut into words of `width` bits, and each word is stored in an int64 with the sign of
 *            its number. The width leaves enough bits for the words of all ranks to add up without a carry. The sum of
 *            numbers is therefore the sum of their words, computed by the kernel of int64. At the end carries are
 *            resolved, and the exact sum is rounded once, to nearest even.
 * Cost       8 bytes for each word. A block whose bits span up to `width` needs one word per number.
 * Invariant  Integers add in any order and grouping, so the result is a function of the multiset of summands. It does
 *            not depend on how a block is cut into words.
 * Source     R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015 (overlapping words to
 *            hold carries). Here, only those words exist that the data of all ranks need.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SUPERACC_H
#define TT_SUPERACC_H

#include "core.h"

enum {
  TT_BLOCK = 256,           /* number of reals that share a lowest and a highest bit */
  TT_EXACT_RANKS = 1 << 21, /* the number of ranks must be lower */
  TT_EXACT_WORDS = 52       /* largest number of words of a real */
};

/* The range of bits that the numbers of a block need, counted from the smallest denormal of their type. For several
 * ranks, each field is the maximum over the ranks. */
typedef struct tt_breadth {
  int16_t top;     /* highest bit plus one; INT16_MIN: no bit is set */
  int16_t low;     /* the negative of the lowest bit */
  int16_t special; /* 1: contains infinities or NaNs */
  int16_t minus;   /* 1: contains negative zeros */
} tt_breadth;

/* Returns the type of real numbers that is summed for a type. A complex type consists of *each reals of this type. */
tutti_type tt_real_of(tutti_type type, size_t *each);
/* Returns the number of bits per word. The sum of the words of `ranks` ranks then fits in an int64. */
int tt_exact_width(int ranks);
/* Returns the range of n reals x[0..n-1] of the given type, where n is at most TT_BLOCK. */
tt_breadth tt_exact_measure(tutti_type real, const void *x, size_t n);
/* Returns the range of an empty block. */
static inline tt_breadth tt_breadth_none(void) {
  return (tt_breadth){INT16_MIN, INT16_MIN, 0, 0};
}
/* Returns how many words each real of a block with this range needs, which is 0 if all are positive zeros. */
size_t tt_exact_words(const tt_breadth *b, int width);
/* Returns how many words each real of this type needs if the exponents in its block span 32. */
size_t tt_exact_usual(tutti_type real, int width);
/* Converts n reals to words, one real after another. */
void tt_exact_spread(tutti_type real, const tt_breadth *b, int width, const void *x, size_t n,
                     int64_t *words);
/* Rounds n exact sums of `summands` numbers each and stores them in dst. Divides them by `ranks` first, unless it is 1. */
void tt_exact_round(tutti_type real, const tt_breadth *b, int width, const int64_t *words, size_t n,
                    int summands, int ranks, void *dst);

#endif
