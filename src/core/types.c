/* types.c - element types and ops: sizes, names, the ops of each type, and the ops that users register.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "core.h"
#include "process.h"

enum { INTEGER = 1, REAL = 2, COMPLEX = 4, PAIR = 8 };

static const struct {
  const char *name;
  size_t size, align;
  int kind;
} types[TUTTI_TYPE_COUNT] = {
#define TT_TYPE(number, name, type, kind, kernels) \
  [TUTTI_##number] = {name, sizeof(type), _Alignof(type), kind},
#include "types.def"
};

static const struct {
  const char *name;
  int kinds;
} ops[TUTTI_OP_COUNT] = {
    [TUTTI_SUM] = {"sum", INTEGER | REAL | COMPLEX},
    [TUTTI_PROD] = {"prod", INTEGER | REAL | COMPLEX},
    [TUTTI_MIN] = {"min", INTEGER | REAL},
    [TUTTI_MAX] = {"max", INTEGER | REAL},
    [TUTTI_AVG] = {"avg", INTEGER | REAL | COMPLEX},
    [TUTTI_BAND] = {"band", INTEGER},
    [TUTTI_BOR] = {"bor", INTEGER},
    [TUTTI_BXOR] = {"bxor", INTEGER},
    [TUTTI_LAND] = {"land", INTEGER},
    [TUTTI_LOR] = {"lor", INTEGER},
    [TUTTI_LXOR] = {"lxor", INTEGER},
    [TUTTI_MINLOC] = {"minloc", PAIR},
    [TUTTI_MAXLOC] = {"maxloc", PAIR},
};

bool tt_type_valid(tutti_type type) {
  return (unsigned)type < TUTTI_TYPE_COUNT;
}

size_t tutti_type_size(tutti_type type) {
  return tt_type_valid(type) ? types[type].size : 0;
}

size_t tt_type_align(tutti_type type) {
  return tt_type_valid(type) ? types[type].align : 1;
}

const char *tutti_type_name(tutti_type type) {
  return tt_type_valid(type) ? types[type].name : "?";
}

const tt_user_op *tt_op_user(tutti_op op) {
  if ((int)op < TUTTI_OP_USER || (int)op >= TUTTI_OP_USER_END || !tt_process.user_ops) return NULL;
  const tt_user_op *user = &tt_process.user_ops[op - TUTTI_OP_USER];
  return user->used ? user : NULL;
}

bool tt_op_valid(tutti_op op) {
  return (unsigned)op < TUTTI_OP_COUNT || tt_op_user(op);
}

bool tt_op_commutative(tutti_op op) {
  const tt_user_op *user = tt_op_user(op);
  return user ? user->commutative : true;
}

static bool scales(const tt_user_op *user) {
  return user && !user->fn;
}

double tt_op_factor(tutti_op op) {
  const tt_user_op *user = tt_op_user(op);
  return scales(user) ? user->factor : 1;
}

enum { ORDERED = TUTTI_OP_USER, COMMUTATIVE, SCALED };

unsigned tt_op_kind(tutti_op op) {
  if (op < TUTTI_OP_USER) return op;
  return scales(tt_op_user(op)) ? SCALED : tt_op_commutative(op) ? COMMUTATIVE : ORDERED;
}

const char *tt_op_kind_name(unsigned kind) {
  if (kind < TUTTI_OP_USER) return tutti_op_name((tutti_op)kind);
  return kind == SCALED ? "scaled" : "user";
}

bool tt_op_rounds(tutti_type type, tutti_op op) {
  if ((unsigned)op >= TUTTI_OP_COUNT) return true;
  return (types[type].kind & (REAL | COMPLEX)) &&
         (op == TUTTI_SUM || op == TUTTI_PROD || op == TUTTI_AVG);
}

const char *tutti_op_name(tutti_op op) {
  if ((unsigned)op < TUTTI_OP_COUNT) return ops[op].name;
  return tt_op_user(op) ? tt_op_kind_name(tt_op_kind(op)) : "?";
}

int tutti_type_has_op(tutti_type type, tutti_op op) {
  if (!tt_type_valid(type)) return 0;
  if ((unsigned)op < TUTTI_OP_COUNT) return (ops[op].kinds & types[type].kind) != 0;
  const tt_user_op *user = tt_op_user(op);
  return user && (user->fn || (types[type].kind & (REAL | COMPLEX)));
}

static tutti_op claim(const tt_user_op *op) {
  const int capacity = TUTTI_OP_USER_END - TUTTI_OP_USER;
  if (!tt_process.user_ops)
    tt_process.user_ops = calloc((size_t)capacity, sizeof *tt_process.user_ops);
  for (int i = 0; tt_process.user_ops && i < capacity; i++) {
    if (tt_process.user_ops[i].used) continue;
    tt_process.user_ops[i] = *op;
    tt_process.user_ops[i].used = true;
    tt_process.user_ops[i].serial = ++tt_process.op_serial;
    return (tutti_op)(TUTTI_OP_USER + i);
  }
  return TUTTI_OP_USER_END;
}

static tutti_status register_op(const char *function, const tt_user_op *user, tutti_op *op) {
  pthread_mutex_lock(&tt_process.lock);
  tutti_op claimed = claim(user);
  pthread_mutex_unlock(&tt_process.lock);
  if (claimed == TUTTI_OP_USER_END)
    return tt_fail(TUTTI_ERR_MEMORY, "%s: no room for another op; free some", function);
  *op = claimed;
  return TUTTI_OK;
}

tutti_status tutti_op_create(tutti_op_fn *fn, void *ctx, int commutative, tutti_op *op) {
  const tt_user_op user = {.fn = fn, .ctx = ctx, .factor = 1, .commutative = commutative != 0};
  tutti_status status = tt_alive();
  if (status) return status;
  if (!fn || !op) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create: %s is NULL", fn ? "op" : "fn");
  return register_op("tutti_op_create", &user, op);
}

tutti_status tutti_op_create_scaled(double factor, tutti_op *op) {
  const tt_user_op user = {.factor = factor, .commutative = true};
  tutti_status status = tt_alive();
  if (status) return status;
  if (!op) return tt_fail(TUTTI_ERR_ARG, "tutti_op_create_scaled: op is NULL");
  if (factor - factor != 0)
    return tt_fail(TUTTI_ERR_ARG, "tutti_op_create_scaled: the factor, %g, is not a finite number",
                   factor);
  return register_op("tutti_op_create_scaled", &user, op);
}

tutti_status tutti_op_free(tutti_op op) {
  tutti_status status = tt_alive();
  if (status) return status;
  pthread_mutex_lock(&tt_process.lock);
  bool known = tt_op_user(op) != NULL;
  if (known) tt_process.user_ops[op - TUTTI_OP_USER].used = false;
  pthread_mutex_unlock(&tt_process.lock);
  return known ? TUTTI_OK : tt_fail(TUTTI_ERR_OP, "tutti_op_free: %d is not a user-defined op", op);
}
