/* ptx_insns.c - reads one instruction of PTX, and checks it as an assembler would.
 *
 * Idea       A row for each name lists its operands and their types. The words after the name, each
 *            with a dot, are types, rounding modes, comparisons and so on. Each is accepted once,
 *            and a word that is not in the row is an error.
 * Invariant  An operand's register has the width of the instruction's type and matches it (a .b
 *            register matches any type, a float register does not match any integer type).
 *            Registers of ld, st and cvt may be wider if the type is not a float.
 * Source     NVIDIA, PTX ISA 6.5, chapters 6 (operand type checking) and 9.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_text.h"

/* The types that a name accepts. */
enum { INTS = 1, FLOATS = 2, BITS = 4, PREDS = 8, BYTES = 16, HALF = 32, SIGNED = 64 };
/* The words that may follow a name. */
enum { ROUNDS = 1, PRODUCT = 2, COMPARES = 4, SPACED = 8 };

static const struct row {
  const char *name;
  ptx_op op;
  int operands, types, behind;
} ROWS[] = {
    {"add", PTX_ADD, 2, INTS | FLOATS, ROUNDS},
    {"sub", PTX_SUB, 2, INTS | FLOATS, ROUNDS},
    {"mul", PTX_MUL, 2, INTS | FLOATS, ROUNDS | PRODUCT},
    {"mad", PTX_MAD, 3, INTS, PRODUCT},
    {"div", PTX_DIV, 2, INTS | FLOATS, ROUNDS},
    {"rem", PTX_REM, 2, INTS, 0},
    {"min", PTX_MIN, 2, INTS | FLOATS, 0},
    {"max", PTX_MAX, 2, INTS | FLOATS, 0},
    {"neg", PTX_NEG, 1, SIGNED | FLOATS, 0},
    {"abs", PTX_ABS, 1, SIGNED | FLOATS, 0},
    {"and", PTX_AND, 2, BITS | PREDS, 0},
    {"or", PTX_OR, 2, BITS | PREDS, 0},
    {"xor", PTX_XOR, 2, BITS | PREDS, 0},
    {"not", PTX_NOT, 1, BITS | PREDS, 0},
    {"shl", PTX_SHL, 2, BITS, 0},
    {"shr", PTX_SHR, 2, BITS | INTS, 0},
    {"selp", PTX_SELP, 3, BITS | INTS | FLOATS, 0},
    {"setp", PTX_SETP, 2, BITS | INTS | FLOATS, COMPARES},
    {"cvt", PTX_CVT, 1, INTS | FLOATS | HALF | BYTES, ROUNDS},
    {"mov", PTX_MOV, 1, BITS | INTS | FLOATS | PREDS, 0},
    {"ld", PTX_LD, 1, BITS | INTS | FLOATS | BYTES, SPACED},
    {"st", PTX_ST, 1, BITS | INTS | FLOATS | BYTES, SPACED},
    {"bra", PTX_BRA, 0, 0, 0},
    {"ret", PTX_RET, 0, 0, 0},
    {"exit", PTX_RET, 0, 0, 0},
};

static const struct behind {
  const char *name;
  ptx_word word;
} WORDS[] = {
    {"rn", PTX_RN},       {"rz", PTX_RZ},       {"rni", PTX_RNI}, {"rzi", PTX_RZI},
    {"rmi", PTX_RMI},     {"rpi", PTX_RPI},     {"lo", PTX_LO},   {"hi", PTX_HI},
    {"wide", PTX_WIDE},   {"eq", PTX_EQ},       {"ne", PTX_NE},   {"lt", PTX_LT},
    {"le", PTX_LE},       {"gt", PTX_GT},       {"ge", PTX_GE},   {"equ", PTX_EQU},
    {"neu", PTX_NEU},     {"ltu", PTX_LTU},     {"leu", PTX_LEU}, {"gtu", PTX_GTU},
    {"geu", PTX_GEU},     {"num", PTX_NUM},     {"nan", PTX_NAN}, {"global", PTX_GLOBAL},
    {"param", PTX_PARAM}, {"local", PTX_LOCAL},
};

/* ---- the words after the name ---- */

