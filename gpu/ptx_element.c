/* ptx_element.c - the arithmetic of one element as PTX, with the same bits as the kernels of
 * src/kernel.
 *
 * Idea       Elements of 8 bytes are computed in 64-bit registers, all others in 32-bit registers:
 *            short integers are widened, and short floats are converted to floats. The hardware
 *            converts fp16. Integer operations convert bf16 and the 8-bit floats, as in
 *            src/kernel/kernel_bits.h.
 * Invariant  Each operation rounds to nearest even, operations are not fused, and denormals stay
 *            (no .ftz). If a sum is NaN, a select replaces it by the canonical NaN, because that of
 *            the hardware has other bits. min and max are two selects whose bits are combined, so
 *            they preserve NaNs, and order -0 below +0.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ptx.h"

/* Returns true for operations on bits. */
static bool is_bitwise(const ptx_writer *w) {
  return w->op == TUTTI_BAND || w->op == TUTTI_BOR || w->op == TUTTI_BXOR;
}

static bool is_logical(const ptx_writer *w) {
  return w->op == TUTTI_LAND || w->op == TUTTI_LOR || w->op == TUTTI_LXOR;
}

static bool is_float(const ptx_writer *w) {
  return w->class >= PTX_FLOAT;
}

int ptx_lanes(const ptx_writer *w) {
  return w->bytes == 8 || is_bitwise(w) ? 1 : 4 / w->bytes;
}

static int fresh(ptx_writer *w) {
  return w->wide == 'd' ? w->d++ : w->r++;
}

/* ---- short floats to floats ---- */

static int from_half(ptx_writer *w, int bits) {
  const int h = w->h++, x = w->r++;
  ptx_line(w, "cvt.u16.u32 %%h%d, %%r%d;", h, bits);
  ptx_line(w, "cvt.f32.f16 %%r%d, %%h%d;", x, h);
  return x;
}

typedef struct tiny { /* an 8-bit format, as in TT_FP8 */
  int bits, bias, top, canonical, wide;
} tiny;

static tiny tiny_of(const ptx_writer *w) {
  return w->class == PTX_E4M3 ? (tiny){3, 7, 0x7f, 0x7f, 240} : (tiny){2, 15, 0x7c, 0x7e, 224};
}

enum { ONE = 1 << 23 }; /* one unit of a float's exponent */

static int from_tiny(ptx_writer *w, int bits) {
  const tiny f = tiny_of(w);
  const int u = w->r++, lift = w->r++, below = w->r++, sign = w->r++, p = w->p++, q = w->p++;
  ptx_line(w, "and.b32 %%r%d, %%r%d, 127;", u, bits);
  ptx_line(w, "shl.b32 %%r%d, %%r%d, %d;", u, u, 23 - f.bits);
  ptx_line(w, "setp.lt.s32 %%p%d, %%r%d, %d;", p, u, ONE);
  ptx_line(w, "setp.ge.s32 %%p%d, %%r%d, %d;", q, u, f.top << (23 - f.bits));
  ptx_line(w, "selp.b32 %%r%d, %d, %d, %%p%d;", lift, f.wide * ONE, (127 - f.bias) * ONE, q);
  ptx_line(w, "add.u32 %%r%d, %%r%d, %%r%d;", lift, lift, u);
  ptx_line(w, "selp.b32 %%r%d, %d, 0, %%p%d;", u, ONE, p);
  ptx_line(w, "add.u32 %%r%d, %%r%d, %%r%d;", lift, lift, u);
  ptx_line(w, "selp.b32 %%r%d, %d, 0, %%p%d;", below, (128 - f.bias) * ONE, p);
  ptx_line(w, "sub.rn.f32 %%r%d, %%r%d, %%r%d;", lift, lift, below);
  ptx_line(w, "and.b32 %%r%d, %%r%d, 128;", sign, bits);
  ptx_line(w, "shl.b32 %%r%d, %%r%d, 24;", sign, sign);
  ptx_line(w, "or.b32 %%r%d, %%r%d, %%r%d;", lift, lift, sign);
  return lift;
}

