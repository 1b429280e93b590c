/* ptx.h - internals of the kernel generator: a growing text, registers, and the arithmetic of one
 * element.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_PTX_H
#define TUTTI_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "tutti.h"

/* Classes of element types. Elements of the classes from PTX_HALF to PTX_E5M2 are summed as 32-bit floats. */
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
  char *text; /* the body of one entry */
  size_t used, room;
  bool failed;
  ptx_class class;
  int bytes; /* size of an element */
  tutti_op op;
  char wide;      /* 'd' if an element is computed in 64 bits, 'r' if in 32 */
  int r, d, p, h; /* number of registers so far: 32 bits, 64 bits, predicates, 16 bits */
  int labels;
  int divisor; /* register with the number of operands, in the form by which avg divides */
} ptx_writer;

/* Appends a line. */
void ptx_line(ptx_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- one element; registers are numbers of `wide` ---- */

/* Returns the number of elements in a register that was loaded from memory. */
int ptx_lanes(const ptx_writer *w);
/* Extracts the element in lane `lane` of a loaded register. Returns the register that contains the element. */
int ptx_get(ptx_writer *w, int word, int lane);
/* Writes a = a op b. */
void ptx_op(ptx_writer *w, int a, int b);
/* Converts a sum to its stored bits, with zeros above them. Returns the register that contains these bits. */
int ptx_put(ptx_writer *w, int a);
/* Prepares the divisor for avg. The 32-bit register n contains the number of operands. */
void ptx_divisor(ptx_writer *w, int n);

#endif