static bool take_type(ptx_reader *r, ptx_insn *i, const char *part) {
  const ptx_type t = ptx_type_of(part);
  if (t == PTX_NONE) return false;
  if (i->type == PTX_NONE)
    i->type = t;
  else if (i->op == PTX_CVT && i->from == PTX_NONE)
    i->from = t;
  else
    ptx_fail(r, "a type too many: .%s", part);
  return true;
}

static bool take_join(ptx_insn *i, const char *part) {
  if (i->op != PTX_SETP || i->word == PTX_PLAIN || i->join != PTX_PLAIN) return false;
  i->join = strcmp(part, "and") == 0   ? PTX_JOIN_AND
            : strcmp(part, "or") == 0  ? PTX_JOIN_OR
            : strcmp(part, "xor") == 0 ? PTX_JOIN_XOR
                                       : PTX_PLAIN;
  return i->join != PTX_PLAIN;
}

/* Returns true for cache hints of a load or a store, which an interpreter may ignore. */
static bool is_hint(ptx_op op, const char *part) {
  static const char *const loads[] = {"ca", "cg", "cs", "lu", "cv", "nc"}, *const stores[] = {
                                                                               "wb", "cg", "cs",
                                                                               "wt"};
  for (size_t i = 0; op == PTX_LD && i < sizeof loads / sizeof *loads; i++)
    if (strcmp(loads[i], part) == 0) return true;
  for (size_t i = 0; op == PTX_ST && i < sizeof stores / sizeof *stores; i++)
    if (strcmp(stores[i], part) == 0) return true;
  return op == PTX_BRA && strcmp(part, "uni") == 0;
}

static void take_part(ptx_reader *r, ptx_insn *i, const char *part) {
  if (take_type(r, i, part) || take_join(i, part) || is_hint(i->op, part)) return;
  if ((i->op == PTX_LD || i->op == PTX_ST) && i->n == 1 &&
      (strcmp(part, "v2") == 0 || strcmp(part, "v4") == 0)) {
    i->n = part[1] - '0';
    return;
  }
  for (size_t w = 0; w < sizeof WORDS / sizeof *WORDS; w++)
    if (strcmp(WORDS[w].name, part) == 0 && i->word == PTX_PLAIN) {
      i->word = WORDS[w].word;
      return;
    }
  ptx_fail(r, "'.%s' is not understood in '%s'", part, r->word);
}

static bool type_fits(int types, ptx_type t) {
  if (t == PTX_PRED) return types & PREDS;
  if (t == PTX_F16) return types & HALF;
  if (ptx_bytes(t) == 1 && !(types & BYTES)) return false;
  if (ptx_is_float(t)) return types & FLOATS;
  return types & (t <= PTX_B64 ? BITS : ptx_is_signed(t) ? INTS | SIGNED : INTS);
}

/* Returns true if this rounding mode is valid for the conversion. */
static bool rounding_fits(ptx_type to, ptx_type from, ptx_word w) {
  const bool to_float = ptx_is_float(to), from_float = ptx_is_float(from);
  if (to_float && from_float)
    return ptx_bytes(to) < ptx_bytes(from) ? w == PTX_RN || w == PTX_RZ
                                           : ptx_bytes(to) > ptx_bytes(from) && w == PTX_PLAIN;
  if (to_float) return w == PTX_RN || w == PTX_RZ;
  if (from_float) return w >= PTX_RNI && w <= PTX_RPI;
  return w == PTX_PLAIN;
}

static bool word_fits(const struct row *row, const ptx_insn *i) {
  const bool real = ptx_is_float(i->type);
  const ptx_word w = i->word;
  if (row->behind & SPACED)
    return w == PTX_GLOBAL || w == PTX_LOCAL || (w == PTX_PARAM && i->op == PTX_LD);
  if (i->op == PTX_CVT) return rounding_fits(i->type, i->from, w);
  if (row->behind & COMPARES) {
    if (real) return w >= PTX_EQ && w <= PTX_NAN;
    return w >= PTX_EQ && w <= (i->type <= PTX_B64 ? PTX_NE : PTX_GE);
  }
  if (real && row->behind & ROUNDS) return w == PTX_RN;
  if (!real && row->behind & PRODUCT)
    return (w >= PTX_LO && w <= PTX_WIDE) && !(w == PTX_WIDE && ptx_bytes(i->type) == 8);
  return w == PTX_PLAIN;
}

