/* sums.h - floating-point sums with known bits: numbers of every kind and their exact sums, which
 * are computed independently.
 *
 * Idea       the reference counts, for every power of two, how many numbers have that bit set. Then
 *            it carries, divides and rounds bit by bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SUMS_H
#define SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

enum { SUMS_MOST = 64 }; /* limit for the summands */

/* Read and write real numbers of a type as bits: fp16, bf16, float or double. */
uint64_t sums_get(tutti_type real, const void *x, size_t i);
void sums_put(tutti_type real, void *x, size_t i, uint64_t bits);
/* Returns the bits of the sum of n real numbers, divided by `by` and rounded once. */
uint64_t sums_exact(tutti_type real, const uint64_t *x, int n, int by);

/* Returns the k-th of n summands of element i: cancellations, denormals, infinities, NaNs, intermediate overflow,
 * zeros of both signs, random bits, and more. */
uint64_t sums_number(tutti_type real, size_t i, int k, int n);
enum { SUMS_KINDS = 14 };

/* Selects the expected sums: those that the contract `element` defines, or exact ones, which are the default. */
void sums_expect_element(bool is);

/* Runs every algorithm, slicing, type, op, in place and out of place, and the other collectives, on all ranks
 * of a communicator with the contract `exact` or `element`. Returns true if all results are correct, and
 * otherwise prints the errors. */
bool sums_by_all_plans(tutti_comm *comm);
bool sums_by_all_calls(tutti_comm *comm);
bool sums_in_windows(tutti_comm *comm);
/* Returns, on rank 0, a hash of the results and plans of a series of ordinary calls with rounding. It must be the
 * same in every run. */
uint64_t sums_fingerprint(tutti_comm *comm);

#endif
