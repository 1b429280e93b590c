/* superacc.c - converts numbers to words, and sums of words to numbers (superacc.h).
 *
 * Idea       The formats differ only in their sizes, except that e4m3 has no infinities. The bits below the exponent's
 *            are the fraction, and a value is an integer multiple of its type's smallest denormal. One source therefore
 *            serves all formats and is compiled once per format.
 * Invariant  Rounding uses a normalised window of 128 bits of the exact sum, and a flag that says whether any bit below
 *            it is set. Rounding, and division by a number of ranks, need no more.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "superacc.h"

#include <string.h>

#include "fp_state.h"

#define INLINE static inline __attribute__((always_inline))
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

typedef struct format {
  size_t bytes;
  int precision;     /* bits of the fraction, including the implicit one */
  uint64_t infinity; /* smallest magnitude that is not a finite number */
  bool infinities;   /* that magnitude is infinite; otherwise it is the only NaN */
} format;

#define TT_TYPE(number, name, type, kind, kernels)
#include "types.def"

/* A mask for the exponent, which consists of all bits except the sign and the fraction. */
#define FIELDS(bytes, fraction) \
  ((((uint64_t)1 << (8 * (bytes) - (fraction))) - 1) << ((fraction)-1))
#define FORMAT(bytes, fraction, infinities)                                                     \
  ((format){bytes, fraction,                                                                    \
            FIELDS(bytes, fraction) | ((infinities) ? 0 : ((uint64_t)1 << ((fraction)-1)) - 1), \
            infinities})
#define CASE(number, bytes, fraction, infinities, call) \
  case TUTTI_##number: call(FORMAT(bytes, fraction, infinities));

/* Expands `call` with the format as a constant. */
#define BY_FORMAT(real, call)         \
  switch (real) {                     \
    TT_REALS(CASE, call)              \
    default: __builtin_unreachable(); \
  }

tutti_type tt_real_of(tutti_type type, size_t *each) {
  *each = type == TUTTI_COMPLEX_FLOAT || type == TUTTI_COMPLEX_DOUBLE ? 2 : 1;
  return *each == 1 ? type : type == TUTTI_COMPLEX_FLOAT ? TUTTI_FLOAT : TUTTI_DOUBLE;
}

int tt_exact_width(int ranks) {
  return (int)tt_min(62, (size_t)(63 - tt_ceil_log2((uint64_t)ranks)));
}

/* ---- numbers as bits ---- */

INLINE uint64_t load(format f, const void *x, size_t i) {
  if (f.bytes == 1) return ((const unsigned char *)x)[i];
  if (f.bytes == 2) {
    uint16_t u;
    memcpy(&u, (const char *)x + 2 * i, sizeof u);
    return u;
  }
  if (f.bytes == 4) {
    uint32_t u;
    memcpy(&u, (const char *)x + 4 * i, sizeof u);
    return u;
  }
  uint64_t u;
  memcpy(&u, (const char *)x + 8 * i, sizeof u);
  return u;
}

INLINE void store(format f, void *x, size_t i, uint64_t bits) {
  const uint16_t two = (uint16_t)bits;
  const uint32_t four = (uint32_t)bits;
  if (f.bytes == 1)
    ((unsigned char *)x)[i] = (unsigned char)bits;
  else if (f.bytes == 2)
    memcpy((char *)x + 2 * i, &two, sizeof two);
  else if (f.bytes == 4)
    memcpy((char *)x + 4 * i, &four, sizeof four);
  else
    memcpy((char *)x + 8 * i, &bits, sizeof bits);
}

INLINE uint64_t sign_of(format f) {
  return (uint64_t)1 << (8 * f.bytes - 1);
}

/* Splits the bits of a finite magnitude, which is *m * 2^result times the smallest denormal. */
INLINE int split(format f, uint64_t a, uint64_t *m) {
  const uint64_t one = (uint64_t)1 << (f.precision - 1);
  const int exponent = (int)(a >> (f.precision - 1));
  *m = exponent ? (a & (one - 1)) | one : a;
  return exponent ? exponent - 1 : 0;
}

