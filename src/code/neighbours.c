/* neighbours.c - floats and bf16 without loss, by what they have in common with their neighbours (planes.h).
 *
 * Idea       Neighbours in a gradient have about the same size, and often the same sign. So a number's first byte says how much its
 *            exponent differs from that of the number before, in 7 bits, and whether its sign does. These bytes get a
 *            Huffman code. The first 7 bits of the fraction are packed, 8 numbers in 7 bytes, and the others are
 *            copied; planes that hold many zeros are coded, too.
 * Cost       A few operations a number beside the code: words of 8 numbers make their differences sums again.
 * Invariant  An exponent is counted from the smallest in the frame but 0, so that differences fit in 7 bits: exponents that lie
 *            further apart than 127 (an infinity, a NaN among others) are not stored so.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "huffman.h"
#include "planes.h"

enum { MOST = TT_PLANES_RAW / 2, MASK = 127, MIDDLE = 64, SAMPLES = 4, SAMPLE = 256 };
#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101u)

typedef struct parts { /* of numbers; room for a whole word of 8 */
  uint8_t exponent[MOST + 8], sign[MOST + 8], symbol[MOST + 8];
  uint8_t fraction[3][MOST + 8]; /* the first 7 bits, and, of floats, 8 and 8 more */
} parts;

/* ---- numbers and their parts ---- */

/* Loops that a compiler vectorises. */
static void part_floats(const char *from, size_t n, parts *restrict p) {
  for (size_t i = 0; i < n; i++) {
    uint32_t u;
    memcpy(&u, from + i * sizeof u, sizeof u);
    p->exponent[i] = (uint8_t)(u >> 23);
    p->sign[i] = (uint8_t)(u >> 31);
    p->fraction[0][i] = u >> 16 & MASK;
    p->fraction[1][i] = (uint8_t)(u >> 8);
    p->fraction[2][i] = (uint8_t)u;
  }
}

static void part_halves(const char *from, size_t n, parts *restrict p) {
  for (size_t i = 0; i < n; i++) {
    uint16_t u;
    memcpy(&u, from + i * sizeof u, sizeof u);
    p->exponent[i] = (uint8_t)(u >> 7);
    p->sign[i] = (uint8_t)(u >> 15);
    p->fraction[0][i] = u & MASK;
  }
}

static void join_floats(const parts *restrict p, size_t n, char *restrict to) {
  for (size_t i = 0; i < n; i++) {
    const uint32_t u = (uint32_t)p->sign[i] << 31 | (uint32_t)p->exponent[i] << 23 |
                       (uint32_t)p->fraction[0][i] << 16 | (uint32_t)p->fraction[1][i] << 8 |
                       p->fraction[2][i];
    memcpy(to + i * sizeof u, &u, sizeof u);
  }
}

static void join_halves(const parts *restrict p, size_t n, char *restrict to) {
  for (size_t i = 0; i < n; i++) {
    const uint16_t u = (uint16_t)(p->sign[i] << 15 | p->exponent[i] << 7 | p->fraction[0][i]);
    memcpy(to + i * sizeof u, &u, sizeof u);
  }
}

/* Counts exponents from *base on; false: they lie too far apart. */
static bool rebase(parts *p, size_t n, uint8_t *base) {
  uint8_t before_least = 255, most = 0;
  for (size_t i = 0; i < n; i++) {
    const uint8_t e = p->exponent[i], before = (uint8_t)(e - 1); /* of 0: more than all others */
    before_least = before < before_least ? before : before_least;
    most = e > most ? e : most;
  }
  *base = most ? before_least : 0;
  if (most - *base > MASK) return false;
  for (size_t i = 0; i < n; i++) {
    const uint8_t e = p->exponent[i];
    p->exponent[i] = e ? (uint8_t)(e - *base) : 0;
  }
  return true;
}

static void put_base_back(parts *p, size_t n, uint8_t base) {
  for (size_t i = 0; i < n; i++) {
    const uint8_t e = p->exponent[i];
    p->exponent[i] = e ? (uint8_t)(e + base) : 0;
  }
}

/* ---- differences ---- */

static void differ(parts *p, size_t n) {
  p->symbol[0] = (uint8_t)(((p->exponent[0] + MIDDLE) & MASK) << 1 | p->sign[0]);
  for (size_t i = 1; i < n; i++)
    p->symbol[i] = (uint8_t)(((p->exponent[i] - p->exponent[i - 1] + MIDDLE) & MASK) << 1 |
                             (p->sign[i] ^ p->sign[i - 1]));
}

/* The lowest byte is the first number's. */
static uint64_t load(const uint8_t *x) {
  uint64_t w;
  memcpy(&w, x, sizeof w);
  return w;
}

static void store(uint8_t *x, uint64_t w) {
  memcpy(x, &w, sizeof w);
}

