/* memory.c - how much memory the system can still give.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "core.h"

uint64_t tt_memory_available(void) {
  char line[120];
  unsigned long long kib;
  uint64_t bytes = UINT64_MAX;
  FILE *file = fopen("/proc/meminfo", "re");
  while (file && bytes == UINT64_MAX && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %llu", &kib) == 1) bytes = 1024 * (uint64_t)kib;
  if (file) fclose(file);
  return bytes;
}