/* Reads a name such as "setp.lt.u64", and fills in the instruction. */
static const struct row *read_name(ptx_reader *r, ptx_insn *i) {
  char word[PTX_WORD];
  strcpy(word, r->word);
  char *part = strchr(word, '.');
  if (part) *part++ = 0;
  const struct row *row = NULL;
  for (size_t n = 0; n < sizeof ROWS / sizeof *ROWS; n++)
    if (strcmp(ROWS[n].name, word) == 0) row = &ROWS[n];
  if (!row) {
    ptx_fail(r, "the instruction '%s' is not understood", r->word);
    return NULL;
  }
  i->op = row->op;
  while (part && !r->failed) {
    char *end = strchr(part, '.');
    if (end) *end++ = 0;
    take_part(r, i, part);
    part = end;
  }
  const bool typed = i->type != PTX_NONE && (i->op != PTX_CVT || i->from != PTX_NONE);
  if (r->failed) return NULL;
  if (row->types ? !typed || !type_fits(row->types, i->type) || !word_fits(row, i)
                 : i->type || i->word)
    ptx_fail(r, "'%s' lacks a type or a word such as .rn or .lo, or has one that it does not take",
             r->word);
  if (i->op == PTX_CVT && !r->failed && (!type_fits(row->types, i->from) || ptx_bytes(i->from) > 8))
    ptx_fail(r, "'%s' converts from no such type", r->word);
  if (ptx_bytes(i->type) * (unsigned)i->n > 16)
    ptx_fail(r, "'%s' moves more than 16 bytes", r->word);
  ptx_next(r);
  return row;
}

/* ---- operands ---- */

/* Returns true if a register of this type may be an operand of an instruction of type `t`. */
static bool agrees(ptx_type reg, ptx_type t, bool wider) {
  if ((reg == PTX_PRED) != (t == PTX_PRED)) return false;
  if (ptx_bytes(reg) != ptx_bytes(t) &&
      (!wider || ptx_bytes(reg) < ptx_bytes(t) || ptx_is_float(reg) || ptx_is_float(t)))
    return false;
  return reg <= PTX_B64 || t <= PTX_B64 || ptx_is_float(reg) == ptx_is_float(t);
}

static int read_register(ptx_reader *r, ptx_type t, bool wider, int *bytes) {
  ptx_type type = PTX_NONE;
  const int slot = ptx_slot_of(r, r->word, &type);
  if (slot < 0)
    ptx_fail(r, "no register is called '%s'", r->word);
  else if (!agrees(type, t, wider))
    ptx_fail(r, "the register %s is not of the instruction's type", r->word);
  if (bytes) *bytes = (int)ptx_bytes(type);
  ptx_next(r);
  return slot;
}

static int read_result(ptx_reader *r, ptx_type t, bool wider, int *bytes) {
  const int slot = read_register(r, t, wider, bytes);
  if (slot >= 0 && slot < PTX_SPECIALS) ptx_fail(r, "a special register cannot be written");
  return slot;
}

static int read_constant(ptx_reader *r, ptx_type t) {
  const bool single = strncmp(r->word, "0f", 2) == 0 || strncmp(r->word, "0F", 2) == 0;
  const bool twice = strncmp(r->word, "0d", 2) == 0 || strncmp(r->word, "0D", 2) == 0;
  const unsigned bits = 8 * ptx_bytes(t);
  if (single || twice) {
    char *end;
    const uint64_t value = strtoull(r->word + 2, &end, 16);
    if (*end || strlen(r->word) != (single ? 10 : 18) || t != (single ? PTX_F32 : PTX_F64))
      ptx_fail(r, "the constant %s is not of the instruction's type", r->word);
    ptx_next(r);
    return ptx_slot_new(r, value);
  }
  const bool negative = ptx_is(r, "-");
  const int64_t value = ptx_number(r);
  if (ptx_is_float(t) || t == PTX_PRED)
    ptx_fail(r, "a whole number where the type is a float or a predicate");
  const bool fits = bits == 64 || (negative ? value >= -(int64_t)(1ull << (bits - 1)) && value <= 0
                                            : (uint64_t)value >> bits == 0);
  if (!fits) ptx_fail(r, "the constant does not fit in %u bits", bits);
  return ptx_slot_new(r, bits == 64 ? (uint64_t)value : (uint64_t)value & ((1ull << bits) - 1));
}

