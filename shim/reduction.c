/* reduction.c - decides which reductions tutti computes, and for which it calls the MPI.
 *
 * Idea       tutti computes a predefined op on a type that corresponds to one of its own. Any other
 *            op, on elements without holes and of a size that tutti supports, is mapped to one of
 *            two registered ops, commutative or not, which call MPI_Reduce_local. User-defined
 *            functions, including Fortran's, are thus called exactly as the MPI would call them.
 * Invariant  An op runs only on the thread that called the collective, inside the call. That thread
 *            stores MPI's op and type.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reduction.h"

#include <stdlib.h>
#include <string.h>

#include "tutti_plan.h"

/* Sets of type classes, for the MPI ops that accept only these classes (MPI-3.1, 5.9.2). */
enum {
  ORDERED =
      1 << CLASS_C_INTEGER | 1 << CLASS_FORTRAN_INTEGER | 1 << CLASS_FLOATING | 1 << CLASS_ADDRESS,
  NUMBERS = ORDERED | 1 << CLASS_COMPLEX,
  TRUTHS = 1 << CLASS_C_INTEGER | 1 << CLASS_LOGICAL,
  BITS = 1 << CLASS_C_INTEGER | 1 << CLASS_FORTRAN_INTEGER | 1 << CLASS_BYTE | 1 << CLASS_ADDRESS,
  PAIRS = 1 << CLASS_PAIR
};

#define OPS(O)     \
  O(SUM, NUMBERS)  \
  O(PROD, NUMBERS) \
  O(MIN, ORDERED)  \
  O(MAX, ORDERED)  \
  O(BAND, BITS)    \
  O(BOR, BITS)     \
  O(BXOR, BITS) O(LAND, TRUTHS) O(LOR, TRUTHS) O(LXOR, TRUTHS) O(MINLOC, PAIRS) O(MAXLOC, PAIRS)

typedef struct named_op {
  MPI_Op handle;
  tutti_op op;
  int classes;
} named_op;

enum { MOST_OPS = 16, CHUNK = 4096 };
static named_op ops[MOST_OPS];
static int nops;
static tutti_op by_mpi[2]; /* [0]: not commutative, [1]: commutative */
static bool exact;         /* TUTTI_CONTRACT=exact: no plans for float products, nor for ops that
                              the MPI computes */

static _Thread_local struct {
  MPI_Op op;
  MPI_Datatype type;
  size_t element;
} meant;

static void local(const void *in, void *inout, size_t count) {
  for (size_t n; count; count -= n) {
    n = count < 1 << 30 ? count : 1 << 30;
    next()->Reduce_local(in, inout, (int)n, meant.type, meant.op);
    in = (const char *)in + n * meant.element;
    inout = (char *)inout + n * meant.element;
  }
}

/* MPI computes inout = in op inout. */
static void in_order(const void *a, const void *b, void *dst, size_t count, tutti_type type,
                     void *unused) {
  _Alignas(64) char right[CHUNK];
  const size_t most = CHUNK / meant.element;
  (void)type, (void)unused;
  if (dst != a) {
    if (dst != b) memcpy(dst, b, count * meant.element);
    local(a, dst, count);
    return;
  }
  for (size_t at = 0, n; at < count; at += n) {
    const size_t offset = at * meant.element;
    n = count - at < most ? count - at : most;
    memcpy(right, (const char *)b + offset, n * meant.element);
    local((const char *)a + offset, right, n);
    memcpy((char *)dst + offset, right, n * meant.element);
  }
}

static void in_any_order(const void *a, const void *b, void *dst, size_t count, tutti_type type,
                         void *unused) {
  (void)type, (void)unused;
  if (dst != a && dst != b) memcpy(dst, b, count * meant.element);
  local(dst == a ? b : a, dst, count);
}

/* Returns true if the MPI accepts this type with the first op for the type's class. Some types have names but are rejected,
 * such as the types for Fortran in an MPI that was built without Fortran. */
static bool is_taken(const named_type *type) {
  _Alignas(64) const char in[64] = {0};
  _Alignas(64) char inout[64] = {0};
  int i = 0;
  while (i < nops && !(ops[i].classes & 1 << type->class)) i++;
  return i == nops || type->size > sizeof in || (size_t)type->extent > sizeof in ||
         next()->Reduce_local(in, inout, 1, type->handle, ops[i].handle) == MPI_SUCCESS;
}

void reduction_begin(void) {
#define O(name, set) ops[nops++] = (named_op){MPI_##name, TUTTI_##name, set};
  OPS(O)
  const char *contract = tutti_setting("TUTTI_CONTRACT");
  exact = contract && strcmp(contract, "exact") == 0;
  if (tutti_op_create(in_order, NULL, 0, &by_mpi[0])) by_mpi[0] = TUTTI_OP_COUNT;
  if (tutti_op_create(in_any_order, NULL, 1, &by_mpi[1])) by_mpi[1] = TUTTI_OP_COUNT;
  datatype_check(is_taken);
}

static const named_op *find_op(MPI_Op op) {
  for (int i = 0; i < nops; i++)
    if (ops[i].handle == op) return &ops[i];
  return NULL;
}

static reduction refused(shim_why why) {
  return (reduction){.why = why};
}

/* Returns a tutti type whose elements have this size. Elements of 16 bytes must be aligned to 8 bytes. */
static tutti_type carrier(size_t size) {
  switch (size) {
    case 1: return TUTTI_UINT8;
    case 2: return TUTTI_UINT16;
    case 4: return TUTTI_UINT32;
    case 8: return TUTTI_UINT64;
    case 16: return TUTTI_COMPLEX_DOUBLE;
    default: return TUTTI_TYPE_COUNT;
  }
}

static reduction computed_by_mpi(MPI_Datatype type, MPI_Op op, int commutes) {
  layout l;
  if (!datatype_layout(type, &l)) return refused(WHY_REFUSED);
  if (exact) return refused(WHY_NO_PLAN);
  const reduction r = {carrier(l.size), by_mpi[commutes], l.size, WHY_SERVED};
  if (!l.dense || l.lower) return refused(WHY_HOLES);
  if (r.type == TUTTI_TYPE_COUNT) return refused(WHY_SIZE);
  meant.op = op;
  meant.type = type;
  meant.element = l.size;
  return r;
}

/* Finds the tutti type and op for an MPI type and op. A nonblocking call needs to know before it starts whether there is a
 * plan, and cannot ask tutti while another call is in progress. Reductions that the contract excludes are therefore already
 * rejected here. */
reduction reduction_of(MPI_Datatype type, MPI_Op op) {
  if (op == MPI_OP_NULL || type == MPI_DATATYPE_NULL) return refused(WHY_REFUSED);
  const named_op *known = find_op(op);
  if (known) {
    const named_type *t = datatype_named(type);
    if (!t || !(known->classes & 1 << t->class)) return refused(WHY_PAIR);
    if (t->type == TUTTI_TYPE_COUNT) return computed_by_mpi(type, op, 1);
    if (exact && known->op == TUTTI_PROD &&
        (t->class == CLASS_FLOATING || t->class == CLASS_COMPLEX))
      return refused(WHY_NO_PLAN);
    return (reduction){t->type, known->op, tutti_type_size(t->type), WHY_SERVED};
  }
  int commutes = 0;
  if (op == MPI_REPLACE || op == MPI_NO_OP) return refused(WHY_REFUSED);
  if (next()->Op_commutative(op, &commutes)) return refused(WHY_REFUSED);
  return computed_by_mpi(type, op, commutes != 0);
}
