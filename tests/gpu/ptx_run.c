/* ptx_run.c - runs one thread of a PTX kernel.
 *
 * Idea       A switch statement executes instructions that have already been checked. Each computes
 *            on 64-bit words, and the result is truncated to the width of its register.
 * Cost       About 5 ns per instruction.
 * Invariant  Floats are computed in their own width, and rounded to nearest even. Arithmetic
 *            generates the device's NaN. Moving, selecting and storing preserve a NaN's bits. A
 *            thread fails if it executes too many instructions.
 * Source     NVIDIA, PTX ISA 6.5, chapter 9.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "../../gpu/cuda_driver.h"
#include "ptx_machine.h"

static inline uint64_t cut(uint64_t bits, unsigned bytes) {
  return bytes == 8 ? bits : bits & ((1ull << 8 * bytes) - 1);
}

/* Returns the operand as 64 bits, sign-extended if the type is signed. */
static inline uint64_t extended(uint64_t bits, ptx_type t) {
  const unsigned unused = 64 - 8 * ptx_bytes(t);
  return ptx_is_signed(t) ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

/* ---- floats ---- */

#define ARITHMETIC(name, real)                                                                  \
  static real name(ptx_op op, real a, real b) {                                                 \
    switch (op) {                                                                               \
      case PTX_ADD: return a + b;                                                               \
      case PTX_SUB: return a - b;                                                               \
      case PTX_MUL: return a * b;                                                               \
      case PTX_DIV: return a / b;                                                               \
      case PTX_NEG: return -a;                                                                  \
      case PTX_ABS: return a < 0 || (a == 0 && 1 / a < 0) ? -a : a;                             \
      case PTX_MIN: return a != a ? b : b != b ? a : a < b ? a : b < a ? b : 1 / a < 0 ? a : b; \
      default: return a != a ? b : b != b ? a : a > b ? a : b > a ? b : 1 / a > 0 ? a : b;      \
    }                                                                                           \
  }
ARITHMETIC(single, float)
ARITHMETIC(twofold, double)

static uint64_t float_result(ptx_op op, ptx_type t, uint64_t a, uint64_t b) {
  if (t == PTX_F32) return ptx_bits_float(single(op, ptx_float(a), ptx_float(b)));
  return ptx_bits(PTX_F64, twofold(op, ptx_double(a), ptx_double(b)));
}

static bool float_compare(ptx_word w, double a, double b) {
  const bool nan = a != a || b != b;
  switch (w) {
    case PTX_EQ: return a == b;
    case PTX_NE: return !nan && a != b;
    case PTX_LT: return a < b;
    case PTX_LE: return a <= b;
    case PTX_GT: return a > b;
    case PTX_GE: return a >= b;
    case PTX_EQU: return nan || a == b;
    case PTX_NEU: return a != b;
    case PTX_LTU: return nan || a < b;
    case PTX_LEU: return nan || a <= b;
    case PTX_GTU: return nan || a > b;
    case PTX_GEU: return nan || a >= b;
    case PTX_NUM: return !nan;
    default: return nan;
  }
}

/* ---- integers ---- */

static bool whole_compare(ptx_word w, uint64_t a, uint64_t b, bool has_sign) {
  const bool less = has_sign ? (int64_t)a < (int64_t)b : a < b;
  switch (w) {
    case PTX_EQ: return a == b;
    case PTX_NE: return a != b;
    case PTX_LT: return less;
    case PTX_LE: return less || a == b;
    case PTX_GT: return !less && a != b;
    default: return !less;
  }
}

static uint64_t product(const ptx_insn *i, uint64_t a, uint64_t b) {
  if (i->word != PTX_HI) return a * b;
  const unsigned bits = 8 * ptx_bytes(i->type);
  if (ptx_is_signed(i->type)) return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> bits);
  return (uint64_t)(((unsigned __int128)a * b) >> bits);
}

