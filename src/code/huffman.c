/* huffman.c - a canonical prefix code for bytes (huffman.h).
 *
 * Form       the first byte that occurs and the last; of these and all between 4 bits each, the
 *            lengths; 2 bytes, the size of the stream; the stream, lowest bits first.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "huffman.h"

#include <string.h>

enum { SYMBOLS = 256, BITS = TT_HUFFMAN_BITS };
_Static_assert(BITS < 16, "a length takes 4 bits");

typedef struct code {
  uint8_t length[SYMBOLS]; /* 0: does not occur */
  uint16_t bits[SYMBOLS];  /* first bit lowest */
} code;

/* ---- lengths ---- */

/* The bytes that occur, the rarest first. */
static int sorted(const uint32_t *count, int *symbols) {
  int n = 0;
  for (int s = 0; s < SYMBOLS; s++) {
    if (!count[s]) continue;
    int at = n++;
    for (; at > 0 && count[symbols[at - 1]] > count[s]; at--) symbols[at] = symbols[at - 1];
    symbols[at] = s;
  }
  return n;
}

/* Joins the two lightest nodes until one is left: leaves are sorted, and so are joined nodes as they
 * come. *depth of leaf i, at most SYMBOLS - 1. */
static void huffman_depths(const uint32_t *weight, int n, int *depth) {
  uint32_t joined[SYMBOLS];
  int parent[2 * SYMBOLS], leaf = 0, inner = 0;
  for (int made = 0; made < n - 1; made++) {
    joined[made] = 0;
    for (int k = 0; k < 2; k++) {
      const bool takes_leaf = leaf < n && (inner >= made || weight[leaf] <= joined[inner]);
      joined[made] += takes_leaf ? weight[leaf] : joined[inner];
      parent[takes_leaf ? leaf : n + inner] = n + made;
      if (takes_leaf)
        leaf++;
      else
        inner++;
    }
  }
  int below[2 * SYMBOLS];
  below[n + n - 2] = 0;
  for (int i = n + n - 3; i >= 0; i--) below[i] = below[parent[i]] + 1;
  for (int i = 0; i < n; i++) depth[i] = below[i];
}

/* Cuts lengths to BITS. The rarest then give way, one bit each, until all codes fit. */
static void limit_depths(int n, int *depth) {
  int room = 1 << BITS; /* codes of BITS bits that are left */
  for (int i = 0; i < n; i++) {
    if (depth[i] > BITS) depth[i] = BITS;
    room -= 1 << (BITS - depth[i]);
  }
  for (int i = 0; room < 0; i = (i + 1) % n) {
    if (depth[i] == BITS) continue;
    room += 1 << (BITS - depth[i] - 1);
    depth[i]++;
  }
}

/* Canonical codes: shorter ones first, among equals the lower byte first. False: no such code. */
static bool assign(code *c) {
  unsigned next = 0;
  for (int length = 1; length <= BITS; length++, next <<= 1)
    for (int s = 0; s < SYMBOLS; s++) {
      if (c->length[s] != length) continue;
      if (next >> length) return false;
      unsigned reversed = 0;
      for (int b = 0; b < length; b++) reversed |= (next >> b & 1) << (length - 1 - b);
      c->bits[s] = (uint16_t)reversed;
      next++;
    }
  return true;
}

static void make_code(const uint32_t *count, code *c) {
  int symbols[SYMBOLS], depth[SYMBOLS];
  uint32_t weight[SYMBOLS];
  const int n = sorted(count, symbols);
  for (int i = 0; i < n; i++) weight[i] = count[symbols[i]];
  if (n == 1)
    depth[0] = 1;
  else
    huffman_depths(weight, n, depth);
  limit_depths(n, depth);
  memset(c, 0, sizeof *c);
  for (int i = 0; i < n; i++) c->length[symbols[i]] = (uint8_t)depth[i];
  assign(c);
}

/* ---- packing ---- */

static void count_bytes(const uint8_t *from, size_t n, uint32_t *count) {
  uint32_t other[SYMBOLS] = {0}; /* two, so that equal neighbours do not wait for each other */
  memset(count, 0, SYMBOLS * sizeof *count);
  size_t i = 0;
  for (; i + 2 <= n; i += 2) count[from[i]]++, other[from[i + 1]]++;
  if (i < n) count[from[i]]++;
  for (int s = 0; s < SYMBOLS; s++) count[s] += other[s];
}