static bool is_constant(const ptx_reader *r) {
  return ptx_is(r, "-") || isdigit((unsigned char)r->word[0]);
}

/* Reads an operand. Special registers are operands of mov only. */
static int read_operand(ptx_reader *r, ptx_type t, bool wider, bool special) {
  if (is_constant(r)) return read_constant(r, t);
  const int slot = read_register(r, t, wider, NULL);
  if (slot >= 0 && slot < PTX_SPECIALS && !special)
    ptx_fail(r, "a special register is an operand of mov only");
  return slot;
}

/* Reads a list {a, b} of results or operands. */
static void read_list(ptx_reader *r, int *slots, int n, ptx_type t, bool wider, bool results,
                      int *bytes) {
  ptx_expect(r, "{");
  for (int e = 0; e < n && !r->failed; e++) {
    if (e) ptx_expect(r, ",");
    slots[e] = results ? read_result(r, t, wider, bytes) : read_operand(r, t, wider, false);
  }
  ptx_expect(r, "}");
}

/* Reads [register], [register+8], or [parameter+8]. */
static void read_address(ptx_reader *r, ptx_insn *i) {
  ptx_expect(r, "[");
  int param = 0;
  while (param < r->f->nparams && !ptx_is(r, r->f->params[param].name)) param++;
  i->a[3] = -1;
  if (i->word == PTX_PARAM && param < r->f->nparams) {
    i->offset = r->f->params[param].offset;
    ptx_next(r);
  } else if (i->word == PTX_LOCAL && r->local[0] && ptx_is(r, r->local)) {
    ptx_next(r);
  } else {
    i->a[3] = read_register(r, PTX_U64, false, NULL);
  }
  if (ptx_is(r, "+")) {
    ptx_next(r);
    i->offset += ptx_number(r);
  } else if (ptx_is(r, "-")) {
    i->offset += ptx_number(r);
  }
  ptx_expect(r, "]");
}

/* ---- instructions ---- */

static void read_memory(ptx_reader *r, ptx_insn *i) {
  const bool loads = i->op == PTX_LD;
  int *list =
      loads ? i->d : i->a; /* at most four; the address is a[3], which stores of four move */
  int values[4] = {0};
  if (!loads) {
    read_address(r, i);
    ptx_expect(r, ",");
  }
  if (i->n > 1)
    read_list(r, values, i->n, i->type, true, loads, &i->wide);
  else
    values[0] =
        loads ? read_result(r, i->type, true, &i->wide) : read_operand(r, i->type, true, false);
  if (!loads) {
    i->target = i->a[3];
    memcpy(list, values, sizeof values);
    return;
  }
  memcpy(list, values, sizeof values);
  ptx_expect(r, ",");
  read_address(r, i);
  i->target = i->a[3];
}

/* Reads a mov of a register, of a constant, or of the address of a parameter or array. mov also packs and unpacks. */
static void read_mov(ptx_reader *r, ptx_insn *i) {
  const ptx_type half = i->type == PTX_B64 ? PTX_B32 : i->type == PTX_B32 ? PTX_B16 : PTX_NONE;
  if (ptx_is(r, "{")) {
    i->op = PTX_UNPACK;
    if (!half) ptx_fail(r, "only b32 and b64 are unpacked");
    read_list(r, i->d, 2, half, false, true, &i->wide);
    ptx_expect(r, ",");
    i->a[0] = read_operand(r, i->type, false, false);
    return;
  }
  i->d[0] = read_result(r, i->type, false, &i->wide);
  ptx_expect(r, ",");
  if (ptx_is(r, "{")) {
    i->op = PTX_PACK;
    if (!half) ptx_fail(r, "only b32 and b64 are packed");
    read_list(r, i->a, 2, half, false, false, NULL);
    return;
  }
  int param = 0;
  while (param < r->f->nparams && !ptx_is(r, r->f->params[param].name)) param++;
  const bool local = r->local[0] && ptx_is(r, r->local);
  if (param < r->f->nparams || local) {
    if (i->type != PTX_U64 && i->type != PTX_B64) ptx_fail(r, "an address has 64 bits");
    i->a[0] = ptx_slot_new(r, local ? 0 : r->f->params[param].offset);
    ptx_next(r);
  } else {
    i->a[0] = read_operand(r, i->type, false, true);
  }
}

