/* stores.c - what plain and streaming stores cost, and which kind to use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stores.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* RARE: if there is one trial for every RARE * (ratio of the costs) pieces, trials of the slower kind of store take
 * 1 % of the time. FIRST, SHORTEST and LONGEST are periods as in tt_store_rule. */
enum { RARE = 100 * TT_STORE_TRIAL, FIRST = 3, SHORTEST = 9, LONGEST = 14 };

tt_store_rule tt_stores_wanted(void) {
  static const char *const words[] = {"plain", "streaming", NULL};
  const int word = tt_env_word("TUTTI_STORES", words);
  tt_store_rule rule = {TT_PLAIN, 0};
#if defined(__x86_64__)
  rule = word < 0 ? (tt_store_rule){TT_PLAIN, FIRST} : (tt_store_rule){(uint8_t)word, 0};
#else
  (void)word;
#endif
  return rule;
}

void tt_stores_begin(tt_stores *s, int n, tt_store_rule rule) {
  for (int k = 0; k < n; k++) s[k] = (tt_stores){.rule = rule};
}

float tt_store_estimate(float *estimate, const tt_spent *spent) {
  if (!spent->bytes) return *estimate;
  const float now = (float)spent->ticks / (float)spent->bytes;
  if (*estimate == 0)
    *estimate = now;
  else if (now < *estimate)
    *estimate += (now - *estimate) * 3 / 4;
  else
    *estimate += ((now > 2 * *estimate ? 2 * *estimate : now) - *estimate) / 2;
  return *estimate;
}

void tt_stores_learn(tt_stores *s, const tt_spent write[TT_STORES],
                     const tt_spent read[TT_STORES]) {
  const float wrote = (float)(write[0].bytes + write[1].bytes);
  const float got = (float)(read[0].bytes + read[1].bytes);
  float cost[TT_STORES];
  for (int kind = 0; kind < TT_STORES; kind++) {
    tt_store_estimate(&s->write[kind], &write[kind]);
    tt_store_estimate(&s->read[kind], &read[kind]);
    cost[kind] = s->write[kind] * wrote + s->read[kind] * got;
  }
  if (!s->rule.period) return;
  if (!s->write[0] || !s->write[1]) return; /* keep writing pieces of both kinds */
  if (!wrote && !got) return;
  const tt_store other = (tt_store)!s->rule.kind;
  if (cost[other] < 0.95f * cost[!other]) s->rule.kind = other;
  const float ratio = cost[!s->rule.kind] / cost[s->rule.kind];
  s->rule.period = SHORTEST;
  while (s->rule.period < LONGEST && (float)(1u << s->rule.period) < RARE * ratio) s->rule.period++;
}

#if defined(__x86_64__)
/* Copies whole cache lines with streaming stores. The bytes before the first whole line and after the last one are
 * copied with ordinary stores. */
static void stream(char *to, const char *from, size_t n) {
  const size_t head = tt_min(n, -(uintptr_t)to & 63);
  memcpy(to, from, head);
  to += head, from += head, n -= head;
  for (; n >= 64; to += 64, from += 64, n -= 64) {
    const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)from);
    const __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(from + 16));
    const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(from + 32));
    const __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(from + 48));
    _mm_stream_si128((__m128i *)(void *)to, a);
    _mm_stream_si128((__m128i *)(void *)(to + 16), b);
    _mm_stream_si128((__m128i *)(void *)(to + 32), c);
    _mm_stream_si128((__m128i *)(void *)(to + 48), d);
  }
  memcpy(to, from, n);
}
#endif

void tt_store_copy(tt_store kind, void *to, const void *from, size_t n) {
#if defined(__x86_64__)
  if (kind == TT_STREAMING) {
    stream(to, from, n);
    return;
  }
#else
  (void)kind;
#endif
  tt_memcpy(to, from, n);
}
