/* abi_types.c - types, ops and windows of the test's libmpi_abi.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "translate.h"

ENTRY(Type_size, ABI_Datatype type, int *size) {
  return CALL(Type_size, to(type), size);
}
/* ABI_FORTRAN=0 simulates an MPI built without Fortran: a query about MPI_CHARACTER is an error on
 * MPI_COMM_SELF. Other types that MPICH lacks return an error without a handler call, because tutti queries
 * each of them. */
ENTRY(Type_size_x, ABI_Datatype type, ABI_Count *size) {
  MPI_Count theirs = MPI_UNDEFINED;
  const char *fortran = getenv("ABI_FORTRAN");
  if (type == ABI_CHARACTER && fortran && *fortran == '0') {
    *size = ABI_UNDEFINED;
    THEIRS(Comm_call_errhandler)(MPI_COMM_SELF, MPI_ERR_TYPE);
    return ABI_ERR_TYPE;
  }
  const int code =
      to(type) == MPI_DATATYPE_NULL ? ABI_ERR_TYPE : CALL(Type_size_x, to(type), &theirs);
  *size = theirs;
  return code;
}
ENTRY(Type_get_extent, ABI_Datatype type, ABI_Aint *lower, ABI_Aint *extent) {
  return CALL(Type_get_extent, to(type), lower, extent);
}
ENTRY(Type_get_true_extent, ABI_Datatype type, ABI_Aint *lower, ABI_Aint *extent) {
  return CALL(Type_get_true_extent, to(type), lower, extent);
}

static int from_combiner(int theirs) {
  switch (theirs) {
    case MPI_COMBINER_NAMED: return ABI_COMBINER_NAMED;
    case MPI_COMBINER_DUP: return ABI_COMBINER_DUP;
    case MPI_COMBINER_CONTIGUOUS: return ABI_COMBINER_CONTIGUOUS;
    case MPI_COMBINER_F90_REAL: return ABI_COMBINER_F90_REAL;
    case MPI_COMBINER_F90_COMPLEX: return ABI_COMBINER_F90_COMPLEX;
    case MPI_COMBINER_F90_INTEGER: return ABI_COMBINER_F90_INTEGER;
    default: return 110 + theirs; /* combiners that tutti does not distinguish */
  }
}
ENTRY(Type_get_envelope, ABI_Datatype type, int *ints, int *addresses, int *types, int *combiner) {
  const int code = CALL(Type_get_envelope, to(type), ints, addresses, types, combiner);
  *combiner = from_combiner(*combiner);
  return code;
}
ENTRY(Type_get_contents, ABI_Datatype type, int most_ints, int most_addresses, int most_types,
      int ints[], ABI_Aint addresses[], ABI_Datatype types[]) {
  MPI_Datatype *theirs = room(most_types, sizeof *theirs);
  const int code = CALL(Type_get_contents, to(type), most_ints, most_addresses, most_types, ints,
                        addresses, theirs);
  for (int i = 0; i < most_types; i++) types[i] = from(theirs[i]);
  free(theirs);
  return code;
}

#define MAKE_TYPE(name, ...)                       \
  MPI_Datatype made = MPI_DATATYPE_NULL;           \
  const int code = CALL(name, __VA_ARGS__, &made); \
  if (code == ABI_SUCCESS) *out = from(made);      \
  return code

ENTRY(Type_contiguous, int n, ABI_Datatype type, ABI_Datatype *out) {
  MAKE_TYPE(Type_contiguous, n, to(type));
}
ENTRY(Type_vector, int n, int length, int stride, ABI_Datatype type, ABI_Datatype *out) {
  MAKE_TYPE(Type_vector, n, length, stride, to(type));
}
ENTRY(Type_create_hvector, int n, int length, ABI_Aint stride, ABI_Datatype type,
      ABI_Datatype *out) {
  MAKE_TYPE(Type_create_hvector, n, length, stride, to(type));
}
ENTRY(Type_create_hindexed, int n, const int lengths[], const ABI_Aint at[], ABI_Datatype type,
      ABI_Datatype *out) {
  MAKE_TYPE(Type_create_hindexed, n, lengths, at, to(type));
}
ENTRY(Type_create_resized, ABI_Datatype type, ABI_Aint lower, ABI_Aint extent, ABI_Datatype *out) {
  MAKE_TYPE(Type_create_resized, to(type), lower, extent);
}
ENTRY(Type_create_struct, int n, const int lengths[], const ABI_Aint at[],
      const ABI_Datatype types[], ABI_Datatype *out) {
  MPI_Datatype made = MPI_DATATYPE_NULL, *theirs = to_types(n, types);
  const int code = CALL(Type_create_struct, n, lengths, at, theirs, &made);
  *out = from(made);
  free(theirs);
  return code;
}
ENTRY(Type_commit, ABI_Datatype *type) {
  MPI_Datatype theirs = to(*type);
  const int code = CALL(Type_commit, &theirs);
  *type = from(theirs);
  return code;
}
ENTRY(Type_free, ABI_Datatype *type) {
  MPI_Datatype theirs = to(*type);
  const int code = CALL(Type_free, &theirs);
  *type = from(theirs);
  return code;
}
ENTRY(Get_address, const void *at, ABI_Aint *address) {
  return CALL(Get_address, at, address);
}
ENTRY(Pack, const void *in, int n, ABI_Datatype type, void *out, int size, int *position,
      ABI_Comm comm) {
  return CALL(Pack, in, n, to(type), out, size, position, to(comm));
}
ENTRY(Unpack, const void *in, int size, int *position, void *out, int n, ABI_Datatype type,
      ABI_Comm comm) {
  return CALL(Unpack, in, size, position, out, n, to(type), to(comm));
}
ENTRY(Op_commutative, ABI_Op op, int *commute) {
  return CALL(Op_commutative, to(op), commute);
}
ENTRY(Op_free, ABI_Op *op) {
  MPI_Op theirs = to(*op);
  const int code = CALL(Op_free, &theirs);
  *op = from(theirs);
  return code;
}
ENTRY(Reduce_local, const void *in, void *inout, int n, ABI_Datatype type, ABI_Op op) {
  return CALL(Reduce_local, in, inout, n, to(type), to(op));
}

/* ---- windows ---- */

ENTRY(Win_create, void *base, ABI_Aint size, int unit, ABI_Info info, ABI_Comm comm, ABI_Win *win) {
  MPI_Win made = MPI_WIN_NULL;
  const int code = CALL(Win_create, base, size, unit, to(info), to(comm), &made);
  *win = from(made);
  return code;
}
ENTRY(Win_free, ABI_Win *win) {
  MPI_Win theirs = to(*win);
  const int code = CALL(Win_free, &theirs);
  *win = from(theirs);
  return code;
}
/* Assertions are always 0 in the tests. */
ENTRY(Win_post, ABI_Group group, int assertion, ABI_Win win) {
  return CALL(Win_post, to(group), assertion, to(win));
}
ENTRY(Win_start, ABI_Group group, int assertion, ABI_Win win) {
  return CALL(Win_start, to(group), assertion, to(win));
}
ENTRY(Win_complete, ABI_Win win) {
  return CALL(Win_complete, to(win));
}
ENTRY(Win_test, ABI_Win win, int *flag) {
  return CALL(Win_test, to(win), flag);
}
