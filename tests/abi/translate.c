/* translate.c - converts handles, numbers and statuses between the standard ABI and MPICH.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "translate.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *theirs_named(const char *name) {
  static void *library;
  if (!library) library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = library ? dlsym(library, name) : NULL;
  if (symbol) return symbol;
  fprintf(stderr, "libmpi_abi: %s\n", dlerror());
  _Exit(99);
}

void *room(int n, size_t size) {
  void *memory = calloc((size_t)(n > 0 ? n : 1), size);
  if (memory) return memory;
  fprintf(stderr, "libmpi_abi: out of memory\n");
  _Exit(99);
}

/* ---- handles ---- */

enum { FIRST_FREE = 4096 }; /* predefined handles of the ABI are smaller */

#define SAME(H)                                                                                    \
  H(OP_NULL)                                                                                       \
  H(SUM)                                                                                           \
  H(MIN) H(MAX) H(PROD) H(BAND) H(BOR) H(BXOR) H(LAND) H(LOR) H(LXOR) H(MINLOC) H(MAXLOC)          \
      H(REPLACE) H(NO_OP) H(COMM_NULL) H(COMM_WORLD) H(COMM_SELF) H(GROUP_NULL) H(GROUP_EMPTY)     \
          H(WIN_NULL) H(INFO_NULL) H(ERRHANDLER_NULL) H(ERRORS_ARE_FATAL) H(ERRORS_ABORT) H(ERRORS_RETURN) H(      \
              REQUEST_NULL) H(DATATYPE_NULL) H(AINT) H(COUNT) H(OFFSET) H(PACKED) H(SHORT) H(INT)  \
              H(LONG) H(LONG_LONG) H(UNSIGNED_SHORT) H(UNSIGNED) H(UNSIGNED_LONG)                  \
                  H(UNSIGNED_LONG_LONG) H(FLOAT) H(C_FLOAT_COMPLEX) H(CXX_FLOAT_COMPLEX) H(DOUBLE) \
                      H(C_DOUBLE_COMPLEX) H(CXX_DOUBLE_COMPLEX) H(LOGICAL) H(INTEGER) H(REAL)      \
                          H(COMPLEX) H(DOUBLE_PRECISION) H(DOUBLE_COMPLEX) H(CHARACTER)            \
                              H(LONG_DOUBLE) H(C_LONG_DOUBLE_COMPLEX) H(CXX_LONG_DOUBLE_COMPLEX)   \
                                  H(FLOAT_INT) H(DOUBLE_INT) H(LONG_INT) H(2INT) H(SHORT_INT)      \
                                      H(LONG_DOUBLE_INT) H(2REAL) H(2DOUBLE_PRECISION) H(2INTEGER) \
                                          H(C_BOOL) H(CXX_BOOL) H(WCHAR) H(INT8_T) H(UINT8_T)      \
                                              H(CHAR) H(SIGNED_CHAR) H(UNSIGNED_CHAR) H(BYTE)      \
                                                  H(INT16_T) H(UINT16_T) H(INT32_T) H(UINT32_T)    \
                                                      H(INT64_T) H(UINT64_T) H(INTEGER1)           \
                                                          H(INTEGER2) H(INTEGER4) H(REAL4)         \
                                                              H(INTEGER8) H(REAL8) H(COMPLEX8)     \
                                                                  H(REAL16) H(COMPLEX16)

static const struct {
  void *ours;
  int theirs;
} handles[] = {
#define H(name) {ABI_##name, MPI_##name},
    SAME(H)
#undef H
};
enum { HANDLES = sizeof handles / sizeof *handles };

/* A predefined handle that MPICH lacks (MPI_LOGICAL1, a type) becomes MPI_DATATYPE_NULL. */
int to(const void *handle) {
  if ((uintptr_t)handle >= FIRST_FREE) return (int)(uintptr_t)handle;
  for (int i = 0; i < HANDLES; i++)
    if (handles[i].ours == handle) return handles[i].theirs;
  return handle ? MPI_DATATYPE_NULL : 0; /* 0 is not a handle in either ABI */
}

