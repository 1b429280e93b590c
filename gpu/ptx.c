/* ptx.c - generates the kernels of one type and op as PTX text, which the driver compiles for its device.
 *
 * Idea       A kernel sums n vectors element by element. A grid of threads iterates twice: over the individual
 *            elements at the edges, and over lines of 16 bytes. All operands of a line are loaded before the first
 *            one is used, to keep the memory busy. For 2 to 8 operands, there are kernels that keep the addresses in
 *            registers. One more kernel handles any number of operands, four at a time.
 * Cost       Each vector is read or written once: n reads and nto writes.
 * Invariant  Operands are combined in their order. A thread loads all operands of an element before it stores the sum.
 * Subset     .b16/.b32/.b64/.pred registers only; each instruction has a type. mov (of special registers, constants,
 *            and the address of the parameter), ld.param with a constant offset or from an address in a register,
 *            ld/st.global of u8, u16, u32, u64, v4.u32, v2.u64; add, sub, mul, div, min, max, and, or, xor, shl, shr,
 *            setp, selp, cvt, cvta.to.global, bra, ret.
 * Source     NVIDIA, "PTX ISA", 6.5, which each driver since CUDA 10.2 compiles.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ptx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

enum { LINE = 16, GROUP = 4 };
#define OFFSET(field) ((int)offsetof(gpu_parameters, field))

void ptx_line(ptx_writer *w, const char *format, ...) {
  va_list words;
  if (w->failed) return;
  if (w->room - w->used < 200) {
    char *more = realloc(w->text, 2 * w->room + 4096);
    w->failed = !more;
    if (!more) return;
    w->text = more;
    w->room = 2 * w->room + 4096;
  }
  va_start(words, format);
  w->used += (size_t)vsnprintf(w->text + w->used, w->room - w->used, format, words);
  va_end(words);
  w->text[w->used++] = '\n';
  w->text[w->used] = 0;
}

/* ---- types ---- */

static ptx_class class_of(tutti_type type) {
  switch (type) {
    case TUTTI_INT8:
    case TUTTI_INT16:
    case TUTTI_INT32:
    case TUTTI_INT64: return PTX_SIGNED;
    case TUTTI_UINT8:
    case TUTTI_UINT16:
    case TUTTI_UINT32:
    case TUTTI_UINT64: return PTX_UNSIGNED;
    case TUTTI_FLOAT:
    case TUTTI_DOUBLE: return PTX_FLOAT;
    case TUTTI_FLOAT16: return PTX_HALF;
    case TUTTI_BFLOAT16: return PTX_BFLOAT;
    case TUTTI_FP8_E4M3: return PTX_E4M3;
    case TUTTI_FP8_E5M2: return PTX_E5M2;
    default: return PTX_NONE;
  }
}

size_t gpu_ptx_size(tutti_type type) {
  switch (type) {
    case TUTTI_INT64:
    case TUTTI_UINT64:
    case TUTTI_DOUBLE: return 8;
    case TUTTI_INT32:
    case TUTTI_UINT32:
    case TUTTI_FLOAT: return 4;
    case TUTTI_INT16:
    case TUTTI_UINT16:
    case TUTTI_FLOAT16:
    case TUTTI_BFLOAT16: return 2;
    default: return 1;
  }
}

bool gpu_ptx_has(tutti_type type, tutti_op op) {
  const ptx_class class = class_of(type);
  if (op <= TUTTI_AVG) return class != PTX_NONE;
  return op <= TUTTI_LXOR && (class == PTX_SIGNED || class == PTX_UNSIGNED);
}

/* ---- one element or line ---- */

typedef struct unit { /* the elements that one thread sums at a time */
  int words, lanes;   /* words: registers of an operand; lanes: elements in each */
  const char *type;   /* type of its loads and stores */
} unit;

static unit line_unit(const ptx_writer *w) {
  return w->wide == 'd' ? (unit){2, 1, "v2.u64"} : (unit){4, ptx_lanes(w), "v4.u32"};
}

static unit element_unit(const ptx_writer *w) {
  return (unit){1, 1, w->bytes == 8 ? "u64" : w->bytes == 4 ? "u32" : w->bytes == 2 ? "u16" : "u8"};
}

/* Writes the registers of a unit as a PTX operand. The registers have consecutive numbers that start with `first`. */
static void registers(const ptx_writer *w, const unit *u, int first, char *text, size_t size) {
  const char c = w->wide;
  if (u->words == 1)
    snprintf(text, size, "%%%c%d", c, first);
  else if (u->words == 2)
    snprintf(text, size, "{%%%c%d, %%%c%d}", c, first, c, first + 1);
  else
    snprintf(text, size, "{%%%c%d, %%%c%d, %%%c%d, %%%c%d}", c, first, c, first + 1, c, first + 2,
             c, first + 3);
}

