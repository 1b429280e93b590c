/* core.h - services for all modules: status messages, log, types, ops, small arithmetic. The only state is the process
 * context (process.c).
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

/* Stores the error message that tutti_error() returns, and returns the status. */
tutti_status tt_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the final status of a call that made several attempts. If it is TUTTI_OK, clears the message of a failed attempt. */
tutti_status tt_ended(tutti_status status);

/* Returns TUTTI_ERR_ARG if the size of the caller's struct is that of another version of the library, otherwise TUTTI_OK. */
tutti_status tt_size_check(const char *function, const char *what, size_t size, size_t want);

/* tt_interrupted returns true if this thread must stop waiting (tutti_interrupt_set). It should be called repeatedly;
 * *asked is the time of the last check and must be 0 initially. tt_may_be_interrupted returns true if a function is set for
 * this thread. tt_say_interrupted returns TUTTI_ERR_INTERRUPTED, with a message about the call `what`. */
bool tt_interrupted(double *asked);
/* Polls once. To end the wait, returns true or sets *status to an error. `turn` is the number of polls so far. */
typedef bool tt_poll_fn(void *ctx, unsigned turn, tutti_status *status);
/* Calls `poll` until it ends the wait, and yields or sleeps briefly after each call. `who` is the public function that
 * the error message names if this thread is interrupted. If `who` is NULL, `poll` checks for interrupts itself. */
tutti_status tt_wait_until(const char *who, tt_poll_fn *poll, void *ctx);
bool tt_may_be_interrupted(void);
tutti_status tt_say_interrupted(const char *what);

/* Sends a line to the log callback and to the target of TUTTI_LOG (log.c). Level 0 is for warnings, level 1 for information. */
bool tt_log_heard(int level); /* false: lines of this level are discarded */
void tt_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a small buffer that belongs to this thread. Used for strings that callers read after the call, as in tutti_info. */
char *tt_thread_text(size_t *size);

/* Returns TUTTI_ERR_STATE, with a message, after tutti_finalize and in a forked child, otherwise TUTTI_OK. Every public
 * function that has an effect calls it first. */
tutti_status tt_alive(void);
/* Returns the status of tt_alive, or TUTTI_ERR_ARG with the name of the argument if a pointer is NULL. Checks two
 * pointers, or only the first if `two` is NULL. */
tutti_status tt_args_given(const char *function, const char *one, const void *first,
                           const char *two, const void *second);

/* Returns true if an invalid value of a variable should be reported now. Waiting ranks read settings many times a second,
 * so each value is reported only once, and only if the log accepts warnings. Returns false after TT_WARNINGS reports. */
bool tt_news(const char *name, const char *value);

/* Returns the current value of an environment variable, or NULL if it is unset or empty. A TUTTI_ variable that is not
 * in the environment is looked up in the configuration files. */
const char *tt_env(const char *name);
/* Reads an integer in [lo, hi] from an environment variable. Returns `otherwise` if it is unset or invalid, and reports
 * an invalid value once. */
long tt_env_int(const char *name, long lo, long hi, long otherwise);
/* Returns the number of the first operation, message and piece. It is 0, except in tests, which start just below a
 * power of two so that the numbers soon exceed it. */
uint64_t tt_first_number(void);

/* Reads a positive number of seconds from an environment variable. Returns 0 if it is unset or invalid, and reports an
 * invalid value once. */
double tt_env_seconds(const char *name);
/* Returns the index of a variable's value in a NULL-terminated list of words, or -1 if the variable is unset. Any other
 * word is reported, and also returns -1. */
int tt_env_word(const char *name, const char *const *words);

/* A line of a configuration file (config_file.c). If the line is invalid, `name` is NULL and `value` explains why. Line
 * number 0 means the whole file. */
typedef struct tt_config_line {
  const char *file;
  int line;
  const char *name, *value;
} tt_config_line;
/* Splits a text into lines and modifies it. Returns the number of lines, at most `most`, without empty lines and
 * comments. */
int tt_config_parse(const char *file, char *text, tt_config_line *to, int most);
/* Returns all lines of this process's configuration files. If a name occurs more than once, its last line is valid. */
const tt_config_line *tt_config_lines(int *n);
/* Returns the names of the configuration files that were read, separated by ", ". Returns NULL if no file was read. */
const char *tt_config_files(void);
/* Returns the value that the files set for a variable. Returns NULL if no file sets it, or if files may not set it. */
const char *tt_config_value(const char *name);
/* Returns true if a file may set this variable. */
bool tt_config_takes(const char *name);

/* Reports invalid lines of files, and TUTTI_ variables that are not in variables.def. Reports each only once. */
void tt_variables_check(void);

/* Parses a size such as 9KB, 64k, 1.5MiB or 4096, in which k means 1024 with or without an i. Returns a pointer to the
 * end of the size, or NULL if it is invalid. */
const char *tt_size_read(const char *text, uint64_t *bytes);