/* The quotient of a division by zero has all bits set, as on devices. */
static uint64_t quotient(ptx_op op, ptx_type t, uint64_t a, uint64_t b) {
  if (b == 0) return op == PTX_DIV ? ~0ull : a;
  if (!ptx_is_signed(t)) return op == PTX_DIV ? a / b : a % b;
  if (b == ~0ull) return op == PTX_DIV ? 0 - a : 0;
  return (uint64_t)(op == PTX_DIV ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
}

static uint64_t shifted(const ptx_insn *i, uint64_t a, uint64_t by) {
  const unsigned bits = 8 * ptx_bytes(i->type);
  if (i->op == PTX_SHL) return by >= bits ? 0 : a << by;
  if (ptx_is_signed(i->type)) return (uint64_t)((int64_t)a >> (by > 63 ? 63 : by));
  return by >= bits ? 0 : a >> by;
}

static uint64_t whole_result(const ptx_insn *i, uint64_t a, uint64_t b, uint64_t c) {
  const bool has_sign = ptx_is_signed(i->type);
  switch (i->op) {
    case PTX_ADD: return a + b;
    case PTX_SUB: return a - b;
    case PTX_MUL: return product(i, a, b);
    case PTX_MAD: return product(i, a, b) + c;
    case PTX_DIV:
    case PTX_REM: return quotient(i->op, i->type, a, b);
    case PTX_MIN: return whole_compare(PTX_LT, a, b, has_sign) ? a : b;
    case PTX_MAX: return whole_compare(PTX_LT, a, b, has_sign) ? b : a;
    case PTX_NEG: return 0 - a;
    case PTX_ABS: return has_sign && (int64_t)a < 0 ? 0 - a : a;
    case PTX_AND: return a & b;
    case PTX_OR: return a | b;
    case PTX_XOR: return a ^ b;
    case PTX_NOT: return i->type == PTX_PRED ? !a : ~a;
    default: return shifted(i, a, b);
  }
}

/* ---- instructions ---- */

static void compare(const ptx_insn *i, uint64_t *s) {
  const uint64_t a = s[i->a[0]], b = s[i->a[1]];
  bool is;
  if (i->type == PTX_F32)
    is = float_compare(i->word, (double)ptx_float(a), (double)ptx_float(b));
  else if (i->type == PTX_F64)
    is = float_compare(i->word, ptx_double(a), ptx_double(b));
  else
    is = whole_compare(i->word, extended(a, i->type), extended(b, i->type), ptx_is_signed(i->type));
  bool other = !is;
  if (i->join != PTX_PLAIN) {
    const bool c = (s[i->a[2]] != 0) != i->third_not;
    is = i->join == PTX_JOIN_AND ? is && c : i->join == PTX_JOIN_OR ? is || c : is != c;
    other = i->join == PTX_JOIN_AND ? other && c : i->join == PTX_JOIN_OR ? other || c : other != c;
  }
  s[i->d[0]] = is;
  if (i->d[1] >= 0) s[i->d[1]] = other;
}

/* Finds the bytes that a load or store accesses. */
static int locate(const ptx_insn *i, const ptx_function *f, const uint64_t *s, ptx_world *w,
                  unsigned char **at) {
  const unsigned bytes = ptx_bytes(i->type) * (unsigned)i->n;
  const uint64_t address = (i->target >= 0 ? s[i->target] : 0) + (uint64_t)i->offset;
  w->bad_address = address;
  w->bad_line = i->line;
  if (address % bytes) return CUDA_ERROR_MISALIGNED_ADDRESS;
  if (i->word == PTX_GLOBAL) {
    *at = w->touch(w->self, address, bytes, i->op == PTX_ST);
    return *at ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  const unsigned room = i->word == PTX_PARAM ? f->param_bytes : f->local_bytes;
  if (address > room || bytes > room - address) return CUDA_ERROR_ILLEGAL_ADDRESS;
  *at = (i->word == PTX_PARAM ? (unsigned char *)(uintptr_t)w->params : w->local) + address;
  return CUDA_SUCCESS;
}

/* Reads a word in a single access, because other threads and processes may access it. Writes do the same. */
static uint64_t get(const unsigned char *at, unsigned bytes) {
  switch (bytes) {
    case 1: return __atomic_load_n(at, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)(const void *)at, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
  }
}

static void put(unsigned char *at, unsigned bytes, uint64_t bits) {
  switch (bytes) {
    case 1: __atomic_store_n(at, (unsigned char)bits, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((uint16_t *)(void *)at, (uint16_t)bits, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((uint32_t *)(void *)at, (uint32_t)bits, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((uint64_t *)(void *)at, bits, __ATOMIC_RELAXED);
  }
}

static int move_memory(const ptx_insn *i, const ptx_function *f, uint64_t *s, ptx_world *w) {
  unsigned char *at = NULL;
  const unsigned bytes = ptx_bytes(i->type);
  const int why = locate(i, f, s, w, &at);
  for (int e = 0; e < i->n && !why; e++)
    if (i->op == PTX_ST)
      put(at + (unsigned)e * bytes, bytes, s[i->a[e]]);
    else
      s[i->d[e]] = cut(extended(get(at + (unsigned)e * bytes, bytes), i->type), (unsigned)i->wide);
  return why;
}

static void compute(const ptx_insn *i, uint64_t *s) {
  const ptx_type t = i->type;
  const uint64_t a = s[i->a[0]], b = s[i->a[1]];
  const unsigned wide = (unsigned)i->wide;
  switch (i->op) {
    case PTX_MOV: s[i->d[0]] = a; break;
    case PTX_SELP: s[i->d[0]] = s[i->a[2]] ? a : b; break;
    case PTX_SETP: compare(i, s); break;
    case PTX_CVT: s[i->d[0]] = cut(ptx_convert(a, i->from, t, i->word), wide); break;
    case PTX_PACK: s[i->d[0]] = a | b << 4 * wide; break;
    case PTX_UNPACK:
      s[i->d[0]] = cut(a, wide);
      s[i->d[1]] = a >> 8 * wide;
      break;
    default:
      if (ptx_is_float(t))
        s[i->d[0]] = float_result(i->op, t, a, b);
      else
        s[i->d[0]] =
            cut(whole_result(i, extended(a, t),
                             i->op == PTX_SHL || i->op == PTX_SHR ? b : extended(b, t), s[i->a[2]]),
                wide);
  }
}

int ptx_run(const ptx_function *f, uint64_t *slots, ptx_world *w) {
  memcpy(slots + PTX_SPECIALS, f->first + PTX_SPECIALS,
         (size_t)(f->nslots - PTX_SPECIALS) * sizeof *slots);
  int why = CUDA_SUCCESS;
  int64_t left = w->steps;
  for (int at = 0; at < f->ncode && !why;) {
    const ptx_insn *i = &f->code[at++];
    if (i->guard >= 0 && (slots[i->guard] != 0) == i->guard_not) continue;
    switch (i->op) {
      case PTX_RET: return CUDA_SUCCESS;
      case PTX_BRA: at = i->target; break;
      case PTX_LD:
      case PTX_ST: why = move_memory(i, f, slots, w); break;
      default: compute(i, slots);
    }
    if (--left == 0) {
      w->bad_line = i->line;
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
  }
  return why;
}
