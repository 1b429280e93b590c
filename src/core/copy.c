/* copy.c - copies memory with vector loads and stores.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"

typedef long long vector __attribute__((vector_size(16), aligned(1), may_alias));

void tt_memcpy_by_vectors(void *to, const void *from, size_t n) {
  char *t = to;
  const char *f = from;
  for (; n >= 64; t += 64, f += 64, n -= 64) {
    const vector a = *(const vector *)(const void *)f, b = *(const vector *)(const void *)(f + 16),
                 c = *(const vector *)(const void *)(f + 32), d = *(const vector *)(const void *)(f + 48);
    *(vector *)(void *)t = a;
    *(vector *)(void *)(t + 16) = b;
    *(vector *)(void *)(t + 32) = c;
    *(vector *)(void *)(t + 48) = d;
    __asm__ volatile("" : : : "memory"); /* otherwise the compiler may call memcpy */
  }
  memcpy(t, f, n);
}
