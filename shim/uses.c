/* uses.c - keeps ops and types that unfinished collectives need, because the program may free them
 * earlier.
 *
 * Idea       A list of the collectives. An op or type that the program frees while a collective needs it is freed
 *            together with the last such collective.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "uses.h"

#include <pthread.h>
#include <stdlib.h>

#include "next.h"

/* An op or type that the program has freed. */
typedef struct kept {
  struct kept *next;
  MPI_Op op;
  MPI_Datatype type;
} kept;

static use *users;
static kept *to_free;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER; /* guards both lists */

static bool used(MPI_Op op, MPI_Datatype type) {
  for (const use *u = users; u; u = u->next)
    if (op != MPI_OP_NULL ? u->call->op == op : u->call->type == type || u->call->srctype == type)
      return true;
  return false;
}

/* If an unfinished collective uses this op or type, puts it on the list of objects to be freed later, and returns true. If
 * there is no memory for a list entry, the object is never freed. */
static bool keep(MPI_Op op, MPI_Datatype type) {
  pthread_mutex_lock(&keeping);
  const bool is_used = used(op, type);
  kept *k = is_used ? malloc(sizeof *k) : NULL;
  if (k) {
    *k = (kept){to_free, op, type};
    to_free = k;
  }
  pthread_mutex_unlock(&keeping);
  return is_used;
}

bool uses_keep_op(MPI_Op *op) {
  if (!keep(*op, MPI_DATATYPE_NULL)) return false;
  *op = MPI_OP_NULL;
  return true;
}

bool uses_keep_type(MPI_Datatype *type) {
  if (!keep(MPI_OP_NULL, *type)) return false;
  *type = MPI_DATATYPE_NULL;
  return true;
}

void use_begin(use *u, const async_call *call, MPI_Request request) {
  u->call = call;
  u->request = request;
  pthread_mutex_lock(&keeping);
  u->next = users;
  users = u;
  pthread_mutex_unlock(&keeping);
}

/* Frees the listed ops and types that no collective uses any more. The lock is not held while MPI frees them, because MPI may
 * call delete callbacks of the program. */
void use_end(use *u) {
  kept *unused = NULL;
  use **at = &users;
  pthread_mutex_lock(&keeping);
  while (*at != u) at = &(*at)->next;
  *at = u->next;
  for (kept **k = &to_free, *one; (one = *k);) {
    if (used(one->op, one->type)) {
      k = &one->next;
      continue;
    }
    *k = one->next;
    one->next = unused;
    unused = one;
  }
  pthread_mutex_unlock(&keeping);
  for (kept *k; (k = unused); free(k)) {
    unused = k->next;
    if (k->op != MPI_OP_NULL) next()->Op_free(&k->op);
    if (k->type != MPI_DATATYPE_NULL) next()->Type_free(&k->type);
  }
}

bool uses_have(MPI_Request request) {
  bool is = false;
  pthread_mutex_lock(&keeping);
  for (const use *u = users; u && !is; u = u->next) is = u->request == request;
  pthread_mutex_unlock(&keeping);
  return is;
}
