/* rounding.h - the maximum difference between two floating-point sums of the same operands.
 *
 * Idea       the error of a result with k roundings, in any order, is at most k u / (1 - k u) times
 *            the sum of the operands' magnitudes, where u is half a unit in the last place of the
 *            type. Two such results differ by at most twice that, which is about k eps times the
 *            magnitudes. If a scaled number is too small to be normal, each rounding adds at most
 *            the type's smallest number. There is no other tolerance. The 8-bit types have too few
 *            digits for such a bound on more than a few ranks.
 * Source     Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 2.1 and 4.2.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ROUNDING_H
#define ROUNDING_H

#include <math.h>

#include "tutti.h"

/* `roundings` is the number of rounded operations that produce a result: n - 1 for a sum of n operands, and one more
 * if the sum is then divided. `magnitudes` is the sum of the operands' absolute values. */
static inline double rounding_bound(tutti_type type, int roundings, double magnitudes) {
  static const int digits[] = {[TUTTI_FP8_E4M3] = 4, [TUTTI_FP8_E5M2] = 3, [TUTTI_FLOAT16] = 11,
                               [TUTTI_BFLOAT16] = 8, [TUTTI_FLOAT] = 24,   [TUTTI_DOUBLE] = 53};
  static const int least[] = {
      [TUTTI_FP8_E4M3] = -9,   [TUTTI_FP8_E5M2] = -16, [TUTTI_FLOAT16] = -24,
      [TUTTI_BFLOAT16] = -133, [TUTTI_FLOAT] = -149,   [TUTTI_DOUBLE] = -1074};
  const double k = roundings * ldexp(1, -digits[type]);
  return 2 * k / (1 - k) * magnitudes + 2 * roundings * ldexp(1, least[type]);
}

#endif
