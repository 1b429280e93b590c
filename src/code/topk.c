/* topk.c - of each block of floats the largest magnitudes, with their places; the others become 0 (code.h).
 *
 * Idea       Magnitudes are ordered as their bits are. A threshold falls from the largest one, by steps that
 *            double, until enough numbers reach it; then the last step is halved. Of equal numbers at the
 *            threshold the first are sent.
 * Cost       A pass over the block for each step and each halving, about ten where magnitudes differ; no
 *            number is moved or sorted.
 * Invariant  A block that was decoded has no more numbers than are sent, apart from zeros; so the same are
 *            sent again. Places are in ascending order.
 * Source     Aji and Heafield, Sparse communication for distributed gradient descent, EMNLP 2017; with what was
 *            left out added in the next step: Stich et al., Sparsified SGD with memory, NeurIPS 2018.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "code.h"
#include "kernel_bits.h"

static const int32_t first_infinite = 0x7f800000;

size_t tt_topk_kept(tt_code code, size_t n) {
  const size_t of = (size_t)8 << (code - TT_CODE_TOPK_8);
  return (n + of - 1) / of;
}

/* The magnitudes, as bits; returns the largest. */
static int32_t magnitudes_of(const float *x, size_t n, int32_t *bits) {
  int32_t most = 0;
  for (size_t i = 0; i < n; i++) {
    bits[i] = (int32_t)(tt_float_bits(x[i]) & 0x7fffffffu);
    most = bits[i] > most ? bits[i] : most;
  }
  return most;
}

static size_t count_from(const int32_t *bits, size_t n, int32_t least) {
  int32_t count = 0;
  for (size_t i = 0; i < n; i++) count += bits[i] >= least;
  return (size_t)count;
}

/* The largest threshold that at least k numbers reach, or another one that exactly k reach. */
static int32_t least_kept(const int32_t *bits, size_t n, size_t k, int32_t most) {
  int32_t high = most + 1, low = high; /* fewer than k reach `high` */
  for (int32_t step = 1 << 22;; step *= 2) {
    low = low > step ? low - step : 0;
    const size_t reach = count_from(bits, n, low);
    if (reach == k) return low;
    if (reach > k) break;
    high = low;
  }
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    const size_t reach = count_from(bits, n, middle);
    if (reach == k) return middle;
    if (reach > k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The places of the k largest; `at` has one byte more. */
static void choose_places(const int32_t *bits, size_t n, size_t k, int32_t most, uint8_t *at) {
  const int32_t least = least_kept(bits, n, k, most);
  size_t equal = k - count_from(bits, n, least + 1), chosen = 0;
  for (size_t i = 0; i < n; i++) {
    const bool takes = bits[i] == least && equal;
    at[chosen] = (uint8_t)i;
    chosen += takes || bits[i] > least;
    equal -= takes;
  }
}

void tt_topk_block(tt_code code, const float *x, size_t n, float *values, uint8_t *at) {
  int32_t bits[TT_CODE_BLOCK];
  uint8_t places[TT_CODE_BLOCK + 1];
  const size_t k = tt_topk_kept(code, n);
  const int32_t most = magnitudes_of(x, n, bits);
  const bool finite = most < first_infinite;
  if (finite) choose_places(bits, n, k, most, places);
  for (size_t i = 0; i < k; i++) {
    at[i] = finite ? places[i] : (uint8_t)i;
    values[i] = finite ? x[at[i]] : tt_bits_float(0x7fc00000u);
  }
}

bool tt_topk_unblock(const float *values, const uint8_t *at, size_t k, float *x, size_t n) {
  const bool finite = values[0] - values[0] == 0;
  for (size_t i = 0; i < n; i++) x[i] = finite ? 0 : tt_bits_float(0x7fc00000u);
  for (size_t i = 0; i < k; i++)
    if (at[i] >= n) return false;
  for (size_t i = 0; i < k && finite; i++) x[at[i]] = values[i];
  return true;
}
