/* fuzz.h - shared by the fuzzers: untrusted bytes as a string, and assertions.
 *
 * Idea       every fuzz_NAME.c has one entry point. It accepts any bytes, and must return within a
 *            time limit and without a report from the sanitizers. `make fuzz` builds it with
 *            libFuzzer. `make check` runs it on the files of fuzz/corpus/NAME.tar (replay.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that a condition holds. Otherwise prints a message and aborts the process. */
#define need(holds)                                                              \
  do {                                                                           \
    if (!(holds)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      abort();                                                                   \
    }                                                                            \
  } while (0)

/* Returns a string of exactly this length, so that the sanitizer detects reads beyond its end. The caller frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  need(text);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  return text;
}

#endif