static size_t put_lengths(const code *c, int low, int high, uint8_t *to) {
  to[0] = (uint8_t)low;
  to[1] = (uint8_t)high;
  size_t at = 2;
  for (int s = low; s <= high; s += 2)
    to[at++] = (uint8_t)(c->length[s] | (s < high ? c->length[s + 1] << 4 : 0));
  return at;
}

static void put_stream(const code *c, const uint8_t *from, size_t n, uint8_t *to) {
  uint64_t bits = 0;
  unsigned held = 0;
  for (size_t i = 0; i < n; i++) {
    bits |= (uint64_t)c->bits[from[i]] << held;
    held += c->length[from[i]];
    if (held < 32) continue;
    const uint32_t out = (uint32_t)bits;
    memcpy(to, &out, sizeof out);
    to += sizeof out;
    bits >>= 32;
    held -= 32;
  }
  for (; held; held = held > 8 ? held - 8 : 0, bits >>= 8) *to++ = (uint8_t)bits;
}

size_t tt_huffman_pack(const uint8_t *from, size_t n, uint8_t *to, size_t most) {
  uint32_t count[SYMBOLS];
  code c;
  count_bytes(from, n, count);
  make_code(count, &c);
  uint64_t bits = 0;
  int low = SYMBOLS, high = 0;
  for (int s = 0; s < SYMBOLS; s++) {
    bits += (uint64_t)count[s] * c.length[s];
    if (!count[s]) continue;
    if (low > s) low = s;
    high = s;
  }
  const size_t head = 2 + (size_t)(high - low + 2) / 2 + 2, stream = (size_t)(bits + 7) / 8;
  if (head + stream > most || head + stream >= n) return 0;
  const size_t at = put_lengths(&c, low, high, to);
  to[at] = (uint8_t)stream;
  to[at + 1] = (uint8_t)(stream >> 8);
  put_stream(&c, from, n, to + head);
  return head + stream;
}

/* ---- unpacking ---- */

typedef struct entry {
  uint8_t symbol, length;
} entry;

static bool make_table(const code *c, entry *table) {
  memset(table, 0, (sizeof *table) << BITS);
  for (int s = 0; s < SYMBOLS; s++)
    for (unsigned i = c->bits[s]; c->length[s] && i < 1u << BITS; i += 1u << c->length[s])
      table[i] = (entry){(uint8_t)s, c->length[s]};
  return true;
}

/* The lengths; returns the bytes read, or 0. */
static size_t take_lengths(const uint8_t *from, size_t size, code *c) {
  memset(c, 0, sizeof *c);
  if (size < 2 || from[1] < from[0]) return 0;
  const size_t bytes = 2 + (size_t)(from[1] - from[0] + 2) / 2;
  if (bytes > size) return 0;
  for (int s = from[0]; s <= from[1]; s++) {
    const int nibble = from[2 + (s - from[0]) / 2] >> ((s - from[0]) % 2 * 4) & 15;
    if (nibble > BITS) return 0;
    c->length[s] = (uint8_t)nibble;
  }
  return bytes;
}

/* Up to 8 bytes from `at`, those past the end as 0. */
static uint64_t look(const uint8_t *at, const uint8_t *end) {
  uint64_t bits = 0;
  const ptrdiff_t left = end - at;
  if (left >= 8)
    memcpy(&bits, at, 8);
  else if (left > 0)
    memcpy(&bits, at, (size_t)left);
  return bits;
}

static bool take_stream(const entry *table, const uint8_t *at, size_t size, uint8_t *to, size_t n) {
  const uint8_t *end = at + size;
  uint64_t used = 0; /* bits */
  size_t i = 0;
  while (i < n) {
    uint64_t bits = look(at + used / 8, end) >> used % 8;
    for (int k = 0; k < 5 && i < n; k++) { /* 57 bits are there, 5 codes take up to 50 */
      const entry e = table[bits & ((1u << BITS) - 1)];
      if (!e.length) return false;
      to[i++] = e.symbol;
      bits >>= e.length;
      used += e.length;
    }
    if (used > 8 * (uint64_t)size) return false;
  }
  return (used + 7) / 8 == size;
}

size_t tt_huffman_unpack(const uint8_t *from, size_t size, uint8_t *to, size_t n) {
  entry table[1 << BITS];
  code c;
  const size_t at = take_lengths(from, size, &c);
  if (!at || at + 2 > size || !assign(&c)) return 0;
  const size_t stream = from[at] | (size_t)from[at + 1] << 8;
  if (at + 2 + stream > size || !make_table(&c, table)) return 0;
  return take_stream(table, from + at + 2, stream, to, n) ? at + 2 + stream : 0;
}
