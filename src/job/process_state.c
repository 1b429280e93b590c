/* process_state.c - is a process running, sleeping, stopped, or dead?
 *
 * Source     proc_pid_stat(5): the name in parentheses may contain anything, so only the text after
 *            the last parenthesis is parsed: the state, and 19 fields later the start time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "process_state.h"

char tt_process_state(long pid, uint64_t *started) {
  char path[40], text[1024], state = 0;
  unsigned long long began = 0;
  if (started) *started = 0;
  snprintf(path, sizeof path, "/proc/%ld/stat", pid);
  FILE *f = pid > 0 ? fopen(path, "re") : NULL;
  const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = 0;
  const char *at = strrchr(text, ')');
  if (!at || sscanf(at + 1, " %c", &state) != 1) return 0;
  for (int field = 2; *at && field < 22; at++) field += *at == ' ';
  if (started && sscanf(at, "%llu", &began) == 1) *started = began;
  return state;
}
