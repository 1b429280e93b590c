/* short.h - the short form of the tests, for make check, and the shortest, for make quick. SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHORT_H
#define SHORT_H

#include <stdlib.h>

/* The size of a test: `full`, or `brief` with TEST_SHORT=1. */
static inline int shorter(int full, int brief) {
  return getenv("TEST_SHORT") ? brief : full;
}

/* The same, and `least` with TEST_QUICK=1. */
static inline int shortest(int full, int brief, int least) {
  return getenv("TEST_QUICK") ? least : shorter(full, brief);
}

#endif