void *from(int handle) {
  for (int i = 0; i < HANDLES; i++)
    if (handles[i].theirs == handle) return handles[i].ours;
  return (void *)(uintptr_t)(unsigned)handle;
}

MPI_Datatype *to_types(int n, const ABI_Datatype types[]) {
  MPI_Datatype *theirs = room(n, sizeof *theirs);
  for (int i = 0; i < n; i++) theirs[i] = to(types[i]);
  return theirs;
}

const int *to_weights(const int *weights) {
  return weights == ABI_UNWEIGHTED ? *(int **)theirs_named("MPI_UNWEIGHTED") : weights;
}

/* ---- numbers ---- */

typedef struct pair {
  int ours, theirs;
} pair;

static int to_number(const pair *pairs, int n, int ours) {
  for (int i = 0; i < n; i++)
    if (pairs[i].ours == ours) return pairs[i].theirs;
  return ours;
}

static int from_number(const pair *pairs, int n, int theirs) {
  for (int i = 0; i < n; i++)
    if (pairs[i].theirs == theirs) return pairs[i].ours;
  return theirs;
}

#define PAIR(name) \
  { ABI_##name, MPI_##name }
#define N(pairs) (int)(sizeof(pairs) / sizeof *(pairs))

static const pair ranks[] = {PAIR(ANY_SOURCE), PAIR(PROC_NULL), PAIR(ROOT)};
static const pair tags[] = {PAIR(ANY_TAG)};
static const pair levels[] = {PAIR(THREAD_SINGLE), PAIR(THREAD_FUNNELED), PAIR(THREAD_SERIALIZED),
                              PAIR(THREAD_MULTIPLE)};
static const pair classes[] = {
    PAIR(ERR_BUFFER),  PAIR(ERR_COUNT),   PAIR(ERR_TYPE),    PAIR(ERR_TAG),       PAIR(ERR_COMM),
    PAIR(ERR_RANK),    PAIR(ERR_REQUEST), PAIR(ERR_ROOT),    PAIR(ERR_GROUP),     PAIR(ERR_OP),
    PAIR(ERR_DIMS),    PAIR(ERR_ARG),     PAIR(ERR_UNKNOWN), PAIR(ERR_TRUNCATE),  PAIR(ERR_OTHER),
    PAIR(ERR_INTERN),  PAIR(ERR_PENDING), PAIR(ERR_KEYVAL),  PAIR(ERR_IN_STATUS), PAIR(ERR_NO_MEM),
    PAIR(ERR_TOPOLOGY)};

int to_rank(int rank) {
  return to_number(ranks, N(ranks), rank);
}
int from_rank(int rank) {
  return from_number(ranks, N(ranks), rank);
}
int to_tag(int tag) {
  return to_number(tags, N(tags), tag);
}
int from_tag(int tag) {
  return from_number(tags, N(tags), tag);
}
int to_level(int level) {
  return to_number(levels, N(levels), level);
}
int from_level(int level) {
  return from_number(levels, N(levels), level);
}
/* MPICH's codes are larger than its classes and than the codes of the ABI, so they are passed on unchanged. */
int to_error(int code) {
  return to_number(classes, N(classes), code);
}
int from_error(int code) {
  return from_number(classes, N(classes), code);
}

/* ---- statuses ---- */

void to_status(const ABI_Status *ours, MPI_Status *theirs) {
  *theirs = (MPI_Status){.count_lo = ours->ABI_internal[0],
                         .count_hi_and_cancelled = ours->ABI_internal[1],
                         .MPI_SOURCE = to_rank(ours->ABI_SOURCE),
                         .MPI_TAG = to_tag(ours->ABI_TAG),
                         .MPI_ERROR = to_error(ours->ABI_ERROR)};
}

void from_status(const MPI_Status *theirs, ABI_Status *ours) {
  *ours = (ABI_Status){.ABI_internal = {theirs->count_lo, theirs->count_hi_and_cancelled},
                       .ABI_SOURCE = from_rank(theirs->MPI_SOURCE),
                       .ABI_TAG = from_tag(theirs->MPI_TAG),
                       .ABI_ERROR = from_error(theirs->MPI_ERROR)};
}
