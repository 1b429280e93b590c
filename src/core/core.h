/* core.h - services for all modules: status messages, log, types, ops, small arithmetic. No state
 * but the process context (process.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CORE_H
#define TT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "copy.h"
#include "tutti.h"
#include "tutti_plan.h"

/* Record the message of an error for tutti_error() and return the status. */
tutti_status tt_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The status of a call that tried several ways; TUTTI_OK clears the message of a failed attempt. */
tutti_status tt_ended(tutti_status status);

/* TUTTI_OK, or TUTTI_ERR_ARG: the size of the caller's struct is another version's. */
tutti_status tt_size_check(const char *function, const char *what, size_t size, size_t want);

/* tt_interrupted: must this thread stop waiting (tutti_interrupt_set)? Call it repeatedly; *asked:
 * time of the last check, initially 0. tt_may_be_interrupted: is a function set for this thread?
 * tt_say_interrupted: returns TUTTI_ERR_INTERRUPTED of `what`. */
bool tt_interrupted(double *asked);
/* One poll of a wait: true, or an error in *status, ends it. `turn` counts the polls. */
typedef bool tt_poll_fn(void *ctx, unsigned turn, tutti_status *status);
/* Polls until `poll` ends the wait, and yields or naps after each poll. who: the public function, for
 * the error if this thread is interrupted; NULL: `poll` looks at interrupts itself. */
tutti_status tt_wait_until(const char *who, tt_poll_fn *poll, void *ctx);
bool tt_may_be_interrupted(void);
tutti_status tt_say_interrupted(const char *what);

/* One line to the log callback, and to the target of TUTTI_LOG (log.c). Level 0 warns, 1
 * informs. */
bool tt_log_heard(int level); /* false: no target takes such lines */
void tt_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A thread's own small buffer for a string that outlives the call (tutti_info). */
char *tt_thread_text(size_t *size);

/* TUTTI_OK, or TUTTI_ERR_STATE with a message after finalize or in a forked child. Every public
 * function that does anything calls it first. */
tutti_status tt_alive(void);
/* The same, and TUTTI_ERR_ARG with its name for the first of two pointers that is NULL. two NULL:
 * there is only one. */
tutti_status tt_args_given(const char *function, const char *one, const void *first,
                           const char *two, const void *second);

/* Waiting ranks read settings many times a second, but each invalid value is reported once. True if
 * this value of that name is new and the log takes warnings; false after TT_WARNINGS of them. */
bool tt_news(const char *name, const char *value);

/* The current value of an environment variable; NULL if unset or empty. If a TUTTI_ variable is not in the environment: the
 * value in a configuration file. */
const char *tt_env(const char *name);
/* An integer in [lo, hi] from the environment; `otherwise` if unset, or invalid, which is reported
 * once. */
long tt_env_int(const char *name, long lo, long hi, long otherwise);
/* From which operations, messages and pieces are counted: 0, but tests begin just below a power of two. */
uint64_t tt_first_number(void);

/* Seconds from the environment, a positive number; 0 if unset, or invalid, which is
 * reported once. */
double tt_env_seconds(const char *name);
/* The index of the variable's value in the list of words (terminated by NULL); -1 if unset, or if
 * it is another word, which is reported. */
int tt_env_word(const char *name, const char *const *words);

/* A line of a configuration file (config_file.c). Without a name it is wrong, and the value is the reason; line 0: the file. */
typedef struct tt_config_line {
  const char *file;
  int line;
  const char *name, *value;
} tt_config_line;
/* Takes a text apart, which it changes. Returns the number of lines that are neither empty nor a comment, at most `most`. */
int tt_config_parse(const char *file, char *text, tt_config_line *to, int most);
/* All lines of the files of this process; the last line with a name wins. */
const tt_config_line *tt_config_lines(int *n);
/* The files that were read, separated by ", "; NULL: none. */
const char *tt_config_files(void);
/* The value of a variable in the files; NULL: it is in no file, or may not be there. */
const char *tt_config_value(const char *name);
/* May a file set this variable? */
bool tt_config_takes(const char *name);

/* Reports, once, each variable TUTTI_... of the environment or of a file that variables.def does not have, and wrong lines. */
void tt_variables_check(void);

/* Parse a size: 9KB, 64k, 1.5MiB, 4096; k is 1024 with and without an i. Returns the end of the
 * size; NULL if it is not valid. */