static void add_up(parts *p, size_t n) {
  uint64_t exponent = 0, sign = 0; /* of the number before */
  for (size_t i = 0; i < n; i += 8) {
    const uint64_t w = load(p->symbol + i);
    uint64_t e = ((w >> 1 & EACH(MASK)) + EACH(MIDDLE)) & EACH(MASK), s = w & EACH(1);
    for (int by = 8; by < 64; by *= 2) {
      e = (e + (e << by)) & EACH(MASK);
      s ^= s << by;
    }
    e = (e + EACH(exponent)) & EACH(MASK);
    s ^= EACH(sign);
    exponent = e >> 56;
    sign = s >> 56;
    store(p->exponent + i, e);
    store(p->sign + i, s);
  }
}

/* Do the symbols take less than exponents and signs alone? As samples tell: the likelier it is that two of a kind are
 * equal, the fewer bits they take (Renyi's entropy of order 2). A sign alone takes one. */
static bool pays(const parts *p, size_t n) {
  uint32_t symbols[256] = {0}, exponents[256] = {0};
  uint64_t near = 0, alone = 0;
  for (size_t k = 0; k < SAMPLES; k++) {
    const size_t from = n * k / SAMPLES, end = tt_min(n * (k + 1) / SAMPLES, from + SAMPLE);
    for (size_t i = from; i < end; i++) {
      symbols[p->symbol[i]]++;
      exponents[p->exponent[i]]++;
    }
  }
  for (int b = 0; b < 256; b++) {
    near += (uint64_t)symbols[b] * symbols[b];
    alone += (uint64_t)exponents[b] * exponents[b];
  }
  return 2 * near > alone;
}

/* ---- 7 bits of each number ---- */

/* Two fields beside each other become one, without the gap between them, three times. */
static uint8_t *put_sevens(const uint8_t *x, size_t n, uint8_t *at) {
  for (size_t i = 0; i < n; i += 8, at += 7) {
    uint64_t w = load(x + i);
    w = (w & 0x007f007f007f007f) | (w & 0x7f007f007f007f00) >> 1;
    w = (w & 0x00003fff00003fff) | (w & 0x3fff00003fff0000) >> 2;
    w = (w & 0x000000000fffffff) | (w & 0x0fffffff00000000) >> 4;
    store(at, w); /* the next word takes the last byte's place */
  }
  return at;
}

static void take_sevens(const uint8_t *at, size_t n, uint8_t *x) {
  uint8_t last[8] = {0};
  for (size_t i = 0; i < n; i += 8, at += 7) {
    const bool more = i + 8 < n; /* bytes follow */
    if (!more) memcpy(last, at, 7);
    uint64_t w = load(more ? at : last);
    w = (w & 0x000000000fffffff) | (w & 0x00fffffff0000000) << 4;
    w = (w & 0x00003fff00003fff) | (w & 0x0fffc0000fffc000) << 2;
    w = (w & 0x007f007f007f007f) | (w & 0x3f803f803f803f80) << 1;
    store(x + i, w);
  }
}

static size_t seven_bytes(size_t n) {
  return (n + 7) / 8 * 7;
}

/* ---- all ---- */

enum { WHOLE, SEVENS }; /* the first plane of a fraction */

uint8_t *tt_near_put(bool wide, const void *from, size_t n, uint8_t *at) {
  parts p;
  (wide ? part_floats : part_halves)(from, n, &p);
  if (!n || !rebase(&p, n, at)) return NULL;
  differ(&p, n);
  if (!pays(&p, n)) return NULL;
  at = tt_plane_put(p.symbol, n, true, at + 1);
  const bool zeros = tt_plane_has_zeros(p.fraction[0], n);
  *at++ = !zeros && seven_bytes(n) < n ? SEVENS : WHOLE;
  memset(p.fraction[0] + n, 0, 8);
  at = at[-1] == SEVENS ? put_sevens(p.fraction[0], n, at)
                        : tt_plane_put(p.fraction[0], n, zeros, at);
  for (int k = 1; wide && k < 3; k++)
    at = tt_plane_put(p.fraction[k], n, tt_plane_has_zeros(p.fraction[k], n), at);
  return at;
}

bool tt_near_take(bool wide, const uint8_t *at, const uint8_t *end, void *to, size_t n) {
  parts p;
  if (at == end) return false;
  const uint8_t base = *at++;
  at = tt_plane_take(at, end, p.symbol, n);
  if (!at || at == end) return false;
  memset(p.symbol + n, 0, 8);
  if (*at++ == SEVENS) {
    if ((size_t)(end - at) < seven_bytes(n)) return false;
    take_sevens(at, n, p.fraction[0]);
    at += seven_bytes(n);
  } else {
    at = tt_plane_take(at, end, p.fraction[0], n);
  }
  for (int k = 1; wide && k < 3 && at; k++) at = tt_plane_take(at, end, p.fraction[k], n);
  if (at != end) return false;
  add_up(&p, n);
  put_base_back(&p, n, base);
  (wide ? join_floats : join_halves)(&p, n, to);
  return true;
}
