/* samples.h - plans with parameters, for tests and proofs. SPDX-License-Identifier: BSD-3-Clause */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "algo.h"

/* Returns the name of the i-th family that has samples, or NULL past the end. */
const char *sampled_family(int i);
/* Appends the text of the family's i-th sample for this number of ranks to `name`. Returns false past the end. */
bool add_sample(int family, int ranks, int i, tt_text *name);

#endif