const char *tt_size_read(const char *text, uint64_t *bytes);

/* The error of a text's reader: "WHAT, line L, column C: expected E, found 'F'". `at` is a place in
 * `text`; F ends before the first character of `stops`, and is "the end of the line" if it is
 * empty. Returns `status`. */
tutti_status tt_syntax_error(tutti_status status, const char *what, const char *text,
                             const char *at, const char *stops, const char *expected);
/* Skips these blanks, and lines or their ends that begin with #. */
const char *tt_skip_comments(const char *at, const char *blanks);
/* Line and column of a place in a text, from 1. */
int tt_line_of_text(const char *text, const char *at, int *column);

/* Whole files (file.c). tt_file_read: the text of a file of less than `most` bytes, with a NUL after
 * its *length bytes; NULL: errno says why. tt_file_write: n bytes at a place. tt_file_lock: waits
 * some seconds at most, because any process that may read a file may lock it for as long as it
 * likes. */
char *tt_file_read(int fd, size_t most, size_t *length);
bool tt_file_write(int fd, const char *bytes, size_t n, off_t at);
bool tt_file_lock(int fd, double seconds);

/* A symbol of the optional library libtutti_OF.so, or of the file of a path that contains a '/'; NULL: *why says what is missing
 * (library.c). */
void *tt_library_symbol(const char *of, const char *symbol, char *why, size_t size);

/* Bytes that the system reports as available without reclaiming memory from others; UINT64_MAX if
 * it does not say. */
uint64_t tt_memory_available(void);

/* ---- types and ops ---- */

typedef struct tt_user_op {
  tutti_op_fn *fn; /* NULL: a sum of inputs scaled by the factor */
  void *ctx;
  double factor;
  bool commutative;
  bool used;
  uint32_t serial; /* unique to this op in the process, even if its handle is reused */
} tt_user_op;

/* The user op behind a handle, or NULL. Valid until tutti_op_free. */
const tt_user_op *tt_op_user(tutti_op op);
bool tt_type_valid(tutti_type type);
size_t tt_type_align(tutti_type type); /* of a valid type, in bytes */
bool tt_op_valid(tutti_op op);
bool tt_op_commutative(tutti_op op);
/* The factor that scales the input before the sum; 1: no scaling. */
double tt_op_factor(tutti_op op);
/* A property of an op that is the same on all ranks: the op itself, or the kind of a
 * registered op. */
unsigned tt_op_kind(tutti_op op);
const char *tt_op_kind_name(unsigned kind);
/* May another grouping of the operands give other bits? True for user ops, whose behaviour is
 * unknown. */
bool tt_op_rounds(tutti_type type, tutti_op op);

/* ---- small arithmetic ---- */

static inline size_t tt_min(size_t a, size_t b) {
  return a < b ? a : b;
}
static inline size_t tt_max(size_t a, size_t b) {
  return a > b ? a : b;
}
/* Memory for parts of vectors, from tutti_scratch_set's allocator. NULL: out of memory. */
void *tt_scratch_take(size_t bytes);
void tt_scratch_give(void *memory);
/* Free this memory in tutti_finalize: a closed network may send from it until then. */
void tt_unsent_keep(void *memory);
void tt_unsent_free(void);

static inline size_t tt_round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}
/* Seconds of a monotonic clock; microseconds of any clock (system.c). */
double tt_seconds(void);
uint64_t tt_clock_us(clockid_t clock);
/* The plans that the process keeps for its life (algo/plan_spec.c), locked; nothing else is locked before
 * they are unlocked. */
void **tt_kept_plans_lock(void);
void tt_kept_plans_unlock(void);
uint64_t tt_random(void); /* a random word, other in every process */
/* Least non-negative residue. */
static inline int tt_mod(int64_t a, int m) {
  if (a >= 0 && a < m) return (int)a; /* the common case, without a division */
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
/* `h` mixed with every character of a text. */
static inline uint64_t tt_mix_text(uint64_t h, const char *text) {
  for (; *text; text++) h = tt_mix(h ^ (unsigned char)*text);
  return h;
}
/* Compares by a uint64_t at the beginning, for qsort and bsearch (syntax.c). */
int tt_by_first_u64(const void *a, const void *b);
/* Greatest common divisor of two positive numbers; gcd(a, 0) is a. */
static inline int tt_gcd(int a, int b) {
  return b ? tt_gcd(b, a % b) : a;
}

#endif