static int take(ptx_writer *w, int count) {
  int *next = w->wide == 'd' ? &w->d : &w->r, first = *next;
  *next += count;
  return first;
}

/* Loads a unit of an operand into registers, from the address `pointer` plus `offset`. Returns the first of these registers. */
static int load(ptx_writer *w, const unit *u, int pointer, int offset) {
  char list[80];
  const int at = w->d++, first = take(w, u->words);
  registers(w, u, first, list, sizeof list);
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", at, pointer, offset);
  ptx_line(w, "ld.global.%s %s, [%%d%d];", u->type, list, at);
  return first;
}

enum { MOST_SUMS = LINE };

/* Adds the elements of an operand to the sums. For the first operand, sets the sums to these elements. */
static void combine(ptx_writer *w, const unit *u, int *sums, int words, bool first) {
  for (int i = 0; i < u->words; i++)
    for (int lane = 0; lane < u->lanes; lane++) {
      int *sum = &sums[i * u->lanes + lane];
      const int x = ptx_get(w, words + i, lane);
      if (first)
        *sum = x;
      else
        ptx_op(w, *sum, x);
    }
}

/* Loads the address of an operand or destination from a list in the kernel's parameters. Register `parameter` has
 * the address of the parameters, and `place` the offset of the entry within the list in bytes. `list` is the offset
 * of the list within the parameters. */
static int listed(ptx_writer *w, int parameter, int list, int place) {
  const int at = w->d++, address = w->d++, global = w->d++;
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", at, parameter, place);
  ptx_line(w, "ld.param.u64 %%d%d, [%%d%d+%d];", address, at, list);
  ptx_line(w, "cvta.to.global.u64 %%d%d, %%d%d;", global, address);
  return global;
}

/* Stores the sums to all destinations. */
static void store(ptx_writer *w, const unit *u, int parameter, int *sums, int offset) {
  char list[80];
  const int words = take(w, u->words), place = w->d++, last = w->d++, p = w->p++,
            loop = w->labels++, nto = w->r++;
  const char c = w->wide;
  for (int i = 0; i < u->words; i++) {
    for (int lane = 0; lane < u->lanes; lane++) {
      const int bits = ptx_put(w, sums[i * u->lanes + lane]);
      const int size = c == 'd' ? 64 : 32;
      if (!lane) {
        ptx_line(w, "mov.b%d %%%c%d, %%%c%d;", size, c, words + i, c, bits);
        continue;
      }
      const int moved = w->r++;
      ptx_line(w, "shl.b32 %%r%d, %%r%d, %d;", moved, bits, lane * 32 / u->lanes);
      ptx_line(w, "or.b32 %%r%d, %%r%d, %%r%d;", words + i, words + i, moved);
    }
  }
  registers(w, u, words, list, sizeof list);
  ptx_line(w, "ld.param.u32 %%r%d, [parameters+%d];", nto, OFFSET(nto));
  ptx_line(w, "mul.wide.u32 %%d%d, %%r%d, 8;", last, nto);
  ptx_line(w, "mov.u64 %%d%d, 0;", place);
  ptx_line(w, "L%d:", loop);
  const int pointer = listed(w, parameter, OFFSET(to), place), at = w->d++;
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", at, pointer, offset);
  ptx_line(w, "st.global.%s [%%d%d], %s;", u->type, at, list);
  ptx_line(w, "add.u64 %%d%d, %%d%d, 8;", place, place);
  ptx_line(w, "setp.lt.u64 %%p%d, %%d%d, %%d%d;", p, place, last);
  ptx_line(w, "@%%p%d bra L%d;", p, loop);
}

/* ---- all operands ---- */

typedef struct kernel {
  int n;                      /* number of operands; 0 for any number */
  int parameter;              /* register with the parameter's address */
  int pointers[GPU_UNROLLED]; /* registers with the operands' addresses */
  int number;                 /* register with the number of operands, if n is 0 */
} kernel;

/* Writes a loop that adds `group` operands in each iteration, and ends when fewer than `group` operands remain. The
 * loop advances the offset in register `place`. */