/* ---- an element of a loaded register ---- */

/* Extracts the bits of a lane. The upper bits of the result are zero, or copies of the sign bit if `extends` is true. */
static int lane_bits(ptx_writer *w, int word, int lane, bool extends) {
  const int width = 8 * w->bytes, left = 32 - width * (lane + 1), right = width * lane;
  const int x = w->r++;
  if (extends) {
    if (left) ptx_line(w, "shl.b32 %%r%d, %%r%d, %d;", x, word, left);
    ptx_line(w, "shr.s32 %%r%d, %%r%d, %d;", x, left ? x : word, 32 - width);
    return x;
  }
  if (right) ptx_line(w, "shr.u32 %%r%d, %%r%d, %d;", x, word, right);
  if (left) ptx_line(w, "and.b32 %%r%d, %%r%d, %d;", x, right ? x : word, (1 << width) - 1);
  return x;
}

static int truth(ptx_writer *w, int x) {
  const int p = w->p++, y = fresh(w);
  const int size = w->wide == 'd' ? 64 : 32;
  ptx_line(w, "setp.ne.u%d %%p%d, %%%c%d, 0;", size, p, w->wide, x);
  ptx_line(w, "selp.b%d %%%c%d, 1, 0, %%p%d;", size, w->wide, y, p);
  return y;
}

int ptx_get(ptx_writer *w, int word, int lane) {
  int x = word;
  if (w->class == PTX_BFLOAT) {
    x = w->r++;
    if (lane)
      ptx_line(w, "and.b32 %%r%d, %%r%d, -65536;", x, word);
    else
      ptx_line(w, "shl.b32 %%r%d, %%r%d, 16;", x, word);
    return x;
  }
  if (ptx_lanes(w) > 1) x = lane_bits(w, word, lane, w->class == PTX_SIGNED);
  if (w->class == PTX_HALF) return from_half(w, x);
  if (w->class == PTX_E4M3 || w->class == PTX_E5M2) return from_tiny(w, x);
  return is_logical(w) ? truth(w, x) : x;
}

/* ---- operations ---- */

static void least(ptx_writer *w, int a, int b) {
  const int size = w->wide == 'd' ? 64 : 32, p = w->p++, q = w->p++, x = fresh(w), y = fresh(w);
  const char *before = w->op == TUTTI_MIN ? "lt" : "gt";
  const char c = w->wide;
  ptx_line(w, "setp.%s.f%d %%p%d, %%%c%d, %%%c%d;", before, size, p, c, a, c, b);
  ptx_line(w, "setp.%s.f%d %%p%d, %%%c%d, %%%c%d;", before, size, q, c, b, c, a);
  ptx_line(w, "selp.b%d %%%c%d, %%%c%d, %%%c%d, %%p%d;", size, c, x, c, a, c, b, p);
  ptx_line(w, "selp.b%d %%%c%d, %%%c%d, %%%c%d, %%p%d;", size, c, y, c, b, c, a, q);
  if (w->op == TUTTI_MIN) { /* combines the signs: they differ only for zeros */
    ptx_line(w, "or.b%d %%%c%d, %%%c%d, %%%c%d;", size, c, a, c, x, c, y);
    return;
  }
  const int both = fresh(w); /* (x & y) | ((x | y) & ~sign) */
  ptx_line(w, "and.b%d %%%c%d, %%%c%d, %%%c%d;", size, c, both, c, x, c, y);
  ptx_line(w, "or.b%d %%%c%d, %%%c%d, %%%c%d;", size, c, x, c, x, c, y);
  ptx_line(w, "and.b%d %%%c%d, %%%c%d, 0x7fffffff%s;", size, c, x, c, x,
           size == 64 ? "ffffffff" : "");
  ptx_line(w, "or.b%d %%%c%d, %%%c%d, %%%c%d;", size, c, a, c, both, c, x);
}

