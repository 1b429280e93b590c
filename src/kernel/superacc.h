/* superacc.h - sums of floating point numbers that do not depend on the order: each number becomes
 * a few integers, which add without rounding.
 *
 * Idea       A finite number is an integer times a power of two. A block of numbers has a lowest
 *            and a highest bit; the bits between them are cut into words of `width` bits, each an
 *            int64 with the sign of its number. The width leaves enough bits that the words of all
 *            ranks add up without a carry: the sum of numbers is the sum of their words, computed
 *            by the kernel of int64. At the end carries are resolved, and the exact sum is rounded
 *            once, to nearest even.
 * Cost       8 bytes for each word; one word for a block whose bits span up to `width`.
 * Invariant  Integers add in any order and grouping, so the result is a function of the multiset of
 *            summands. It does not depend on the cut of a block into words.
 * Source     R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015
 *            (words that overlap for the carries); here only the words that the data of all ranks
 *            need exist.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SUPERACC_H
#define TT_SUPERACC_H

#include "core.h"

enum {
  TT_BLOCK = 256,           /* reals that share their lowest and highest bit */
  TT_EXACT_RANKS = 1 << 21, /* the number of ranks must be lower */
  TT_EXACT_WORDS = 52       /* of a real, at most */
};

/* The range of a block, in bits above the smallest of its type's denormals. The range for all ranks
 * is the maximum of each field. */
typedef struct tt_breadth {
  int16_t top;     /* highest bit plus one; INT16_MIN: none */
  int16_t low;     /* minus the lowest bit */
  int16_t special; /* 1: contains infinities or NaNs */
  int16_t minus;   /* 1: contains negative zeros */
} tt_breadth;

/* The type that is summed for a floating point or complex type: itself, or that of its
 * *each parts. */
tutti_type tt_real_of(tutti_type type, size_t *each);
/* Bits of a word such that the words of `ranks` ranks add up in an int64. */
int tt_exact_width(int ranks);
/* The range of x[0..n-1], reals of the type; n is at most TT_BLOCK. */
tt_breadth tt_exact_measure(tutti_type real, const void *x, size_t n);
/* The range of an empty block. */
static inline tt_breadth tt_breadth_none(void) {
  return (tt_breadth){INT16_MIN, INT16_MIN, 0, 0};
}
/* Words of a real in a block of this range; 0 if all are positive zeros. */
size_t tt_exact_words(const tt_breadth *b, int width);
/* Words of a real of this type if the exponents of a block span 32. */
size_t tt_exact_usual(tutti_type real, int width);
/* Convert n reals to words, one real after another. */
void tt_exact_spread(tutti_type real, const tt_breadth *b, int width, const void *x, size_t n,
                     int64_t *words);
/* Round the sums of `summands` numbers each, divided by `ranks` (1: no division). */
void tt_exact_round(tutti_type real, const tt_breadth *b, int width, const int64_t *words, size_t n,
                    int summands, int ranks, void *dst);

#endif