static void sum_listed(ptx_writer *w, const unit *u, const kernel *k, int *sums, int offset,
                       int place, int group) {
  const int p = w->p++, loop = w->labels++, end = w->labels++, next = w->d++, last = w->d++;
  int words[GROUP];
  ptx_line(w, "mul.wide.u32 %%d%d, %%r%d, 8;", last, k->number);
  ptx_line(w, "L%d:", loop);
  ptx_line(w, "add.u64 %%d%d, %%d%d, %d;", next, place, 8 * group);
  ptx_line(w, "setp.gt.u64 %%p%d, %%d%d, %%d%d;", p, next, last);
  ptx_line(w, "@%%p%d bra L%d;", p, end);
  for (int j = 0; j < group; j++) {
    const int pointer = listed(w, k->parameter, OFFSET(from) + 8 * j, place);
    words[j] = load(w, u, pointer, offset);
  }
  for (int j = 0; j < group; j++) combine(w, u, sums, words[j], false);
  ptx_line(w, "mov.u64 %%d%d, %%d%d;", place, next);
  ptx_line(w, "bra L%d;", loop);
  ptx_line(w, "L%d:", end);
}

/* Sums the units that are `offset` bytes after the beginning of each operand. */
static void sum_unit(ptx_writer *w, const unit *u, const kernel *k, int offset) {
  int words[GPU_UNROLLED], sums[MOST_SUMS];
  const int unrolled = k->n ? k->n : GPU_UNROLLED;
  for (int j = 0; j < unrolled; j++) words[j] = load(w, u, k->pointers[j], offset);
  for (int j = 0; j < unrolled; j++) combine(w, u, sums, words[j], j == 0);
  if (!k->n) {
    const int place = w->d++;
    ptx_line(w, "mov.u64 %%d%d, %d;", place, 8 * GPU_UNROLLED);
    sum_listed(w, u, k, sums, offset, place, GROUP);
    sum_listed(w, u, k, sums, offset, place, 1);
  }
  store(w, u, k->parameter, sums, offset);
}

/* The share of a thread in a loop over a grid. Register `first` has the first index of the thread, and `stride` the
 * distance to its next index. The loop ends at the number in a field of the parameters. */
typedef struct walk {
  int first, stride;
} walk;

/* Writes the beginning of a loop over the indices of a thread. Returns the register that contains the index. */
static int walk_begin(ptx_writer *w, const walk *over, int field, int *loop, int *end) {
  const int i = w->d++, most = w->d++, p = w->p++;
  *loop = w->labels++;
  *end = w->labels++;
  ptx_line(w, "ld.param.u64 %%d%d, [parameters+%d];", most, field);
  ptx_line(w, "mov.u64 %%d%d, %%d%d;", i, over->first);
  ptx_line(w, "L%d:", *loop);
  ptx_line(w, "setp.ge.u64 %%p%d, %%d%d, %%d%d;", p, i, most);
  ptx_line(w, "@%%p%d bra L%d;", p, *end);
  return i;
}

static void walk_end(ptx_writer *w, const walk *over, int i, int loop, int end) {
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", i, i, over->stride);
  ptx_line(w, "bra L%d;", loop);
  ptx_line(w, "L%d:", end);
}

/* Sums the elements below `head`, and those after the lines. */
static void walk_edges(ptx_writer *w, const kernel *k, const walk *over) {
  int loop, end;
  const int i = walk_begin(w, over, OFFSET(edge), &loop, &end);
  const int head = w->d++, skip = w->d++, at = w->d++, p = w->p++;
  const unit one = element_unit(w);
  ptx_line(w, "ld.param.u64 %%d%d, [parameters+%d];", head, OFFSET(head));
  ptx_line(w, "ld.param.u64 %%d%d, [parameters+%d];", skip, OFFSET(skip));
  ptx_line(w, "setp.lt.u64 %%p%d, %%d%d, %%d%d;", p, i, head);
  ptx_line(w, "selp.b64 %%d%d, 0, %%d%d, %%p%d;", skip, skip, p);
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", at, i, skip);
  ptx_line(w, "mul.lo.u64 %%d%d, %%d%d, %d;", at, at, w->bytes);
  sum_unit(w, &one, k, at);
  walk_end(w, over, i, loop, end);
}

static void walk_lines(ptx_writer *w, const kernel *k, const walk *over) {
  int loop, end;
  const int i = walk_begin(w, over, OFFSET(vectors), &loop, &end);
  const int head = w->d++, at = w->d++;
  const unit line = line_unit(w);
  ptx_line(w, "ld.param.u64 %%d%d, [parameters+%d];", head, OFFSET(head));
  ptx_line(w, "mul.lo.u64 %%d%d, %%d%d, %d;", head, head, w->bytes);
  ptx_line(w, "mul.lo.u64 %%d%d, %%d%d, %d;", at, i, LINE);
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", at, at, head);
  sum_unit(w, &line, k, at);
  walk_end(w, over, i, loop, end);
}

