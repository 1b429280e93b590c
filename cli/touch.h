/* touch.h - accesses a vector like an ordinary program: writes all of it, reads all of it.
 *
 * Idea       A measurement subtracts the time of the same accesses without the call. These
 *            functions therefore access the vector as fast as a core can. Each function begins at a
 *            cache line, so that the time does not depend on where the compiler places a loop.
 * Types      The vector contains small floats, whatever its type. Interpreted as halves or as
 *            doubles, they are ordinary numbers as well.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_TOUCH_H
#define CLI_TOUCH_H

#include <stddef.h>

typedef float __attribute__((may_alias)) touch_word;
typedef float __attribute__((vector_size(16), aligned(4), may_alias)) touch_words;
enum { TOUCH_WORDS = sizeof(touch_words) / sizeof(touch_word), TOUCH_STEP = 4 * TOUCH_WORDS };

/* i is a number that differs from call to call. */
__attribute__((noinline, aligned(64), unused)) static void touch_write(void *vector, size_t bytes,
                                                                       long i) {
  const touch_word value = (touch_word)(i & 0xffff);
  const touch_words values = value - (touch_words){0};
  touch_words *at = (touch_words *)vector;
  size_t n = bytes / sizeof value;
  for (; n >= TOUCH_WORDS; n -= TOUCH_WORDS) *at++ = values;
  for (touch_word *x = (touch_word *)at; n; n--) *x++ = value;
  __asm__ volatile("" ::"r"(vector) : "memory");
}

__attribute__((noinline, aligned(64), unused)) static void touch_read(const void *vector,
                                                                      size_t bytes) {
  touch_words a = {0}, b = a, c = a, d = a;
  touch_word rest = 0;
  const touch_words *at = (const touch_words *)vector;
  size_t n = bytes / sizeof rest;
  for (; n >= TOUCH_STEP; n -= TOUCH_STEP, at += 4)
    a += at[0], b += at[1], c += at[2], d += at[3];
  for (const touch_word *x = (const touch_word *)at; n; n--) rest += *x++;
  a += b + c + d;
  __asm__ volatile("" ::"m"(a), "m"(rest)); /* keeps the loops: their results count as used */
}

#endif
