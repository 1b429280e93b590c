/* long_wait.h - waits for other processes outside an operation. All of them log warnings, and `tutti doctor` shows
 * them.
 *
 * Idea       A wait is announced before it starts. After 0.1 s it is listed in a file in memory (a memfd), whose
 *            descriptor the doctor finds in /proc/PID/fd. After 10 s the same sentence is logged. Waits inside an
 *            operation are listed in the communicator's control block instead (tt_shown), with the operation's number
 *            and step.
 * Cost       Only clock reads during the first 0.1 s; then one or two system calls, once per process.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LONG_WAIT_H
#define TT_LONG_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TT_WAIT_NOTES = 15, TT_WAIT_WORDS = 240, TT_WARN_S = 10 /* then a wait logs a warning */ };
#define TT_WAITS_NAME  "tutti-waits" /* name of the memfd */
#define TT_WAITS_MAGIC 0x3173746961777474u

/* A wait, as other processes read it. */
typedef struct tt_wait_note {
  atomic_uint_fast64_t since; /* us on CLOCK_MONOTONIC; 0: unused */
  char words[TT_WAIT_WORDS];  /* such as "tutti_comm_shrink waits for rank 3 (pid 7)" */
} tt_wait_note;

typedef struct tt_wait_notes {
  uint64_t magic, pid; /* magic: identifies this layout */
  int64_t fd;          /* descriptor in that process */
  atomic_uint taken; /* a bit for each note in use */
  tt_wait_note note[TT_WAIT_NOTES];
} tt_wait_notes;

typedef struct tt_long_wait {
  const char *call;        /* the public function */
  double since, announced; /* in s */
  bool warned;
  tt_wait_note *note; /* may be NULL */
} tt_long_wait;

/* Starts a wait. `call` must be a constant string. */
tt_long_wait tt_long_wait_begin(const char *call);
/* Sets the name of the process that is awaited, such as "rank 3 (pid 7)". The call is cheap and should be made repeatedly. */
void tt_long_wait_for(tt_long_wait *w, const char *whom, ...) __attribute__((format(printf, 2, 3)));
/* Sets the name and lists the wait without the usual delay of 0.1 s. Used for waits in the caller's code, such as a store. */
void tt_long_wait_show(tt_long_wait *w, const char *whom, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the number of seconds until a call of tt_long_wait_for would have an effect. */
double tt_long_wait_due(const tt_long_wait *w);
void tt_long_wait_end(tt_long_wait *w);
/* Removes the file with the waits of this process. Called by tutti_finalize when no thread waits any more. */
void tt_long_waits_close(void);

#endif