/* ---- the range of a block ---- */

typedef struct seen {
  uint64_t most, least; /* magnitudes; `least` is stored minus one, so that zeros are ignored */
  uint64_t any;         /* bitwise or of all magnitudes */
  bool special, minus;
} seen;

INLINE void look(format f, const void *x, size_t n, bool careful, seen *s) {
  const uint64_t sign = sign_of(f);
  uint64_t most = 0, least = UINT64_MAX, any = 0;
  unsigned special = 0, minus = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t u = load(f, x, i), a = u & (sign - 1);
    minus |= u == sign;
    if (careful && a >= f.infinity) {
      special = 1;
      continue;
    }
    most = a > most ? a : most;
    least = a - 1 < least ? a - 1 : least;
    any |= a;
  }
  *s = (seen){most, least, any, special, minus};
}

INLINE tt_breadth measure(format f, const void *x, size_t n) {
  tt_breadth b = tt_breadth_none();
  uint64_t m;
  seen s;
  look(f, x, n, false, &s);
  if (s.most >= f.infinity) look(f, x, n, true, &s);
  b.special = s.special;
  b.minus = s.minus;
  if (s.most == 0) return b;
  const int above = split(f, s.most, &m);
  b.top = (int16_t)(above + 64 - __builtin_clzll(m));
  const int below = split(f, s.least + 1, &m);
  /* the lowest bit of any fraction is that of `any` */
  b.low = (int16_t) - (below + __builtin_ctzll(s.any | (uint64_t)1 << (f.precision - 1)));
  return b;
}

tt_breadth tt_exact_measure(tutti_type real, const void *x, size_t n) {
#define MEASURE(f) return measure(f, x, n)
  BY_FORMAT(real, MEASURE)
}

static size_t digits_needed(const tt_breadth *b, int width) {
  return b->top == INT16_MIN ? 0 : (size_t)((b->top + b->low + width - 1) / width);
}

static size_t rare(const tt_breadth *b) {
  return b->special || b->minus;
}

size_t tt_exact_words(const tt_breadth *b, int width) {
  return digits_needed(b, width) + rare(b);
}

size_t tt_exact_usual(tutti_type real, int width) {
#define BITS(f) \
  return (size_t)((int)tt_min((size_t)(f).precision + 32, 2100) + width - 1) / (size_t)width
  BY_FORMAT(real, BITS)
}

/* ---- to words ---- */

/* A separate word counts the special values: positive infinities, negative infinities and negative zeros. A NaN counts
 * as one infinity of each sign. */
enum { FIELD = 21 };

INLINE int64_t rare_word(format f, uint64_t u) {
  const uint64_t sign = sign_of(f), a = u & (sign - 1);
  const int64_t plus = 1, less = (int64_t)1 << FIELD, zero = (int64_t)1 << 2 * FIELD;
  if (u == sign) return zero;
  if (a > f.infinity || (a == f.infinity && !f.infinities)) return plus + less;
  return a < f.infinity ? 0 : u & sign ? less : plus;
}

/* Returns the word with the sign of u. */
INLINE int64_t with_sign(format f, uint64_t u, uint64_t word) {
  const int64_t s = -(int64_t)(u >> (8 * f.bytes - 1));
  return ((int64_t)word ^ s) - s;
}

/* Writes the words of a number, the magnitude m shifted left by p bits. If p is negative, the low bits of m are zeros. */
INLINE void spread_one(uint64_t m, int p, int width, size_t k, format f, uint64_t u, int64_t *to) {
  const uint64_t mask = ((uint64_t)1 << width) - 1;
  if (p < 0) m >>= -p & 63;
  if (p < 0) p = 0;
  if (k == 1) {
    to[0] = with_sign(f, u, m << (p & 63));
    return;
  }
  if (k == 2) {
    const u128 v = (u128)m << (p & 127);
    to[0] = with_sign(f, u, (uint64_t)v & mask);
    to[1] = with_sign(f, u, (uint64_t)(v >> width));
    return;
  }
  for (size_t i = 0; i < k; i++) to[i] = 0;
  size_t i = (size_t)(p / width);
  u128 v = (u128)m << p % width;
  for (; v; v >>= width) to[i++] = with_sign(f, u, (uint64_t)v & mask);
}

