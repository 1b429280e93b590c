/* abi_callbacks.c - callbacks that a program passes to the test's libmpi_abi, and that MPICH calls.
 *
 * Idea      Callbacks of requests and attributes get a pointer from the program. MPICH gets a pointer to a pair instead: the
 *           program's pointer and its function. Callbacks of ops and error handlers get no such pointer, so this file has
 *           a function for each slot.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "translate.h"

/* ---- slots for callbacks without a pointer ---- */

enum { SLOTS = 16 };
static ABI_User_function *ops[SLOTS];
static ABI_Comm_errhandler_function *handlers[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void call_op(int slot, void *in, void *inout, int *n, MPI_Datatype *type) {
  ABI_Datatype ours = from(*type);
  ops[slot](in, inout, n, &ours);
}

static void call_handler(int slot, MPI_Comm *comm, int *code) {
  ABI_Comm ours = from(*comm);
  int error = from_error(*code);
  handlers[slot](&ours, &error);
}

#define EACH(S) \
  S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7) S(8) S(9) S(10) S(11) S(12) S(13) S(14) S(15)
#define S(i)                                                              \
  static void op_##i(void *in, void *inout, int *n, MPI_Datatype *type) { \
    call_op(i, in, inout, n, type);                                       \
  }                                                                       \
  static void handler_##i(MPI_Comm *comm, int *code, ...) {               \
    call_handler(i, comm, code);                                          \
  }
EACH(S)
#undef S
static MPI_User_function *const op_slots[SLOTS] = {
#define S(i) op_##i,
    EACH(S)
#undef S
};
static MPI_Comm_errhandler_function *const handler_slots[SLOTS] = {
#define S(i) handler_##i,
    EACH(S)
#undef S
};

#define SLOT_OF(slots, function)                                                     \
  ({                                                                                 \
    int slot_ = 0;                                                                   \
    pthread_mutex_lock(&lock);                                                       \
    while (slot_ < SLOTS && slots[slot_] && slots[slot_] != function) slot_++;       \
    if (slot_ < SLOTS) slots[slot_] = function;                                      \
    pthread_mutex_unlock(&lock);                                                     \
    if (slot_ == SLOTS) fprintf(stderr, "libmpi_abi: no slot is left\n"), _Exit(99); \
    slot_;                                                                           \
  })

ENTRY(Op_create, ABI_User_function *function, int commute, ABI_Op *op) {
  MPI_Op made = MPI_OP_NULL;
  const int code = CALL(Op_create, op_slots[SLOT_OF(ops, function)], commute, &made);
  *op = from(made);
  return code;
}

ENTRY(Comm_create_errhandler, ABI_Comm_errhandler_function *function, ABI_Errhandler *errhandler) {
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  const int code = CALL(Comm_create_errhandler, handler_slots[SLOT_OF(handlers, function)], &made);
  *errhandler = from(made);
  return code;
}

/* ---- attributes ---- */

typedef struct attribute {
  ABI_Comm_copy_attr_function *copy;
  ABI_Comm_delete_attr_function *function;
  void *extra;
} attribute;

static int copy_attribute(MPI_Comm comm, int key, void *of, void *in, void *out, int *copies) {
  const attribute *a = of;
  *copies = 0;
  return a->copy == ABI_COMM_NULL_COPY_FN
             ? MPI_SUCCESS
             : to_error(a->copy(from(comm), key, a->extra, in, out, copies));
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *of) {
  const attribute *a = of;
  return to_error(a->function(from(comm), key, value, a->extra));
}

ENTRY(Comm_create_keyval, ABI_Comm_copy_attr_function *copy,
      ABI_Comm_delete_attr_function *function, int *key, void *extra) {
  attribute *a = room(1, sizeof *a);
  *a = (attribute){copy, function, extra};
  return CALL(Comm_create_keyval, copy_attribute, delete_attribute, key, a);
}

/* ---- generalized requests ---- */

typedef struct generalized {
  ABI_Grequest_query_function *query;
  ABI_Grequest_free_function *free_it;
  ABI_Grequest_cancel_function *cancel;
  void *extra;
} generalized;

static int query_it(void *extra, MPI_Status *status) {
  const generalized *g = extra;
  ABI_Status ours = {0};
  const int code = g->query(g->extra, &ours);
  to_status(&ours, status);
  return to_error(code);
}

static int free_it(void *extra) {
  generalized g = *(generalized *)extra;
  free(extra);
  return to_error(g.free_it(g.extra));
}

static int cancel_it(void *extra, int complete) {
  const generalized *g = extra;
  return to_error(g->cancel(g->extra, complete));
}

ENTRY(Grequest_start, ABI_Grequest_query_function *query, ABI_Grequest_free_function *free_,
      ABI_Grequest_cancel_function *cancel, void *extra, ABI_Request *request) {
  MPI_Request begun = MPI_REQUEST_NULL;
  generalized *g = room(1, sizeof *g);
  *g = (generalized){query, free_, cancel, extra};
  const int code = CALL(Grequest_start, query_it, free_it, cancel_it, g, &begun);
  *request = from(begun);
  return code;
}
