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

/* Records the message of an error for tutti_error(), and returns the status. */
tutti_status tt_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the status of a call that made several attempts. TUTTI_OK clears the message of a failed attempt. */
tutti_status tt_ended(tutti_status status);

/* Returns TUTTI_OK, or TUTTI_ERR_ARG if the caller's struct has the size of another version. */
tutti_status tt_size_check(const char *function, const char *what, size_t size, size_t want);

/* tt_interrupted returns true if this thread must stop waiting (tutti_interrupt_set). It should be called repeatedly;
 * *asked is the time of the last check and must be 0 initially. tt_may_be_interrupted returns true if a function is set for
 * this thread. tt_say_interrupted returns TUTTI_ERR_INTERRUPTED, with a message about the call `what`. */
bool tt_interrupted(double *asked);
/* Polls once. Returns true, or sets an error in *status, to end the wait. `turn` counts the polls. */
typedef bool tt_poll_fn(void *ctx, unsigned turn, tutti_status *status);
/* Polls until `poll` ends the wait, and yields or sleeps briefly after each poll. `who` is the public function, for the
 * error message if this thread is interrupted; NULL: `poll` checks for interrupts itself. */
tutti_status tt_wait_until(const char *who, tt_poll_fn *poll, void *ctx);
bool tt_may_be_interrupted(void);
tutti_status tt_say_interrupted(const char *what);

/* Sends one line to the log callback and to the target of TUTTI_LOG (log.c). Level 0 is a warning, 1 is information. */
bool tt_log_heard(int level); /* false: lines of this level are discarded */
void tt_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a small buffer of this thread, for a string that outlives the call (tutti_info). */
char *tt_thread_text(size_t *size);

/* Returns TUTTI_OK, or TUTTI_ERR_STATE with a message after tutti_finalize or in a forked child. Every public function that
 * does anything calls it first. */
tutti_status tt_alive(void);
/* As above. Also returns TUTTI_ERR_ARG, with the name of the argument, if one of two pointers is NULL. `two` is NULL if
 * there is only one pointer. */
tutti_status tt_args_given(const char *function, const char *one, const void *first,
                           const char *two, const void *second);

/* Waiting ranks read settings many times a second, but each invalid value is reported only once. Returns true if this value
 * of the variable has not been reported and the log accepts warnings. Returns false after TT_WARNINGS reports. */
bool tt_news(const char *name, const char *value);

/* Returns the current value of an environment variable, or NULL if it is unset or empty. If a TUTTI_ variable is not in the
 * environment, returns its value in a configuration file. */
const char *tt_env(const char *name);
/* Returns an integer in [lo, hi] from the environment, or `otherwise` if it is unset or invalid. An invalid value is
 * reported once. */
long tt_env_int(const char *name, long lo, long hi, long otherwise);
/* Returns the number at which operations, messages and pieces start to be counted. It is 0, except that tests start just
 * below a power of two. */
uint64_t tt_first_number(void);

/* Returns a positive number of seconds from the environment, or 0 if it is unset or invalid. An invalid value is reported
 * once. */
double tt_env_seconds(const char *name);
/* Returns the index of the variable's value in a list of words terminated by NULL. Returns -1 if it is unset, or if it is
 * another word, which is reported. */
int tt_env_word(const char *name, const char *const *words);

/* A line of a configuration file (config_file.c). If `name` is NULL, the line is invalid and `value` is the reason. Line 0
 * stands for the whole file. */
typedef struct tt_config_line {
  const char *file;
  int line;
  const char *name, *value;
} tt_config_line;
/* Splits a text into lines, modifying it. Returns the number of lines that are neither empty nor a comment, at most
 * `most`. */
int tt_config_parse(const char *file, char *text, tt_config_line *to, int most);
/* Returns all lines of the files of this process. If a name occurs several times, the last line wins. */
const tt_config_line *tt_config_lines(int *n);
/* Returns the names of the files that were read, separated by ", ", or NULL if no file was read. */
const char *tt_config_files(void);
/* Returns the value of a variable in the files, or NULL if no file sets it or files may not set it. */
const char *tt_config_value(const char *name);
/* Returns true if a file may set this variable. */
bool tt_config_takes(const char *name);

