/* tell.h - what ranks tell the one who started them, in a file, a line each.
 *
 * Idea       "NANOSECONDS RANK WORD ...", by the clock that all processes share, in one write at
 *            the file's end: so lines of ranks that die are whole, and none waits for a reader. Ranks
 *            may be threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TELL_H
#define TELL_H

#include <stdbool.h>
#include <stdint.h>

uint64_t tell_ns(void);
/* By this thread, from now on. False: it cannot be written. */
bool tell_to(const char *file, int rank);
/* Nothing before tell_to. */
__attribute__((format(printf, 1, 2))) void tell(const char *format, ...);

#endif