INLINE void spread_all(format f, const tt_breadth *b, int width, const void *x, size_t n, size_t k,
                       int64_t *to) {
  const size_t stride = k + rare(b);
  for (size_t i = 0; i < n; i++, to += stride) {
    const uint64_t u = load(f, x, i), a = u & (sign_of(f) - 1);
    uint64_t m;
    const int e = split(f, a, &m);
    if (k)
      spread_one(a < f.infinity ? m : 0, a && a < f.infinity ? e + b->low : 0, width, k, f, u, to);
    if (stride > k) to[k] = rare_word(f, u);
  }
}

INLINE void spread(format f, const tt_breadth *b, int width, const void *x, size_t n, int64_t *to) {
  const size_t k = digits_needed(b, width);
  if (k == 1)
    spread_all(f, b, width, x, n, 1, to);
  else if (k == 2)
    spread_all(f, b, width, x, n, 2, to);
  else
    spread_all(f, b, width, x, n, k, to);
}

void tt_exact_spread(tutti_type real, const tt_breadth *b, int width, const void *x, size_t n,
                     int64_t *words) {
#define SPREAD(f)                   \
  spread(f, b, width, x, n, words); \
  break
  BY_FORMAT(real, SPREAD)
}

/* ---- from words ---- */

/* A magnitude. If `top` is not 0, its highest bit is set and stands for bit `at`, counted from the smallest denormal.
 * `more` is set if any bit below `top` is set. */
typedef struct magnitude {
  u128 top;
  int at;
  bool more, negative;
} magnitude;

INLINE int zeros_before(u128 v) {
  const uint64_t high = (uint64_t)(v >> 64);
  return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)v);
}

INLINE magnitude normal(u128 v, int low) {
  magnitude x = {0};
  if (!v) return x;
  const int s = zeros_before(v);
  x.top = v << s;
  x.at = 127 - s + low;
  return x;
}

/* Combines digits 0 to k into one number. Digit k must not be 0. */
static magnitude gather_magnitude(const uint64_t *digit, size_t k, int width, int low) {
  int bits = 64 - __builtin_clzll(digit[k]);
  magnitude x = {.top = digit[k], .at = low + (int)k * width + bits - 1};
  while (k-- > 0) {
    const int take = 128 - bits < width ? 128 - bits : width, leave = width - take;
    if (take) x.top = x.top << take | digit[k] >> leave;
    if (leave) x.more |= (digit[k] & (((uint64_t)1 << leave) - 1)) != 0;
    bits += take;
  }
  x.top <<= 128 - bits;
  return x;
}

/* Converts the sum of several words to a magnitude and a sign, which requires the carries to be resolved. */
static magnitude resolve_carries(const int64_t *words, size_t k, int width, int low) {
  const uint64_t mask = ((uint64_t)1 << width) - 1;
  uint64_t digit[TT_EXACT_WORDS + 1];
  int64_t carry = 0;
  for (size_t i = 0; i < k; i++) {
    const i128 sum = (i128)words[i] + carry;
    digit[i] = (uint64_t)sum & mask;
    carry = (int64_t)(sum >> width);
  }
  const bool negative = carry < 0;
  uint64_t one = 1;
  for (size_t i = 0; i < k && negative; i++) {
    digit[i] = (~digit[i] & mask) + one;
    one = digit[i] >> width;
    digit[i] &= mask;
  }
  digit[k] = negative ? ~(uint64_t)carry + one : (uint64_t)carry;
  while (k > 0 && !digit[k]) k--;
  magnitude x = {0};
  if (digit[k]) x = gather_magnitude(digit, k, width, low);
  x.negative = negative;
  return x;
}