static void read_setp(ptx_reader *r, ptx_insn *i) {
  i->d[0] = read_result(r, PTX_PRED, false, &i->wide);
  i->d[1] = -1;
  if (ptx_is(r, "|")) {
    ptx_next(r);
    i->d[1] = read_result(r, PTX_PRED, false, NULL);
  }
  for (int o = 0; o < 2; o++) {
    ptx_expect(r, ",");
    i->a[o] = read_operand(r, i->type, false, false);
  }
  if (i->join == PTX_PLAIN) return;
  ptx_expect(r, ",");
  i->third_not = ptx_is(r, "!");
  if (i->third_not) ptx_next(r);
  i->a[2] = read_operand(r, PTX_PRED, false, false);
}

/* Reads the result and operands of all other instructions. */
static void read_plain(ptx_reader *r, ptx_insn *i, const struct row *row) {
  static const ptx_type twice[] = {
      [PTX_U16] = PTX_U32, [PTX_U32] = PTX_U64, [PTX_S16] = PTX_S32, [PTX_S32] = PTX_S64};
  const ptx_type result = i->word == PTX_WIDE ? twice[i->type] : i->type;
  i->d[0] = read_result(r, result, i->op == PTX_CVT, &i->wide);
  for (int o = 0; o < row->operands; o++) {
    ptx_type t = i->op == PTX_CVT ? i->from : i->type;
    if (o == 1 && (i->op == PTX_SHL || i->op == PTX_SHR)) t = PTX_U32;
    if (o == 2) t = i->op == PTX_SELP ? PTX_PRED : result;
    ptx_expect(r, ",");
    i->a[o] = read_operand(r, t, i->op == PTX_CVT, false);
  }
}

/* Reads cvta.to.global.u64 a, b. All addresses are global. */
static void read_cvta(ptx_reader *r, ptx_insn *i) {
  if (!ptx_is(r, "cvta.to.global.u64"))
    ptx_fail(r, "of cvta only cvta.to.global.u64 is understood");
  i->op = PTX_MOV;
  i->type = PTX_U64;
  ptx_next(r);
  i->d[0] = read_result(r, PTX_U64, false, &i->wide);
  ptx_expect(r, ",");
  i->a[0] = read_register(r, PTX_U64, false, NULL);
}

static void read_guard(ptx_reader *r, ptx_insn *i) {
  if (!ptx_is(r, "@")) return;
  ptx_next(r);
  i->guard_not = ptx_is(r, "!");
  if (i->guard_not) ptx_next(r);
  i->guard = read_register(r, PTX_PRED, false, NULL);
}

void ptx_read_insn(ptx_reader *r) {
  ptx_insn i = {.guard = -1, .n = 1, .line = r->line};
  read_guard(r, &i);
  if (strncmp(r->word, "cvta", 4) == 0) {
    read_cvta(r, &i);
  } else {
    const struct row *row = read_name(r, &i);
    if (!row) return;
    switch (i.op) {
      case PTX_LD:
      case PTX_ST: read_memory(r, &i); break;
      case PTX_MOV: read_mov(r, &i); break;
      case PTX_SETP: read_setp(r, &i); break;
      case PTX_RET: break;
      case PTX_BRA:
        i.target = ptx_label_of(r, r->word);
        ptx_next(r);
        break;
      default: read_plain(r, &i, row);
    }
  }
  if (!ptx_is(r, ";")) ptx_fail(r, "expected ; and found '%s'", r->word);
  ptx_function *f = r->f;
  ptx_insn *code = r->failed ? NULL : ptx_grow(r, f->code, f->ncode, &r->code_room, sizeof *code);
  if (!code) return;
  f->code = code;
  code[f->ncode++] = i;
  ptx_next(r);
}