/* Returns the PTX instruction for this op. Integer instructions are used for all ops except sums and products of floats. */
static const char *instruction(const ptx_writer *w) {
  const bool wide = w->wide == 'd';
  switch (w->op) {
    case TUTTI_SUM:
    case TUTTI_AVG:
      return is_float(w) ? wide ? "add.rn.f64" : "add.rn.f32" : wide ? "add.u64" : "add.u32";
    case TUTTI_PROD:
      return is_float(w) ? wide ? "mul.rn.f64" : "mul.rn.f32" : wide ? "mul.lo.u64" : "mul.lo.u32";
    case TUTTI_MIN:
      if (w->class == PTX_SIGNED) return wide ? "min.s64" : "min.s32";
      return wide ? "min.u64" : "min.u32";
    case TUTTI_MAX:
      if (w->class == PTX_SIGNED) return wide ? "max.s64" : "max.s32";
      return wide ? "max.u64" : "max.u32";
    case TUTTI_BAND:
    case TUTTI_LAND: return wide ? "and.b64" : "and.b32";
    case TUTTI_BOR:
    case TUTTI_LOR: return wide ? "or.b64" : "or.b32";
    default: return wide ? "xor.b64" : "xor.b32";
  }
}

void ptx_op(ptx_writer *w, int a, int b) {
  const char c = w->wide;
  if (is_float(w) && (w->op == TUTTI_MIN || w->op == TUTTI_MAX))
    least(w, a, b);
  else
    ptx_line(w, "%s %%%c%d, %%%c%d, %%%c%d;", instruction(w), c, a, c, a, c, b);
}

/* ---- converting the sum to its type ---- */

/* Replaces `bits` by the canonical NaN if the float x is NaN. */
static void canonical(ptx_writer *w, int bits, int x, const char *nan) {
  const int p = w->p++, size = w->wide == 'd' ? 64 : 32;
  const char c = w->wide;
  ptx_line(w, "setp.nan.f%d %%p%d, %%%c%d, %%%c%d;", size, p, c, x, c, x);
  ptx_line(w, "selp.b%d %%%c%d, %s, %%%c%d, %%p%d;", size, c, bits, nan, c, bits, p);
}

static int to_half(ptx_writer *w, int x) {
  const int h = w->h++, bits = w->r++;
  ptx_line(w, "cvt.rn.f16.f32 %%h%d, %%r%d;", h, x);
  ptx_line(w, "cvt.u32.u16 %%r%d, %%h%d;", bits, h);
  canonical(w, bits, x, "0x7e00");
  return bits;
}

static int to_bfloat(ptx_writer *w, int x) {
  const int bits = w->r++;
  ptx_line(w, "shr.u32 %%r%d, %%r%d, 16;", bits, x);
  ptx_line(w, "and.b32 %%r%d, %%r%d, 1;", bits, bits);
  ptx_line(w, "add.u32 %%r%d, %%r%d, %%r%d;", bits, bits, x);
  ptx_line(w, "add.u32 %%r%d, %%r%d, 32767;", bits, bits);
  ptx_line(w, "shr.u32 %%r%d, %%r%d, 16;", bits, bits);
  canonical(w, bits, x, "0x7fc0");
  return bits;
}

