/* size.c - sizes: parses those with units, and compares.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "core.h"

const char *tt_size_read(const char *text, uint64_t *bytes) {
  static const char units[] = "kMGT";
  char *end;
  if (*text < '0' || *text > '9') return NULL;
  const double value = strtod(text, &end);
  uint64_t unit = 1;
  for (int i = 0; units[i]; i++)
    if ((*end | 32) == (units[i] | 32)) {
      unit <<= 10 * (i + 1);
      end++;
      if (*end == 'i') end++;
      break;
    }
  if (*end == 'B') end++;
  if (!(value * (double)unit < 9e18)) return NULL;
  *bytes = (uint64_t)(value * (double)unit + 0.5);
  return end;
}

int tt_by_first_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
