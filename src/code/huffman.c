/* huffman.c - a canonical prefix code for bytes (huffman.h).
 *
 * Form       The lowest and the highest byte value that occur; the code lengths of these two and of all values between
 *            them, 4 bits each; the sizes of STREAMS streams, 2 bytes each; the streams, lowest bits first. Each stream
 *            encodes a part of the bytes, so that a core decodes several streams in parallel.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "huffman.h"

#include <string.h>

enum { SYMBOLS = 256, BITS = TT_HUFFMAN_BITS, STREAMS = 4, AT_ONCE = 5 };
_Static_assert(BITS < 16, "a length takes 4 bits");
_Static_assert(AT_ONCE *BITS + 7 <= 64, "a word that begins at any bit has that many codes");

typedef struct code {
  uint8_t length[SYMBOLS];  /* 0: the byte does not occur */
  uint16_t bits[SYMBOLS];   /* the first bit is the lowest */
  uint32_t packed[SYMBOLS]; /* bits, with the length above them; used only for packing */
} code;

/* ---- lengths ---- */

/* Lists the byte values that occur, from the rarest to the most frequent. Returns their number. */
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

/* Builds the tree by joining the two lightest nodes until one is left. This needs no heap, because the leaves are sorted and
 * joined nodes are created in sorted order. Sets the depth of each leaf, at most SYMBOLS - 1. */
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

/* Limits the code lengths to BITS. Then lengthens the codes of the rarest bytes by one bit each, until all codes fit. */
static void limit_depths(int n, int *depth) {
  int room = 1 << BITS; /* number of free codes of BITS bits */
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

/* Assigns canonical codes: shorter codes first and, among equal lengths, lower bytes first. Returns false if no code has
 * these lengths. */
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
  uint32_t each[4][SYMBOLS] = {{0}}; /* four counters, so that equal neighbours do not wait */
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; k++) each[k][from[i + k]]++;
  for (; i < n; i++) each[0][from[i]]++;
  for (int s = 0; s < SYMBOLS; s++) count[s] = each[0][s] + each[1][s] + each[2][s] + each[3][s];
}

static size_t put_lengths(const code *c, int low, int high, uint8_t *to) {
  to[0] = (uint8_t)low;
  to[1] = (uint8_t)high;
  size_t at = 2;
  for (int s = low; s <= high; s += 2)
    to[at++] = (uint8_t)(c->length[s] | (s < high ? c->length[s + 1] << 4 : 0));
  return at;
}

/* Encodes n bytes and returns the end of the output. Writes whole words, so up to 7 bytes past the end may be overwritten. */
static uint8_t *put_stream(const code *c, const uint8_t *from, size_t n, uint8_t *to) {
  uint64_t bits = 0;
  unsigned held = 0; /* at most 7 bits between rounds */
  size_t i = 0;
  for (; i + AT_ONCE <= n; i += AT_ONCE) {
    for (size_t k = 0; k < AT_ONCE; k++) {
      const uint32_t both = c->packed[from[i + k]];
      bits |= (uint64_t)(both & 0xffffu) << held;
      held += both >> 16;
    }
    memcpy(to, &bits, sizeof bits);
    to += held / 8;
    bits >>= held / 8 * 8;
    held %= 8;
  }
  for (; i < n; i++) {
    const uint32_t both = c->packed[from[i]];
    bits |= (uint64_t)(both & 0xffffu) << held;
    held += both >> 16;
  }
  memcpy(to, &bits, sizeof bits);
  return to + (held + 7) / 8;
}

/* Returns the index of the first byte that the s-th stream encodes. */
static size_t begin_of(size_t n, size_t s) {
  return tt_min((n + STREAMS - 1) / STREAMS * s, n);
}

static void put_size(uint8_t *to, size_t size) {
  to[0] = (uint8_t)size;
  to[1] = (uint8_t)(size >> 8);
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
  const size_t sizes = 2 * (size_t)STREAMS, head = 2 + (size_t)(high - low + 2) / 2 + sizes;
  const size_t least = head + (size_t)(bits + 7) / 8;
  if (least + STREAMS > most || least + STREAMS >= n) return 0;
  for (int k = 0; k < SYMBOLS; k++) c.packed[k] = c.bits[k] | (uint32_t)c.length[k] << 16;
  size_t at = put_lengths(&c, low, high, to);
  uint8_t *end = to + head;
  for (size_t s = 0; s < STREAMS; s++, at += 2) {
    const uint8_t *begin = end;
    end = put_stream(&c, from + begin_of(n, s), begin_of(n, s + 1) - begin_of(n, s), end);
    put_size(to + at, (size_t)(end - begin));
  }
  return (size_t)(end - to);
}

/* ---- unpacking ---- */

