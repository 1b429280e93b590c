/* fuzz.h - what the fuzzers share: a file from outside as a text, and what must hold.
 *
 * Idea       every fuzz_NAME.c has one entry, which takes any bytes and must return in time,
 *            without a finding of the sanitizers. `make fuzz` builds it with libFuzzer;
 *            `make check` runs it over what stands in fuzz/corpus/NAME (replay.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What does not hold ends the process, with a sentence. */
#define need(holds)                                                              \
  do {                                                                           \
    if (!(holds)) {                                                              \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds); \
      abort();                                                                   \
    }                                                                            \
  } while (0)

/* Just as long as it is, so that whoever reads behind its end is seen; free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  need(text);
  if (size) memcpy(text, data, size);
  text[size] = 0;
  return text;
}

#endif
