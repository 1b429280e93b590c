/* system.c - queries the system: the time, the environment, random words, and the available memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

double tt_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t tt_clock_us(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

const char *tt_env(const char *name) {
  const char *value = getenv(name);
  if (!value && strncmp(name, "TUTTI_", 6) == 0) value = tt_config_value(name);
  return value && *value ? value : NULL;
}

uint64_t tt_random(void) {
  uint64_t word;
  struct timespec t;
  if (getrandom(&word, sizeof word, 0) == sizeof word) return word;
  clock_gettime(CLOCK_REALTIME, &t); /* for a kernel without getrandom */
  return tt_mix(tt_mix((uint64_t)t.tv_sec ^ (uint64_t)t.tv_nsec << 32) ^ (uint64_t)getpid());
}

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
