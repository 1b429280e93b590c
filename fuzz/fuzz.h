/* fuzz.h - shared by the fuzzers: a file from outside as a text, and assertions.
 *
 * Idea       every fuzz_NAME.c has one entry, which takes any bytes and must return in time,
 *            without a finding of the sanitizers. `make fuzz` builds it with libFuzzer;
 *            `make check` runs it over the files of fuzz/corpus/NAME.tar (replay.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* If the condition does not hold, prints a sentence and ends the process. */
#define need(holds)                                                              \
  do {                                                                           \
    if (!(holds)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      abort();                                                                   \
    }                                                                            \
  } while (0)

/* A copy of exactly this length, so that the sanitizer detects reads beyond its end; the caller
 * frees it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  need(text);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  return text;
}

#endif
