/* ptx.h - internals of the generator of kernels: a text that grows, registers, and the arithmetic of one element.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_PTX_H
#define TUTTI_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "tutti.h"

/* What an element is. HALF to E5M2 are summed as 32-bit floats. */
typedef enum ptx_class {
  PTX_NONE,
  PTX_SIGNED,
  PTX_UNSIGNED,
  PTX_FLOAT,
  PTX_HALF,
  PTX_BFLOAT,
  PTX_E4M3,
  PTX_E5M2
} ptx_class;

typedef struct ptx_writer {
  char *text; /* of one entry's body */
  size_t used, room;
  bool failed;
  ptx_class class;
  int bytes; /* of an element */
  tutti_op op;
  char wide;      /* 'd': an element is computed in 64 bits; 'r': in 32 */
  int r, d, p, h; /* registers so far: 32 and 64 bits, predicates, 16 bits */
  int labels;
  int divisor; /* register with the number of operands, as avg divides by it */
} ptx_writer;

/* Appends a line. */
void ptx_line(ptx_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- one element; registers are numbers of `wide` ---- */

/* Elements of a register of `wide` that was loaded. */
int ptx_lanes(const ptx_writer *w);
/* The value of lane `lane` of a loaded register: a register. */
int ptx_get(ptx_writer *w, int word, int lane);
/* a = a op b. */
void ptx_op(ptx_writer *w, int a, int b);
/* The bits of a sum as the type stores it, above them zeros: a register. */
int ptx_put(ptx_writer *w, int a);
/* The register that avg divides by, of the number of operands in the 32-bit register n. */
void ptx_divisor(ptx_writer *w, int n);

#endif
