/* core.h - what every room may lean on: status sentences, log, types, ops,
 * small arithmetic. No state but the process context (process.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CORE_H
#define TT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

/* Record the sentence of an error for tutti_error() and hand the status on. */
tutti_status tt_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The status of a call that tried several ways: after TUTTI_OK there is no sentence of one that
 * was refused. */
tutti_status tt_ended(tutti_status status);

/* TUTTI_OK, or TUTTI_ERR_ARG: a struct of the caller's has the size of another version. */
tutti_status tt_size_check(const char *function, const char *what, size_t size, size_t want);

/* Is a wait of this thread to end (tutti_interrupt_set)? Asked now and then: *asked is when, 0 at first.
 * tt_may_be_interrupted: would anybody be asked? tt_say_interrupted: TUTTI_ERR_INTERRUPTED of `what`. */
bool tt_interrupted(double *asked);
bool tt_may_be_interrupted(void);
tutti_status tt_say_interrupted(const char *what);

/* One line to the log callback, and where TUTTI_LOG says (log.c). Level 0 warns, 1 informs. */
bool tt_log_heard(int level); /* by anybody */
void tt_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A thread's own small buffer for a string that outlives the call (tutti_info). */
char *tt_thread_text(size_t *size);

/* TUTTI_OK, or TUTTI_ERR_STATE with a sentence after finalize or in a forked
 * child. Every public call that does anything begins with it. */
tutti_status tt_alive(void);

/* Settings are read when they are asked for, by ranks that wait many times a second; what is wrong
 * with one is said once. Is this value of that name new, and is there who would hear it? After
 * TT_WARNINGS of them nothing is. */
bool tt_news(const char *name, const char *value);

/* An environment setting, read when asked; NULL if unset or empty. */
const char *tt_env(const char *name);
/* A whole number from the environment in [lo, hi]; `otherwise` if unset, or, after a warning that
 * is said once, if it is no such number. */
long tt_env_int(const char *name, long lo, long hi, long otherwise);

/* Seconds from the environment, a positive number; 0 if unset, or, after a warning that
 * is said once, if it is none. */
double tt_env_seconds(const char *name);
/* Which of these words (NULL ends them) the variable is; -1: it is not set, or another word, and a
 * warning says so. */
int tt_env_word(const char *name, const char *const *words);

/* A size as people write it: 9KB, 64k, 1.5MiB, 4096; k is 1024 with and without an i.
 * Where it ends; NULL if it is none. */
const char *tt_size_read(const char *text, uint64_t *bytes);

/* ---- types and ops ---- */

typedef struct tt_user_op {
  tutti_op_fn *fn; /* NULL: a sum of what is multiplied by the factor before */
  void *ctx;
  double factor;
  bool commutative;
  bool used;
  uint32_t serial; /* no other op of this process had it, with this handle or another */
} tt_user_op;

/* The user op behind a handle, or NULL. Valid until tutti_op_free. */
const tt_user_op *tt_op_user(tutti_op op);
bool tt_type_valid(tutti_type type);
size_t tt_type_align(tutti_type type); /* of a valid type, in bytes */
bool tt_op_valid(tutti_op op);
bool tt_op_commutative(tutti_op op);
/* By what the input is multiplied before it is summed; 1: by nothing. */
double tt_op_factor(tutti_op op);
/* What of an op is the same on all ranks: itself, or what kind of op was registered. */
unsigned tt_op_kind(tutti_op op);
const char *tt_op_kind_name(unsigned kind);
/* May another grouping of the operands give other bits? Of user ops nobody knows. */
bool tt_op_rounds(tutti_type type, tutti_op op);

/* ---- small arithmetic ---- */

static inline size_t tt_min(size_t a, size_t b) {
  return a < b ? a : b;
}
static inline size_t tt_max(size_t a, size_t b) {
  return a > b ? a : b;
}
/* Memory for parts of vectors: tutti_scratch_set's. NULL: there is none. */
void *tt_scratch_take(size_t bytes);
void tt_scratch_give(void *memory);

static inline size_t tt_round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}
/* Of a clock that only goes forward (clock.c). */
double tt_seconds(void);
/* Least non-negative residue. */
static inline int tt_mod(int64_t a, int m) {
  if (a >= 0 && a < m) return (int)a; /* as a rule, and without a division */
  const int64_t rest = a % m;
  return (int)(rest < 0 ? rest + m : rest);
}
static inline int tt_ceil_log2(uint64_t n) {
  return n <= 1 ? 0 : 64 - __builtin_clzll(n - 1);
}

/* One good 64-bit mixing round (the finalizer of splitmix64). */
static inline uint64_t tt_mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

#endif