/* Reports, once each, the TUTTI_ variables in the environment or in files that are not in variables.def, and invalid
 * lines. */
void tt_variables_check(void);

/* Parses a size such as 9KB, 64k, 1.5MiB or 4096. k means 1024, with and without an i. Returns the end of the size, or NULL
 * if it is invalid. */
const char *tt_size_read(const char *text, uint64_t *bytes);

/* Reports a syntax error: "WHAT, line L, column C: expected E, found 'F'". `at` is a position in `text`. F extends up to
 * the first character in `stops`; if it is empty, the message says "the end of the line" instead. Returns `status`. */
tutti_status tt_syntax_error(tutti_status status, const char *what, const char *text,
                             const char *at, const char *stops, const char *expected);
/* Skips the given blanks, and lines or ends of lines that start with #. */
const char *tt_skip_comments(const char *at, const char *blanks);
/* Returns the line of a position in a text and sets *column, both counted from 1. */
int tt_line_of_text(const char *text, const char *at, int *column);

/* Functions for whole files (file.c). tt_file_read returns the text of a file of less than `most` bytes, with a NUL after
 * its *length bytes, or NULL with errno set. The caller frees it. tt_file_write writes n bytes at an offset. tt_file_lock
 * waits for a limited time, because any process that may read a file may lock it for as long as it likes. */
char *tt_file_read(int fd, size_t most, size_t *length);
bool tt_file_write(int fd, const char *bytes, size_t n, off_t at);
bool tt_file_lock(int fd, double seconds);

/* Returns a symbol of the optional library libtutti_OF.so or, if `of` contains a '/', of the file of that path. Returns NULL on
 * error, with the reason in *why (library.c). */
void *tt_library_symbol(const char *of, const char *symbol, char *why, size_t size);

/* Returns the number of bytes that the system reports as available without reclaiming memory from other processes, or
 * UINT64_MAX if it does not report it. */
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

/* Returns the user's op of a handle, or NULL. It remains valid until tutti_op_free. */
const tt_user_op *tt_op_user(tutti_op op);
bool tt_type_valid(tutti_type type);
size_t tt_type_align(tutti_type type); /* for a valid type; in bytes */
bool tt_op_valid(tutti_op op);
bool tt_op_commutative(tutti_op op);
/* Returns the factor by which inputs are multiplied before they are summed; 1 means no scaling. */
double tt_op_factor(tutti_op op);
/* Returns a property of an op that is equal on all ranks: the op itself, or the kind of a registered op. */
unsigned tt_op_kind(tutti_op op);
const char *tt_op_kind_name(unsigned kind);
/* Returns true if grouping the operands differently may give other bits. This is assumed for user ops, whose behaviour is
 * unknown. */
bool tt_op_rounds(tutti_type type, tutti_op op);

/* ---- small arithmetic ---- */

static inline size_t tt_min(size_t a, size_t b) {
  return a < b ? a : b;
}
static inline size_t tt_max(size_t a, size_t b) {
  return a > b ? a : b;
}
/* Allocates memory for parts of vectors, with tutti_scratch_set's allocator. Returns NULL if out of memory. */
void *tt_scratch_take(size_t bytes);
void tt_scratch_give(void *memory);
/* Defers freeing this memory to tutti_finalize, because a closed network may still send from it. */
void tt_unsent_keep(void *memory);
void tt_unsent_free(void);

static inline size_t tt_round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}
/* Return the seconds of a monotonic clock, and the microseconds of any clock (system.c). */
double tt_seconds(void);
uint64_t tt_clock_us(clockid_t clock);
/* Locks and returns the list of plans that the process keeps until it ends (algo/plan_spec.c). No other lock may be taken
 * until the list is unlocked. */
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
/* Compares by a uint64_t at the start of each element, for qsort and bsearch (syntax.c). */
int tt_by_first_u64(const void *a, const void *b);
/* Returns the greatest common divisor of two positive numbers; gcd(a, 0) is a. */
static inline int tt_gcd(int a, int b) {
  return b ? tt_gcd(b, a % b) : a;
}

#endif