/* Rounds a 32-bit float to 8 bits. Denormal results are rounded by a floating-point addition, others as integers. */
static int to_tiny(ptx_writer *w, int x) {
  const tiny f = tiny_of(w);
  const int shift = 127 + 24 - f.bias - f.bits, sign = w->r++, u = w->r++, small = w->r++,
            normal = w->r++, p = w->p++;
  ptx_line(w, "shr.u32 %%r%d, %%r%d, 24;", sign, x);
  ptx_line(w, "and.b32 %%r%d, %%r%d, 128;", sign, sign);
  ptx_line(w, "and.b32 %%r%d, %%r%d, 0x7fffffff;", u, x);
  ptx_line(w, "mov.b32 %%r%d, 0x%08x;", small, (unsigned)(shift * ONE));
  ptx_line(w, "add.rn.f32 %%r%d, %%r%d, %%r%d;", small, small, u);
  ptx_line(w, "sub.u32 %%r%d, %%r%d, 0x%08x;", small, small, (unsigned)(shift * ONE));
  ptx_line(w, "shr.u32 %%r%d, %%r%d, %d;", normal, u, 23 - f.bits);
  ptx_line(w, "and.b32 %%r%d, %%r%d, 1;", normal, normal);
  ptx_line(w, "add.u32 %%r%d, %%r%d, %%r%d;", normal, normal, u);
  ptx_line(w, "sub.u32 %%r%d, %%r%d, %d;", normal, normal,
           (127 - f.bias) * ONE - ((1 << (22 - f.bits)) - 1));
  ptx_line(w, "shr.s32 %%r%d, %%r%d, %d;", normal, normal, 23 - f.bits);
  ptx_line(w, "setp.lt.u32 %%p%d, %%r%d, %d;", p, u, (128 - f.bias) * ONE);
  ptx_line(w, "selp.b32 %%r%d, %%r%d, %%r%d, %%p%d;", normal, small, normal, p);
  ptx_line(w, "min.s32 %%r%d, %%r%d, %d;", normal, normal, f.top);
  ptx_line(w, "or.b32 %%r%d, %%r%d, %%r%d;", sign, sign, normal);
  if (f.canonical == f.top) { /* values that are too large become a NaN without a sign */
    const int over = w->p++;
    ptx_line(w, "setp.ge.s32 %%p%d, %%r%d, %d;", over, normal, f.top);
    ptx_line(w, "selp.b32 %%r%d, %d, %%r%d, %%p%d;", sign, f.canonical, sign, over);
  }
  canonical(w, sign, x, f.canonical == 0x7f ? "0x7f" : "0x7e");
  return sign;
}

/* Returns a float, rounded to the precision of the type. */
static int round_float(ptx_writer *w, int x) {
  switch (w->class) {
    case PTX_HALF: return to_half(w, x);
    case PTX_BFLOAT: return to_bfloat(w, x);
    case PTX_E4M3:
    case PTX_E5M2: return to_tiny(w, x);
    default: canonical(w, x, x, w->wide == 'd' ? "0x7ff8000000000000" : "0x7fc00000"); return x;
  }
}

void ptx_divisor(ptx_writer *w, int n) {
  w->divisor = n;
  if (w->wide == 'r' && !is_float(w)) return;
  w->divisor = fresh(w);
  ptx_line(w, "cvt.%s.u32 %%%c%d, %%r%d;",
           !is_float(w)     ? "u64"
           : w->wide == 'd' ? "rn.f64"
                            : "rn.f32",
           w->wide, w->divisor, n);
}

/* Divides the sum for avg. Before the division, a float sum is rounded to its type, and an integer sum wraps. */
static int divided(ptx_writer *w, int x) {
  const char c = w->wide;
  const int size = c == 'd' ? 64 : 32;
  if (is_float(w)) {
    const int rounded = round_float(w, x), y = w->bytes < 4 ? ptx_get(w, rounded, 0) : rounded;
    ptx_line(w, "div.rn.f%d %%%c%d, %%%c%d, %%%c%d;", size, c, y, c, y, c, w->divisor);
    return round_float(w, y);
  }
  const int y = w->bytes < 4 ? lane_bits(w, x, 0, w->class == PTX_SIGNED) : x;
  ptx_line(w, "div.%c%d %%%c%d, %%%c%d, %%%c%d;", w->class == PTX_SIGNED ? 's' : 'u', size, c, y, c,
           y, c, w->divisor);
  return y;
}

int ptx_put(ptx_writer *w, int a) {
  int x = a;
  if (w->op == TUTTI_AVG)
    x = divided(w, a);
  else if (is_float(w))
    return round_float(w, a);
  return !is_float(w) && ptx_lanes(w) > 1 ? lane_bits(w, x, 0, false) : x;
}