/* Fills the table, which is indexed by the next BITS bits. An entry is the byte that these bits encode and, above it, the
 * length of its code. Bits that are not a code, which only a damaged stream has, get an arbitrary entry. */
static void make_table(const code *c, uint16_t *table) {
  for (unsigned i = 0; i < 1u << BITS; i++) table[i] = BITS << 8;
  for (int s = 0; s < SYMBOLS; s++)
    for (unsigned i = c->bits[s]; c->length[s] && i < 1u << BITS; i += 1u << c->length[s])
      table[i] = (uint16_t)(s | c->length[s] << 8);
}

/* Reads the code lengths. Returns the number of bytes read, or 0 if the lengths are damaged. */
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

/* Reads 8 bytes at `at`. Bytes past the end are read as 0. */
static uint64_t look(const uint8_t *at, const uint8_t *end) {
  uint64_t bits = 0;
  const ptrdiff_t left = end - at;
  if (left >= 8)
    memcpy(&bits, at, 8);
  else if (left > 0)
    memcpy(&bits, at, (size_t)left);
  return bits;
}

typedef struct stream {
  const uint8_t *at;
  size_t size;
  uint64_t used; /* number of bits consumed */
  uint8_t *to;
  size_t left; /* number of bytes still to decode */
} stream;

static void take_one(const uint16_t *table, stream *s, uint64_t *bits) {
  const uint16_t e = table[*bits & ((1u << BITS) - 1)];
  *s->to++ = (uint8_t)e;
  *bits >>= e >> 8;
  s->used += e >> 8;
}

/* Decodes all streams in an interleaved loop, so that table lookups in different streams overlap. Stops when a stream has
 * fewer than AT_ONCE bytes left to decode, or when less than a whole word remains before the end. */
static void take_together(const uint16_t *table, stream s[STREAMS], const uint8_t *end) {
  size_t rounds = SIZE_MAX;
  for (int k = 0; k < STREAMS; k++) rounds = tt_min(rounds, s[k].left / AT_ONCE);
  stream a = s[0], b = s[1], c = s[2], d = s[3];
  size_t r = 0;
  for (; r < rounds; r++) {
    uint64_t w[STREAMS];
    if (end - (a.at + a.used / 8) < 8 || end - (b.at + b.used / 8) < 8 ||
        end - (c.at + c.used / 8) < 8 || end - (d.at + d.used / 8) < 8)
      break;
    memcpy(&w[0], a.at + a.used / 8, 8);
    memcpy(&w[1], b.at + b.used / 8, 8);
    memcpy(&w[2], c.at + c.used / 8, 8);
    memcpy(&w[3], d.at + d.used / 8, 8);
    w[0] >>= a.used % 8, w[1] >>= b.used % 8, w[2] >>= c.used % 8, w[3] >>= d.used % 8;
    for (int k = 0; k < AT_ONCE; k++) {
      take_one(table, &a, &w[0]);
      take_one(table, &b, &w[1]);
      take_one(table, &c, &w[2]);
      take_one(table, &d, &w[3]);
    }
  }
  s[0] = a, s[1] = b, s[2] = c, s[3] = d;
  for (int k = 0; k < STREAMS; k++) s[k].left -= r * AT_ONCE;
}

/* Decodes the rest of a stream. Returns false if the stream does not end at the expected position. */
static bool take_rest(const uint16_t *table, stream *s) {
  const uint8_t *end = s->at + s->size;
  while (s->left && s->used <= 8 * (uint64_t)s->size) {
    uint64_t bits = look(s->at + s->used / 8, end) >> s->used % 8;
    for (int k = 0; k < AT_ONCE && s->left; k++, s->left--) take_one(table, s, &bits);
  }
  return !s->left && (s->used + 7) / 8 == s->size;
}

size_t tt_huffman_unpack(const uint8_t *from, size_t size, uint8_t *to, size_t n) {
  uint16_t table[1 << BITS];
  code c;
  stream s[STREAMS];
  size_t at = take_lengths(from, size, &c);
  if (!at || at + 2 * STREAMS > size || !assign(&c)) return 0;
  const uint8_t *sizes = from + at;
  at += 2 * STREAMS;
  for (size_t k = 0; k < STREAMS; k++) {
    s[k] = (stream){.at = from + at,
                    .size = sizes[2 * k] | (size_t)sizes[2 * k + 1] << 8,
                    .to = to + begin_of(n, k),
                    .left = begin_of(n, k + 1) - begin_of(n, k)};
    if (s[k].size > size - at) return 0;
    at += s[k].size;
  }
  make_table(&c, table);
  take_together(table, s, from + at);
  for (int k = 0; k < STREAMS; k++)
    if (!take_rest(table, &s[k])) return 0;
  return at;
}
