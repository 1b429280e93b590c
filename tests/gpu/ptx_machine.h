/* ptx_machine.h - an interpreter for the subset of PTX that tutti's kernels use.
 *
 * Idea       ptx_parse.c converts a text to instructions once, and rejects the same errors as an
 *            assembler: unknown names, wrong operand types, missing rounding modes. ptx_run.c runs one
 *            thread of a kernel from its first instruction to its end. Registers, special registers and
 *            constants are slots of one array of 64-bit words.
 * Invariant  The bits of a slot above the register's width are zero.
 * Understood .reg .local; ld and st of .param (ld only), .global, .local, v2 and v4; cvta.to.global;
 *            mov, including packing and unpacking; add sub mul mad div rem min max neg abs and or xor
 *            not shl shr selp setp cvt bra ret. Barriers, shared memory, calls and fma are not
 *            supported. Float arithmetic needs .rn, because an assembler may fuse operations without a
 *            rounding mode.
 * Source     NVIDIA, Parallel Thread Execution ISA, version 6.5.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_type {
  PTX_NONE,
  PTX_B8,
  PTX_B16,
  PTX_B32,
  PTX_B64,
  PTX_U8,
  PTX_U16,
  PTX_U32,
  PTX_U64,
  PTX_S8,
  PTX_S16,
  PTX_S32,
  PTX_S64,
  PTX_F16,
  PTX_F32,
  PTX_F64,
  PTX_PRED
} ptx_type;

typedef enum ptx_op {
  PTX_ADD,
  PTX_SUB,
  PTX_MUL,
  PTX_MAD,
  PTX_DIV,
  PTX_REM,
  PTX_MIN,
  PTX_MAX,
  PTX_NEG,
  PTX_ABS,
  PTX_AND,
  PTX_OR,
  PTX_XOR,
  PTX_NOT,
  PTX_SHL,
  PTX_SHR,
  PTX_SELP,
  PTX_SETP,
  PTX_CVT,
  PTX_MOV,
  PTX_PACK,
  PTX_UNPACK,
  PTX_LD,
  PTX_ST,
  PTX_BRA,
  PTX_RET
} ptx_op;

/* Words after the name: a rounding mode, the half of a product, a comparison, how predicates are combined, or a state
 * space. */
typedef enum ptx_word {
  PTX_PLAIN,
  PTX_RN,
  PTX_RZ,
  PTX_RNI,
  PTX_RZI,
  PTX_RMI,
  PTX_RPI,
  PTX_LO,
  PTX_HI,
  PTX_WIDE,
  PTX_EQ,
  PTX_NE,
  PTX_LT,
  PTX_LE,
  PTX_GT,
  PTX_GE,
  PTX_EQU,
  PTX_NEU,
  PTX_LTU,
  PTX_LEU,
  PTX_GTU,
  PTX_GEU,
  PTX_NUM,
  PTX_NAN,
  PTX_JOIN_AND,
  PTX_JOIN_OR,
  PTX_JOIN_XOR,
  PTX_GLOBAL,
  PTX_PARAM,
  PTX_LOCAL
} ptx_word;

typedef struct ptx_insn {
  ptx_op op;
  ptx_type type, from; /* from: for cvt */
  ptx_word word, join; /* join: for setp */
  int n;               /* number of elements of a vector */
  int guard;           /* slot of the predicate, or -1 */
  bool guard_not, third_not;
  int wide;       /* size of the result's register in bytes */
  int d[4];       /* slots of the results; the second one of setp may be -1 */
  int a[4];       /* slots of the operands */
  int64_t offset; /* offset of an address */
  int target;     /* for a branch: index of the target instruction */
  int line;
} ptx_insn;

typedef struct ptx_param {
  char *name;
  unsigned offset, bytes;
} ptx_param;

enum { PTX_SPECIALS = 12 }; /* slots 0 to 11: tid, ntid, ctaid and nctaid, each with x, y, z */

typedef struct ptx_function {
  char *name;
  ptx_param *params;
  int nparams;
  unsigned param_bytes, local_bytes;
  ptx_insn *code;
  int ncode, nslots;
  uint64_t *first; /* nslots initial values of the slots */
} ptx_function;

typedef struct ptx_module {
  ptx_function *functions;
  int n;
} ptx_module;

/* Parses a module. If the text is invalid, returns NULL, with the reason and the line in `why`. */
ptx_module *ptx_parse(const char *text, char *why, size_t size);
void ptx_free(ptx_module *m);

typedef struct ptx_world {
  const unsigned char *params; /* param_bytes of the function */
  unsigned char *local;        /* local_bytes of the function */
  /* Returns the bytes at a global address, or NULL if the thread may not access them in this way. */
  unsigned char *(*touch)(void *self, uint64_t at, unsigned bytes, bool writes);
  void *self;
  int64_t steps;        /* limit for the instructions of a thread */
  uint64_t bad_address; /* set after an error */
  int bad_line;
} ptx_world;

/* Runs one thread. `slots` has f->nslots entries: the special registers, followed by entries that are initialized as
 * in f->first. Returns a CUresult. */
int ptx_run(const ptx_function *f, uint64_t *slots, ptx_world *w);

unsigned ptx_bytes(ptx_type t);
bool ptx_is_float(ptx_type t);
bool ptx_is_signed(ptx_type t);
/* Converts to the type `to`. The result is sign-extended to 64 bits. */
uint64_t ptx_convert(uint64_t bits, ptx_type from, ptx_type to, ptx_word rounding);
float ptx_float(uint64_t bits);
double ptx_double(uint64_t bits);
/* Returns the bits of a float. Every NaN becomes the device's NaN. */
uint64_t ptx_bits(ptx_type t, double value);
uint64_t ptx_bits_float(float value);

#endif
