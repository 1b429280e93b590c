/* cpu_bits.h - a set of CPUs, as many as Linux can have.
 *
 * Idea       The system's cpu_set_t has 1,024 bits, and a kernel that may have more CPUs refuses to fill it. The size
 *            is fixed, because ranks publish their sets in shared memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CPU_BITS_H
#define TT_CPU_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { TT_CPUS = 8192, TT_CPU_WORD = 8 * sizeof(long), TT_CPU_WORDS = TT_CPUS / TT_CPU_WORD };

typedef struct tt_cpu_bits {
  unsigned long word[TT_CPU_WORDS];
} tt_cpu_bits;

static inline void tt_cpus_add(tt_cpu_bits *s, long cpu) {
  if (cpu >= 0 && cpu < TT_CPUS) s->word[cpu / TT_CPU_WORD] |= 1ul << cpu % TT_CPU_WORD;
}
static inline int tt_cpus_count(const tt_cpu_bits *s) {
  int n = 0;
  for (int i = 0; i < TT_CPU_WORDS; i++) n += __builtin_popcountl(s->word[i]);
  return n;
}
static inline int tt_cpus_first(const tt_cpu_bits *s) { /* -1: the set is empty */
  for (int i = 0; i < TT_CPU_WORDS; i++)
    if (s->word[i]) return i * (int)TT_CPU_WORD + __builtin_ctzl(s->word[i]);
  return -1;
}
static inline void tt_cpus_join(tt_cpu_bits *s, const tt_cpu_bits *more) {
  for (int i = 0; i < TT_CPU_WORDS; i++) s->word[i] |= more->word[i];
}
static inline bool tt_cpus_contain(const tt_cpu_bits *s, const tt_cpu_bits *part) {
  for (int i = 0; i < TT_CPU_WORDS; i++)
    if (part->word[i] & ~s->word[i]) return false;
  return true;
}
static inline bool tt_cpus_same(const tt_cpu_bits *a, const tt_cpu_bits *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

#endif
