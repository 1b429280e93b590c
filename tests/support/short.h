/* short.h - sizes of tests: short ones for make check, the shortest for make quick.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHORT_H
#define SHORT_H

#include <stdlib.h>

/* Returns the size of a test: `full`, or `brief` if TEST_SHORT is set. */
static inline int shorter(int full, int brief) {
  return getenv("TEST_SHORT") ? brief : full;
}

/* As above, but returns `least` if TEST_QUICK is set. */
static inline int shortest(int full, int brief, int least) {
  return getenv("TEST_QUICK") ? least : shorter(full, brief);
}

#endif