INLINE magnitude sum_of(const int64_t *words, size_t k, int width, int low) {
  if (k > 2) return resolve_carries(words, k, width, low);
  i128 v = k > 0 ? words[0] : 0;
  if (k > 1) v += (i128)((u128)(i128)words[1] << width);
  magnitude x = normal(v < 0 ? -(u128)v : (u128)v, low);
  x.negative = v < 0;
  return x;
}

/* Divides the top 128 bits. The bits below them cannot increase the quotient. */
static void divide(magnitude *x, int ranks) {
  if (!x->top) return;
  const u128 quotient = x->top / (unsigned)ranks;
  x->more |= x->top % (unsigned)ranks != 0;
  const int s = zeros_before(quotient);
  x->top = quotient << s;
  x->at -= s;
}

/* Rounds to the nearest number, or to the even one in a tie. A carry out of the fraction increments the exponent, as it
 * should, and turns the largest number into infinity. */
INLINE uint64_t rounded(format f, const magnitude *x) {
  const uint64_t half = (uint64_t)1 << 63, top = (uint64_t)(x->top >> 64);
  const bool more = x->more || (uint64_t)x->top;
  const uint64_t sign = x->negative ? sign_of(f) : 0;
  if (!x->top || x->at < -1) return sign; /* a quotient may be below half a denormal */
  const int unit = x->at - (f.precision - 1) > 0 ? x->at - (f.precision - 1) : 0;
  const int drop = 63 - (x->at - unit);
  uint64_t m = drop == 64 ? 0 : top >> drop;
  const uint64_t rest = drop == 64 ? top : top << (64 - drop);
  m += rest > half || (rest == half && (more || (m & 1)));
  const uint64_t bits = ((uint64_t)unit << (f.precision - 1)) + m;
  if (bits < f.infinity) return sign | bits;
  return f.infinities ? sign | f.infinity : f.infinity;
}

/* Returns true if a sum contains a special value. If so, stores the bits of the result in *bits. */
INLINE bool is_rare(format f, int64_t word, int summands, bool zero, uint64_t *bits) {
  const int64_t field = ((int64_t)1 << FIELD) - 1;
  const bool plus = word & field, less = word >> FIELD & field;
  *bits = plus && less ? f.infinity | (uint64_t)1 << (f.precision - 2)
          : plus       ? f.infinity
          : less       ? f.infinity | sign_of(f)
                       : sign_of(f);
  return plus || less || (zero && word >> 2 * FIELD == summands);
}

INLINE void round_all(format f, const tt_breadth *b, int width, const int64_t *words, size_t n,
                      size_t k, int summands, int ranks, void *dst) {
  const size_t stride = k + rare(b);
  for (size_t i = 0; i < n; i++, words += stride) {
    magnitude x = sum_of(words, k, width, -b->low);
    uint64_t bits;
    if (stride > k && is_rare(f, words[k], summands, !x.top, &bits)) {
      store(f, dst, i, bits);
      continue;
    }
    if (ranks > 1) divide(&x, ranks);
    store(f, dst, i, rounded(f, &x));
  }
}

INLINE void round_some(format f, const tt_breadth *b, int width, const int64_t *words, size_t n,
                       int summands, int ranks, void *dst) {
  const size_t k = digits_needed(b, width);
  if (k == 1)
    round_all(f, b, width, words, n, 1, summands, ranks, dst);
  else if (k == 2)
    round_all(f, b, width, words, n, 2, summands, ranks, dst);
  else
    round_all(f, b, width, words, n, k, summands, ranks, dst);
}

void tt_exact_round(tutti_type real, const tt_breadth *b, int width, const int64_t *words, size_t n,
                    int summands, int ranks, void *dst) {
  const tt_fp_state state = tt_fp_pin();
#define ROUND(f)                                           \
  round_some(f, b, width, words, n, summands, ranks, dst); \
  break
  BY_FORMAT(real, ROUND)
  tt_fp_restore(state);
}