/* Reports a syntax error as "WHAT, line L, column C: expected E, found 'F'", and returns `status`. `at` is the position in
 * `text`. F ends before the first character in `stops`; if F is empty, the message says "the end of the line" instead. */
tutti_status tt_syntax_error(tutti_status status, const char *what, const char *text,
                             const char *at, const char *stops, const char *expected);
/* Skips the characters in `blanks`, and comments, which start with # and extend to the end of the line. */
const char *tt_skip_comments(const char *at, const char *blanks);
/* Returns the number of the line at a position in a text, and sets *column. Both are counted from 1. */
int tt_line_of_text(const char *text, const char *at, int *column);

/* Functions for whole files (file.c). tt_file_read returns the text of a file of less than `most` bytes, with a NUL after
 * its *length bytes, or NULL with errno set. The caller frees it. tt_file_write writes n bytes at an offset. tt_file_lock
 * waits for a limited time, because any process that may read a file may lock it for as long as it likes. */
char *tt_file_read(int fd, size_t most, size_t *length);
bool tt_file_write(int fd, const char *bytes, size_t n, off_t at);
bool tt_file_lock(int fd, double seconds);

/* Returns a symbol of the optional library libtutti_OF.so. If `of` contains a '/', it is the path of the library. On
 * error, returns NULL and stores the reason in `why` (library.c). */
void *tt_library_symbol(const char *of, const char *symbol, char *why, size_t size);

/* Returns the number of bytes that are available without reclaiming memory from other processes, as reported by the
 * system. Returns UINT64_MAX if the system does not report it. */
uint64_t tt_memory_available(void);

/* ---- types and ops ---- */

typedef struct tt_user_op {
  tutti_op_fn *fn; /* NULL: a sum of inputs multiplied by the factor */
  void *ctx;
  double factor;
  bool commutative;
  bool used;
  uint32_t serial; /* unique to this op in the process, even if its handle is reused */
} tt_user_op;

/* Returns the user-defined op for a handle, or NULL. The result is valid until tutti_op_free. */
const tt_user_op *tt_op_user(tutti_op op);
bool tt_type_valid(tutti_type type);
size_t tt_type_align(tutti_type type); /* for a valid type; in bytes */
bool tt_op_valid(tutti_op op);
bool tt_op_commutative(tutti_op op);
/* Returns the factor of an op that multiplies its inputs before they are added. For other ops, the factor is 1. */
double tt_op_factor(tutti_op op);
/* Returns a number for an op that is the same on all ranks: the op itself or, if it is registered, its kind. */
unsigned tt_op_kind(tutti_op op);
const char *tt_op_kind_name(unsigned kind);
/* Returns true if the result may depend on how the operands are grouped. This is assumed for every user-defined op. */
bool tt_op_rounds(tutti_type type, tutti_op op);

/* ---- small arithmetic ---- */

static inline size_t tt_min(size_t a, size_t b) {
  return a < b ? a : b;
}
static inline size_t tt_max(size_t a, size_t b) {
  return a > b ? a : b;
}
/* Allocates memory for parts of vectors with the allocator from tutti_scratch_set. Returns NULL if out of memory. */
void *tt_scratch_take(size_t bytes);
void tt_scratch_give(void *memory);
/* Keeps the memory until tutti_finalize and frees it then, because a network that is closed may still send from it. */
void tt_unsent_keep(void *memory);
void tt_unsent_free(void);

static inline size_t tt_round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}
/* tt_seconds returns the time of a monotonic clock in seconds, and tt_clock_us that of any clock in microseconds (system.c). */
double tt_seconds(void);
uint64_t tt_clock_us(clockid_t clock);
/* Locks and returns the list of plans that the process keeps until it ends (algo/plan_spec.c). While the list is
 * locked, the thread must not take any other lock. */
void **tt_kept_plans_lock(void);
void tt_kept_plans_unlock(void);
uint64_t tt_random(void); /* a random word, different in every process */
/* Returns the least non-negative residue. */
static inline int tt_mod(int64_t a, int m) {
  if (a >= 0 && a < m) return (int)a; /* the common case, without a division */
  const int64_t rest = a % m;
  return (int)(rest < 0 ? rest + m : rest);
}
static inline int tt_ceil_log2(uint64_t n) {
  return n <= 1 ? 0 : 64 - __builtin_clzll(n - 1);
}

/* Mixes 64 bits (the finalizer of splitmix64). */
static inline uint64_t tt_mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
/* Mixes every character of a text into `h`. */
static inline uint64_t tt_mix_text(uint64_t h, const char *text) {
  for (; *text; text++) h = tt_mix(h ^ (unsigned char)*text);
  return h;
}
/* Comparison function for qsort and bsearch. Each element must start with a uint64_t, which is compared (syntax.c). */
int tt_by_first_u64(const void *a, const void *b);
/* Returns the greatest common divisor of two positive numbers. If b is 0, returns a. */
static inline int tt_gcd(int a, int b) {
  return b ? tt_gcd(b, a % b) : a;
}

#endif
