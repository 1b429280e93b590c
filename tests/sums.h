/* sums.h - sums of floating point in bits that are known beforehand: numbers of every kind,
 * and their exact sum, by a way of its own.
 *
 * Idea       the reference counts, for every power of two, how often a number has that bit;
 *            then it carries, divides and rounds as on paper, bit by bit.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SUMS_H
#define SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

enum { SUMS_MOST = 64 }; /* summands */

/* Reals of a type, as bits: fp16, bf16, float or double. */
uint64_t sums_get(tutti_type real, const void *x, size_t i);
void sums_put(tutti_type real, void *x, size_t i, uint64_t bits);
/* The sum of n reals, divided by `by`, rounded once; as bits. */
uint64_t sums_exact(tutti_type real, const uint64_t *x, int n, int by);

/* The k-th of n summands for place i: of cancellations, denormals, infinities, NaNs, overflow
 * on the way, zeros of both signs, any bits at all ... */
uint64_t sums_number(tutti_type real, size_t i, int k, int n);
enum { SUMS_KINDS = 14 };

/* What ranks of a communicator of contract `exact` do, all of them: every algorithm, slicing,
 * type, op, in place and not; and the other collectives. True if all is well; else it has said
 * what is not. */
bool sums_by_all_plans(tutti_comm *comm);
bool sums_by_all_calls(tutti_comm *comm);
bool sums_in_windows(tutti_comm *comm);
/* Are the results and plans of a row of ordinary calls, with roundings, those of any other run?
 * A number that is made of all of them, on rank 0. */
uint64_t sums_fingerprint(tutti_comm *comm);

#endif