static walk walk_of_grid(ptx_writer *w) {
  const int block = w->r++, threads = w->r++, thread = w->r++, blocks = w->r++;
  const walk over = {w->d++, w->d++};
  const int more = w->d++;
  ptx_line(w, "mov.u32 %%r%d, %%ctaid.x;", block);
  ptx_line(w, "mov.u32 %%r%d, %%ntid.x;", threads);
  ptx_line(w, "mov.u32 %%r%d, %%tid.x;", thread);
  ptx_line(w, "mov.u32 %%r%d, %%nctaid.x;", blocks);
  ptx_line(w, "mul.wide.u32 %%d%d, %%r%d, %%r%d;", over.first, block, threads);
  ptx_line(w, "cvt.u64.u32 %%d%d, %%r%d;", more, thread);
  ptx_line(w, "add.u64 %%d%d, %%d%d, %%d%d;", over.first, over.first, more);
  ptx_line(w, "mul.wide.u32 %%d%d, %%r%d, %%r%d;", over.stride, blocks, threads);
  return over;
}

/* Writes the body of the kernel for n operands. If n is 0, the kernel handles any number of operands above GPU_UNROLLED. */
static void body(ptx_writer *w, int n) {
  kernel k = {.n = n, .parameter = w->d++, .number = w->r++};
  ptx_line(w, "mov.u64 %%d%d, parameters;", k.parameter);
  ptx_line(w, "ld.param.u32 %%r%d, [parameters+%d];", k.number, OFFSET(n));
  for (int j = 0; j < (n ? n : GPU_UNROLLED); j++) {
    const int address = w->d++;
    k.pointers[j] = w->d++;
    ptx_line(w, "ld.param.u64 %%d%d, [parameters+%d];", address, OFFSET(from) + 8 * j);
    ptx_line(w, "cvta.to.global.u64 %%d%d, %%d%d;", k.pointers[j], address);
  }
  if (w->op == TUTTI_AVG) ptx_divisor(w, k.number);
  const walk over = walk_of_grid(w);
  walk_edges(w, &k, &over);
  walk_lines(w, &k, &over);
  ptx_line(w, "ret;");
}

/* ---- the module ---- */

static ptx_writer writer_of(tutti_type type, tutti_op op) {
  const size_t bytes = gpu_ptx_size(type);
  return (ptx_writer){
      .class = class_of(type), .bytes = (int)bytes, .op = op, .wide = bytes == 8 ? 'd' : 'r'};
}

/* Appends the kernel for n operands to the module. */
static void entry(ptx_writer *module, tutti_type type, tutti_op op, int n) {
  ptx_writer w = writer_of(type, op);
  char number[8] = "";
  w.labels = 100 * n; /* labels are local to a kernel; distinct ones are easier to read */
  body(&w, n);
  if (n) snprintf(number, sizeof number, "%d", n);
  ptx_line(module, ".visible .entry sum%s(.param .align 8 .b8 parameters[%d])", number,
           (int)sizeof(gpu_parameters));
  ptx_line(module, "{");
  ptx_line(module, ".reg .b32 %%r<%d>;", w.r + 1);
  ptx_line(module, ".reg .b64 %%d<%d>;", w.d + 1);
  ptx_line(module, ".reg .b16 %%h<%d>;", w.h + 1);
  ptx_line(module, ".reg .pred %%p<%d>;", w.p + 1);
  char *grown =
      w.failed || module->failed ? NULL : realloc(module->text, module->used + w.used + 4096);
  if (grown) {
    module->text = grown;
    module->room = module->used + w.used + 4096;
    memcpy(grown + module->used, w.text, w.used + 1);
    module->used += w.used;
  }
  module->failed = !grown;
  free(w.text);
  ptx_line(module, "}");
}

char *gpu_ptx(tutti_type type, tutti_op op) {
  ptx_writer module = {0};
  if (!gpu_ptx_has(type, op)) return NULL;
  ptx_line(&module, ".version 6.5");
  ptx_line(&module, ".target sm_70");
  ptx_line(&module, ".address_size 64");
  for (int n = 2; n <= GPU_UNROLLED; n++) entry(&module, type, op, n);
  entry(&module, type, op, 0);
  if (!module.failed) return module.text;
  free(module.text);
  return NULL;
}
