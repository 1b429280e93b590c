/* tell.h - lets ranks report to the process that started them through a file, with one line per
 * record.
 *
 * Idea       a line is "NANOSECONDS RANK WORD ...", with a clock that all processes share, appended
 *            in one write. Lines of ranks that die are therefore complete, and no rank waits for a
 *            reader. Ranks may be threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TELL_H
#define TELL_H

#include <stdbool.h>
#include <stdint.h>

uint64_t tell_ns(void);
/* Sets this thread's file. Returns false if the file cannot be written. */
bool tell_to(const char *file, int rank);
/* Has no effect before tell_to. */
__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);

#endif
