/* long_wait.h - waits for other processes outside an operation: all of them warn, and `tutti doctor` shows them.
 *
 * Idea       A wait is announced before it begins. After 0.1 s it is listed in a file in memory (a memfd), whose descriptor
 *            the doctor finds in /proc/PID/fd; after 10 s the log gets the same sentence. Waits inside an operation are listed
 *            in the communicator's control block instead (tt_shown), with the operation's number and step.
 * Cost       Nothing below 0.1 s but a clock; then a system call or two, once per process.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_LONG_WAIT_H
#define TT_LONG_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TT_WAIT_NOTES = 15, TT_WAIT_WORDS = 240, TT_WARN_S = 10 /* after which any wait warns */ };
#define TT_WAITS_NAME  "tutti-waits" /* of the memfd */
#define TT_WAITS_MAGIC 0x3173746961777474u

/* What another process reads. */
typedef struct tt_wait_note {
  atomic_uint_fast64_t since; /* us on CLOCK_MONOTONIC; 0: unused */
  char words[TT_WAIT_WORDS];  /* "tutti_comm_shrink waits for rank 3 (pid 7)" */
} tt_wait_note;

typedef struct tt_wait_notes {
  uint64_t magic, pid; /* magic: of this layout */
  int64_t fd;        /* in that process */
  atomic_uint taken; /* a bit for each note in use */
  tt_wait_note note[TT_WAIT_NOTES];
} tt_wait_notes;

typedef struct tt_long_wait {
  const char *call;        /* the public function */
  double since, announced; /* s */
  bool warned;
  tt_wait_note *note; /* or NULL */
} tt_long_wait;

/* call: a constant string. */
tt_long_wait tt_long_wait_begin(const char *call);
/* For whom it waits, now: "rank 3 (pid 7)". Call this again and again; it is cheap. */
void tt_long_wait_for(tt_long_wait *w, const char *whom, ...) __attribute__((format(printf, 2, 3)));
/* The same before a wait inside the caller's code, such as a store: without the 0.1 s. */
void tt_long_wait_show(tt_long_wait *w, const char *whom, ...)
    __attribute__((format(printf, 2, 3)));
/* s until the next call of tt_long_wait_for has anything to do. */
double tt_long_wait_due(const tt_long_wait *w);
void tt_long_wait_end(tt_long_wait *w);
/* For tutti_finalize, when no thread waits any more. */
void tt_long_waits_close(void);

#endif
